//! What customers do with their subscriptions.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Envelope, Shown};
use crate::http::extract::Path;
use crate::http::write_request::WriteRequest;
use crate::services::subscriptions;
use crate::views::subscription::Subscription;

/// Unsubscribe.
///
/// Unsubscribes as the customer, if the plan's permissions allow it: the paid interval runs out, then the subscription
/// is cancelled.
#[utoipa::path(put, path = "/sandbox/subscriptions/{sub_token}/unsubscribe", tag = "Sandbox", operation_id = "unsubscribe_sandbox_subscription",
    params(("sub_token" = String, Path, description = "Subscription token")),
    responses(
        (status = 200, description = "The subscription", body = Envelope<Subscription>),
        (status = 400, description = "invalid_state: it has ended, or the plan does not allow it"),
        (status = 404, description = "not_found"),
    ))]
pub async fn unsubscribe_sandbox_subscription(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    request.answer(subscriptions::unsubscribe(&site, &request.caller, &token)).await
}
