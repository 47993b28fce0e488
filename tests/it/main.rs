//! The rules of the API as sentences, through the real router, on both databases.

// Tells clippy that all of this is test code, the harness too: unwrap is allowed.
#![cfg(test)]

mod accounts;
mod answers;
mod architecture;
mod billing;
mod cards;
mod charges;
mod commands;
mod crashes;
mod customers;
mod dashboard;
mod disputes;
mod document;
mod events;
mod guide;
mod harness;
mod http;
mod merchants;
mod model;
mod money;
mod operators;
mod outbound;
mod parsers;
mod reconciliation;
mod refunds;
mod remote_acquirer;
mod sandbox;
mod store;
mod three_d_secure;
mod transfers;
mod wallets;
mod webhooks;
