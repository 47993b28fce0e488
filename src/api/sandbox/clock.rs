//! The account's clock.

use axum::extract::State;

use crate::api::answer::{Envelope, Shown};
use crate::api::extract::Input;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{ClockMoving, InvalidResource};
use crate::services::Account;
use crate::services::sandbox::clock;
use crate::services::sandbox::clock_params::MoveClock;
use crate::services::sandbox::clock_view::{Clock, MovedClock};

/// Get the clock.
///
/// Returns what the account's own clock shows, and how far it runs ahead of the wall clock.
#[utoipa::path(get, path = "/sandbox/clock", tag = "Sandbox",
    responses((status = 200, description = "The clock", body = Envelope<Clock>)))]
pub async fn get_clock(account: Account, _input: Input) -> Result<Shown<Clock>, Error> {
    Ok(Shown(clock::show(&account)))
}

/// Move the clock.
///
/// Moves the account's own clock ahead, by a span or to a time, and does on the way everything that is due, in its
/// order and at its instant. This may be a long-running request: after 50 seconds it answers how far it came, complete
/// being false, and the answered to goes on from there. A refund about which the acquirer does not answer stays pending.
/// Webhooks are delivered as always.
#[utoipa::path(put, path = "/sandbox/clock", tag = "Sandbox",
    request_body(content = MoveClock, example = json!({ "advance": "7d" })),
    responses((status = 200, description = "The clock, and what was due on the way", body = Envelope<MovedClock>)),
    extensions(("x-refusals" = json!([ClockMoving, InvalidResource]))))]
pub async fn move_clock(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Shown<MovedClock>, Error> {
    let params = request.input.params::<MoveClock>();
    request.answer(clock::advance(&app.ctx, &request.caller, params)).await
}
