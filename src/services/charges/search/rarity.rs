//! Which part of a query is rare in an account. To find a query, both databases read the postings of all its trigrams, and those
//! of a domain that every e-mail address has are as long as the account. A rare part has short ones; its few rows are then
//! compared with the whole query.

use std::collections::HashMap;

use entity::charge::{self, Column};
use entity::counter::Counted;
use entity::{AccountToken, ChargeToken, Owned};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, QueryFilter, QueryOrder, QuerySelect, Select, Statement,
};
use uuid::Uuid;

use crate::error::Error;
use crate::services::page;
use crate::store::Reader;

/// The sample is read at so many times of the account's life...
const SPOTS: u128 = 12;
/// ...so many charges at each.
const SPOT_ROWS: u64 = 25;
/// An account of fewer charges needs no sample.
const CHARGES_MIN: i64 = 200;
/// A part has at most so many characters: three trigrams.
const PART: usize = 5;
/// A part is rare if its trigrams are in at most one of so many texts.
const RARE: usize = 10;

/// A sample of an account's texts.
#[derive(Debug, Default)]
pub(super) struct Sample {
    texts: usize,
    /// The number of texts in which a trigram occurs.
    trigrams: HashMap<[u8; 3], u16>,
    /// Whether the account has most of the database's charges, so that looking for its own finds out few.
    pub has_most: bool,
}

impl Sample {
    /// Reads the sample: charges from all of the account's life, because neighbours resemble each other.
    pub async fn read(db: &Reader, account: AccountToken) -> Result<Self, Error> {
        let own = own_charges(db, account).await?;
        if own < CHARGES_MIN {
            return Ok(Self::default());
        }
        let charges = || charge::Entity::owned_by(account).filter(charge::listed());
        let first = first_id(db, charges().order_by_asc(Column::Id)).await?;
        let last = first_id(db, charges().order_by_desc(Column::Id)).await?;
        let mut sample =
            Self { has_most: own.saturating_mul(2) >= all_charges(db).await?, ..Self::default() };
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

    fn add(&mut self, text: &str) {
        self.texts += 1;
        let mut trigrams: Vec<_> =
            text.as_bytes().windows(3).filter_map(|three| three.try_into().ok()).collect();
        trigrams.sort_unstable();
        trigrams.dedup();
        for trigram in trigrams {
            *self.trigrams.entry(trigram).or_default() += 1;
        }
    }

    /// Returns the rarest part of folded words, if one is rare. It consists of letters and digits without accents, from which
    /// both databases make the same trigrams.
    pub fn rarest_part<'w>(&self, words: &'w str) -> Option<&'w str> {
        let runs = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| run.len() >= 3);
        let parts = runs.flat_map(|run| {
            let length = run.len().min(PART);
            (0..=run.len() - length).filter_map(move |at| run.get(at..at + length))
        });
        let (texts, part) =
            parts.map(|part| (self.texts_with(part), part)).min_by_key(|(texts, _)| *texts)?;
        (self.texts > 0 && texts * RARE <= self.texts).then_some(part)
    }

    /// Returns the mean number of texts in which a trigram of the part occurs.
    fn texts_with(&self, part: &str) -> usize {
        let trigrams = part.as_bytes().windows(3);
        let all = trigrams.clone().map(|three| self.trigrams.get(three).copied().unwrap_or_default());
        all.map(usize::from).sum::<usize>() / trigrams.len()
    }
}

/// Returns the id of the first row.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_letters_and_digits_of_a_query_are_its_part() {
        let mut sample = Sample::default();
        for n in 100..400 {
            sample.add(&format!("order {n}000 of lot7\nbuyer{n}@example.com\nroland robot"));
        }
        for (words, part) in [
            ("wilhelmina@example.com", Some("wilhe")),
            ("roland robot 977", Some("977")),
            ("roland", None),
            ("@example.com", None),
            ("zo", None),
            ("z\u{f6}\u{e9}", None),
            ("zo\u{eb} quark", Some("quark")),
        ] {
            assert_eq!(sample.rarest_part(words), part, "{words}");
        }
        assert_eq!(Sample::default().rarest_part("wilhelmina"), None);
    }
}
