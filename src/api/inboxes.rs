//! The endpoint at which inboxes of the sandbox receive requests from outside. This server's own webhooks come without a request.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use base::request_permits::release_permit;
use entity::inbox::InboxFault;
use tokio::time::sleep;
use web::connections::unless_wanted;
use web::handlers::post;

use super::extract::{Path, read_body};
use super::state::AppState;
use crate::error::{Error, ErrorCode};
use crate::limits::INBOX_BODY_BYTES_MAX;
use crate::services::webhooks::inboxes::receive::{InboxReply, receive};

/// Returns the routes outside of /1, in the test environment.
pub fn receivers() -> Router<AppState> {
    Router::new().route("/inboxes/{inbox_token}", post(receive_request))
}

/// Records a request and answers as ordered. A fault is a status here: 504 for a hang, 502 for a reset.
async fn receive_request(
    State(app): State<AppState>,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Error> {
    let inbox = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let (body, _memory) = read_body(&app, &headers, body, INBOX_BODY_BYTES_MAX).await?;
    // The databases keep a body as text.
    let body = std::str::from_utf8(&body).ok().filter(|text| !text.contains('\0'));
    let body = body.ok_or(ErrorCode::UnsupportedMediaType)?;
    match receive(&app, inbox, &headers, body).await?.ok_or(ErrorCode::NotFound)? {
        InboxReply::Status(status, latency) => {
            release_permit();
            unless_wanted(sleep(latency)).await;
            StatusCode::from_u16(status).map_err(|_| Error::internal("an inbox answers with no status"))
        }
        InboxReply::Fault(InboxFault::Hang) => Ok(StatusCode::GATEWAY_TIMEOUT),
        InboxReply::Fault(InboxFault::Reset) => Ok(StatusCode::BAD_GATEWAY),
    }
}
