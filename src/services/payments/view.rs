//! What the API shows of a payment: a charge, or an authorisation.

use entity::Timestamp;
use entity::charge;
use serde::Serialize;

use crate::services::authorisations::view::Authorisation;
use crate::services::charges::view::Charge;

/// A payment as its client knows it.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Payment {
    Charge(Charge),
    Authorisation(Authorisation),
}

impl Payment {
    /// Returns a payment at an instant of the account's clock.
    pub fn at(now: Timestamp, row: charge::Model) -> Self {
        if row.is_authorisation() {
            Self::Authorisation(Authorisation::at(now, row))
        } else {
            Self::Charge(Charge::at(now, row))
        }
    }
}
