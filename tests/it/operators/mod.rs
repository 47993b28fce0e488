//! What operators do, and what keeps their secrets.

mod approvals;
mod audit;
mod audit_chain;
mod key_rotation;
pub mod people;
pub mod secrets;
mod vault_key_sources;
mod vault_rotation;
