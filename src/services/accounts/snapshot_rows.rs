//! Copies an account's rows and restores them, for any table: pages of text, one row a line. A value is stored with its
//! type, even NULL, because databases require it. Sealed columns are stored in the clear, so that a copy outlives the
//! data key; the copy itself must be sealed as a whole.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use entity::{AccountToken, Owned};
use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, Condition, ConnectionTrait, EntityTrait, FromQueryResult, IdenStatic,
    IntoActiveModel, Iterable, ModelTrait, PrimaryKeyToColumn, QueryFilter, QuerySelect, QueryTrait,
    TryIntoModel, Value,
};
use serde::{Deserialize, Serialize};
use store::{Snapshot, Tx};
use uuid::Uuid;
use vault::DataKeys;
use zeroize::Zeroizing;

use super::named_rows::NamedRows;
use super::stored_json::unreadable;
use crate::error::{Error, ErrorCode};
use crate::limits::{SNAPSHOT_BYTES_MAX, SNAPSHOT_PAGE_BYTES, SNAPSHOT_ROWS_AT_ONCE, SNAPSHOT_ROWS_MAX};
use crate::services::data_keys::reencrypt;

/// A table whose rows are copied and restored.
pub trait SnapshotTable: NamedRows + Send + Sync {
    fn name(&self) -> &'static str;

    /// Copies an account's rows as a snapshot of the database shows them.
    ///
    /// Refusals: `snapshot_too_large`.
    fn copy<'a>(
        &'a self,
        from: &'a Snapshot,
        account: AccountToken,
        to: &'a mut Pages,
    ) -> BoxFuture<'a, Result<(), Error>>;

    /// Reads the rows of one of its pages and seals them again with `keys` where the table has sealed columns.
    fn read(&self, page: &str, keys: &DataKeys) -> Result<Box<dyn Rows>, Error>;

    /// Deletes all of the account's rows that are copied.
    fn clear<'a>(&'a self, tx: &'a Tx, account: AccountToken) -> BoxFuture<'a, Result<(), Error>>;

    /// Deletes some of them, and returns how many.
    fn clear_some<'a>(
        &'a self,
        tx: &'a Tx,
        account: AccountToken,
        limit: u64,
    ) -> BoxFuture<'a, Result<u64, Error>>;
}

/// Rows that were read and can be restored.
pub trait Rows: Send + Sync {
    fn put<'a>(&'a self, tx: &'a Tx) -> BoxFuture<'a, Result<(), Error>>;

    /// Passes each row, a `Model`, to `change`.
    fn change(&mut self, change: &mut dyn FnMut(&mut dyn Any));

    /// Returns the table's name.
    fn table(&self) -> &'static str;
}

/// An entity whose rows can be copied.
pub trait Table:
    EntityTrait<
        Model: Sync + IntoActiveModel<<Self as EntityTrait>::ActiveModel> + 'static,
        ActiveModel: ActiveModelTrait<Entity = Self> + TryIntoModel<<Self as EntityTrait>::Model> + Send,
    >
{
}

impl<E> Table for E where
    E: EntityTrait<
            Model: Sync + IntoActiveModel<<E as EntityTrait>::ActiveModel> + 'static,
            ActiveModel: ActiveModelTrait<Entity = E> + TryIntoModel<<E as EntityTrait>::Model> + Send,
        >
{
}

pub struct AccountTable<E: EntityTrait> {
    pub(super) rows: fn(AccountToken) -> Condition,
    /// Removes from a row the values that are not copied.
    strip: fn(&mut E::Model),
}

impl<E: Owned> AccountTable<E> {
    /// All rows that the account owns.
    pub const OWNED: Self = Self::those(|account| Condition::all().add(E::ACCOUNT.eq(account)));
}

impl<E: EntityTrait> AccountTable<E> {
    /// Selects rows by a condition.
    pub const fn those(rows: fn(AccountToken) -> Condition) -> Self {
        Self { rows, strip: |_| () }
    }

    /// Returns the same rows, each changed by `strip`.
    #[must_use]
    pub const fn without(self, strip: fn(&mut E::Model)) -> Self {
        Self { rows: self.rows, strip }
    }
}

impl<E: Table> SnapshotTable for AccountTable<E> {
    fn name(&self) -> &'static str {
        E::default().table_name()
    }

    fn copy<'a>(
        &'a self,
        from: &'a Snapshot,
        account: AccountToken,
        to: &'a mut Pages,
    ) -> BoxFuture<'a, Result<(), Error>> {
        async move {
            let query = E::find().filter((self.rows)(account)).build(from.get_database_backend());
            let mut rows = from.stream(query).await?;
            to.begin::<E>()?;
            while let Some(row) = rows.try_next().await? {
                let mut row = E::Model::from_query_result(&row, "")?;
                (self.strip)(&mut row);
                to.add::<E>(row)?;
            }
            Ok(())
        }
        .boxed()
    }

    fn read(&self, page: &str, keys: &DataKeys) -> Result<Box<dyn Rows>, Error> {
        Ok(Box::new(InsertRowsUnit::<E>(read::<E>(page, keys)?)))
    }

    fn clear<'a>(&'a self, tx: &'a Tx, account: AccountToken) -> BoxFuture<'a, Result<(), Error>> {
        async move { Ok(E::delete_many().filter((self.rows)(account)).exec(tx).await.map(drop)?) }.boxed()
    }

    fn clear_some<'a>(
        &'a self,
        tx: &'a Tx,
        account: AccountToken,
        limit: u64,
    ) -> BoxFuture<'a, Result<u64, Error>> {
        let key = || E::PrimaryKey::iter().map(PrimaryKeyToColumn::into_column);
        let some = E::find().filter((self.rows)(account)).limit(limit).select_only().columns(key());
        let named = Expr::tuple(key().map(Expr::col));
        // The condition once more, because a statement names its account.
        let gone = E::delete_many().filter((self.rows)(account)).filter(named.in_subquery(some.into_query()));
        async move { Ok(gone.exec(tx).await?.rows_affected) }.boxed()
    }
}

pub(super) struct InsertRowsUnit<E: EntityTrait>(pub Vec<E::Model>);

impl<E: Table> Rows for InsertRowsUnit<E> {
    fn change(&mut self, change: &mut dyn FnMut(&mut dyn Any)) {
        self.0.iter_mut().for_each(|row| change(row));
    }

    fn table(&self) -> &'static str {
        E::default().table_name()
    }

    fn put<'a>(&'a self, tx: &'a Tx) -> BoxFuture<'a, Result<(), Error>> {
        async move {
            for some in self.0.chunks(SNAPSHOT_ROWS_AT_ONCE) {
                let rows = some.iter().map(|row| row.clone().into_active_model());
                E::insert_many(rows).exec_without_returning(tx).await?;
            }
            Ok(())
        }
        .boxed()
    }
}

/// The pages copied so far, each of one table.
pub struct Pages {
    /// The text of each page.
    pub texts: Vec<Zeroizing<String>>,
    /// The number of rows on them.
    pub rows: u64,
    /// Their size in bytes.
    pub bytes: u64,
    keys: Arc<DataKeys>,
    head: String,
}

impl Pages {
    /// Starts without pages. `keys` open sealed columns.
    pub fn new(keys: Arc<DataKeys>) -> Self {
        Self { texts: Vec::new(), rows: 0, bytes: 0, keys, head: String::new() }
    }

    /// Starts the rows of another table.
    fn begin<E: EntityTrait>(&mut self) -> Result<(), Error> {
        let columns = E::Column::iter().map(|column| column.as_str().to_owned()).collect();
        let head = Head { table: E::default().table_name().to_owned(), columns };
        self.head = serde_json::to_string(&head)?;
        Ok(())
    }

    fn add<E: Table>(&mut self, mut row: E::Model) -> Result<(), Error> {
        if let Some(table) = reencrypt::table(E::default().table_name()) {
            table.open(&self.keys, &mut row)?;
        }
        let cells = E::Column::iter().map(|column| Cell::try_from(row.get(column)));
        let line = Zeroizing::new(serde_json::to_string(&cells.collect::<Result<Vec<_>, _>>()?)?);
        self.rows += 1;
        self.bytes += line.len() as u64;
        if self.rows > SNAPSHOT_ROWS_MAX || self.bytes > SNAPSHOT_BYTES_MAX {
            return Err(ErrorCode::SnapshotTooLarge.into());
        }
        match self.texts.last_mut() {
            Some(page) if page.starts_with(&self.head) && page.len() < SNAPSHOT_PAGE_BYTES => {
                page.push('\n');
                page.push_str(&line);
            }
            Some(_) | None => self.texts.push(Zeroizing::new(format!("{}\n{}", self.head, *line))),
        }
        Ok(())
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// The first line of a page.
#[derive(Serialize, Deserialize)]
struct Head {
    table: String,
    columns: Vec<String>,
}

pub fn table_of(page: &str) -> Result<String, Error> {
    Ok(head(page)?.table)
}

fn head(page: &str) -> Result<Head, Error> {
    Ok(serde_json::from_str(page.lines().next().unwrap_or_default())?)
}

/// Reads the rows of a page of `E` and seals them with `keys` where the table has sealed columns.
pub fn read<E: Table>(page: &str, keys: &DataKeys) -> Result<Vec<E::Model>, Error> {
    let columns = head(page)?.columns.into_iter().map(|name| {
        let column = E::Column::iter().find(|column| column.as_str() == name);
        column.ok_or_else(|| Error::internal("a snapshot holds a column that is not known"))
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let sealed = reencrypt::table(E::default().table_name());
    let rows = page.lines().skip(1).map(|line| {
        let cells: Vec<Cell> = serde_json::from_str(line)?;
        let mut row = <E::ActiveModel as ActiveModelTrait>::default();
        for (column, cell) in columns.iter().zip(cells) {
            row.try_set(*column, cell.try_into()?)?;
        }
        let mut row = row.try_into_model()?;
        if let Some(column) = unreadable::<E>(&row) {
            return Err(Error::explained(
                ErrorCode::InvalidState,
                format!(
                    "The snapshot has a row of {} whose {column} cannot be read.",
                    E::default().table_name()
                ),
            ));
        }
        if let Some(table) = sealed {
            table.close(keys, &mut row as &mut dyn Any)?;
        }
        Ok(row)
    });
    rows.collect()
}

/// A value with its type.
#[derive(Serialize, Deserialize)]
enum Cell {
    #[serde(rename = "b")]
    Bool(Option<bool>),
    #[serde(rename = "i")]
    Int(Option<i32>),
    #[serde(rename = "l")]
    BigInt(Option<i64>),
    #[serde(rename = "t")]
    Text(Option<String>),
    /// In base64.
    #[serde(rename = "x")]
    Bytes(Option<String>),
    #[serde(rename = "u")]
    Id(Option<Uuid>),
}

impl TryFrom<Value> for Cell {
    type Error = Error;

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "sea-orm knows many types; no column of ours is of others"
    )]
    fn try_from(value: Value) -> Result<Self, Error> {
        Ok(match value {
            Value::Bool(value) => Self::Bool(value),
            Value::Int(value) => Self::Int(value),
            Value::BigInt(value) => Self::BigInt(value),
            Value::String(value) => Self::Text(value),
            Value::Bytes(value) => Self::Bytes(value.map(|bytes| STANDARD.encode(bytes))),
            Value::Uuid(value) => Self::Id(value),
            _ => return Err(Error::internal("a column of a type that is not copied")),
        })
    }
}

impl TryFrom<Cell> for Value {
    type Error = Error;

    fn try_from(cell: Cell) -> Result<Self, Error> {
        Ok(match cell {
            Cell::Bool(value) => value.into(),
            Cell::Int(value) => value.into(),
            Cell::BigInt(value) => value.into(),
            Cell::Text(value) => value.into(),
            Cell::Bytes(value) => {
                let bytes = value.map(|text| STANDARD.decode(text)).transpose();
                bytes.map_err(|_| Error::internal("a snapshot holds bytes that are none"))?.into()
            }
            Cell::Id(value) => value.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_with_its_type_also_where_it_is_null() {
        for value in [
            Value::Bool(Some(true)),
            Value::Bool(None),
            Value::Int(Some(-7)),
            Value::Int(None),
            Value::BigInt(Some(i64::MAX)),
            Value::BigInt(None),
            Value::String(Some("a\n\"b\" ü".into())),
            Value::String(None),
            Value::Bytes(Some(vec![0, 255, 10])),
            Value::Bytes(None),
            Value::Uuid(Some(Uuid::from_u128(7))),
            Value::Uuid(None),
        ] {
            let line = serde_json::to_string(&Cell::try_from(value.clone()).unwrap()).unwrap();
            assert!(!line.contains('\n'), "{line}");
            let cell: Cell = serde_json::from_str(&line).unwrap();
            assert_eq!(Value::try_from(cell).unwrap(), value, "{line}");
        }
        assert!(Cell::try_from(Value::SmallInt(Some(1))).is_err());
    }
}
