//! What the keys of an account may do by what the operator has decided about it (decisions 10).

use entity::merchant::MerchantStatus;

use crate::config::Environment;

/// What keys may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everything.
    Full,
    /// Read.
    Reading,
    /// Nothing.
    None,
}

/// The table. In test everything works, so that a merchant can be tried out before anybody decides.
pub const fn access(environment: Environment, status: MerchantStatus) -> Access {
    match (environment, status) {
        (Environment::Test, _) | (Environment::Live, MerchantStatus::Active) => Access::Full,
        (Environment::Live, MerchantStatus::PendingApproval | MerchantStatus::OnHold) => Access::Reading,
        (Environment::Live, MerchantStatus::Declined) => Access::None,
    }
}
