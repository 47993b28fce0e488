//! 3-D Secure asks the cardholder before the acquirer (`docs/decisions.md`, 142 to 150). One file per operation:
//! `charges` opens a session, the cardholder decides on its page, and the merchant verifies the result.

pub mod decide;
pub mod expire;
mod find;
pub mod open;
pub mod state;
pub mod verify;
pub mod view;

pub use decide::{ChallengeQuestion, ChallengeView, press, show, view};
pub use open::{Opening, enrolment, open};
pub use verify::verify;
