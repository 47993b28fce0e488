//! Operations: their routes, and their descriptions.

use axum::Router;
use axum::routing::MethodRouter;

use super::descriptions::{Describe, Descriptions};
use super::state::AppState;

/// Operations under /1.
#[derive(Default)]
pub struct Operations {
    routes: Router<AppState>,
    descriptions: Descriptions,
}

impl Operations {
    /// Adds the operations of a path, as `routes!` returns them.
    pub fn routes(mut self, (path, handlers, describe): (String, MethodRouter<AppState>, Describe)) -> Self {
        self.routes = self.routes.route(&path, handlers);
        self.descriptions.push(describe);
        self
    }

    /// Adds other operations behind these.
    pub fn merge(mut self, other: Self) -> Self {
        self.routes = self.routes.merge(other.routes);
        self.descriptions = self.descriptions.merge(other.descriptions);
        self
    }

    pub fn router(self) -> Router<AppState> {
        Router::new().nest("/1", self.routes)
    }

    pub fn descriptions(self) -> Descriptions {
        self.descriptions
    }
}

/// The operations of a path by their handlers: as `utoipa_axum::routes!`, which takes path and method from the annotation, but
/// without describing them yet, and with handlers of one type.
macro_rules! routes {
    (@on $handlers:expr, $handler:path) => {
        utoipa_axum::paste! { utoipa_axum::routes!(@path [methods()] of $handler) }
            .iter()
            .fold($handlers, |handlers, method| {
                handlers.on(utoipa_axum::PathItemExt::to_method_filter(method), web::handlers::AnyHandler::new($handler))
            })
    };
    ($first:path $(, $other:path)* $(,)?) => {{
        let path = utoipa_axum::paste! { utoipa_axum::routes!(@path [path()] of $first) };
        let handlers = $crate::api::operations::routes!(@on axum::routing::MethodRouter::new(), $first);
        $(let handlers = $crate::api::operations::routes!(@on handlers, $other);)*
        (path, handlers, || {
            let (mut schemas, mut paths) = (Vec::new(), utoipa::openapi::Paths::new());
            for (path, operation, methods) in [
                utoipa_axum::routes!(@resolve_types $first : schemas)
                $(, utoipa_axum::routes!(@resolve_types $other : schemas))*
            ] {
                paths.add_path_operation(path, methods, operation);
            }
            (schemas, paths)
        })
    }};
}
pub(crate) use routes;
