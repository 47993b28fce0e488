//! The sandbox: what a tester needs and no card network offers. A thin layer over the services that workers and operators
//! call: no rule lives here alone.

pub mod account;
pub mod accounts;
pub mod acquirer;
pub mod charges;
pub mod clock;
pub mod clock_params;
pub mod clock_view;
pub mod deposits;
pub mod params;
pub mod provider_states;
pub mod refunds;
pub mod request_params;
pub mod request_view;
pub mod requests;
pub mod statistics;
pub mod view;
pub mod wallet_payloads;
pub mod webhook_endpoints;
