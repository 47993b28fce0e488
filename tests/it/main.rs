//! The rules of the API as sentences, through the real router, on both databases.

// Tells clippy that all of this is test code, the harness too: unwrap is allowed.
#![cfg(test)]

mod answers;
mod authentication;
mod authorised_charges;
mod bank_accounts;
mod browsers;
mod buckets;
mod cards;
mod charge_payers;
mod charge_search;
mod charges;
mod clock_steps;
mod crashes;
mod customer_cards;
mod customers;
mod deliveries;
mod deposits;
mod dispute_moves;
mod disputes;
mod documents;
mod events;
mod evidence;
mod files;
mod harness;
mod house;
mod idempotency;
mod ledger;
mod money;
mod money_sequences;
mod outbound;
mod process;
mod races;
mod recipients;
mod refund_races;
mod refunds;
mod requests;
mod sandbox_accounts;
mod sandbox_acquirer;
mod sandbox_clock;
mod sandbox_outcomes;
mod sandbox_refunds;
mod secrets;
mod settlement;
mod store;
mod test_cards;
mod testing_guide;
mod transfer_races;
mod transfers;
mod unknown_outcomes;
mod verifiers;
mod webhook_endpoints;
mod webhooks;
