//! The account's clock.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Envelope, Shown};
use crate::http::extract::Input;
use crate::http::write_request::WriteRequest;
use crate::params::clock::MoveClock;
use crate::services::Account;
use crate::services::sandbox::clock;
use crate::views::clock::{Clock, MovedClock};

/// Get the clock.
///
/// Returns the time of the account's own clock, and how far it is ahead of the wall clock.
#[utoipa::path(get, path = "/sandbox/clock", tag = "Sandbox", operation_id = "get_clock",
    responses((status = 200, description = "The clock", body = Envelope<Clock>)))]
pub async fn get_clock(account: Account, _input: Input) -> Result<Shown<Clock>, Error> {
    Ok(Shown(clock::show(&account)))
}

/// Move the clock.
///
/// Moves the account's own clock ahead, by a span or to a time, and does all due work on the way, in order and each item
/// at its instant. This may be a long-running request: after 50 seconds it returns `complete` false with the time that it
/// reached; send the returned `to` to continue. A refund that the acquirer does not answer stays pending. Webhooks are
/// delivered as always.
#[utoipa::path(put, path = "/sandbox/clock", tag = "Sandbox", operation_id = "move_clock",
    request_body(content((MoveClock = "application/json"), (MoveClock = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The clock, and the work done on the way", body = Envelope<MovedClock>),
        (status = 409, description = "clock_moving"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn move_clock(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Shown<MovedClock>, Error> {
    let params = request.input.params::<MoveClock>();
    request.answer(clock::advance(&site.ctx, &request.caller, params)).await
}
