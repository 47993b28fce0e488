//! Subscriptions, one file per verb (specification, Subscriptions). A bill is a payment like any other; both of its commits
//! change the subscription, too.

pub mod bill;
pub mod calendar;
pub mod cancel;
mod course;
pub mod create;
pub mod ending;
mod entries;
pub mod find;
pub mod params;
pub mod reactivate;
mod record_outcome;
pub mod recover;
mod rows;
pub mod search;
pub mod search_params;
pub mod state;
pub mod update;
pub mod view;

pub(super) use cancel::delete_customer;
pub use cancel::{cancel, cancel_of_customer, close_customer, unsubscribe};
pub use create::{create, create_for_plan};
pub use entries::ledger;
pub use find::{list, of_customer, of_plan, show};
pub use reactivate::reactivate;
pub use search::search;
pub use update::update;
