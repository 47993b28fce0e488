//! Reads the row of the calling account. Every request reads it, so its columns are read by position, and together with
//! the requested record where one kind of record is requested most.

use entity::{AccountToken, account};
use sea_orm::sea_query::SelectStatement;
use sea_orm::{DbBackend, DbErr, Value};
use store::{CachedStatement, ColumnReader, FromColumns};

/// An account's whole row.
pub struct AccountRow(pub account::Model);

impl FromColumns for AccountRow {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        Ok(Self(account::Model {
            id: row.next("id")?,
            business_name: row.next("business_name")?,
            email: row.next("email")?,
            partner: row.next("partner")?,
            disputes: row.next("disputes")?,
            wallet: row.next("wallet")?,
            transfers_enabled: row.next("transfers_enabled")?,
            transfers_schedule: row.next("transfers_schedule")?,
            settles_at: row.next("settles_at")?,
            bank_account_id: row.next("bank_account_id")?,
            third_party_transfer_fee: row.next("third_party_transfer_fee")?,
            settlement_delay_days: row.next("settlement_delay_days")?,
            maximum_charge_cents: row.next("maximum_charge_cents")?,
            pricing: row.next("pricing")?,
            clock_offset: row.next("clock_offset")?,
            clock_moves: row.next("clock_moves")?,
            moving_until: row.next("moving_until")?,
            purge_at: row.next("purge_at")?,
            made_by: row.next("made_by")?,
            referred_by: row.next("referred_by")?,
            status: row.next("status")?,
            acquirer_faults: row.next("acquirer_faults")?,
            acquirer_calls: row.next("acquirer_calls")?,
            card_testing: row.next("card_testing")?,
            strict_parameters: row.next("strict_parameters")?,
            closed_at: row.next("closed_at")?,
            wipe_at: row.next("wipe_at")?,
            created_at: row.next("created_at")?,
        }))
    }
}

/// A record of an account that one statement reads together with the account.
pub trait AccountJoin: Sized + Send + Sync {
    /// The columns read from the record.
    type Record: FromColumns;

    /// Parses the token in a path; `None` if no record of this kind has such a token.
    fn parse(token: &str) -> Option<Self>;

    /// Returns the cached text of the statement that reads both.
    fn statement() -> &'static CachedStatement;

    /// Joins the record to the account of `statement`. The record's columns follow the account's and begin with
    /// [`IS_PRESENT`].
    fn join(&self, backend: DbBackend, account: AccountToken, statement: &mut SelectStatement);

    /// Returns the parameters of the statement, in order.
    fn values(&self, backend: DbBackend, account: AccountToken) -> Vec<Value>;
}

/// The column that says whether the joined record exists.
pub const IS_PRESENT: &str = "is_present";

/// An account's whole row and its joined record, if that exists.
pub struct AccountWith<R>(pub account::Model, pub Option<R>);

impl<R: FromColumns> FromColumns for AccountWith<R> {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        let AccountRow(account) = AccountRow::read(row)?;
        let is_present: bool = row.next(IS_PRESENT)?;
        Ok(Self(account, is_present.then(|| R::read(row)).transpose()?))
    }
}
