//! Shared foundations: time and which of it is believed, randomness, a request's context, networks of clients and admission permits, durable
//! files, crash points.

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
pub mod trusted_clock;
