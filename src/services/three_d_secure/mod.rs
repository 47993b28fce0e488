//! 3-D Secure: the cardholder is asked before the acquirer is (decisions 5). A file a verb: who wants the cardholder asked
//! opens a session, the cardholder decides on its page, and the merchant verifies what came of it.

pub mod create;
pub mod decide;
pub mod expire;
mod find;
pub mod state;
pub mod verify;

pub use create::create;
pub use decide::{ChallengeView, Question, decide, look, show};
pub use verify::verify;
