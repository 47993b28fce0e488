//! Parameters of deposits.

use base::time_text::parse_time;
use entity::Timestamp;
use macros::params;

use crate::limits::{DEPOSIT_CENTS_MAX, TEXT_LENGTH_MAX};
use crate::params::{FieldErrors, Params, non_blank, rules};

/// A deposit to simulate.
#[params]
pub struct NewDeposit {
    /// The amount in cents.
    #[validate(range(min = 1, max = DEPOSIT_CENTS_MAX))]
    #[schema(example = 50_000)]
    pub amount: i64,
    /// The text of the sender; `Deposit` if absent.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "Direct credit")]
    pub narration: Option<String>,
    /// The time at which the money becomes available: ISO 8601, or a date for its first moment; at once if absent or past.
    #[validate(custom(function = "rules::time"))]
    #[schema(example = "2031-05-01T00:00:00Z")]
    pub available_at: Option<String>,
}

/// A deposit that is spelled right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepositOrder {
    /// AUD cents.
    pub amount: i64,
    /// What the sender writes.
    pub narration: String,
    /// When it raises the balance, if not at once.
    pub available_at: Option<Timestamp>,
}

impl DepositOrder {
    /// What the sender writes who writes nothing.
    pub const NARRATION: &str = "Deposit";
}

impl Params<NewDeposit> {
    /// What is to arrive.
    pub fn parse(self) -> Result<DepositOrder, FieldErrors> {
        let value = self.valid()?;
        let at = non_blank(value.available_at.as_deref()).and_then(parse_time);
        Ok(DepositOrder {
            amount: value.amount,
            narration: value.narration.unwrap_or_else(|| DepositOrder::NARRATION.into()),
            available_at: at.map(Timestamp::from),
        })
    }
}
