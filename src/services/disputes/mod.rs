//! Disputes (decisions 9), a file a verb. A dispute arrives when the network says so; the merchant answers with
//! evidence or gives in; the network decides. Every move is one transaction with its money, its event and its entry in
//! the activity feed.

pub mod activity;
pub mod arrival;
pub mod evidence;
pub mod files;
pub mod find;
pub mod open;
pub mod operator;
pub mod state;
pub mod transitions;

pub use activity::activity;
pub use find::{list, search, show};
pub use transitions::{accept, decide};

use crate::error::{Error, ErrorCode};
use crate::services::context::Account;

/// Whether the account may use the disputes API. What the network does happens all the same.
///
/// Refusals: `api_unavailable`.
fn enabled(account: &Account) -> Result<(), Error> {
    if account.settings().disputes { Ok(()) } else { Err(ErrorCode::ApiUnavailable.into()) }
}
