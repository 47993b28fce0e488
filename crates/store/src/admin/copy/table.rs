//! The tables of a database, and their rows in the order of their keys.

use std::collections::BTreeMap;
use std::fmt::Write;

use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult, Statement, Value};
use uuid::Uuid;

use super::row::Row;
use crate::admin::installation_info::{MARKS, statement};

pub(super) struct Table {
    pub name: String,
    pub columns: Vec<Column>,
}

pub(super) struct Column {
    pub name: String,
    /// The type as its database names it.
    pub declared: String,
    kind: Kind,
    /// The place in the primary key, from 1; 0 outside it.
    key: i64,
}

/// The types of our columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    BigInt,
    Text,
    /// Bytes, or an id.
    Bytes,
}

/// All of ours but the record of migrations, which each database has its own of, and SQLite's index of words, which is made
/// from the rows, and what records the changes while they are copied.
const SQLITE: &str = "\
    SELECT m.name AS \"table\", p.name AS \"column\", p.type AS type, CAST(p.pk AS BIGINT) AS key \
    FROM sqlite_master m JOIN pragma_table_info(m.name) p \
    WHERE m.type = 'table' AND m.name <> 'seaql_migrations' AND m.name NOT LIKE 'sqlite!_%' ESCAPE '!' \
      AND m.name NOT LIKE '%!_search' ESCAPE '!' AND m.name NOT LIKE '%!_search!_%' ESCAPE '!' \
      AND m.name NOT LIKE 'copy!_changed!_%' ESCAPE '!' \
    ORDER BY m.name, p.name";

const POSTGRES: &str = "\
    SELECT c.relname::text AS table, a.attname::text AS column, format_type(a.atttypid, NULL) AS type, \
           COALESCE(k.place, 0) AS key \
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
    JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary \
    LEFT JOIN LATERAL unnest(i.indkey) WITH ORDINALITY k (number, place) ON k.number = a.attnum \
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> 'seaql_migrations' \
      AND c.relname NOT LIKE 'copy!_changed!_%' ESCAPE '!' \
    ORDER BY c.relname COLLATE \"C\", a.attname COLLATE \"C\"";

pub(super) async fn tables(database: &impl ConnectionTrait) -> Result<Vec<Table>, DbErr> {
    let sql = if database.get_database_backend() == DbBackend::Postgres { POSTGRES } else { SQLITE };
    let mut tables: BTreeMap<String, Vec<Column>> = BTreeMap::new();
    for row in database.query_all_raw(statement(database, sql)).await? {
        let kind: String = row.try_get("", "type")?;
        let column = Column {
            name: row.try_get("", "column")?,
            kind: Kind::parse(&kind)?,
            declared: kind,
            key: row.try_get("", "key")?,
        };
        tables.entry(row.try_get("", "table")?).or_default().push(column);
    }
    Ok(tables.into_iter().map(|(name, columns)| Table { name, columns }).collect())
}

impl Table {
    /// Selects the first rows in the order of their keys, which is the same in both databases.
    pub fn select(&self, database: &impl ConnectionTrait, limit: u64) -> Statement {
        let bytewise =
            if database.get_database_backend() == DbBackend::Postgres { " COLLATE \"C\"" } else { "" };
        let key = self.key();
        let key = key.iter().map(|column| {
            format!("\"{}\"{}", column.name, if column.kind == Kind::Text { bytewise } else { "" })
        });
        let mut sql = format!(
            "SELECT {} FROM \"{}\"{} ORDER BY {}",
            self.column_list(),
            self.name,
            self.without_mark(),
            key.collect::<Vec<_>>().join(", ")
        );
        if limit < u64::MAX {
            let _ = write!(sql, " LIMIT {limit}");
        }
        statement(database, &sql)
    }

    pub async fn count(&self, database: &impl ConnectionTrait) -> Result<u64, DbErr> {
        let sql = format!("SELECT count(*) AS n FROM \"{}\"{}", self.name, self.without_mark());
        let row = database.query_one_raw(statement(database, &sql)).await?;
        let rows = row.map(|row| row.try_get::<i64>("", "n")).transpose()?.unwrap_or_default();
        Ok(u64::try_from(rows).unwrap_or_default())
    }

    /// Returns the statement that deletes all rows.
    pub fn clear(&self, backend: DbBackend) -> String {
        let (name, mark) = (&self.name, self.without_mark());
        if backend == DbBackend::Postgres && mark.is_empty() {
            format!("TRUNCATE \"{name}\"")
        } else {
            format!("DELETE FROM \"{name}\"{mark}")
        }
    }

    /// The marks of a copy are no rows of the installation.
    fn without_mark(&self) -> String {
        if self.name == "installation" { format!(" WHERE name NOT IN ({MARKS})") } else { String::new() }
    }

    /// Returns the columns of the primary key, in its order.
    pub fn key(&self) -> Vec<&Column> {
        let mut key: Vec<_> = self.columns.iter().filter(|column| column.key > 0).collect();
        key.sort_by_key(|column| column.key);
        key
    }

    /// Returns the key's columns as SQL lists them.
    pub fn key_list(&self) -> String {
        self.key().iter().map(|column| format!("\"{}\"", column.name)).collect::<Vec<_>>().join(", ")
    }

    /// Returns the condition that rows of two tables have the same key.
    pub fn same_key(&self, one: &str, other: &str) -> String {
        let same = |column: &&Column| format!("{one}.\"{0}\" = {other}.\"{0}\"", column.name);
        self.key().iter().map(same).collect::<Vec<_>>().join(" AND ")
    }

    /// Returns the columns as SQL lists them.
    pub fn column_list(&self) -> String {
        self.columns.iter().map(|column| format!("\"{}\"", column.name)).collect::<Vec<_>>().join(", ")
    }

    pub fn read(&self, row: &QueryResult) -> Result<Row, DbErr> {
        read(self.columns.iter(), row)
    }

    pub fn read_key(&self, row: &QueryResult) -> Result<Row, DbErr> {
        read(self.key().into_iter(), row)
    }
}

fn read<'c>(columns: impl Iterator<Item = &'c Column>, row: &QueryResult) -> Result<Row, DbErr> {
    Ok(Row::new(columns.map(|column| column.kind.read(row, &column.name)).collect::<Result<_, _>>()?))
}

impl Kind {
    fn parse(declared: &str) -> Result<Self, DbErr> {
        Ok(match declared.to_ascii_lowercase().as_str() {
            "boolean" => Self::Bool,
            "integer" => Self::Int,
            "bigint" => Self::BigInt,
            "text" => Self::Text,
            "bytea" | "uuid" | "blob" => Self::Bytes,
            other => return Err(DbErr::Type(format!("no column of ours has the type {other}"))),
        })
    }

    fn read(self, row: &QueryResult, column: &str) -> Result<Value, DbErr> {
        Ok(match self {
            Self::Bool => row.try_get::<Option<bool>>("", column)?.into(),
            Self::Int => row.try_get::<Option<i32>>("", column)?.into(),
            Self::BigInt => row.try_get::<Option<i64>>("", column)?.into(),
            Self::Text => row.try_get::<Option<String>>("", column)?.into(),
            // Either database has its own type of ids, and SQLite's is that of bytes.
            Self::Bytes => {
                let bytes = row.try_get::<Option<Vec<u8>>>("", column);
                match (bytes, row.try_get::<Option<Uuid>>("", column)) {
                    (Ok(Some(bytes)), _) => bytes.into(),
                    (_, Ok(Some(id))) => id.into(),
                    (Err(error), Err(_)) => return Err(error),
                    _ => Value::Bytes(None),
                }
            }
        })
    }
}
