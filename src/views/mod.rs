//! The JSON of the specification: rows in, records out, fields in the order of the specification's tables.

pub mod account;
pub mod authorisation;
pub mod balance;
pub mod bank_account;
pub mod card;
pub mod charge;
pub mod clock;
pub mod customer;
pub mod deposit;
pub mod dispute;
pub mod dispute_activity;
pub mod event;
pub mod evidence;
pub mod file;
pub mod payment;
pub mod payment_source;
pub mod plan;
pub mod recipient;
pub mod refund;
pub mod sandbox;
pub mod subscription;
pub mod three_d_secure;
pub mod transfer;
pub mod wallet;
pub mod webhook;
pub mod webhook_endpoint;
