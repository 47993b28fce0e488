//! Every read starts with whose it is: another account's record is not found.

use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Select};

use crate::AccountToken;

/// A table whose rows belong to accounts.
pub trait Owned: EntityTrait {
    /// The column that says whose.
    const ACCOUNT: Self::Column;

    /// The rows of one account: how services begin every query.
    fn owned_by(account: AccountToken) -> Select<Self> {
        Self::find().filter(Self::ACCOUNT.eq(account))
    }
}

/// An owned table whose rows are listed by their ids, newest first.
pub trait Listed: Owned {
    /// The column that orders its lists.
    const ID: Self::Column;
}

macro_rules! owned {
    ($($table:ident)*) => {$(
        impl Owned for crate::$table::Entity {
            const ACCOUNT: Self::Column = crate::$table::Column::AccountId;
        }
    )*};
}

macro_rules! listed {
    ($($table:ident)*) => {$(
        impl Listed for crate::$table::Entity {
            const ID: Self::Column = crate::$table::Column::Id;
        }
    )*};
}

/// An account's row belongs to itself.
impl Owned for crate::account::Entity {
    const ACCOUNT: Self::Column = crate::account::Column::Id;
}

owned! {
    api_key balance bank_account card challenge_page charge counter customer deposit dispute dispute_activity event
    evidence file foretold_dispute idempotency_answer idempotency_key journal_entry key_use logged_request merchant plan posting
    recipient refund snapshot snapshot_file snapshot_part stray_blob subscription subscription_entry three_d_secure transfer
    wallet_certificate wallet_domain wallet_payload webhook webhook_endpoint
}
listed! {
    card charge customer deposit dispute event logged_request merchant plan posting recipient refund snapshot subscription
    subscription_entry transfer wallet_certificate wallet_domain webhook webhook_endpoint
}
