//! Every rule of the API. Services know no HTTP, begin no transactions by hand and import each other in one
//! direction only, this order: a verb lives with the later noun.
//!
//! claim (of an Idempotency-Key), context (which all of them get), idempotency, installation, accounts, ledger, page (of
//! a list), clocks (what is due by each account's), moment (when due work happens), due_work (what its kinds say of
//! themselves), webhook_endpoints, webhooks, events, retention (of the two), cards, customers, payment (which card
//! pays), charges, authorisations, three_d_secure, refunds, plans, subscriptions, due (the registry of all due work),
//! sandbox (what testers may order of all these).

pub mod accounts;
pub mod authorisations;
pub mod cards;
pub mod charges;
pub mod claim;
mod clocks;
pub mod context;
pub mod customers;
pub mod due;
mod due_work;
pub mod events;
pub mod idempotency;
pub mod installation;
pub mod ledger;
pub mod moment;
pub mod page;
pub mod payment;
pub mod plans;
pub mod refunds;
mod retention;
pub mod sandbox;
pub mod subscriptions;
pub mod three_d_secure;
pub mod webhook_endpoints;
pub mod webhooks;

pub use context::{Account, Context, Ctx};
