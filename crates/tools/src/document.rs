//! The operations of the API's document: which one a request calls, and what it may be answered.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::known_api::KnownApi;

pub struct Operation {
    /// The method, in capitals.
    pub method: String,
    /// The path, with its parameters in braces.
    pub path: String,
    /// The section of the document, in small letters: `bank_accounts`.
    pub section: String,
    /// The statuses and codes of its errors, but for those that only strict handling causes.
    pub errors: Vec<(u16, String)>,
    /// Whether it answers a page of a list.
    pub has_pages: bool,
    /// The names of what it reads, with those of all nested parameters; none if it takes other names as well.
    parameters: BTreeSet<String>,
}

impl Operation {
    /// Returns method and path.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Returns whether it reads a parameter of this name, anywhere.
    pub fn reads(&self, name: &str) -> bool {
        self.parameters.contains(name)
    }

    /// Returns whether this is its path; and if so, how many segments of it are parameters.
    fn fits(&self, path: &str) -> Option<usize> {
        let (mut own, mut given, mut parameters) = (self.path.split('/'), path.split('/'), 0);
        loop {
            match (own.next(), given.next()) {
                (None, None) => return Some(parameters),
                (Some(own), Some(given)) if own.starts_with('{') && !given.is_empty() => parameters += 1,
                (Some(own), Some(given)) if own == given => {}
                (Some(_), Some(_) | None) | (None, Some(_)) => return None,
            }
        }
    }
}

#[derive(Default)]
pub struct Operations(Vec<Operation>);

impl Operations {
    /// Reads them from the document.
    pub fn new(api: &KnownApi) -> Self {
        let (document, strict_only) = (&(api.document)(), api.strict_only);
        let paths = document["paths"].as_object().into_iter().flatten();
        let operations = paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.filter_map(move |(method, described)| {
                operation(document, strict_only, method, path, described)
            })
        });
        Self(operations.collect())
    }

    /// Returns all of them, in the order of the document.
    pub fn iter(&self) -> impl Iterator<Item = &Operation> {
        self.0.iter()
    }

    /// Returns the operation of a request. A path of words only goes before one with parameters.
    pub fn find(&self, method: &str, path: &str) -> Option<&Operation> {
        let called = self.0.iter().filter(|operation| operation.method == method);
        called
            .filter_map(|operation| Some((operation.fits(path)?, operation)))
            .min_by_key(|(fit, _)| *fit)
            .map(|(_, it)| it)
    }
}

fn operation(
    document: &Value,
    strict_only: &str,
    method: &str,
    path: &str,
    described: &Value,
) -> Option<Operation> {
    let section = described["tags"][0].as_str()?.to_lowercase().replace(' ', "_");
    let query: Vec<_> =
        described["parameters"].as_array().into_iter().flatten().map(|it| resolved(document, it)).collect();
    let mut parameters: BTreeSet<_> =
        query.iter().filter_map(|it| it["name"].as_str()).map(str::to_owned).collect();
    let has_pages = parameters.contains("page");
    for content in
        described["requestBody"]["content"].as_object().into_iter().flatten().map(|(_, content)| content)
    {
        add_names(document, &content["schema"], DEPTH_MAX, &mut parameters);
    }
    let responses = described["responses"].as_object().into_iter().flatten();
    let errors = responses.flat_map(|(status, response)| {
        let status: u16 = status.parse().unwrap_or_default();
        let response = resolved(document, response);
        let examples = response["content"]["application/json"]["examples"].as_object();
        let names = examples.into_iter().flat_map(Map::keys);
        let described = response["description"].as_str().unwrap_or_default();
        let has_strict = described.contains(strict_only);
        let is_strict_only = move |name: &str| has_strict && name == "invalid_resource";
        names
            .filter(move |name| status >= 400 && !is_strict_only(name))
            .map(move |name| (status, name.clone()))
    });
    let (method, path) = (method.to_uppercase(), path.to_owned());
    Some(Operation { errors: errors.collect(), method, path, section, has_pages, parameters })
}

/// Returns what a reference names, or the value itself.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let named = value["$ref"].as_str().and_then(|name| document.pointer(name.trim_start_matches('#')));
    named.unwrap_or(value)
}

/// The greatest depth to which parameters are nested: a schema that contains itself ends here.
const DEPTH_MAX: u32 = 8;

/// Adds the names of all properties of a schema.
fn add_names(document: &Value, schema: &Value, depth: u32, names: &mut BTreeSet<String>) {
    let (schema, Some(depth)) = (resolved(document, schema), depth.checked_sub(1)) else { return };
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        names.insert(name.clone());
        add_names(document, property, depth, names);
    }
    for part in ["allOf", "anyOf", "oneOf"] {
        for part in schema[part].as_array().into_iter().flatten() {
            add_names(document, part, depth, names);
        }
    }
    if let Some(items) = schema.get("items") {
        add_names(document, items, depth, names);
    }
}
