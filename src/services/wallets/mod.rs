//! walletA's domains, sessions and certificates, and the record of used payloads (specification, Mobile wallet support;
//! `docs/decisions.md`, 223 to 230).

pub mod certificates;
pub mod domains;
pub mod payloads;
pub mod providers;
pub mod sessions;

pub use providers::{Provider, Wallets};

use super::context::Account;
use crate::error::{Error, ErrorCode};

/// Checks that the account may use wallets: its `wallet` switch.
///
/// Refusals: `api_unavailable`.
pub fn enabled(account: &Account) -> Result<(), Error> {
    if account.settings().wallet { Ok(()) } else { Err(ErrorCode::ApiUnavailable.into()) }
}
