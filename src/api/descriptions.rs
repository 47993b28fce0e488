//! The descriptions of operations, as their annotations give them, without their handlers. A server describes its operations for
//! the first reader of the document, because that takes longer than the rest of a start.

use axum::routing::MethodRouter;
use serde_json::{Map, Value};
use utoipa::openapi::{OpenApi, Paths, RefOr, Schema};
use utoipa_axum::router::OpenApiRouter;

/// Describes the operations of a path, with their schemas.
pub type Describe = fn() -> (Vec<(String, RefOr<Schema>)>, Paths);

/// The descriptions of operations under /1.
#[derive(Debug, Clone, Default)]
pub struct Descriptions(Vec<Describe>);

impl Descriptions {
    /// Adds the description of a path.
    pub fn push(&mut self, describe: Describe) {
        self.0.push(describe);
    }

    /// Adds other descriptions behind these.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub fn document(&self) -> OpenApi {
        let described = self.0.iter().fold(OpenApiRouter::<()>::new(), |all, describe| {
            let (schemas, paths) = describe();
            all.routes((schemas, paths, MethodRouter::new()))
        });
        OpenApiRouter::new().nest("/1", described).into_openapi()
    }
}

/// Returns each operation of a document, with its path and method.
pub fn operations(document: &mut Value) -> impl Iterator<Item = (&String, &String, &mut Map<String, Value>)> {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    paths
        .filter_map(|(path, methods)| Some((path, methods.as_object_mut()?)))
        .flat_map(|(path, methods)| {
            methods.into_iter().map(move |(method, operation)| (path, method, operation))
        })
        .filter_map(|(path, method, operation)| Some((path, method, operation.as_object_mut()?)))
}
