//! Operations: their routes, and their descriptions. A server describes them for the first reader of the document, because that
//! takes longer than the rest of a start.

use axum::Router;
use axum::routing::MethodRouter;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::AppState;

/// Describes the operations of a path.
type Describe = fn() -> UtoipaMethodRouter<AppState>;

/// Operations under /1.
#[derive(Default)]
pub struct Operations {
    routes: Router<AppState>,
    describe: Vec<Describe>,
}

impl Operations {
    /// Adds the operations of a path, as `routes!` returns them.
    pub fn routes(mut self, (path, handlers, describe): (String, MethodRouter<AppState>, Describe)) -> Self {
        self.routes = self.routes.route(&path, handlers);
        self.describe.push(describe);
        self
    }

    /// Adds other operations behind these.
    pub fn merge(mut self, other: Self) -> Self {
        self.routes = self.routes.merge(other.routes);
        self.describe.extend(other.describe);
        self
    }

    /// Returns their routes.
    pub fn router(self) -> Router<AppState> {
        Router::new().nest("/1", self.routes)
    }

    /// Returns their descriptions.
    pub fn document(&self) -> OpenApi {
        let described =
            self.describe.iter().fold(OpenApiRouter::new(), |all, describe| all.routes(describe()));
        OpenApiRouter::new().nest("/1", described).into_openapi()
    }
}

/// The operations of a path by their handlers: as `utoipa_axum::routes!`, which takes path and method from the annotation, but
/// without describing them yet.
macro_rules! routes {
    (@on $handlers:expr, $handler:path) => {
        utoipa_axum::paste! { utoipa_axum::routes!(@path [methods()] of $handler) }
            .iter()
            .fold($handlers, |handlers, method| {
                handlers.on(utoipa_axum::PathItemExt::to_method_filter(method), $handler)
            })
    };
    ($first:path $(, $other:path)* $(,)?) => {{
        let path = utoipa_axum::paste! { utoipa_axum::routes!(@path [path()] of $first) };
        let handlers = $crate::http::operations::routes!(@on axum::routing::MethodRouter::new(), $first);
        $(let handlers = $crate::http::operations::routes!(@on handlers, $other);)*
        (path, handlers, || utoipa_axum::routes!($first $(, $other)*))
    }};
}
pub(crate) use routes;
