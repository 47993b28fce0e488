//! Refunds, one file per operation. Unlike a payment, a refund does not wait for the acquirer: POST records it with its
//! postings, a worker submits it until the acquirer accepts or declines it, and the outcome that the acquirer announced
//! takes effect later (`docs/decisions.md`, 167 and 169).

pub mod complete;
pub mod create;
pub mod find;
pub mod params;
pub mod state;
pub mod submit;
pub mod view;

pub use complete::complete;
pub use create::create;
pub use find::{list, of_charge, show};
pub use submit::submit;
