//! `x-codeSamples`: how a program calls each operation, with curl, with the published clients (`packages/clients`), and in C# with the
//! classes of its platform. They are made by rule of the operation's example, and stand in a document of their own, because no generator
//! reads them.

mod languages;
mod literals;

use serde_json::{Map, Value, json};

use super::examples::of_success;
use super::names::SCHEMAS;
use super::operations;

/// Adds the samples to every operation.
pub(super) fn add(document: &mut Value) {
    let described = document.clone();
    for (path, method, operation) in operations(document) {
        let call = Call::new(&described, path, method, &described["paths"][path][method]);
        // Clients take files each in their own way.
        let languages = if call.upload.is_some() { &languages::ALL[..1] } else { languages::ALL };
        let sample = |(lang, label, write): &languages::Language| json!({ "lang": lang, "label": label, "source": write(&call) });
        operation.insert("x-codeSamples".to_owned(), languages.iter().map(sample).collect());
    }
}

/// A call of an operation with its example values.
struct Call<'a> {
    id: &'a str,
    section: &'a str,
    method: &'a str,
    /// Whether anything may be given.
    has_parameters: bool,
    /// The path with values in it.
    path: String,
    /// The values of the path, by name.
    path_values: Vec<(&'a str, &'a str)>,
    /// The required values of the query, by name.
    query: Vec<(&'a str, &'a str)>,
    body: Option<Body<'a>>,
    /// The parts of a form with a file.
    upload: Option<&'a Map<String, Value>>,
    /// Whether a success has a body.
    has_answer: bool,
}

/// The JSON body of a request.
struct Body<'a> {
    schema: &'a str,
    value: &'a Value,
    is_required: bool,
}

impl<'a> Call<'a> {
    fn new(document: &'a Value, path: &str, method: &'a str, operation: &'a Value) -> Self {
        let resolved = |value: &'a Value| {
            let shared =
                value["$ref"].as_str().and_then(|shared| document.pointer(shared.trim_start_matches('#')));
            shared.unwrap_or(value)
        };
        let parameters: Vec<_> =
            operation["parameters"].as_array().into_iter().flatten().map(resolved).collect();
        let required = |place| {
            let parameters = parameters.iter().filter(move |parameter| parameter["in"] == place);
            parameters.filter(|parameter| parameter["required"] == true).map(|parameter| named(parameter))
        };
        let path_values: Vec<_> = required("path").collect();
        let query: Vec<_> = required("query").collect();
        let filled = |path: String, (name, value): &(&str, &str)| path.replace(&format!("{{{name}}}"), value);
        let responses = operation["responses"].as_object().into_iter().flatten();
        let success = responses.filter(|(status, _)| status.as_str() < "300").map(|(_, response)| response);
        Self {
            id: operation["operationId"].as_str().unwrap_or_default(),
            section: operation["tags"][0].as_str().unwrap_or_default(),
            method,
            has_parameters: !parameters.is_empty() || operation.get("requestBody").is_some(),
            path: path_values.iter().fold(path.to_owned(), filled),
            path_values,
            query,
            body: body(&operation["requestBody"]),
            upload: of_success(&operation["requestBody"]["content"]["multipart/form-data"]).as_object(),
            has_answer: success.map(resolved).any(|response| response.get("content").is_some()),
        }
    }
}

/// Returns a parameter's name and example.
fn named(parameter: &Value) -> (&str, &str) {
    let name = parameter["name"].as_str().unwrap_or_default();
    let example = parameter.get("example").or_else(|| parameter["schema"].get("example"));
    (name, example.and_then(Value::as_str).unwrap_or(name))
}

fn body(body: &Value) -> Option<Body<'_>> {
    let json = body["content"].get("application/json")?;
    Some(Body {
        schema: json["schema"]["$ref"].as_str()?.strip_prefix(SCHEMAS)?,
        value: of_success(json),
        is_required: body["required"] == true,
    })
}
