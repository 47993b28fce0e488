//! Disputes, one file a verb. The network opens a dispute; the merchant answers with evidence or accepts it; the
//! network decides. Every transition is one transaction with its money, its event and its entry in the activity feed.

pub mod activity;
pub mod activity_view;
pub mod arrival;
pub mod evidence;
pub mod evidence_view;
pub mod files;
pub mod find;
pub mod open;
pub mod operator;
pub mod params;
pub mod state;
pub mod transitions;
pub mod view;

pub use activity::activity;
pub use find::{list, search, show};
pub use transitions::{accept, decide};

use crate::error::{Error, ErrorCode};
use crate::services::context::Account;

/// Refuses if the account may not use the disputes API. The network's disputes arrive all the same.
///
/// Refusals: `api_unavailable`.
fn enabled(account: &Account) -> Result<(), Error> {
    if account.settings().disputes { Ok(()) } else { Err(ErrorCode::ApiUnavailable.into()) }
}
