//! Faults of the account's acquirer.

use axum::extract::State;

use crate::api::answer::{Envelope, Shown};
use crate::api::extract::Input;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::InvalidResource;
use crate::services::Account;
use crate::services::sandbox::acquirer;
use crate::services::sandbox::params::ChangedFaults;
use crate::services::sandbox::view::Faults;

/// Get the acquirer's faults.
///
/// Returns the faults that are ordered of this account's acquirer.
#[utoipa::path(get, path = "/sandbox/acquirer", tag = "Sandbox",
    responses((status = 200, description = "The faults", body = Envelope<Faults>)))]
pub async fn get_sandbox_acquirer(account: Account, _input: Input) -> Result<Shown<Faults>, Error> {
    Ok(Shown(acquirer::show(&account)?))
}

/// Order faults of the acquirer.
///
/// From now on this account's acquirer answers later, declines every attempt, fails, or does what it was asked and loses
/// the answer. Which of the calls fail is drawn from the seed and the number of the call since this request, so the same
/// seed gives the same run. What is absent stays as it is.
#[utoipa::path(put, path = "/sandbox/acquirer", tag = "Sandbox",
    request_body(content = Option<ChangedFaults>, example = json!({ "latency_ms": 50, "seed": 42 })),
    responses((status = 200, description = "The faults", body = Envelope<Faults>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn update_sandbox_acquirer(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Shown<Faults>, Error> {
    request.answer(acquirer::change(&app, &request.caller, request.input.params())).await
}
