//! GET and PUT /sandbox/account.

pub use crate::services::accounts::settings::change;
use crate::services::context::Account;
use crate::services::sandbox::view::SandboxAccount;

/// Returns the account's switches and settings.
pub fn show(account: &Account) -> SandboxAccount {
    account.settings().into()
}
