//! The version of an API key and its account. A payment on PostgreSQL works by an account that its process has read before:
//! its first commit requires that key and account have not changed since, which costs no round trip.

use std::sync::atomic::{AtomicBool, Ordering};

use entity::{AccountToken, account, api_key};
use sea_orm::RelationTrait;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement, SimpleExpr};
use store::Tx;

use crate::error::{Error, ErrorCode};

/// The version of a key's row and of its account's: the numbers of the transactions that wrote them last. PostgreSQL keeps them
/// with every row, so no writer can forget to raise them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountVersion {
    /// The stored hash of the key.
    pub key_hash: [u8; 32],
    /// The account, by which a distributed database finds both.
    pub owner: AccountToken,
    pub key: i64,
    /// The account's transaction.
    pub account: i64,
}

impl AccountVersion {
    /// Returns PostgreSQL's column of a table's row versions.
    pub fn column(table: &'static str) -> SimpleExpr {
        Expr::cust(format!("{table}.xmin::text::bigint"))
    }

    /// Selects a row if this is the version of key and account.
    fn select(&self) -> SelectStatement {
        use {account::Column as Account, api_key::Column as Key};

        let id = || Expr::col((account::Entity, Account::Id));
        Query::select()
            .expr(Expr::cust("1"))
            .from(account::Entity)
            .inner_join(api_key::Entity, api_key::Relation::Account.def())
            .and_where(Expr::col((api_key::Entity, Key::Hash)).eq(self.key_hash.to_vec()))
            .and_where(Self::column("api_keys").eq(self.key))
            .and_where(id().eq(self.owner))
            .and_where(Self::column("accounts").eq(self.account))
            .take()
    }
}

/// The version by which a request works, and whether a commit has confirmed it.
#[derive(Debug)]
pub struct AssumedVersion {
    version: AccountVersion,
    is_confirmed: AtomicBool,
}

impl AssumedVersion {
    /// Assumes a version.
    pub fn new(version: AccountVersion) -> Self {
        Self { version, is_confirmed: AtomicBool::new(false) }
    }

    /// Requires the version, before the unit's first write.
    ///
    /// Refusals: `unauthorized`. The request does not answer it, but works again by the account as it is now.
    pub async fn require(&self, tx: &Tx) -> Result<(), Error> {
        if tx.require(&self.version.select()).await? { Ok(()) } else { Err(ErrorCode::Unauthorized.into()) }
    }

    /// Records that a unit which required the version has committed.
    pub fn confirm(&self) {
        self.is_confirmed.store(true, Ordering::Release);
    }

    /// Returns the version while it is not confirmed.
    pub fn unconfirmed(&self) -> Option<AccountVersion> {
        (!self.is_confirmed.load(Ordering::Acquire)).then_some(self.version)
    }
}
