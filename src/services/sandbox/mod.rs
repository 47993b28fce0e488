//! What testers may order (decisions 12): a thin layer over the services that workers and operators call. No rule lives
//! here alone.

pub mod account;
pub mod accounts;
pub mod acquirer;
pub mod refunds;
