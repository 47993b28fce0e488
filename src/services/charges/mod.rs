//! Charges, one file a verb. A payment has three steps: record and commit the intent, call the acquirer with no
//! transaction open, record the outcome (`docs/decisions.md`, 133).

pub(in crate::services) mod call;
pub mod capture_void;
pub mod create;
pub mod find;
pub(in crate::services) mod order;
pub(in crate::services) mod outcome;
pub(in crate::services) mod place;
pub mod recover;
pub mod search;
pub mod state;

pub use capture_void::{capture, void};
pub use find::{ChargeByToken, list, of_customer, show, shown};
pub use search::search;
