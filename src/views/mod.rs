//! The JSON of the specification: rows in, records out, fields in the order of the specification's tables.

pub mod authorisation;
pub mod balance;
pub mod card;
pub mod charge;
pub mod clock;
pub mod customer;
pub mod event;
pub mod payment;
pub mod plan;
pub mod refund;
pub mod sandbox;
pub mod subscription;
pub mod three_d_secure;
pub mod webhook;
pub mod webhook_endpoint;
