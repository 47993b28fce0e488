//! The document for programs that read less than all of it: with JSON bodies only, and as OpenAPI 3.0. Both are made of the whole
//! document by rule, so nothing is written twice.

use clap::ValueEnum;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{operations, samples};

/// The bodies that the document describes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bodies {
    /// Those of every media type.
    #[default]
    All,
    /// JSON where there is JSON. Generators that write a client for each media type make one for JSON of it.
    Json,
}

/// Which OpenAPI the document is written in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ValueEnum)]
pub enum Edition {
    /// OpenAPI 3.1.
    #[default]
    #[serde(rename = "3.1")]
    #[value(name = "3.1")]
    V31,
    /// OpenAPI 3.0, for programs that read no later one. It cannot describe webhooks, but callbacks.
    #[serde(rename = "3.0")]
    #[value(name = "3.0")]
    V30,
}

/// The samples of operations, which show how a program calls them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Samples {
    /// No samples: generators read none.
    #[default]
    None,
    /// As code, for pages that are made of the document.
    Code,
}

/// Returns the document with these bodies and samples, in this edition.
pub fn edited(mut document: Value, bodies: Bodies, edition: Edition, samples: Samples) -> Value {
    if samples == Samples::Code {
        samples::add(&mut document);
    }
    if bodies == Bodies::Json {
        json_bodies(&mut document);
    }
    if edition == Edition::V30 {
        to_3_0(&mut document);
    }
    document
}

const JSON: &str = "application/json";

fn json_bodies(document: &mut Value) {
    for (.., operation) in operations(document) {
        let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
        responses.into_iter().flat_map(Map::values_mut).for_each(json_body);
        operation.get_mut("requestBody").into_iter().for_each(json_body);
    }
}

fn json_body(message: &mut Value) {
    let content = message.get_mut("content").and_then(Value::as_object_mut);
    if let Some(content) = content.filter(|content| content.contains_key(JSON)) {
        content.retain(|media, _| media == JSON);
    }
}

fn to_3_0(document: &mut Value) {
    document["openapi"] = "3.0.3".into();
    if let Some(license) = document["info"]["license"].as_object_mut()
        && let Some(identifier) = license.shift_remove("identifier").as_ref().and_then(Value::as_str)
    {
        license.insert("url".into(), format!("https://spdx.org/licenses/{identifier}.html").into());
    }
    if let Some(document) = document.as_object_mut() {
        document.shift_remove("webhooks");
    }
    if let Some(components) = document["components"].as_object_mut() {
        components.shift_remove("pathItems");
    }
    let schemas = document["components"]["schemas"].as_object_mut();
    let named = schemas.as_ref().map(|schemas| (**schemas).clone()).unwrap_or_default();
    schemas.into_iter().flat_map(Map::values_mut).for_each(|schema| schema_3_0(schema, &named));
    for part in ["paths", "components"] {
        schemas_inside(&mut document[part], &named);
    }
}

/// Rewrites the schemas of parameters, headers and bodies.
fn schemas_inside(value: &mut Value, named: &Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "schema" => schema_3_0(value, named),
                    // Bodies, which may have any fields, and the schemas that are rewritten already.
                    "example" | "examples" | "schemas" => {}
                    _ => schemas_inside(value, named),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| schemas_inside(item, named)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Keywords that OpenAPI 3.0 lacks, and without which a schema still allows all that it allowed.
const UNKNOWN: [&str; 12] = [
    "$comment",
    "contentEncoding",
    "contentMediaType",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedProperties",
];

/// Rewrites a schema, and those inside of it. References lead to the named schemas.
fn schema_3_0(schema: &mut Value, named: &Map<String, Value>) {
    let Some(keywords) = schema.as_object_mut() else { return };
    keywords.retain(|keyword, _| !UNKNOWN.contains(&keyword.as_str()));
    nullable(keywords, named);
    reference(keywords);
    if let Some(only) = keywords.shift_remove("const") {
        keywords.insert("enum".into(), json!([only]));
    }
    if let Some(examples) = keywords.shift_remove("examples")
        && let Some(first) = examples.get(0)
    {
        keywords.entry("example").or_insert_with(|| first.clone());
    }
    for (exclusive, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(value) = keywords.get_mut(exclusive).filter(|value| value.is_number()) {
            let value = std::mem::replace(value, true.into());
            keywords.insert(limit.into(), value);
        }
    }
    let rewrite = |schema: &mut Value| schema_3_0(schema, named);
    for (keyword, value) in keywords {
        match keyword.as_str() {
            "properties" => value.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(rewrite),
            "allOf" | "anyOf" | "oneOf" => value.as_array_mut().into_iter().flatten().for_each(rewrite),
            "items" | "additionalProperties" | "not" => rewrite(value),
            _ => {}
        }
    }
}

/// Writes "or null" as `nullable`: in a list of types, and of alternatives. The one alternative to null is written in place, because
/// a reference beside `nullable` would still forbid null; of an enum there is only its type, which allows null, too, and of which no
/// generator makes a type of its own.
fn nullable(keywords: &mut Map<String, Value>, named: &Map<String, Value>) {
    let is_null = |value: &Value| *value == "null" || value["type"] == "null";
    let mut or_null = false;
    for kind in ["oneOf", "anyOf"] {
        let Some(alternatives) = keywords.get_mut(kind).and_then(Value::as_array_mut) else { continue };
        let all = alternatives.len();
        alternatives.retain(|alternative| !is_null(alternative));
        if alternatives.len() == all {
            continue;
        }
        or_null = true;
        if let [only] = alternatives.as_mut_slice() {
            let only = only.take();
            keywords.shift_remove(kind);
            let target = only["$ref"].as_str().and_then(|path| named.get(path.rsplit('/').next()?));
            for schema in [Some(&only), target] {
                for (keyword, value) in schema.and_then(Value::as_object).into_iter().flatten() {
                    if !["$ref", "enum"].contains(&keyword.as_str()) {
                        keywords.entry(keyword).or_insert_with(|| value.clone());
                    }
                }
            }
        }
    }
    if let Some(Value::Array(types)) = keywords.get_mut("type") {
        or_null |= types.iter().any(is_null);
        types.retain(|name| *name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            keywords["type"] = only;
        } else if let Some(types) = keywords.shift_remove("type") {
            let each = types.as_array().into_iter().flatten().map(|name| json!({ "type": name }));
            keywords.insert("anyOf".into(), each.collect());
        }
    }
    if or_null {
        keywords.insert("nullable".into(), true.into());
    }
}

/// Gives a reference with other keywords beside it, which OpenAPI 3.0 does not read, a place of its own.
fn reference(keywords: &mut Map<String, Value>) {
    if keywords.len() > 1
        && let Some(target) = keywords.shift_remove("$ref")
    {
        keywords.shift_insert(0, "allOf".into(), json!([{ "$ref": target }]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(mut schema: Value) -> Value {
        let named = json!({
            "a": { "description": "A word.", "type": "string", "enum": ["x"] },
            "b": { "type": "object", "properties": { "c": { "type": ["string", "null"] } } },
        });
        schema_3_0(&mut schema, named.as_object().expect("an object"));
        schema
    }

    #[test]
    fn a_value_that_may_be_null_is_nullable() {
        for (schema, expected) in [
            (json!({ "type": ["string", "null"] }), json!({ "type": "string", "nullable": true })),
            (json!({ "type": ["string"] }), json!({ "type": "string" })),
            (
                json!({ "type": ["string", "integer", "null"] }),
                json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }], "nullable": true }),
            ),
            (
                json!({ "oneOf": [{ "$ref": "#/a", "description": "A card." }, { "type": "null" }] }),
                json!({ "description": "A card.", "type": "string", "nullable": true }),
            ),
            (
                json!({ "oneOf": [{ "$ref": "#/b" }, { "type": "null" }] }),
                json!({ "type": "object", "properties": { "c": { "type": "string", "nullable": true } }, "nullable": true }),
            ),
            (
                json!({ "oneOf": [{ "$ref": "#/a" }, { "$ref": "#/b" }, { "type": "null" }] }),
                json!({ "oneOf": [{ "$ref": "#/a" }, { "$ref": "#/b" }], "nullable": true }),
            ),
        ] {
            assert_eq!(rewritten(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn keywords_of_3_1_are_written_as_those_of_3_0() {
        for (schema, expected) in [
            (json!({ "const": "a" }), json!({ "enum": ["a"] })),
            (json!({ "examples": ["a", "b"] }), json!({ "example": "a" })),
            (json!({ "examples": [], "example": "a" }), json!({ "example": "a" })),
            (json!({ "exclusiveMinimum": 0 }), json!({ "exclusiveMinimum": true, "minimum": 0 })),
            (json!({ "type": "object", "propertyNames": { "maxLength": 40 } }), json!({ "type": "object" })),
            (
                json!({ "$ref": "#/a", "description": "A card." }),
                json!({ "allOf": [{ "$ref": "#/a" }], "description": "A card." }),
            ),
            (json!({ "$ref": "#/a" }), json!({ "$ref": "#/a" })),
        ] {
            assert_eq!(rewritten(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn a_field_may_have_the_name_of_a_keyword() {
        let schema = json!({ "properties": { "examples": { "type": ["string", "null"] }, "if": { "type": "string" } } });
        let expected = json!({ "properties": { "examples": { "type": "string", "nullable": true }, "if": { "type": "string" } } });
        assert_eq!(rewritten(schema), expected);
    }
}
