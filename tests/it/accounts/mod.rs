//! Accounts, their keys and what belongs to them.

mod authentication;
mod bank_accounts;
mod deposits;
mod files;
mod isolation;
mod kept;
pub mod large;
pub mod restricted_keys;
