//! What every answer has (specification, Conventions; `docs/decisions.md`, 11 to 19).

mod failures;
mod form;
mod headers;
mod paging;
mod paths;
mod strict;
mod tokens;

use std::sync::LazyLock;

use http::Method;
use serde_json::Value;

use crate::harness::app::DOCUMENT;

/// An operation of the document.
#[derive(Clone)]
pub struct Operation {
    pub method: Method,
    /// With its parameters in braces.
    pub path: String,
    pub described: Value,
}

impl Operation {
    /// The path with this token in place of every parameter.
    pub fn at(&self, token: &str) -> String {
        let segments =
            self.path.split('/').map(|segment| if segment.starts_with('{') { token } else { segment });
        segments.collect::<Vec<_>>().join("/")
    }

    pub fn takes_token(&self) -> bool {
        self.path.contains('{')
    }

    pub fn is_list(&self) -> bool {
        let parameters = self.described["parameters"].as_array();
        self.method == Method::GET
            && parameters.into_iter().flatten().any(|parameter| parameter["name"] == "page")
    }
}

/// Returns every operation that the document names.
pub fn operations() -> Vec<Operation> {
    static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(described);
    OPERATIONS.clone()
}

fn described() -> Vec<Operation> {
    let document = &*DOCUMENT;
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, described) in methods.as_object().unwrap() {
            if let Ok(method) = method.to_uppercase().parse() {
                let mut described = described.clone();
                for response in described["responses"].as_object_mut().unwrap().values_mut() {
                    if let Some(shared) = response["$ref"].as_str() {
                        *response = document.pointer(shared.trim_start_matches('#')).unwrap().clone();
                    }
                }
                for parameter in described["parameters"].as_array_mut().into_iter().flatten() {
                    if let Some(shared) = parameter["$ref"].as_str() {
                        *parameter = document.pointer(shared.trim_start_matches('#')).unwrap().clone();
                    }
                }
                // HEAD is answered wherever GET is, also where the document does not name it.
                if method == Method::GET && methods.get("head").is_none() {
                    let (method, described) = (Method::HEAD, described.clone());
                    operations.push(Operation { method, path: path.clone(), described });
                }
                operations.push(Operation { method, path: path.clone(), described });
            }
        }
    }
    assert!(operations.len() > 20, "the document names its operations");
    operations
}

/// Returns a token that is well-formed for this prefix, and unknown.
pub fn unknown(prefix: &str) -> String {
    format!("{prefix}AAAAAAAAAAAAAAAAAAAAAA")
}
