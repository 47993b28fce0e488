//! The OpenAPI document as the server serves it.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

use super::descriptions::Descriptions;
use super::openapi;
use super::openapi::editions::{Bodies, Edition, Samples, edited};
use super::representations::Representations;
use super::server_info::ServerInfo;
use crate::config::Environment;

/// The served OpenAPI document. Each format is built for the first client that wants it: building takes as long as the
/// rest of a start, and many servers are never asked.
#[derive(Debug, Default)]
pub struct Document {
    operations: Descriptions,
    sandbox: Descriptions,
    yaml: Editions,
    json: Editions,
    llms: OnceLock<Representations>,
    postman: OnceLock<Representations>,
    columns: OnceLock<HashMap<String, openapi::Columns>>,
}

/// The document that a client asks for.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct DocumentChoice {
    bodies: Bodies,
    edition: Edition,
    samples: Samples,
}

/// The served documents of one format.
#[derive(Debug, Default)]
struct Editions([OnceLock<Representations>; 8]);

impl Editions {
    const fn get(
        &self,
        DocumentChoice { bodies, edition, samples }: DocumentChoice,
    ) -> &OnceLock<Representations> {
        &self.0[bodies as usize + 2 * edition as usize + 4 * samples as usize]
    }
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
        openapi::served(document, info.named.as_deref(), &info.base_url, info.base_path())
    }

    fn chosen(&self, info: &ServerInfo, choice: DocumentChoice) -> Value {
        edited(self.own(info), choice.bodies, choice.edition, choice.samples)
    }

    pub fn yaml<'a>(&'a self, info: &ServerInfo, choice: DocumentChoice) -> &'a Representations {
        let text = || openapi::yaml(&self.chosen(info, choice));
        self.yaml.get(choice).get_or_init(|| Representations::new("application/yaml", text()))
    }

    pub fn json<'a>(&'a self, info: &ServerInfo, choice: DocumentChoice) -> &'a Representations {
        let text = || self.chosen(info, choice).to_string();
        self.json.get(choice).get_or_init(|| Representations::new("application/json", text()))
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
