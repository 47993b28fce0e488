//! Charges: created, found, listed and searched, captured and voided. The payment itself is made by `payments`, after
//! `three_d_secure` has asked the cardholder if the client wants that.

pub mod attempt_params;
pub mod attempts;
mod capture;
mod create;
pub mod create_view;
pub mod find;
pub(super) mod order;
pub mod params;
pub mod search;
pub mod view;

pub use attempts::attempts;
pub use capture::{capture, void};
pub use create::{ChargeRequestInfo, create};
pub(super) use find::lock;
pub use find::{ChargeByToken, list, of_customer, show, shown};
pub use search::search;
