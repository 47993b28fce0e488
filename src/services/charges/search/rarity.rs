//! Finds the part of a query that is rare in an account. To find a query, both databases read the postings of all its trigrams,
//! and those of a domain that every e-mail address has are as long as the account. A rare part has short ones; its few rows are
//! then compared with the whole query.

use entity::charge::{self, Column};
use entity::counter::Counted;
use entity::{AccountToken, ChargeToken, Owned};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, QueryFilter, QueryOrder, QuerySelect, Select, Statement,
};
use store::Reader;
use uuid::Uuid;

use crate::error::Error;
use crate::services::memory::charge_search::Sample;
use crate::services::page;

/// The number of times of the account's life at which the sample is read.
const SPOTS: u128 = 12;
/// The number of charges that are read at each of these times.
const SPOT_ROWS: u64 = 25;
/// An account of fewer charges needs no sample.
const CHARGES_MIN: i64 = 200;

/// Reads the sample: charges from all of the account's life, because neighbours resemble each other.
pub(super) async fn read_sample(db: &Reader, account: AccountToken) -> Result<Sample, Error> {
    let own = own_charges(db, account).await?;
    if own < CHARGES_MIN {
        return Ok(Sample::default());
    }
    let charges = || charge::Entity::owned_by(account).filter(charge::listed());
    let first = first_id(db, charges().order_by_asc(Column::Id)).await?;
    let last = first_id(db, charges().order_by_desc(Column::Id)).await?;
    let mut sample = Sample::new(own.saturating_mul(2) >= all_charges(db).await?);
    for spot in 0..SPOTS {
        let id = first + last.saturating_sub(first) / SPOTS * spot;
        let rows = charges().filter(Column::Id.gte(Uuid::from_u128(id))).order_by_asc(Column::Id);
        let texts = rows.limit(SPOT_ROWS).select_only().column(Column::SearchText);
        for text in texts.into_tuple::<String>().all(db).await? {
            sample.add(&text);
        }
    }
    Ok(sample)
}

async fn first_id(db: &Reader, rows: Select<charge::Entity>) -> Result<u128, Error> {
    let id = rows.select_only().column(Column::Id).into_tuple::<ChargeToken>().one(db).await?;
    Ok(id.map(|id| id.id().as_u128()).unwrap_or_default())
}

/// Returns the number of the account's charges.
async fn own_charges(db: &Reader, account: AccountToken) -> Result<i64, Error> {
    let row = db.query_one(&page::counter(account, Counted::Charges)).await?;
    Ok(row.map(|row| row.try_get_by(0)).transpose()?.unwrap_or_default())
}

/// Returns the number of all charges that the database supposes.
async fn all_charges(db: &Reader) -> Result<i64, Error> {
    let backend = db.get_database_backend();
    let all = if backend == DbBackend::Postgres {
        "SELECT CAST(reltuples AS BIGINT) AS found FROM pg_class WHERE oid = 'charges'::regclass"
    } else {
        "SELECT CAST(MAX(rowid) AS BIGINT) AS found FROM charges"
    };
    let row = db.query_one_raw(Statement::from_string(backend, all)).await?;
    let all: Option<i64> = row.map(|row| row.try_get("", "found")).transpose()?.flatten();
    // PostgreSQL says -1 before it has counted.
    Ok(all.filter(|all| *all > 0).unwrap_or(i64::MAX))
}
