//! The testers' controls.

pub mod accounts;
mod acquirer;
mod clock;
mod clock_steps;
mod outcomes;
mod provider_states;
mod refunds;
mod request_log;
mod request_waits;
mod snapshots;
