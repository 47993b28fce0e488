//! Handlers of one type.
//!
//! axum wraps each handler in nine generic layers. For each type of handler, the compiler makes all of them, and proves that every
//! future in them may change its thread; for one type it does so once (`docs/measuring.md`).

use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{self, MethodRouter};
use futures::future::BoxFuture;

/// A handler whose type does not name its function.
#[derive(Clone)]
pub struct AnyHandler<S>(Arc<dyn Fn(Request, S) -> BoxFuture<'static, Response> + Send + Sync>);

impl<S: 'static> AnyHandler<S> {
    /// Takes a function of extractors, whose future axum boxes anyhow.
    pub fn new<H, T>(handler: H) -> Self
    where
        H: Handler<T, S, Future = BoxFuture<'static, Response>>,
    {
        Self(Arc::new(move |request, state| handler.clone().call(request, state)))
    }
}

impl<S: Clone + 'static> Handler<(), S> for AnyHandler<S> {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, state: S) -> Self::Future {
        (self.0)(request, state)
    }
}

/// Routes GET and HEAD to a handler.
pub fn get<H, T, S>(handler: H) -> MethodRouter<S>
where
    H: Handler<T, S, Future = BoxFuture<'static, Response>>,
    S: Clone + Send + Sync + 'static,
{
    routing::get(AnyHandler::new(handler))
}

/// Routes POST to a handler.
pub fn post<H, T, S>(handler: H) -> MethodRouter<S>
where
    H: Handler<T, S, Future = BoxFuture<'static, Response>>,
    S: Clone + Send + Sync + 'static,
{
    routing::post(AnyHandler::new(handler))
}
