//! Authorisations, a file a verb: charges that are not charges yet. They are stored with the charges, stand where these
//! stand and take the same three steps; what differs is that a part may be captured, and that the charge begins then
//! (decisions 6).

pub mod capture;
pub mod create;
pub mod find;
pub mod void;

pub use capture::capture;
pub use create::create;
pub use find::{list, show};
pub use void::void;
