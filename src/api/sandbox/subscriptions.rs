//! The actions of customers on their subscriptions.

use axum::extract::State;

use crate::api::answer::{Envelope, Shown};
use crate::api::extract::Path;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidState, NotFound};
use crate::services::subscriptions;
use crate::services::subscriptions::view::Subscription;

/// Unsubscribe.
///
/// What the customer does where the plan's permissions allow it: what is paid runs out, then the subscription is
/// cancelled.
#[utoipa::path(put, path = "/sandbox/subscriptions/{sub_token}/unsubscribe", tag = "Sandbox",
    responses((status = 200, description = "The subscription", body = Envelope<Subscription>)),
    extensions(("x-rights" = json!({ "subscriptions": "write" })), ("x-refusals" = json!([(InvalidState, "it has ended, or the plan does not allow it"), NotFound]))))]
pub async fn unsubscribe_sandbox_subscription(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    request.answer(subscriptions::unsubscribe(&app, &request.caller, &token)).await
}
