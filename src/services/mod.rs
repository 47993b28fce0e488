//! Every rule of the API. Services know no HTTP, begin no transactions by hand and import each other in one direction
//! only, in this order: an operation lives with the later noun.
//!
//! idempotency::claim, account_version, memory (of the process), context (which all of them get), acquirer_lookup (of cards and
//! rates), installation, audit (of operator actions), clock_record (of the time), people (who sign in), key_sessions (that were
//! signed out), data_keys (of the vault), idempotency, by_key (look-ups), page (of a list), counts, search_text, state_table,
//! due_work::clocks (work due by each account's clock), due_work::work_time (when due work happens), due_work (the description of
//! each kind), ledger, reconciliation (of statements with the ledger), event_sequence, readable_events, webhook_endpoints,
//! webhooks, events, deposits, bank_accounts, accounts, retention (of events and webhooks), cards, wallets, payment_sources,
//! customers, payer (the card that pays), card_testing (attacks by fraudsters), payments (the engine that charges cards),
//! three_d_secure, charges, authorisations, refunds, plans, subscriptions, recipients, transfers, settlement, files, disputes,
//! merchants, approvals (of two persons), snapshots (of all that an account holds), erasures (of a customer's personal data),
//! due_work_registry (of all due work), sandbox (the testers' controls for all of these).

mod account_version;
pub mod accounts;
mod acquirer_lookup;
pub mod approvals;
pub mod audit;
pub mod authorisations;
pub mod bank_accounts;
mod by_key;
pub mod card_testing;
pub mod cards;
pub mod charges;
pub mod clock_record;
pub mod context;
pub mod counts;
pub mod customers;
pub mod data_keys;
pub mod deposits;
pub mod disputes;
pub mod due_work;
pub mod due_work_registry;
pub mod erasures;
pub mod event_sequence;
pub mod events;
pub mod files;
pub mod idempotency;
pub mod installation;
pub mod key_sessions;
pub mod ledger;
pub mod memory;
pub mod merchants;
pub mod page;
pub mod payer;
pub mod payment_sources;
pub mod payments;
pub mod people;
pub mod plans;
mod readable_events;
pub mod recipients;
pub mod reconciliation;
pub mod refunds;
pub mod retention;
pub mod sandbox;
pub mod search_text;
pub mod settlement;
pub mod snapshots;
mod state_table;
pub mod subscriptions;
pub mod three_d_secure;
pub mod transfers;
pub mod wallets;
pub mod webhook_endpoints;
pub mod webhooks;

pub use context::{Account, Caller, Context, Ctx};
