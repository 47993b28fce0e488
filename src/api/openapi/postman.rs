//! The document as a collection of requests (Postman 2.1, which Bruno and Insomnia also read). It runs from top to bottom: each request
//! stores the tokens that later ones take, and checks its answer's status and schema.

mod chain;

use serde_json::{Map, Value, json};

use super::examples::of_success;
use super::names::SCHEMAS;

const SCHEMA: &str = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";

/// Returns one folder per section with the operations' requests, and those that must go before some. `base_url`, `secret_key` and every
/// token are variables.
pub fn collection(document: &Value) -> Value {
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in
            methods.as_object().into_iter().flatten().filter(|(method, _)| *method != "head")
        {
            operations.push(Operation { document, path, method, described: operation });
        }
    }
    operations.sort_by_key(|operation| chain::place(operation.method, operation.path));
    let mut folders: Map<String, Value> = Map::new();
    for tag in document["tags"].as_array().into_iter().flatten() {
        let folder = tag["name"].as_str().unwrap_or_default();
        let mut items = Vec::new();
        for operation in operations.iter().filter(|operation| operation.described["tags"][0] == folder) {
            for (id, changes) in chain::before(operation.id()) {
                let first = operations.iter().find(|operation| operation.id() == *id);
                items.extend(first.map(|first| first.item(changes)));
            }
            if operation.id() == "verify_charge" {
                items.push(approval());
            }
            items.push(operation.item("{}"));
        }
        if !items.is_empty() {
            folders.insert(folder.to_owned(), json!({ "name": folder, "item": items }));
        }
    }
    json!({
        "info": { "name": document["info"]["title"], "description": document["info"]["description"], "schema": SCHEMA },
        "auth": {
            "type": "basic",
            "basic": [
                { "key": "username", "value": "{{secret_key}}", "type": "string" },
                { "key": "password", "value": "", "type": "string" },
            ],
        },
        "variable": [
            { "key": "base_url", "value": "http://127.0.0.1:8080" },
            { "key": "secret_key", "value": "" },
            { "key": "webhook_url", "value": "https://example.com/webhooks" },
            // The schemas of the answers, for the tests.
            { "key": "components", "value": json!({ "schemas": document["components"]["schemas"] }).to_string() },
        ],
        "item": folders.into_iter().map(|(_, folder)| folder).collect::<Vec<_>>(),
    })
}

struct Operation<'a> {
    document: &'a Value,
    path: &'a str,
    method: &'a str,
    /// The operation in the document.
    described: &'a Value,
}

impl<'a> Operation<'a> {
    fn id(&self) -> &'a str {
        self.described["operationId"].as_str().unwrap_or_default()
    }

    /// Returns its request, with changes of the example body, and its tests.
    fn item(&self, changes: &str) -> Value {
        let changes = serde_json::from_str(changes).unwrap_or_default();
        json!({
            "name": self.described["summary"],
            "request": self.request(&changes),
            "event": [{ "listen": "test", "script": { "type": "text/javascript", "exec": self.tests() } }],
        })
    }

    fn request(&self, changes: &Map<String, Value>) -> Value {
        let path = self.path.replace('{', ":").replace('}', "");
        let mut request = json!({
            "method": self.method.to_uppercase(),
            "description": self.described["description"],
            "header": self.parameters("header"),
            "url": {
                "raw": format!("{{{{base_url}}}}{path}"),
                "host": ["{{base_url}}"],
                "path": path.trim_start_matches('/').split('/').collect::<Vec<_>>(),
                "query": self.parameters("query"),
                "variable": self.parameters("path"),
            },
        });
        if let Some(content) = self.described["requestBody"]["content"].as_object() {
            request["body"] = match content.get("application/json") {
                Some(body) => json!({
                    "mode": "raw", "raw": format!("{:#}", sent(of_success(body), changes)),
                    "options": { "raw": { "language": "json" } },
                }),
                None => {
                    json!({ "mode": "formdata", "formdata": content.values().flat_map(|body| upload(of_success(body))).collect::<Vec<_>>() })
                }
            };
        }
        request
    }

    fn parameters(&self, place: &str) -> Vec<Value> {
        let all = self.described["parameters"].as_array().into_iter().flatten();
        let all = all.map(|parameter| self.resolved(parameter));
        // Every request needs a new key, so none is stored.
        all.filter(|parameter| parameter["in"] == place && parameter["name"] != "Idempotency-Key")
            .map(|parameter| {
                let is_required = parameter["required"] == true;
                let value = match parameter["name"].as_str().unwrap_or_default() {
                    "domain_name" => "shop.example.com".into(),
                    name if is_required => variable(name),
                    _ => parameter["example"].clone(),
                };
                json!({
                    "key": parameter["name"], "value": value, "description": parameter["description"],
                    // Optional parameters are disabled until the user enables them.
                    "disabled": !is_required,
                })
            })
            .collect()
    }

    fn resolved(&self, value: &'a Value) -> &'a Value {
        let shared =
            value["$ref"].as_str().and_then(|shared| self.document.pointer(shared.trim_start_matches('#')));
        shared.unwrap_or(value)
    }

    /// Returns the script that checks the answer and stores the tokens of which the document's links tell.
    fn tests(&self) -> Vec<String> {
        let responses = self.described["responses"].as_object();
        let success = || {
            responses.into_iter().flatten().map(|(status, _)| status.as_str()).find(|status| *status < "300")
        };
        let status = chain::refused(self.id()).or_else(success).unwrap_or_default();
        let response = self.resolved(&self.described["responses"][status]);
        let mut script =
            vec![format!("pm.test('the status is {status}', () => pm.response.to.have.status({status}))")];
        let schema = &response["content"]["application/json"]["schema"];
        if let Some(name) = schema["$ref"].as_str().and_then(|named| named.strip_prefix(SCHEMAS)) {
            script.push("const components = JSON.parse(pm.collectionVariables.get('components'))".to_owned());
            script.push(format!(
                "pm.test('the body is {name}', () => pm.response.to.have.jsonSchema({{ allOf: [{schema}], components }}, {{ unknownFormats: 'ignore' }}))"
            ));
        }
        let links = response["links"].as_object().into_iter().flatten();
        let mut stored: Map<_, _> =
            links.filter_map(|(_, link)| link["parameters"].as_object().cloned()).flatten().collect();
        if self.id() == "create_charge" {
            stored.insert("redirect_url".to_owned(), "$response.body#/response/redirect_url".into());
        }
        for (name, value) in &stored {
            let Some(place) = value.as_str().and_then(|value| value.strip_prefix("$response.body#/")) else {
                continue;
            };
            let keys = place.replace('/', "']?.['");
            let get = format!("pm.response.json()?.['{keys}']");
            script.push(format!("if ({get}) pm.collectionVariables.set('{name}', {get})"));
        }
        script
    }
}

/// Returns the request of the cardholder's browser that approves a payment.
fn approval() -> Value {
    let token = "pm.response.headers.get('Location').split('session_token=')[1]";
    json!({
        "name": "Approve a payment as its cardholder.",
        "protocolProfileBehavior": { "followRedirects": false },
        "request": {
            "method": "POST",
            "auth": { "type": "noauth" },
            "url": "{{redirect_url}}",
            "body": { "mode": "urlencoded", "urlencoded": [{ "key": "decision", "value": "approve" }] },
        },
        "event": [{ "listen": "test", "script": { "type": "text/javascript", "exec": [
            format!("pm.collectionVariables.set('session_token', {token})"),
        ] } }],
    })
}

fn variable(name: &str) -> Value {
    format!("{{{{{name}}}}}").into()
}

/// Returns an example body with changes, in which tokens and the address of webhooks are variables.
fn sent(example: &Value, changes: &Map<String, Value>) -> Value {
    let mut body = example.as_object().cloned().unwrap_or_default();
    for (name, value) in &mut body {
        if value.is_string() && name.ends_with("_token") {
            *value = variable(name);
        } else if value == "https://example.com/webhooks" {
            *value = variable("webhook_url");
        }
    }
    body.extend(changes.clone());
    body.into()
}

/// Returns the parts of an upload; the user chooses `file`.
fn upload(example: &Value) -> Vec<Value> {
    let parts = example.as_object().into_iter().flatten();
    parts
        .map(|(name, value)| match name.as_str() {
            "file" => json!({ "key": name, "type": "file", "src": value }),
            _ => json!({ "key": name, "type": "text", "value": value }),
        })
        .collect()
}
