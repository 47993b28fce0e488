//! Merchants referred by partners, one file per verb (specification, Merchants). A merchant is a row of its partner's
//! account, and an account of its own with the same id (`docs/decisions.md`, 231).

pub mod create;
pub mod export;
pub mod find;
pub mod import;
mod page;
pub mod params;
mod password;
pub mod state;
pub mod transitions;
pub mod transport;
pub mod view;

pub use create::create;
pub use find::{list, search, show};
pub use page::{PaymentPage, page};
pub use transitions::{decide, decide_as_operator};
