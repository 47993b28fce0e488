//! Faults of the account's acquirer.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Envelope, Shown};
use crate::http::extract::Input;
use crate::http::write_request::WriteRequest;
use crate::params::sandbox::ChangedFaults;
use crate::services::Account;
use crate::services::sandbox::acquirer;
use crate::views::sandbox::Faults;

/// Get the acquirer's faults.
///
/// Returns the faults that are ordered of this account's acquirer.
#[utoipa::path(get, path = "/sandbox/acquirer", tag = "Sandbox", operation_id = "get_sandbox_acquirer",
    responses((status = 200, description = "The faults", body = Envelope<Faults>)))]
pub async fn get_sandbox_acquirer(account: Account, _input: Input) -> Result<Shown<Faults>, Error> {
    Ok(Shown(acquirer::show(&account)?))
}

/// Order faults of the acquirer.
///
/// From now on this account's acquirer delays its answers, declines every attempt, fails, or loses the answer of a done
/// call. The seed and the number of the call since this request decide which calls fail, so the same seed gives the same
/// run. Absent parameters stay.
#[utoipa::path(put, path = "/sandbox/acquirer", tag = "Sandbox", operation_id = "update_sandbox_acquirer",
    request_body(content((Option<ChangedFaults> = "application/json"), (Option<ChangedFaults> = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The faults", body = Envelope<Faults>),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn update_sandbox_acquirer(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Shown<Faults>, Error> {
    request.answer(acquirer::change(&site, &request.caller, request.input.params())).await
}
