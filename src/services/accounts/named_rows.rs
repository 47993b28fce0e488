//! An account's rows as JSON objects, for a file that people keep and compare: columns by name, without those that are null,
//! name the account, or hold what must not be in such a file.

use std::any::Any;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use entity::AccountToken;
use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use sea_orm::{
    ActiveModelTrait, ConnectionTrait, EntityTrait, FromQueryResult, IdenStatic, Iterable, ModelTrait,
    QueryFilter, QueryTrait, TryIntoModel, Value,
};
use serde_json::{Map, Value as Json};
use store::Snapshot;
use uuid::Uuid;
use vault::DataKeys;

use super::snapshot_rows::{AccountTable, InsertRowsUnit, Rows, Table};
use super::stored_json::{can_be_read, is_json};
use crate::error::Error;
use crate::services::data_keys::reencrypt;

/// A row: its columns by name.
pub type NamedRow = Map<String, Json>;

/// Puts plain values into the sealed columns of a row, a `Model`.
pub type Fill<'a> = &'a mut dyn FnMut(&mut dyn Any) -> Result<(), String>;

/// A table whose rows can be written to a file and read from it.
pub trait NamedRows {
    /// Returns the account's rows as a snapshot of the database shows them, in an order that depends on nothing else.
    fn export<'a>(
        &'a self,
        from: &'a Snapshot,
        account: AccountToken,
    ) -> BoxFuture<'a, Result<Vec<NamedRow>, Error>>;

    /// Reads rows of a file as the account's own, and seals with `keys` what `fill` puts into them.
    ///
    /// Errors: what is wrong with which row.
    fn import(
        &self,
        rows: &[NamedRow],
        account: AccountToken,
        keys: &DataKeys,
        fill: Fill<'_>,
    ) -> Result<Box<dyn Rows>, String>;
}

impl<E: Table> NamedRows for AccountTable<E> {
    fn export<'a>(
        &'a self,
        from: &'a Snapshot,
        account: AccountToken,
    ) -> BoxFuture<'a, Result<Vec<NamedRow>, Error>> {
        async move {
            let query = E::find().filter((self.rows)(account)).build(from.get_database_backend());
            let mut found = from.stream(query).await?;
            let mut rows = Vec::new();
            while let Some(row) = found.try_next().await? {
                let row = E::Model::from_query_result(&row, "")?;
                rows.push(write::<E>(&row, is_in_files::<E>)?);
            }
            // Databases sort texts differently. The key is in front.
            rows.sort_by_cached_key(|row| serde_json::to_string(row).unwrap_or_default());
            Ok(rows)
        }
        .boxed()
    }

    fn import(
        &self,
        rows: &[NamedRow],
        account: AccountToken,
        keys: &DataKeys,
        fill: Fill<'_>,
    ) -> Result<Box<dyn Rows>, String> {
        let sealed = reencrypt::table(E::default().table_name());
        let mut one = |named: &NamedRow| {
            let mut row = <E::ActiveModel as ActiveModelTrait>::default();
            for column in E::Column::iter().filter(|column| !is_in_files::<E>(*column)) {
                let is_account = column.as_str() == "account_id";
                let blank = if is_account { vec![Value::from(account.id())] } else { blanks() };
                set::<E>(&mut row, column, blank)
                    .map_err(|()| format!("{} cannot be blank", column.as_str()))?;
            }
            read_into::<E>(named, &mut row, is_in_files::<E>)?;
            let mut row = row.try_into_model().map_err(|error| error.to_string())?;
            fill(&mut row)?;
            if let Some(table) = sealed {
                table.close(keys, &mut row).map_err(|error| error.to_string())?;
            }
            Ok(row)
        };
        let name = E::default().table_name();
        let at = |n: usize| move |wrong: String| format!("{name}, row {n}: {wrong}");
        let rows = rows.iter().zip(1..).map(|(named, n)| one(named).map_err(at(n)));
        Ok(Box::new(InsertRowsUnit::<E>(rows.collect::<Result<_, String>>()?)))
    }
}

/// Returns whether files have the column: not what names the account, is sealed, or counts calls and leases of a server's life.
fn is_in_files<E: EntityTrait>(column: E::Column) -> bool {
    let (table, column) = (E::default().table_name(), column.as_str());
    let is_sealed = column == "sealed_by" || column.ends_with("_sealed");
    let is_counted = matches!(
        (table, column),
        ("charges", "attempt" | "claim") | ("webhooks", "attempt" | "leased_until")
    );
    !is_sealed && !is_counted && column != "account_id"
}

/// Writes the columns of a row for which `is_written` holds.
pub fn write<E: EntityTrait>(
    row: &E::Model,
    is_written: impl Fn(E::Column) -> bool,
) -> Result<NamedRow, Error> {
    let mut named = NamedRow::new();
    for column in E::Column::iter().filter(|column| is_written(*column)) {
        let value = json(row.get(column))?;
        if !value.is_null() {
            named.insert(column.as_str().to_owned(), value);
        }
    }
    Ok(named)
}

/// Reads the columns for which `is_read` holds: an absent one is null, any other is an error.
pub fn read_into<E: Table>(
    named: &NamedRow,
    row: &mut E::ActiveModel,
    is_read: impl Fn(E::Column) -> bool,
) -> Result<(), String> {
    for column in E::Column::iter().filter(|column| is_read(*column)) {
        let name = column.as_str();
        let is_readable = |value: &Json| {
            let text = value.as_str().filter(|_| is_json::<E>(column));
            text.is_none_or(|text| can_be_read(E::default().table_name(), name, text))
        };
        let (values, wrong) = match named.get(name) {
            Some(value) if is_readable(value) => (values(value), "has a wrong value"),
            Some(_) => (Vec::new(), "has a wrong value"),
            None => (nulls(), "is missing"),
        };
        set::<E>(row, column, values).map_err(|()| format!("{name} {wrong}"))?;
    }
    let is_known = |name: &str| E::Column::iter().any(|column| column.as_str() == name && is_read(column));
    match named.keys().find(|name| !is_known(name)) {
        Some(name) => Err(format!("{name} is no column of this release's files")),
        None => Ok(()),
    }
}

/// Sets the column to the value of its type.
fn set<E: Table>(row: &mut E::ActiveModel, column: E::Column, values: Vec<Value>) -> Result<(), ()> {
    if values.into_iter().any(|value| row.try_set(column, value).is_ok()) { Ok(()) } else { Err(()) }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "sea-orm knows many types; no column of ours is of others"
)]
fn json(value: Value) -> Result<Json, Error> {
    Ok(match value {
        Value::Bool(value) => value.into(),
        Value::Int(value) => value.into(),
        Value::BigInt(value) => value.into(),
        Value::String(value) => value.into(),
        Value::Bytes(value) => value.map(|bytes| STANDARD.encode(bytes)).into(),
        Value::Uuid(value) => value.map(|id| id.to_string()).into(),
        _ => return Err(Error::internal("a column of a type that no file has")),
    })
}

/// Returns what a JSON value may mean, depending on the column.
fn values(json: &Json) -> Vec<Value> {
    match json {
        Json::Bool(value) => vec![(*value).into()],
        Json::Number(number) => {
            let long = number.as_i64();
            let int = long.and_then(|long| i32::try_from(long).ok());
            int.map(Value::from).into_iter().chain(long.map(Value::from)).collect()
        }
        Json::String(text) => {
            let id = Uuid::parse_str(text).ok().map(Value::from);
            let bytes = STANDARD.decode(text).ok().map(Value::from);
            id.into_iter().chain([text.as_str().into()]).chain(bytes).collect()
        }
        Json::Null | Json::Array(_) | Json::Object(_) => Vec::new(),
    }
}

fn nulls() -> Vec<Value> {
    vec![
        Value::Bool(None),
        Value::Int(None),
        Value::BigInt(None),
        Value::String(None),
        Value::Bytes(None),
        Value::Uuid(None),
    ]
}

/// Returns null, or what stands for it in a column that is never null.
fn blanks() -> Vec<Value> {
    let mut blanks = nulls();
    blanks.extend([0_i32.into(), Vec::<u8>::new().into(), Uuid::nil().into()]);
    blanks
}
