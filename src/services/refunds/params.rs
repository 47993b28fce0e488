//! Parameters of refunds (specification, Refunds).

use macros::params;

use crate::params::{FieldErrors, Params, Patch, values};

/// A refund to create.
#[params]
pub struct NewRefund {
    /// The amount in the base unit of the charge's currency, at most what is not refunded yet; the whole charge if absent.
    // Blank is not absent here, but JSON null is, as everywhere.
    #[schema(minimum = 1, example = 100)]
    pub amount: Option<Patch<i64>>,
}

impl Params<NewRefund> {
    /// The requested amount; `None` means the full amount of the charge.
    pub fn amount(self) -> Result<Option<i64>, FieldErrors> {
        let Self { value, mut faults } = self;
        match value.amount {
            Some(Patch::Blank) => {
                faults.add("amount", values::BLANK);
                faults.add("amount", values::NO_NUMBER);
            }
            Some(Patch::Value(amount)) if amount < 1 && !faults.has("amount") => {
                faults.add("amount", "must be greater than or equal to 1");
            }
            Some(Patch::Value(_) | Patch::Absent) | None => {}
        }
        if faults.is_empty() { Ok(value.amount.and_then(Patch::value)) } else { Err(faults) }
    }
}
