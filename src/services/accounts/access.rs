//! The access of an account's keys, by the status that the operator has given it (`docs/decisions.md`, 72).

use entity::merchant::MerchantStatus;

use crate::config::Environment;

/// The operations that an account's keys may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads and writes.
    Full,
    /// Reads only.
    Reading,
    /// No operation.
    None,
}

/// Returns the access for a status. In test everything works, so that a merchant can be tried out before the operator
/// decides.
pub const fn access(environment: Environment, status: MerchantStatus) -> Access {
    match (environment, status) {
        (Environment::Test, _) | (Environment::Live, MerchantStatus::Active) => Access::Full,
        (Environment::Live, MerchantStatus::PendingApproval | MerchantStatus::OnHold) => Access::Reading,
        (Environment::Live, MerchantStatus::Declined) => Access::None,
    }
}
