//! Refunds, a file a verb. A refund is no payment in three steps: POST records it with its postings, a worker
//! submits it until the acquirer has said yes or no, and what the acquirer announced comes about later
//! (decisions 5 and 6).

pub mod complete;
pub mod create;
pub mod find;
pub mod state;
pub mod submit;

pub use complete::settle;
pub use create::create;
pub use find::{list, of_charge, show};
pub use submit::submit;
