//! Charges: found, listed and searched, captured and voided. POST /charges is in `three_d_secure`, which decides whether
//! the cardholder is asked first; the payment itself is made by `payments`.

pub mod attempt_params;
pub mod attempts;
mod capture;
pub mod find;
pub mod params;
pub mod search;
pub mod view;

pub use attempts::attempts;
pub use capture::{capture, void};
pub use find::{ChargeByToken, list, of_customer, show, shown};
pub use search::search;
