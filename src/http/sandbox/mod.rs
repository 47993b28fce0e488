//! The sandbox (decisions 12).

pub mod clock;
