//! What callers rely on is not taken from them unsaid: the document is held against the last released one.
//! CHANGELOG.md says how a release is made.

use crate::document::documents::resolved;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

const MISSING: &str = "a change that may break clients is not listed in CHANGELOG.md under \"Unreleased\":";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// What a document says of its operations, flattened to sentences: what callers may rely on, and what is wanted of them.
#[derive(Default)]
struct Promises {
    promised: BTreeSet<String>,
    wanted: BTreeSet<String>,
}

impl Promises {
    fn by(document: &Value) -> Self {
        let mut promises = Self::default();
        for (path, methods) in fields(&document["paths"]) {
            for (method, operation) in fields(methods).filter(|(method, _)| *method != "head") {
                let name = format!("{} {path}", method.to_uppercase());
                promises.promised.insert(name.clone());
                promises.promised.insert(format!("{name} is {}", operation["operationId"]));
                promises.parameters(document, &name, operation);
                let mut body = SchemaWalk { document, promises: &mut promises, name: &name, request: true };
                for (media, content) in fields(&operation["requestBody"]["content"]) {
                    body.promises.promised.insert(format!("{name} takes {media}"));
                    body.schema("", &content["schema"], 0);
                }
                for (status, response) in
                    fields(&operation["responses"]).filter(|(status, _)| status.as_str() < "400")
                {
                    let answers = format!("{name} answers {status}");
                    promises.promised.insert(answers.clone());
                    let schema = &response["content"]["application/json"]["schema"];
                    SchemaWalk { document, promises: &mut promises, name: &answers, request: false }
                        .schema("", schema, 0);
                }
            }
        }
        promises
    }

    fn parameters(&mut self, document: &Value, name: &str, operation: &Value) {
        let mut before = None;
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = resolved(document, parameter);
            let at = parameter["name"].as_str().unwrap();
            // Some clients have parameters by position.
            if let Some(before) = before.replace(at) {
                self.promised.insert(format!("{name} takes {at} right after {before}"));
            }
            SchemaWalk { document, promises: self, name, request: true }.schema(at, &parameter["schema"], 0);
            if parameter["required"] == true {
                self.wanted.insert(format!("{name} wants {at}"));
            }
        }
    }
}

struct SchemaWalk<'a> {
    document: &'a Value,
    promises: &'a mut Promises,
    /// The operation, or the operation and its status.
    name: &'a str,
    /// Sent by callers, or to them.
    request: bool,
}

impl SchemaWalk<'_> {
    fn schema(&mut self, at: &str, schema: &Value, depth: usize) {
        let schema = resolved(self.document, schema);
        if depth > 8 {
            return;
        }
        for kind in ["allOf", "oneOf", "anyOf"] {
            for part in schema[kind].as_array().into_iter().flatten() {
                self.schema(at, part, depth + 1);
            }
        }
        let types = &schema["type"];
        let several = types.as_array().into_iter().flatten().filter_map(Value::as_str);
        let types: Vec<_> = types.as_str().into_iter().chain(several).collect();
        let verb = if self.request { "takes" } else { "shows" };
        let promise =
            |promises: &mut Promises, what: String| promises.promised.insert(format!("{} {what}", self.name));
        for kind in types.iter().filter(|kind| **kind != "null") {
            promise(self.promises, format!("{verb} {at} as {kind}"));
        }
        let words: Vec<_> = schema["enum"].as_array().into_iter().flatten().map(Value::to_string).collect();
        if !self.request && !words.is_empty() {
            promise(self.promises, format!("shows {at} as nothing but {}", words.join(", ")));
        }
        if self.request {
            for value in schema["enum"].as_array().into_iter().flatten() {
                promise(self.promises, format!("takes {at} as {value}"));
            }
        } else if !types.is_empty() && !types.contains(&"null") {
            promise(self.promises, format!("never shows {at} as null"));
        }
        if schema["items"].is_object() {
            self.schema(&format!("{at}[]"), &schema["items"], depth + 1);
        }
        for (name, inner) in fields(&schema["properties"]) {
            let inside = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            if schema["required"].as_array().is_some_and(|required| required.contains(&json!(name))) {
                if self.request {
                    self.promises.wanted.insert(format!("{} wants {inside}", self.name));
                } else {
                    self.promises.promised.insert(format!("{} always shows {inside}", self.name));
                }
            }
            self.schema(&inside, inner, depth + 1);
        }
    }
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// What of the older document the newer one takes away from callers, or newly wants of them.
fn broken(older: &Value, newer: &Value) -> Vec<String> {
    let (older, newer) = (Promises::by(older), Promises::by(newer));
    let operation = |sentence: &str| sentence.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" ");
    let gone = older.promised.difference(&newer.promised).map(|promise| format!("No longer: {promise}"));
    // What nobody could call before, nobody called without it; and what is inside of something that may be left out is
    // wanted only of those who send it.
    let known = |sentence: &&String| {
        let field = sentence.rsplit(' ').next().unwrap_or_default();
        let outer =
            field.rsplit_once('.').map(|(outer, _)| format!("{} takes {outer} as", operation(sentence)));
        older.promised.contains(&operation(sentence))
            && outer.is_none_or(|outer| older.promised.iter().any(|promise| promise.starts_with(&outer)))
    };
    let wanted = newer.wanted.difference(&older.wanted).filter(known).map(|want| format!("Newly: {want}"));
    gone.chain(wanted).collect()
}

#[test]
fn changes_that_may_break_clients_are_listed_in_the_changelog() {
    let changelog = std::fs::read_to_string(file("CHANGELOG.md")).unwrap();
    let current = card_payments::api::openapi();
    let released = file("docs/released.yaml");
    if std::env::var_os("UPDATE_RELEASED").is_some() {
        std::fs::write(&released, card_payments::api::openapi::yaml(&current)).unwrap();
    }
    let versions =
        changelog.lines().filter(|line| line.starts_with("## [") && *line != "## [Unreleased]").count();
    assert_eq!(versions > 0, released.exists(), "a released version and docs/released.yaml come together");
    if versions == 0 {
        return;
    }
    let unreleased = changelog.split("\n## [").nth(1).unwrap();
    let released: Value = yaml_serde::from_str(&std::fs::read_to_string(released).unwrap()).unwrap();
    let unsaid: Vec<_> = broken(&released, &current)
        .into_iter()
        .filter(|change| !unreleased.contains(&format!("- {change}\n")))
        .collect();
    assert!(unsaid.is_empty(), "{MISSING}\n- {}", unsaid.join("\n- "));
}

fn small() -> Value {
    json!({
        "paths": { "/1/charges": { "post": {
            "operationId": "create_charge",
            "parameters": [
                { "name": "sort", "in": "query", "schema": { "type": "string", "enum": ["amount", "date"] } },
                { "name": "page", "in": "query", "schema": { "type": "integer" } },
            ],
            "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ChargeInput" } } } },
            "responses": {
                "201": { "content": { "application/json": { "schema": {
                    "type": "object", "required": ["token"], "properties": {
                        "token": { "type": "string" }, "note": { "type": ["string", "null"] },
                        "state": { "type": "string", "enum": ["open", "won"] },
                    },
                } } } },
                "404": {},
            },
        } } },
        "components": { "schemas": { "ChargeInput": {
            "type": "object", "required": ["amount"], "properties": {
                "amount": { "type": "integer" },
                "card": { "type": "object", "properties": { "number": { "type": "string" } } },
            },
        } } },
    })
}

#[test]
fn every_way_to_break_a_client_is_found() {
    let schema = "/components/schemas/ChargeInput";
    let answer = "/paths/~11~1charges/post/responses/201/content/application~1json/schema";
    for (at, value, found) in [
        ("/paths".to_owned(), json!({}), "No longer: POST /1/charges"),
        (
            "/paths/~11~1charges/post/operationId".to_owned(),
            json!("make"),
            "No longer: POST /1/charges is \"create_charge\"",
        ),
        (
            "/paths/~11~1charges/post/parameters".to_owned(),
            json!([]),
            "No longer: POST /1/charges takes sort as string",
        ),
        (
            "/paths/~11~1charges/post/parameters".to_owned(),
            json!([{ "name": "sort" }, { "name": "added" }, { "name": "page" }]),
            "No longer: POST /1/charges takes page right after sort",
        ),
        (
            "/paths/~11~1charges/post/parameters/0/schema/enum".to_owned(),
            json!(["date"]),
            "No longer: POST /1/charges takes sort as \"amount\"",
        ),
        (
            "/paths/~11~1charges/post/requestBody".to_owned(),
            json!({}),
            "No longer: POST /1/charges takes application/json",
        ),
        (
            "/paths/~11~1charges/post/responses".to_owned(),
            json!({}),
            "No longer: POST /1/charges answers 201",
        ),
        (
            format!("{schema}/properties/card"),
            json!({ "type": "string" }),
            "No longer: POST /1/charges takes card as object",
        ),
        (format!("{schema}/required"), json!(["amount", "card"]), "Newly: POST /1/charges wants card"),
        (
            format!("{schema}/properties/card"),
            json!({ "type": "object", "required": ["number"], "properties": { "number": { "type": "string" } } }),
            "Newly: POST /1/charges wants card.number",
        ),
        (
            format!("{answer}/required"),
            json!([]),
            "No longer: POST /1/charges answers 201 always shows token",
        ),
        (
            format!("{answer}/properties/token/type"),
            json!("integer"),
            "No longer: POST /1/charges answers 201 shows token as string",
        ),
        (
            format!("{answer}/properties/state/enum"),
            json!(["open", "won", "lost"]),
            "No longer: POST /1/charges answers 201 shows state as nothing but \"open\", \"won\"",
        ),
        (
            format!("{answer}/properties/token/type"),
            json!(["string", "null"]),
            "No longer: POST /1/charges answers 201 never shows token as null",
        ),
    ] {
        let mut newer = small();
        *newer.pointer_mut(&at).unwrap() = value;
        let broken = broken(&small(), &newer);
        assert!(broken.iter().any(|change| change == found), "{found}: {broken:?}");
    }
}

#[test]
fn additions_break_nobody() {
    let mut newer = small();
    newer["paths"]["/1/plans"] = small()["paths"]["/1/charges"].clone();
    let parameters = newer["paths"]["/1/charges"]["post"]["parameters"].as_array_mut().unwrap();
    parameters.push(json!({ "name": "added", "in": "header" }));
    newer["components"]["schemas"]["ChargeInput"]["properties"]["note"] = json!({
        "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } },
    });
    *newer.pointer_mut("/paths/~11~1charges/post/responses").unwrap() = json!({
        "201": { "content": { "application/json": { "schema": {
            "type": "object", "required": ["token", "more"], "properties": {
                "token": { "type": "string" }, "note": { "type": "string" }, "more": { "type": "string" },
                "state": { "type": "string", "enum": ["open", "won"] },
            },
        } } } },
        "409": {},
    });
    assert_eq!(broken(&small(), &newer), [""; 0]);
    assert_eq!(broken(&card_payments::api::openapi(), &card_payments::api::openapi()), [""; 0]);
}
