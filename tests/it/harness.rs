//! What every test leans on.

pub mod contract;
pub mod postgres;
