//! Balance (`docs/decisions.md`, 195).

use entity::{Currency, Day};
use macros::view;
use serde::Serialize;

/// An amount of money.
#[view]
pub struct Money {
    /// In the currency's base unit.
    #[schema(example = 100_000_000)]
    amount: i64,
    /// ISO 4217 code.
    currency: Currency,
}

/// The account's balance.
#[view]
pub struct Balance {
    /// Money for transfers and refunds; may be negative.
    available: Vec<Money>,
    /// Money that becomes available later. Refunds draw on that of charges, but not on a deposit before its time.
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
