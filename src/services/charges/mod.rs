//! Charges, a file a verb. A payment is three steps: the intent is recorded and committed, the acquirer is
//! called with no transaction open, the outcome is recorded (decisions 5).

pub(in crate::services) mod call;
pub mod create;
pub mod find;
pub mod follow;
pub(in crate::services) mod order;
pub(in crate::services) mod outcome;
pub(in crate::services) mod place;
pub mod search;
pub mod settle;
pub mod state;

pub use find::{Named, list, of_customer, show, shown};
pub use follow::{capture, void};
pub use search::search;
