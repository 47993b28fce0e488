//! Every rule of the API. Services know no HTTP, begin no transactions by hand and import each other in one
//! direction only, this order: a verb lives with the later noun.
//!
//! context (which all of them get), idempotency, installation, accounts, ledger, page (of a list), events, cards, customers,
//! payment (which card pays), charges, refunds, due (the registry of all due work).

pub mod accounts;
pub mod cards;
pub mod charges;
pub mod context;
pub mod customers;
pub mod due;
pub mod events;
pub mod idempotency;
pub mod installation;
pub mod ledger;
pub mod page;
pub mod payment;
pub mod refunds;

pub use context::{Account, Context, Ctx};
