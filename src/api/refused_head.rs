//! The answer to a request that stands for a refused head.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use web::frame::RefusedHead;

use crate::error::{Error, ErrorCode};

/// Middleware around the routes: answers requests that stand for a refused head.
pub async fn refuse(request: Request, next: Next) -> Response {
    let Some(refused) = request.extensions().get::<RefusedHead>() else { return next.run(request).await };
    let mut response = Error::explained(ErrorCode::BadRequest, refused.why).into_response();
    *response.status_mut() = refused.status;
    response
}
