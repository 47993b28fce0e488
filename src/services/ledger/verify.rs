//! Proves the books of all accounts (decisions 8). It reads and changes nothing.

use std::collections::HashSet;

use entity::{AccountToken, account};
use futures::TryStreamExt;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect, Statement};
use serde::Serialize;

use super::proofs::proofs;
use crate::error::Error;
use crate::runtime::progress::Progress;
use crate::store::Store;

/// Where two sides of the books differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Which proof failed.
    pub proof: &'static str,
    /// Whose books.
    pub account: AccountToken,
    /// What of the account's: an entry, a day, a book, a charge, or its currency where it is all of it.
    pub subject: String,
    /// What it should be.
    pub expected: i64,
    /// What it is.
    pub found: i64,
}

/// Tell `tell` every difference in the books of all accounts but deleted ones, and answer how many there are.
///
/// All proofs look at one snapshot, so payments may go on beside it. However many rows there are, one is held at a
/// time; sorting them is the database's business.
pub async fn verify(
    store: &Store,
    progress: &dyn Progress,
    mut tell: impl FnMut(&Difference),
) -> Result<u64, Error> {
    let snapshot = store.snapshot().await?;
    let deleted = being_deleted(&snapshot).await?;
    let mut differences = 0;
    let proofs = proofs();
    progress.set_total(proofs.len() as u64);
    for (n, proof) in proofs.into_iter().enumerate() {
        let query = Statement::from_string(snapshot.get_database_backend(), proof.sql);
        let mut rows = snapshot.stream(query).await?;
        while let Some(row) = rows.try_next().await? {
            let account = row.try_get("", "account_id")?;
            if deleted.contains(&account) {
                continue;
            }
            tell(&Difference {
                proof: proof.name,
                account,
                subject: proof.subject.of(&row)?,
                expected: row.try_get("", "expected")?,
                found: row.try_get("", "found")?,
            });
            differences += 1;
        }
        progress.set_done(n as u64 + 1);
    }
    Ok(differences)
}

/// Accounts whose rows are going, table by table: their books are nobody's any more.
async fn being_deleted(db: &impl ConnectionTrait) -> Result<HashSet<AccountToken>, Error> {
    let deleted = account::Entity::find().filter(account::Column::ClosedAt.is_not_null());
    let deleted: Vec<AccountToken> =
        deleted.select_only().column(account::Column::Id).into_tuple().all(db).await?;
    Ok(deleted.into_iter().collect())
}
