//! The rules of the API as sentences, through the real router, on both databases.

// Tells clippy that all of this is test code, the harness too: unwrap is allowed.
#![cfg(test)]

mod authorised_charges;
mod charge_payers;
mod charge_search;
mod charges;
mod documents;
mod harness;
mod house;
mod money;
mod process;
mod requests;
mod store;
mod test_cards;
mod unknown_outcomes;
