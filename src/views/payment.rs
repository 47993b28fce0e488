//! What the API shows of a payment: a charge, or an authorisation.

use entity::Timestamp;
use entity::charge::{self, Origin};
use serde::Serialize;

use super::authorisation::Authorisation;
use super::charge::Charge;

/// A payment as its caller knows it.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Payment {
    /// A charge.
    Charge(Charge),
    /// An authorisation.
    Authorisation(Authorisation),
}

impl Payment {
    /// As it stands at an instant of the account's clock.
    pub fn at(now: Timestamp, row: charge::Model) -> Self {
        match row.origin {
            Origin::Authorisation => Self::Authorisation(Authorisation::at(now, row)),
            Origin::Payment
            | Origin::Challenge
            | Origin::Capture
            | Origin::Subscription
            | Origin::Renewal => Self::Charge(Charge::at(now, row)),
        }
    }
}
