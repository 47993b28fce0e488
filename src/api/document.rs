//! The OpenAPI document as the server serves it.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value;

use super::descriptions::Descriptions;
use super::openapi;
use super::representations::Representations;
use super::server_info::ServerInfo;
use crate::config::Environment;

/// The served OpenAPI document. Each format is built for the first client that wants it: building takes as long as the
/// rest of a start, and many servers are never asked.
#[derive(Debug, Default)]
pub struct Document {
    operations: Descriptions,
    sandbox: Descriptions,
    yaml: OnceLock<Representations>,
    json: OnceLock<Representations>,
    llms: OnceLock<Representations>,
    postman: OnceLock<Representations>,
    columns: OnceLock<HashMap<String, openapi::Columns>>,
}

impl Document {
    /// Creates the document of the operations of every environment, and of those of the sandbox.
    pub fn new(operations: Descriptions, sandbox: Descriptions) -> Self {
        Self { operations, sandbox, ..Self::default() }
    }

    /// Returns the finished document, with the sandbox.
    pub fn complete(&self) -> Value {
        described(&self.operations.clone().merge(self.sandbox.clone()))
    }

    /// Returns the document of this server's own operations.
    pub fn own(&self, info: &ServerInfo) -> Value {
        let document = match info.environment {
            Environment::Test => self.complete(),
            Environment::Live => openapi::live(described(&self.operations)),
        };
        openapi::served(document, info.named.as_deref(), info.base_path())
    }

    /// Returns it as YAML.
    pub fn yaml<'a>(&'a self, info: &ServerInfo) -> &'a Representations {
        let text = || openapi::yaml(&self.own(info));
        self.yaml.get_or_init(|| Representations::new("application/yaml", text()))
    }

    /// Returns it as JSON.
    pub fn json<'a>(&'a self, info: &ServerInfo) -> &'a Representations {
        let text = || self.own(info).to_string();
        self.json.get_or_init(|| Representations::new("application/json", text()))
    }

    /// Returns it as a collection of requests for Postman and compatible programs.
    pub fn postman<'a>(&'a self, info: &ServerInfo) -> &'a Representations {
        let text = || openapi::postman::collection(&self.own(info)).to_string();
        self.postman.get_or_init(|| Representations::new("application/json", text()))
    }

    /// Returns the columns of a list as CSV, if the path is one.
    pub fn columns(&self, path: &str) -> Option<openapi::Columns> {
        self.columns.get_or_init(|| openapi::columns(&self.complete())).get(path).cloned()
    }

    /// Returns its short form for language models.
    pub fn llms<'a>(&'a self, info: &ServerInfo) -> &'a Representations {
        let text = || openapi::llms::text(&self.own(info), &info.base_url, info.environment.name());
        self.llms.get_or_init(|| Representations::new("text/plain; charset=utf-8", text()))
    }
}

fn described(operations: &Descriptions) -> Value {
    openapi::finished(&operations.document())
}
