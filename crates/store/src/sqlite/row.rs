//! Converts SQLite's values to sea-orm's and back.
//!
//! By name, sea-orm reads a value only as its exact type, and takes a value of another type for NULL. SQLite has only one
//! integer type; the declared type of the column, the same on both databases, selects Rust's. An expression is BIGINT. A blob
//! of sixteen bytes is an id: hashes have thirty-two bytes, ciphertexts at least twenty-eight.

use std::collections::BTreeMap;

use rusqlite::types::{FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Row, Statement, ToSql};
use sea_orm::sea_query::{self, ArrayType};
use sea_orm::{DbErr, FromQueryResult, ProxyRow, TryGetable, Value};
use uuid::Uuid;

use super::fault::fault;
use crate::read::columns::ColumnReader;

/// sea-orm reads tuples by position, up to this many columns; everything else by name.
const TUPLE_COLUMNS_MAX: usize = 12;

/// The type of a column's integers.
#[derive(Debug, Clone, Copy)]
enum Integer {
    Bool,
    Int,
    BigInt,
}

/// The columns of a query's rows.
pub(super) struct Columns {
    integers: Vec<Integer>,
    /// The sorted keys under which sea-orm finds a column, each with the column's position. sea-orm also looks up a position
    /// in the order of keys, so keys of positions precede the names where there are few enough columns for a tuple.
    keys: Vec<(String, usize)>,
}

impl Columns {
    pub fn from_statement(statement: &Statement<'_>) -> Self {
        let columns = statement.columns();
        let integers = columns.iter().map(|column| Integer::declared(column.decl_type())).collect();
        let names = columns.iter().enumerate().map(|(n, column)| (column.name().to_owned(), n));
        let mut keys: Vec<_> = names.collect();
        if keys.len() <= TUPLE_COLUMNS_MAX {
            let positions = ('\0'..).zip(0..columns.len());
            keys.extend(positions.map(|(before_names, n)| (before_names.to_string(), n)));
        }
        keys.sort_unstable();
        Self { integers, keys }
    }

    pub fn read(&self, row: &Row<'_>) -> rusqlite::Result<ProxyRow> {
        let value = |(key, n): &(String, usize)| Ok((key.clone(), self.integers[*n].read(row, *n)?));
        let values = self.keys.iter().map(value).collect::<rusqlite::Result<BTreeMap<_, _>>>()?;
        Ok(ProxyRow::new(values))
    }
}

impl Integer {
    fn declared(column: Option<&str>) -> Self {
        match column {
            Some(column) if column.eq_ignore_ascii_case("BOOLEAN") => Self::Bool,
            Some(column) if column.eq_ignore_ascii_case("INTEGER") => Self::Int,
            Some(_) | None => Self::BigInt,
        }
    }

    fn read(self, row: &Row<'_>, n: usize) -> rusqlite::Result<Value> {
        Ok(match row.get_ref(n)? {
            // Of any type: every reader takes it for NULL.
            ValueRef::Null => Value::BigInt(None),
            ValueRef::Integer(integer) => match self {
                Self::Bool => (integer != 0).into(),
                Self::Int => {
                    let narrow = i32::try_from(integer);
                    narrow.map_err(|_| rusqlite::Error::IntegralValueOutOfRange(n, integer))?.into()
                }
                Self::BigInt => integer.into(),
            },
            ValueRef::Real(real) => real.into(),
            text @ ValueRef::Text(_) => text.as_str()?.into(),
            ValueRef::Blob(bytes) => match Uuid::from_slice(bytes) {
                Ok(id) => id.into(),
                Err(_) => bytes.into(),
            },
        })
    }
}

/// A row whose columns are read in order.
pub(super) struct SqliteRow<'r> {
    row: &'r Row<'r>,
    columns: &'r Columns,
    next: usize,
}

impl<'r> SqliteRow<'r> {
    pub fn new(row: &'r Row<'r>, columns: &'r Columns) -> Self {
        Self { row, columns, next: 0 }
    }
}

impl ColumnReader for SqliteRow<'_> {
    fn next<T: TryGetable + sea_query::ValueType>(&mut self, name: &str) -> Result<T, DbErr> {
        let n = self.next;
        self.next += 1;
        debug_assert_eq!(self.row.as_ref().column_name(n), Ok(name));
        let value = self.row.get_ref(n).map_err(|error| DbErr::Query(fault(error)))?;
        let misread = || DbErr::Type(format!("{name} is no {}", T::type_name()));
        let value = of_type(&T::array_type(), value).map_err(|_| misread())?;
        <T as sea_query::ValueType>::try_from(value).map_err(|_| misread())
    }

    fn by_name<T: FromQueryResult>(&mut self) -> Result<T, DbErr> {
        let row = self.columns.read(self.row).map_err(|error| DbErr::Query(fault(error)))?;
        T::from_query_result(&row.into(), "")
    }
}

/// Converts a value to the wanted type.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "sea-orm knows many types; no column of ours is of others"
)]
fn of_type(wanted: &ArrayType, value: ValueRef<'_>) -> FromSqlResult<Value> {
    Ok(match wanted {
        ArrayType::Bool => Value::Bool(value.as_i64_or_null()?.map(|integer| integer != 0)),
        ArrayType::Int => {
            let narrow = value.as_i64_or_null()?.map(i32::try_from).transpose();
            Value::Int(narrow.map_err(|_| FromSqlError::InvalidType)?)
        }
        ArrayType::BigInt => Value::BigInt(value.as_i64_or_null()?),
        ArrayType::String => Value::String(value.as_str_or_null()?.map(Into::into)),
        ArrayType::Bytes => Value::Bytes(value.as_blob_or_null()?.map(Into::into)),
        ArrayType::Uuid => {
            let id = value.as_blob_or_null()?.map(Uuid::from_slice).transpose();
            Value::Uuid(id.map_err(|_| FromSqlError::InvalidType)?)
        }
        _ => return Err(FromSqlError::InvalidType),
    })
}

/// A sea-orm value to bind.
pub(super) struct Bound<'v>(pub &'v Value);

impl ToSql for Bound<'_> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "sea-orm knows many types; no column of ours is of others"
    )]
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self.0 {
            Value::Bool(value) => value.map(|value| ValueRef::Integer(value.into())),
            Value::Int(value) => value.map(|value| ValueRef::Integer(value.into())),
            Value::BigInt(value) => value.map(ValueRef::Integer),
            Value::BigUnsigned(value) => {
                let value = value.map(i64::try_from).transpose();
                value
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?
                    .map(ValueRef::Integer)
            }
            Value::Double(value) => value.map(ValueRef::Real),
            Value::String(value) => value.as_ref().map(|value| ValueRef::Text(value.as_bytes())),
            Value::Bytes(value) => value.as_deref().map(ValueRef::Blob),
            Value::Uuid(value) => value.as_ref().map(|value| ValueRef::Blob(value.as_bytes())),
            _ => {
                return Err(rusqlite::Error::ToSqlConversionFailure(
                    "no column holds values of this type".into(),
                ));
            }
        };
        Ok(ToSqlOutput::Borrowed(value.unwrap_or(ValueRef::Null)))
    }
}
