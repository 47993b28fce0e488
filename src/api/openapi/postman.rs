//! The document as a collection of requests (Postman 2.1, which Bruno and Insomnia also read).

use serde_json::{Map, Value, json};

const SCHEMA: &str = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";

/// Returns one folder per section and one request per operation, with the document's example body. `base_url`, `secret_key` and every
/// token in a path are variables.
pub fn collection(document: &Value) -> Value {
    let mut folders: Map<String, Value> = Map::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in
            methods.as_object().into_iter().flatten().filter(|(method, _)| *method != "head")
        {
            let folder = operation["tags"][0].as_str().unwrap_or_default();
            let folder = folders.entry(folder).or_insert_with(|| json!({ "name": folder, "item": [] }));
            if let Some(items) = folder["item"].as_array_mut() {
                items.push(request(document, path, method, operation));
            }
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
        "variable": [{ "key": "base_url", "value": "http://127.0.0.1:8080" }, { "key": "secret_key", "value": "" }],
        "item": folders.into_iter().map(|(_, folder)| folder).collect::<Vec<_>>(),
    })
}

fn request<'a>(document: &'a Value, path: &str, method: &str, operation: &'a Value) -> Value {
    let path = path.replace('{', ":").replace('}', "");
    let resolved = |parameter: &'a Value| match parameter["$ref"].as_str() {
        Some(shared) => document.pointer(shared.trim_start_matches('#')).unwrap_or(parameter),
        None => parameter,
    };
    // Every request needs a new key, so none is stored.
    let parameters = || {
        let all = operation["parameters"].as_array().into_iter().flatten().map(resolved);
        all.filter(|parameter| parameter["name"] != "Idempotency-Key")
    };
    let named = |place: &str| {
        let of_place = parameters().filter(|parameter| parameter["in"] == place);
        of_place
            .map(|parameter| {
                json!({
                    "key": parameter["name"], "value": parameter["example"], "description": parameter["description"],
                    // Optional parameters are disabled until the user enables them.
                    "disabled": parameter["required"] != true,
                })
            })
            .collect::<Vec<_>>()
    };
    let mut request = json!({
        "method": method.to_uppercase(),
        "description": operation["description"],
        "header": named("header"),
        "url": {
            "raw": format!("{{{{base_url}}}}{path}"),
            "host": ["{{base_url}}"],
            "path": path.trim_start_matches('/').split('/').collect::<Vec<_>>(),
            "query": named("query"),
            "variable": named("path"),
        },
    });
    if let Some(content) = operation["requestBody"]["content"].as_object() {
        request["body"] = match content.get("application/json") {
            Some(body) => json!({
                "mode": "raw", "raw": format!("{:#}", body.get("example").unwrap_or(&json!({}))),
                "options": { "raw": { "language": "json" } },
            }),
            None => {
                json!({ "mode": "formdata", "formdata": content.values().flat_map(|body| upload(&body["example"])).collect::<Vec<_>>() })
            }
        };
    }
    json!({ "name": operation["summary"], "request": request })
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
