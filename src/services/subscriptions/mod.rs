//! Subscriptions, a file a verb (specification, Subscriptions; decisions 7). A bill is a payment in three steps like any
//! other; what its charge does to the subscription is recorded in the same commits.

pub mod bill;
pub mod calendar;
pub mod cancel;
mod course;
pub mod create;
pub mod ending;
mod entries;
pub mod find;
pub mod reactivate;
mod record_outcome;
pub mod recover;
mod rows;
pub mod state;
pub mod update;

pub use cancel::{cancel, cancel_of_customer, close_customer, unsubscribe};
pub use create::{create, create_for_plan};
pub use entries::ledger;
pub use find::{list, of_customer, of_plan, show};
pub use reactivate::reactivate;
pub use update::update;
