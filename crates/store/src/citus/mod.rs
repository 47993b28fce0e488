//! A PostgreSQL of several nodes, each with the rows of some accounts.

pub(crate) mod distributed;
pub(crate) mod unit_call;
