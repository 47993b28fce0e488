//! Authorisations, one file a verb. They are stored in the table of charges, have the same states and take the same
//! three steps; but a part may be captured, and the charge begins at capture (`docs/decisions.md`, 173).

pub mod capture;
pub mod create;
pub mod find;
pub mod params;
pub mod view;
pub mod void;

pub use capture::capture;
pub use create::create;
pub use find::{list, show};
pub use void::void;
