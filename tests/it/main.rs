//! The rules of the API as sentences, through the real router, on both databases.

// Tells clippy that all of this is test code, the harness too: unwrap is allowed.
#![cfg(test)]

mod answers;
mod authentication;
mod authorisations;
mod authorised_charges;
mod billing;
mod billing_model;
mod billing_races;
mod billing_speed;
mod browsers;
mod cards;
mod challenge_page;
mod charge_payers;
mod charge_search;
mod charges;
mod clock_steps;
mod crashes;
mod customer_cards;
mod customers;
mod deliveries;
mod documents;
mod events;
mod harness;
mod house;
mod idempotency;
mod ledger;
mod money;
mod outbound;
mod plans;
mod process;
mod races;
mod refund_races;
mod refunds;
mod requests;
mod sandbox_accounts;
mod sandbox_acquirer;
mod sandbox_clock;
mod sandbox_outcomes;
mod sandbox_refunds;
mod secrets;
mod store;
mod subscriptions;
mod test_cards;
mod testing_guide;
mod three_d_secure;
mod unknown_outcomes;
mod verifiers;
mod webhook_endpoints;
mod webhooks;
