//! Filling a database with copies of one charge: its card, its entry with postings, its event, and what adds up.
//!
//! Ids and tokens of the copies come with the statement; the rows are copied in the database, column by column as the
//! entities name them, so that nothing is forgotten.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::clock::IdGenerator;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use card_payments::Store;
use card_payments::services::search_text;
use entity::posting::Book;
use entity::{Token, card, charge, event, journal_entry, posting};
use rusqlite::Connection;
use sea_orm::{
    ColumnTrait, ConnectOptions, ConnectionTrait, Database, DatabaseConnection, EntityTrait, IdenStatic,
    Iterable, PaginatorTrait, QueryFilter, QueryOrder,
};
use store::Location;
use uuid::Uuid;

use super::Fallible;

const DAY: i64 = 86_400_000;
/// So many copies a statement.
const CHUNK: i64 = 1_000;

/// Charges of one lot, a hundred, have a word of their own.
pub fn lot(number: i64) -> String {
    format!("lot{number}x")
}

/// What the n-th charge of lot l is for.
pub fn description(n: &str, l: &str) -> String {
    format!("order {n} of lot{l}x")
}

/// Where the database is.
pub struct Place {
    folder: PathBuf,
    url: Option<String>,
}

/// The charge that is copied.
pub struct Template {
    row: charge::Model,
    /// The account's token.
    pub account: String,
}

impl Place {
    /// A folder, emptied; on PostgreSQL, the database too.
    pub fn new(folder: &Path, url: Option<String>) -> Fallible<Self> {
        if folder.exists() {
            std::fs::remove_dir_all(folder)?;
        }
        std::fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.into(), url })
    }

    /// The server's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The address of the database, if it is PostgreSQL.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    fn file(&self) -> PathBuf {
        self.folder.join("card-payments.db")
    }

    async fn store(&self) -> Fallible<Store> {
        let location = match self.url.clone() {
            Some(url) => Location::Postgres { url },
            None => Location::Sqlite { path: self.file() },
        };
        Ok(Store::open(&location, Arc::new(IdGenerator::default())).await?)
    }

    async fn bare(&self) -> Fallible<Bare> {
        let Some(url) = self.url.clone() else {
            let connection = Connection::open(self.file())?;
            connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144")?;
            return Ok(Bare::Sqlite(connection));
        };
        let mut options = ConnectOptions::new(url);
        options.max_connections(1).sqlx_logging(false);
        Ok(Bare::Postgres(Database::connect(options).await?))
    }

    fn spelt(&self, sql: &str) -> String {
        if self.url.is_some() { sql.into() } else { sql.replace("UUID", "BLOB") }
    }

    /// The charge that is to be copied, if it is there.
    pub async fn template(&self) -> Fallible<Option<Template>> {
        let row = charge::Entity::find().filter(charge::Column::Description.eq(description("#n#", "#l#")));
        Ok(row
            .one(self.store().await?.read())
            .await?
            .map(|row| Template { account: row.account_id.to_string(), row }))
    }

    /// Copies until there are so many.
    pub async fn fill(&self, size: i64) -> Fallible<()> {
        let row = self.template().await?.ok_or("there is no charge to copy")?.row;
        let store = self.store().await?;
        let there = i64::try_from(charge::Entity::find().count(store.read()).await?)?;
        let filling = Filling::new(row, &store, self.bare().await?).await?;
        drop(store);
        filling.run(&self.spelt(MAKE_COPIES)).await?;
        for from in (there..size).step_by(usize::try_from(CHUNK)?) {
            filling.chunk(from..Ord::min(from + CHUNK, size)).await?;
        }
        filling.finish().await
    }
}

const MAKE_COPIES: &str = "CREATE TABLE copies (n BIGINT, at BIGINT, charge UUID, card UUID, entry UUID, taken UUID, \
                           fee UUID, event UUID, charge_token TEXT, card_token TEXT)";

/// The one connection that writes.
enum Bare {
    Sqlite(Connection),
    Postgres(DatabaseConnection),
}

/// The copied charge and its database.
struct Filling {
    db: Bare,
    row: charge::Model,
    lines: Vec<posting::Model>,
    event: Uuid,
}

impl Filling {
    async fn new(row: charge::Model, store: &Store, db: Bare) -> Fallible<Self> {
        let from = store.read();
        let line = posting::Entity::find_by_id((row.account_id, Token::new(row.id.id()))).one(from).await?;
        let entry = line.ok_or("the charge has no line")?.entry_id;
        let lines = posting::Entity::find().filter(posting::Column::EntryId.eq(entry)).all(from).await?;
        let event = event::Entity::find().filter(event::Column::Data.contains(row.id.to_string()));
        let event = event.order_by_asc(event::Column::Id).one(from).await?;
        Ok(Self { lines, event: event.ok_or("the charge has no event")?.id.id(), row, db })
    }

    async fn run(&self, sql: &str) -> Fallible<()> {
        match &self.db {
            Bare::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Bare::Postgres(db) => Ok(db.execute_unprepared(sql).await.map(drop)?),
        }
    }

    fn is_postgres(&self) -> bool {
        matches!(self.db, Bare::Postgres(_))
    }

    fn literal(&self, id: Uuid) -> String {
        let digits = id.simple();
        if self.is_postgres() { format!("UUID '{digits}'") } else { format!("X'{digits}'") }
    }

    /// Copies of some numbers: made 7.8 seconds after each other, the millionth ten days before the charge itself.
    async fn chunk(&self, numbers: std::ops::Range<i64>) -> Fallible<()> {
        let first = self.row.created_at.millis() - 100 * DAY;
        let mut sql = String::from("INSERT INTO copies VALUES ");
        for n in numbers {
            let at = first + n * 7_776;
            let ids: [Uuid; 6] = std::array::from_fn(|kind| id(at, kind, n));
            let tokens = [ids[0], ids[1]].map(|id| URL_SAFE_NO_PAD.encode(id.as_bytes()));
            let literals = ids.iter().map(|id| self.literal(*id)).collect::<Vec<_>>().join(", ");
            let [charge, card] = tokens;
            write!(sql, "({n}, {at}, {literals}, 'ch_{charge}', 'card_{card}'), ")?;
        }
        sql.truncate(sql.len() - 2);
        self.run("BEGIN").await?;
        self.run(&sql).await?;
        for copy in self.copies() {
            self.run(&copy).await?;
        }
        self.run("DELETE FROM copies").await?;
        self.run("COMMIT").await
    }

    /// The statements that copy.
    fn copies(&self) -> Vec<String> {
        let Self { row, .. } = self;
        let numbered = |column: &str| {
            format!("REPLACE(REPLACE(t.{column}, '#n#', CAST(c.n AS TEXT)), '#l#', CAST(c.n / 100 AS TEXT))")
        };
        let with =
            |column: &str, of: &str, token: &str| format!("REPLACE({column}, '{token}', c.{of}_token)");
        let [charge, card] = [row.id.to_string(), row.card_id.to_string()];
        let [description, email, search_text] = ["description", "email", "search_text"].map(numbered);
        let shown_card = with("t.card", "card", &card);
        let data = with(&with(&numbered("data"), "charge", &charge), "card", &card);
        let amount = "400 + c.n % 5000";
        let entitlement = format!("{amount} - {}", row.fees);
        let taken = format!("-({amount})");
        let day = format!("c.at / {DAY}");
        let created = row.captured_at.unwrap_or(row.created_at).millis() / DAY;
        let available = format!("t.available_on - {created} + {day}");
        let source = with("t.source", "charge", &charge);
        let expires = format!("c.at + {}", 7 * DAY);
        let account = self.literal(row.account_id.id());
        let named = |id: Uuid| format!("t.account_id = {account} AND t.id = {}", self.literal(id));
        let entry = self.lines[0].entry_id.id();
        let mut copies = vec![
            copy::<charge::Entity>(
                &named(row.id.id()),
                &[
                    ("id", "c.charge"),
                    ("card_id", "c.card"),
                    ("card", &shown_card),
                    ("description", &description),
                    ("email", &email),
                    ("search_text", &search_text),
                    ("amount", amount),
                    ("settlement_amount", amount),
                    ("entitlement", &entitlement),
                    ("created_at", "c.at"),
                    ("captured_at", "c.at"),
                    ("expires_at", &expires),
                ],
            ),
            copy::<card::Entity>(&named(row.card_id.id()), &[("id", "c.card"), ("created_at", "c.at")]),
            copy::<journal_entry::Entity>(
                &named(entry),
                &[("id", "c.entry"), ("source", &source), ("created_at", "c.at")],
            ),
            copy::<event::Entity>(
                &named(self.event),
                &[("id", "c.event"), ("data", &data), ("created_at", "c.at"), ("sequence", "c.n + 1")],
            ),
        ];
        for line in &self.lines {
            let (id, amount, available) = if line.book == Book::Merchant {
                ("c.charge", entitlement.as_str(), &available)
            } else if line.book == Book::Charges {
                ("c.taken", taken.as_str(), &day)
            } else {
                ("c.fee", "t.amount", &day)
            };
            copies.push(copy::<posting::Entity>(
                &named(line.id.id()),
                &[
                    ("id", id),
                    ("entry_id", "c.entry"),
                    ("amount", amount),
                    ("available_on", available),
                    // It waits, whether or not the one that it is copied from has been settled.
                    ("transfer_id", "NULL"),
                    ("unsettled", "t.book = 'merchant'"),
                ],
            ));
        }
        if !self.is_postgres() {
            let (words, code) = (search_text::TABLE, search_text::account_code(row.account_id));
            copies.push(format!(
                "INSERT INTO {words} (text, id) SELECT '{code}' || CHAR(10) || {search_text}, c.charge \
                 FROM copies c JOIN charges t ON {}",
                named(row.id.id())
            ));
        }
        copies
    }

    /// What adds up, and what the databases know of their tables.
    async fn finish(&self) -> Fallible<()> {
        for sql in [
            "DROP TABLE copies",
            "DELETE FROM balances",
            "INSERT INTO balances (account_id, available_on, slot, amount) \
             SELECT account_id, available_on, 0, SUM(amount) FROM postings WHERE book = 'merchant' GROUP BY 1, 2",
            "DELETE FROM counters WHERE kind IN ('charges', 'events')",
            &format!(
                "INSERT INTO counters (account_id, kind, slot, n) \
                 SELECT account_id, 'charges', 0, COUNT(*) FROM charges WHERE {} GROUP BY 1",
                charge::LISTED
            ),
            "INSERT INTO counters (account_id, kind, slot, n) \
             SELECT account_id, 'events', 0, COUNT(*) FROM events GROUP BY 1",
            if self.is_postgres() { "VACUUM ANALYZE" } else { "PRAGMA wal_checkpoint(TRUNCATE)" },
        ] {
            self.run(sql).await?;
        }
        Ok(())
    }
}

/// Copies a row, but for some columns.
fn copy<E: EntityTrait>(which: &str, changes: &[(&str, &str)]) -> String {
    let table = E::default().table_name().to_owned();
    let columns: Vec<_> = E::Column::iter().map(|column| column.as_str()).collect();
    let value = |column: &&str| {
        let change = changes.iter().find(|(changed, _)| changed == column);
        change.map_or_else(|| format!("t.{column}"), |(_, value)| (*value).to_owned())
    };
    let values: Vec<_> = columns.iter().map(value).collect();
    let (columns, values) = (columns.join(", "), values.join(", "));
    format!("INSERT INTO {table} ({columns}) SELECT {values} FROM copies c JOIN {table} t ON {which}")
}

/// The id of the n-th copy of a kind of row: a UUIDv7 of that millisecond.
fn id(at: i64, kind: usize, n: i64) -> Uuid {
    let [at, n] = [at, n].map(|number| u128::from(number.unsigned_abs()));
    Uuid::from_u128(at << 80 | 7 << 76 | (kind as u128) << 64 | 2 << 62 | n)
}
