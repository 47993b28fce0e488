//! Fences: while one writer replaces an account's rows in several commits, no other statement of this process reads or changes
//! them. On SQLite, where one server runs on a file, that is everybody but an operator's command.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use base::mutex::lock;
use rusqlite::ffi;
use sea_orm::{Statement, Value};
use uuid::Uuid;

/// The words of SQL before the name of a table.
const BEFORE_TABLES: [&str; 4] = ["FROM", "JOIN", "INTO", "UPDATE"];

/// The accounts with a fence, and the tables behind it.
#[derive(Debug, Default)]
pub(crate) struct Fences {
    /// Whether there is any: most statements check only this.
    is_any: AtomicBool,
    fenced: Mutex<HashMap<Uuid, Vec<&'static str>>>,
}

impl Fences {
    pub fn raise(&self, account: Uuid, tables: Vec<&'static str>) {
        let mut fenced = lock(&self.fenced);
        fenced.insert(account, tables);
        self.is_any.store(true, Ordering::Release);
    }

    pub fn lift(&self, account: Uuid) {
        let mut fenced = lock(&self.fenced);
        fenced.remove(&account);
        self.is_any.store(!fenced.is_empty(), Ordering::Release);
    }

    pub fn is_fenced(&self, account: Uuid) -> bool {
        self.is_any.load(Ordering::Acquire) && lock(&self.fenced).contains_key(&account)
    }

    /// Returns who has a fence.
    pub fn fenced(&self) -> Vec<Uuid> {
        if self.is_any.load(Ordering::Acquire) {
            lock(&self.fenced).keys().copied().collect()
        } else {
            Vec::new()
        }
    }

    /// Refuses a statement that names a fenced account and a table behind its fence, unless it comes from the one who may `pass`. A
    /// statement about the rows of one account always binds the account.
    pub fn check(&self, statement: &Statement, pass: Option<Uuid>) -> rusqlite::Result<()> {
        if !self.is_any.load(Ordering::Acquire) {
            return Ok(());
        }
        let fenced = lock(&self.fenced);
        let mut bound = statement.values.iter().flat_map(|values| &values.0);
        let is_refused = |value: &Value| {
            matches!(value, Value::Uuid(Some(account)) if pass != Some(*account)
                && fenced.get(account).is_some_and(|tables| names_one_of(&statement.sql, tables)))
        };
        if bound.any(is_refused) {
            let busy = ffi::Error::new(ffi::SQLITE_BUSY);
            return Err(rusqlite::Error::SqliteFailure(busy, None));
        }
        Ok(())
    }
}

fn names_one_of(sql: &str, tables: &[&str]) -> bool {
    let mut words = sql.split([' ', '\n', '(', ')', ',']).filter(|word| !word.is_empty());
    let mut before = "";
    words.any(|word| {
        let is_table = BEFORE_TABLES.contains(&std::mem::replace(&mut before, word));
        is_table && tables.contains(&word.trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use sea_orm::DbBackend;

    use super::*;

    #[test]
    fn a_fence_keeps_out_every_statement_about_the_account_and_no_other_one() {
        let (behind, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let fences = Fences::default();
        fences.raise(behind, vec!["rows", "notes"]);
        let refused = |sql: &str, values: &[Uuid], pass| {
            let values = values.iter().map(|id| Value::from(*id));
            let statement = Statement::from_sql_and_values(DbBackend::Sqlite, sql, values);
            fences.check(&statement, pass).is_err()
        };
        for sql in [
            "SELECT \"rows\".\"id\" FROM \"rows\" WHERE \"account_id\" = ?",
            "INSERT INTO rows (account_id) VALUES (?)",
            "INSERT INTO \"rows\" (\"account_id\") VALUES (?)",
            "UPDATE rows SET state = 'x' WHERE account_id = ?",
            "DELETE FROM notes WHERE account_id = ?",
            "SELECT 1 FROM owners a JOIN rows c ON c.account_id = a.id WHERE a.id = ?",
            "SELECT (SELECT COUNT(*) FROM rows) FROM owners WHERE id = ?",
            "WITH v (account_id) AS (VALUES (?)) UPDATE notes SET sequence = 1 FROM v",
        ] {
            assert!(refused(sql, &[behind], None), "{sql}");
            assert!(refused(sql, &[other, behind], Some(other)), "{sql}");
            assert!(!refused(sql, &[behind], Some(behind)), "{sql}");
            assert!(!refused(sql, &[other], None), "{sql}");
        }
        assert!(!refused("SELECT rows, \"notes\" FROM owners WHERE id = ?", &[behind], None));
        fences.lift(behind);
        assert!(!refused("DELETE FROM notes WHERE account_id = ?", &[behind], None));
    }
}
