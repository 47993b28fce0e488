//! Statements that contain rows of values as a table.

use std::fmt::Write;

use sea_orm::{DbBackend, Statement, Value};

/// Builds a statement on rows that it contains as the table `v`:
/// `WITH v (id, n) AS (VALUES ($1, $2), ($3, $4)) UPDATE ... FROM v ...`.
///
/// On PostgreSQL, if all rows are of one account, `v.account_id` is replaced by that value: a distributed database sends a
/// statement to one node only if it sees the account.
pub fn about(backend: DbBackend, columns: &[&str], rows: Vec<Vec<Value>>, statement: &str) -> Statement {
    let (mut sql, mut values) = (String::new(), Vec::new());
    with_values(&mut sql, &mut values, backend, columns, rows, statement);
    Statement::from_sql_and_values(backend, sql, values)
}

/// Writes `WITH v (...) AS (VALUES (...), ...)` and the statement on it.
pub(crate) fn with_values(
    sql: &mut String,
    values: &mut Vec<Value>,
    backend: DbBackend,
    columns: &[&str],
    rows: Vec<Vec<Value>>,
    statement: &str,
) {
    let account = format!("${}", values.len() + 1);
    let of_one = columns.first() == Some(&"account_id") && rows.iter().all(|row| row[0] == rows[0][0]);
    // Writing to a String cannot fail.
    let _ = write!(sql, "WITH v ({}) AS (", columns.join(", "));
    value_rows(sql, values, backend, rows);
    sql.push_str(") ");
    if backend == DbBackend::Postgres && of_one {
        sql.push_str(&statement.replace("v.account_id", &account));
    } else {
        sql.push_str(statement);
    }
}

/// Writes `VALUES (...), ...`, with each database's own placeholders.
pub(crate) fn value_rows(
    sql: &mut String,
    values: &mut Vec<Value>,
    backend: DbBackend,
    rows: Vec<Vec<Value>>,
) {
    sql.push_str("VALUES ");
    for (n, row) in rows.into_iter().enumerate() {
        sql.push_str(if n == 0 { "(" } else { ", (" });
        for (n, value) in row.into_iter().enumerate() {
            values.push(value);
            if n > 0 {
                sql.push_str(", ");
            }
            if backend == DbBackend::Postgres {
                let _ = write!(sql, "${}", values.len());
            } else {
                sql.push('?');
            }
        }
        sql.push(')');
    }
}
