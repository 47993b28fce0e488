//! Balance (decisions 8).

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

/// What the account owns.
#[view]
pub struct Balance {
    /// Can be paid out or refunded from; may be negative.
    available: Vec<Money>,
    /// Becomes available later. What charges bring can be refunded from; a deposit before its time cannot.
    pending: Vec<Money>,
}

impl Balance {
    /// Of AUD cents: the ledger is in AUD.
    pub fn new(available: i64, pending: i64) -> Self {
        let aud = |amount| vec![Money { amount, currency: Currency::Aud }];
        Self { available: aud(available), pending: aud(pending) }
    }
}

/// What is available on a day, at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DayBalance {
    /// By the account's clock; days to come as far as it is known what becomes available.
    pub day: Day,
    /// In AUD cents.
    pub available: i64,
}
