//! The middleware of admission control, around the routes.

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use base::permits::Permit;
use base::{request_context, request_permits};
use http_body_util::BodyExt;

use super::answer::without_log;
use super::auth::basic_user;
use super::state::AppState;
use super::write_request;
use crate::error::ErrorCode;
use crate::limits::SMALL_ANSWER_BYTES;

/// Middleware: admits a request if there is a permit, and sheds a response for which there is no
/// memory.
pub async fn admit(State(app): State<AppState>, mut request: Request, next: Next) -> Response {
    // The extractors of bodies have their own limits.
    DefaultBodyLimit::disable().apply(&mut request);
    // Shedding is not a fault, and there may be thousands of such responses.
    let refused = |refused: ErrorCode| without_log(&refused.into());
    let lanes = app.admission.lanes();
    let key = basic_user(request.headers()).map(|key| lanes.fingerprint(&key));
    let known = match key {
        Some(key) => lanes.accounts.get(&key).await,
        None => None,
    };
    if let Err(code) = app.admission.enter(known).await {
        return refused(code);
    }
    // A document is the same bytes for all readers, and HEAD has no body.
    let path = request.uri().path();
    let keeps =
        request.method() == Method::GET && ["/1/", "/dashboard"].iter().any(|of| path.starts_with(of));
    let mut response = write_request::replay_after_conflict(&app, request, next).await;
    if let (Some(key), None, Some(account)) = (key, known, request_context::account()) {
        // Boxed, so that each request need not have its memory.
        Box::pin(lanes.accounts.insert(key, account)).await;
    }
    let reserved = request_permits::take_long_answer().map(|held| held.memory);
    let bytes = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    match bytes {
        // The response to a write is always sent; it is never as long as a list.
        Some(bytes) if bytes > SMALL_ANSWER_BYTES && keeps => match app.admission.memory(reserved, bytes) {
            Ok(memory) => response = with_permit(response, memory).await,
            Err(code) => response = refused(code),
        },
        _ => {}
    }
    if request_context::is_shed() {
        // The client's other requests would be shed as well.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Returns a response that releases its permit once the last byte is sent.
async fn with_permit(response: Response, memory: Permit) -> Response {
    let (head, body) = response.into_parts();
    // The body is in memory already.
    let bytes = body.collect().await.map(|body| held(body.to_bytes(), memory));
    Response::from_parts(head, bytes.map_or_else(|_| Body::empty(), Body::from))
}

/// Returns bytes that release their permit once the last of them is sent.
pub fn held(bytes: Bytes, memory: Permit) -> Bytes {
    Bytes::from_owner(PermitBody { bytes, _memory: memory })
}

struct PermitBody {
    bytes: Bytes,
    _memory: Permit,
}

impl AsRef<[u8]> for PermitBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
