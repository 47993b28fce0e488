//! The rules of the API as sentences, through the real router, on both databases.

// Tells clippy that all of this is test code, the harness too: unwrap is allowed.
#![cfg(test)]

mod answers;
mod authentication;
mod browsers;
mod cards;
mod charges;
mod customer_cards;
mod customers;
mod documents;
mod events;
mod harness;
mod house;
mod races;
mod requests;
mod secrets;
