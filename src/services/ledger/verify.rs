//! Proves the books of all accounts (`docs/decisions.md`, 199). Only reads.

use std::collections::HashSet;

use base::progress::Progress;
use entity::{AccountToken, account};
use futures::TryStreamExt;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryResult, QuerySelect, Statement};
use serde::Serialize;

use super::proofs::{LedgerInvariant, proofs};
use crate::Store;
use crate::error::Error;
use crate::services::installation;

/// A difference between two sides of the books.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The name of the proof that failed.
    pub proof: &'static str,
    /// The account whose books differ.
    pub account: AccountToken,
    /// The part of the account's books that differs: a journal entry, a day, a charge, a transfer, a posting or a book,
    /// or the currency if it is all of them.
    pub subject: String,
    pub expected: i64,
    pub found: i64,
}

/// Passes each difference in the books of all accounts, except deleted ones and those that a
/// snapshot is being restored into, to `on_difference`, and returns their number.
///
///
/// All proofs read one snapshot, so payments can go on meanwhile. Only one row is in memory at a time; the database
/// does the sorting.
pub async fn verify(
    store: &Store,
    progress: &dyn Progress,
    mut on_difference: impl FnMut(&Difference),
) -> Result<u64, Error> {
    let snapshot = store.snapshot().await?;
    let unsettled = being_replaced(&snapshot).await?;
    let mut differences = 0;
    let proofs = proofs();
    progress.set_total(proofs.len() as u64);
    for (n, proof) in proofs.into_iter().enumerate() {
        let query = Statement::from_string(snapshot.get_database_backend(), &proof.sql);
        let mut rows = snapshot.stream(query).await?;
        while let Some(row) = rows.try_next().await? {
            let difference = difference(&proof, &row)?;
            if unsettled.contains(&difference.account) {
                continue;
            }
            on_difference(&difference);
            differences += 1;
        }
        progress.set_done(n as u64 + 1);
    }
    Ok(differences)
}

/// Returns the first difference in an account's books, as a unit of work sees them.
pub async fn first_difference(
    db: &impl ConnectionTrait,
    account: AccountToken,
) -> Result<Option<Difference>, Error> {
    for proof in proofs() {
        let query = Statement::from_string(db.get_database_backend(), &proof.sql);
        for row in db.query_all_raw(query).await? {
            if row.try_get::<AccountToken>("", "account_id")? == account {
                return difference(&proof, &row).map(Some);
            }
        }
    }
    Ok(None)
}

fn difference(proof: &LedgerInvariant, row: &QueryResult) -> Result<Difference, Error> {
    Ok(Difference {
        proof: proof.name,
        account: row.try_get("", "account_id")?,
        subject: proof.subject.format(row)?,
        expected: row.try_get("", "expected")?,
        found: row.try_get("", "found")?,
    })
}

/// Returns the accounts being deleted or restored, table by table: their books need not balance any more, or yet.
async fn being_replaced(db: &impl ConnectionTrait) -> Result<HashSet<AccountToken>, Error> {
    let deleted = account::Entity::find().filter(account::Column::ClosedAt.is_not_null());
    let deleted: Vec<AccountToken> =
        deleted.select_only().column(account::Column::Id).into_tuple().all(db).await?;
    let restored = installation::restoring(db).await?.into_iter().map(|(account, _)| account);
    Ok(deleted.into_iter().chain(restored).collect())
}
