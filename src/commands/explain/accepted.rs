//! What an operation accepts for a parameter, in words, from the OpenAPI document.

use serde_json::Value;

/// How many references are followed: the document's are shorter.
const DEPTH: usize = 16;

/// Returns what the operation accepts for a parameter; `None` if the document does not say.
pub fn accepted(document: &Value, operation: &Value, param: &str) -> Option<String> {
    let mut named =
        operation["parameters"].as_array().into_iter().flatten().map(|named| resolved(document, named));
    if let Some(named) = named.find(|named| named["name"] == param) {
        return words(document, &named["schema"], named["description"].as_str());
    }
    let contents = operation["requestBody"]["content"].as_object()?;
    contents.values().find_map(|content| {
        let mut schema = &content["schema"];
        for name in param.split('.') {
            schema = property(document, schema, name, DEPTH)?;
        }
        words(document, schema, None)
    })
}

/// Follows the references of a value.
fn resolved<'a>(document: &'a Value, mut value: &'a Value) -> &'a Value {
    for _ in 0..DEPTH {
        let target =
            value["$ref"].as_str().and_then(|target| document.pointer(target.trim_start_matches('#')));
        match target {
            Some(target) => value = target,
            None => break,
        }
    }
    value
}

/// Returns the schema of a property, which may be in a part of a schema.
fn property<'a>(document: &'a Value, schema: &'a Value, name: &str, depth: usize) -> Option<&'a Value> {
    let schema = resolved(document, schema);
    if let Some(found) = schema["properties"].get(name) {
        return Some(found);
    }
    parts(schema).find_map(|part| property(document, part, name, depth.checked_sub(1)?))
}

fn parts(schema: &Value) -> impl Iterator<Item = &Value> {
    let parts = ["allOf", "oneOf", "anyOf"].into_iter().filter_map(|kind| schema[kind].as_array());
    parts.flatten()
}

/// Returns a schema in words: its description, then its limits.
fn words(document: &Value, schema: &Value, description: Option<&str>) -> Option<String> {
    let mut texts = Vec::new();
    let own = schema["description"].as_str().or(description);
    let schema = resolved(document, schema);
    texts.extend(
        own.or_else(|| schema["description"].as_str()).map(|text| text.trim_end_matches('.').to_owned()),
    );
    let candidates: Vec<_> =
        std::iter::once(schema).chain(parts(schema).map(|part| resolved(document, part))).collect();
    let first = |name: &str| candidates.iter().map(|part| &part[name]).find(|value| !value.is_null());
    if let Some(values) = first("enum").and_then(Value::as_array) {
        let values: Vec<_> = values.iter().filter(|value| !value.is_null()).map(plain).collect();
        texts.push(format!("one of {}", values.join(", ")));
    }
    for (name, before) in
        [("minimum", "at least"), ("maximum", "at most"), ("minLength", "at least"), ("maxLength", "at most")]
    {
        let unit = if name.ends_with("Length") { " characters" } else { "" };
        texts.extend(first(name).map(|limit| format!("{before} {}{unit}", plain(limit))));
    }
    texts.extend(first("pattern").map(|pattern| format!("of the form {}", plain(pattern))));
    let examples = first("examples").and_then(|examples| examples.get(0));
    texts.extend(first("example").or(examples).map(|example| format!("such as {}", plain(example))));
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_parameter_is_found_in_references_and_choices() {
        let document = json!({ "components": {
            "schemas": {
                "Charge": { "allOf": [{ "properties": { "amount": { "description": "In cents.", "minimum": 1, "example": 400 } } },
                                      { "$ref": "#/components/schemas/Paid" }] },
                "Paid": { "properties": { "card": { "$ref": "#/components/schemas/Card" } } },
                "Card": { "properties": { "kind": { "enum": ["a", "b", null] } } },
            },
            "parameters": { "Page": { "name": "page", "description": "The page.", "schema": { "maximum": 9 } } },
        } });
        let operation = json!({
            "parameters": [{ "$ref": "#/components/parameters/Page" }],
            "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Charge" } } } },
        });
        for (param, words) in [
            ("amount", Some("In cents; at least 1; such as 400")),
            ("card.kind", Some("one of a, b")),
            ("page", Some("The page; at most 9")),
            ("card.none", None),
            ("none", None),
        ] {
            assert_eq!(accepted(&document, &operation, param).as_deref(), words, "{param}");
        }
        assert_eq!(accepted(&document, &json!({}), "amount"), None);
    }
}
