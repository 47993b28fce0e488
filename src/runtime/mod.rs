//! Shared foundations: time, randomness, a request's context, networks of clients and its admission permits, durable files, crash points.

pub mod client_network;
pub mod clock;
pub mod crash_points;
pub mod durable_fs;
pub mod mutex;
pub mod permits;
pub mod progress;
pub mod random;
pub mod request_context;
pub mod request_permits;
