//! Balance (`docs/decisions.md`, 195).

use entity::{Currency, Day};
use macros::view;
use serde::Serialize;

/// An amount of money in one currency.
#[view]
pub struct Money {
    /// The amount in the currency's base unit.
    #[schema(example = 100_000_000)]
    amount: i64,
    /// The currency of the amount, an ISO 4217 code.
    currency: Currency,
}

/// The money of the account.
#[view]
pub struct Balance {
    /// The money for transfers and refunds; it may be negative.
    available: Vec<Money>,
    /// The money that becomes available later. Refunds may use that of charges, but not a deposit before its time.
    pending: Vec<Money>,
}

impl Balance {
    /// Returns a list of AUD cents, the ledger's currency.
    pub fn new(available: i64, pending: i64) -> Self {
        let aud = |amount| vec![Money { amount, currency: Currency::Aud }];
        Self { available: aud(available), pending: aud(pending) }
    }
}

/// The available balance at the end of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DayBalance {
    /// The day, by the account's clock; future days count money that is pending now.
    pub day: Day,
    /// The balance in AUD cents.
    pub available: i64,
}
