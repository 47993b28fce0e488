//! walletA's domains, sessions and certificates, and which payloads were used (specification, Mobile wallet support;
//! decisions 10).

pub mod certificates;
pub mod domains;
pub mod payloads;
pub mod providers;
pub mod sessions;

pub use providers::{Provider, Wallets};

use super::context::Account;
use crate::error::{Error, ErrorCode};

/// Whether the account may ask for them: its `wallet` switch.
///
/// Refusals: `api_unavailable`.
pub fn enabled(account: &Account) -> Result<(), Error> {
    if account.settings().wallet { Ok(()) } else { Err(ErrorCode::ApiUnavailable.into()) }
}
