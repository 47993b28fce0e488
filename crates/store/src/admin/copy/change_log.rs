//! The changes that servers make in a source while it is copied. Triggers record the keys of all rows that are written; a round
//! copies those rows. The same triggers end all writing once the installation has moved: whatever server, of whichever release,
//! writes there.

use std::ops::RangeInclusive;

use futures::{StreamExt, TryStreamExt};
use sea_orm::{ConnectionTrait, DbBackend, DbErr};

use super::CopyError;
use super::row::in_chunks;
use super::table::Table;
use super::target::Target;
use super::writer::{RawWriter, quoted};
use crate::admin::installation_info::{
    FOLLOWED_BY, MARKS, MOVED, MOVED_TO, has_tables, installation_entry, statement,
};
use crate::{Snapshot, Store};

/// The record of changes in a source, which serves one target: a round of one copy removes what another one would lack.
pub(super) struct ChangeLog {
    source: RawWriter,
    target: String,
}

impl ChangeLog {
    /// Records all changes from now on. Returns as well whether an earlier command for the same target has begun this.
    pub async fn begin<E>(
        source: &Store<E>,
        tables: &[Table],
        target: String,
    ) -> Result<(Self, bool), CopyError> {
        let log = Self { source: RawWriter::new(source)?, target };
        let is_begun = !log.claim().await?;
        for table in tables {
            // Each by itself: a server waits for one table at most, and only while no other writer is in it.
            for sql in table.recording(log.source.get_database_backend()) {
                log.source.execute_unprepared(&sql).await?;
            }
        }
        Ok((log, is_begun))
    }

    /// Returns whether the changes of all these tables are recorded.
    pub async fn is_complete<E>(source: &Store<E>, tables: &[Table]) -> Result<bool, CopyError> {
        let records: Vec<_> = tables.iter().map(Table::recorded).collect();
        Ok(has_tables(source.read(), &records).await?)
    }

    /// Marks the source as followed by the target, unless it is marked already. Returns whether it was not.
    async fn claim(&self) -> Result<bool, CopyError> {
        let sql = format!(
            "INSERT INTO installation (name, value) VALUES ('{FOLLOWED_BY}', {}) ON CONFLICT (name) DO NOTHING",
            quoted(&self.target)
        );
        let is_new = self.source.execute_unprepared(&sql).await?.rows_affected() > 0;
        match installation_entry(&self.source, FOLLOWED_BY).await? {
            Some(target) if target == self.target => Ok(is_new),
            Some(elsewhere) => Err(CopyError::FollowedElsewhere(elsewhere)),
            None => Err(CopyError::Cancelled),
        }
    }

    /// Returns the condition that the source is still followed by the target.
    fn is_claimed(&self) -> String {
        format!("name = '{FOLLOWED_BY}' AND value = {}", quoted(&self.target))
    }

    /// Ends all writing, and returns when no writer is left: servers refuse every change. Does nothing, and says so, if the
    /// copy was cancelled.
    pub async fn end_writing(&self, tables: &[Table]) -> Result<(), CopyError> {
        let claimed = self.is_claimed();
        // PostgreSQL writes the former mark as well: it waits for transactions that have locked it, and they fail if they lock it
        // later (see `recording`).
        let (with, claim) = if self.source.get_database_backend() == DbBackend::Postgres {
            let update = format!("UPDATE installation SET value = value WHERE {claimed} RETURNING value");
            (format!("WITH claim AS ({update}) "), "claim".to_owned())
        } else {
            (String::new(), format!("installation WHERE {claimed}"))
        };
        let sql = format!(
            "{with}INSERT INTO installation (name, value) SELECT '{MOVED_TO}', value FROM {claim} \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE installation.value = excluded.value"
        );
        if self.source.execute_unprepared(&sql).await?.rows_affected() == 0 {
            return Err(CopyError::Cancelled);
        }
        // SQLite has one writer, which was the last statement. In PostgreSQL transactions may have passed the triggers before.
        if self.source.get_database_backend() == DbBackend::Postgres {
            for table in tables {
                let wait = format!("BEGIN; LOCK TABLE \"{}\" IN SHARE MODE; COMMIT", table.name);
                self.source.execute_unprepared(&wait).await?;
            }
        }
        Ok(())
    }

    /// Lets servers write again.
    pub async fn allow_writing(&self) -> Result<(), DbErr> {
        self.source.unset(MOVED_TO, &self.target).await
    }

    /// Removes what an earlier command for this target has left of its record. Another target may follow afterwards.
    pub async fn remove<E>(source: &Store<E>, tables: &[Table], target: String) -> Result<(), CopyError> {
        let log = Self { source: RawWriter::new(source)?, target };
        log.claim().await?;
        for table in tables {
            for sql in table.recording_no_more(log.source.get_database_backend()) {
                log.source.execute_unprepared(&sql).await?;
            }
        }
        log.allow_writing().await?;
        Ok(log.source.unset(FOLLOWED_BY, &log.target).await?)
    }

    /// Copies the rows that were changed. What is changed meanwhile is left to the next round.
    pub async fn copy_changes<E>(
        &self,
        source: &Snapshot,
        tables: &[Table],
        target: &Target<E>,
    ) -> Result<(), DbErr> {
        if let Snapshot::Postgres(snapshot) = source {
            // The changes are few, and nothing is known of how few.
            snapshot
                .execute_unprepared("SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off")
                .await?;
        }
        let mut copied = Vec::new();
        for table in tables {
            let records = table.records(source).await?;
            if records.is_empty() {
                continue;
            }
            // All of them first: a row may have a unique value that another one had.
            let keys = source.stream(statement(source, &table.select_changed_keys())).await?;
            let keys = keys.map(|key| table.read_key(&key?));
            in_chunks(keys, async |keys| target.delete(table, keys).await).await?;
            let rows = table.select_changed(source.get_database_backend());
            let rows = source.stream(statement(source, &rows)).await?;
            let rows = rows.map(|row| table.read(&row?));
            in_chunks(rows, async |rows| target.insert(table, rows).await).await?;
            let claimed = self.is_claimed();
            copied.extend(records.iter().map(|records| table.delete_records(records, &claimed)));
        }
        self.forget(&copied).await
    }

    /// Deletes the records of what was copied, in one transaction: SQLite's servers are waited for once.
    async fn forget(&self, copied: &[String]) -> Result<(), DbErr> {
        if copied.is_empty() {
            return Ok(());
        }
        let begin =
            if self.source.get_database_backend() == DbBackend::Sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" };
        let forgotten =
            self.source.execute_unprepared(&format!("{begin}; {}; COMMIT", copied.join("; "))).await;
        if forgotten.is_err() && self.source.get_database_backend() == DbBackend::Sqlite {
            // The connection is used again, to let servers write. It fails harmlessly if the transaction has ended already.
            let _ = self.source.execute_unprepared("ROLLBACK").await;
        }
        forgotten.map(drop)
    }
}

/// The table and its triggers that record the changes of a table.
impl Table {
    fn recorded(&self) -> String {
        format!("copy_changed_{}", self.name)
    }

    fn recording(&self, backend: DbBackend) -> Vec<String> {
        let (name, record) = (&self.name, self.recorded());
        let key = self.key();
        let columns = key.iter().map(|column| format!("\"{}\" {}", column.name, column.declared));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let put = |of: &str| {
            let values = key.iter().map(|column| format!("{of}.\"{}\"", column.name));
            let values = values.collect::<Vec<_>>().join(", ");
            format!("INSERT INTO \"{record}\" ({}) VALUES ({values})", self.key_list())
        };
        // The marks themselves are no changes of the installation.
        let when = |of: &[&str]| {
            let ours = |of: &&str| format!("{of}.name NOT IN ({MARKS})");
            if name == "installation" {
                format!("WHEN ({})", of.iter().map(ours).collect::<Vec<_>>().join(" AND "))
            } else {
                String::new()
            }
        };
        let has_moved = format!("SELECT 1 FROM installation WHERE name = '{MOVED_TO}'");
        let triggers: [(&str, &[&str]); 3] =
            [("INSERT", &["NEW"]), ("UPDATE", &["OLD", "NEW"]), ("DELETE", &["OLD"])];
        if backend == DbBackend::Sqlite {
            let table =
                format!("CREATE TABLE IF NOT EXISTS \"{record}\" (change INTEGER PRIMARY KEY, {columns})");
            let trigger = |(event, of): (&str, &[&str])| {
                let puts: String = of.iter().map(|of| put(of) + "; ").collect();
                format!(
                    "CREATE TRIGGER IF NOT EXISTS \"{record}_{event}\" AFTER {event} ON \"{name}\" {} BEGIN \
                     SELECT RAISE(ABORT, '{MOVED}') WHERE EXISTS ({has_moved}); {puts}END",
                    when(of)
                )
            };
            return std::iter::once(table).chain(triggers.map(trigger)).collect();
        }
        let table =
            format!("CREATE TABLE IF NOT EXISTS \"{record}\" (change BIGSERIAL PRIMARY KEY, {columns})");
        // A transaction with a snapshot does not see that the installation has moved since. Then it fails to lock this mark, and
        // runs again with another snapshot; and so it does if the mark is newer than its snapshot.
        let see_now = format!(
            "IF current_setting('transaction_isolation') <> 'read committed' THEN \
             PERFORM 1 FROM installation WHERE name = '{FOLLOWED_BY}' FOR SHARE; \
             IF NOT FOUND THEN RAISE EXCEPTION 'a copy has begun meanwhile' USING ERRCODE = 'serialization_failure'; END IF; \
             END IF;"
        );
        let mut statements = vec![table];
        for (event, of) in triggers {
            let puts: String = of.iter().map(|of| put(of) + "; ").collect();
            statements.push(format!(
                "CREATE OR REPLACE FUNCTION \"{record}_{event}\"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 {see_now} IF EXISTS ({has_moved}) THEN \
                 RAISE EXCEPTION '{MOVED}' USING ERRCODE = 'read_only_sql_transaction'; END IF; \
                 {puts}RETURN NULL; END $$"
            ));
            statements.push(format!(
                "CREATE OR REPLACE TRIGGER \"{record}_{event}\" AFTER {event} ON \"{name}\" FOR EACH ROW {} \
                 EXECUTE FUNCTION \"{record}_{event}\"()",
                when(of)
            ));
        }
        statements
    }

    fn recording_no_more(&self, backend: DbBackend) -> Vec<String> {
        let (name, record) = (&self.name, self.recorded());
        let drop_trigger = |event: &str| {
            if backend == DbBackend::Sqlite {
                format!("DROP TRIGGER IF EXISTS \"{record}_{event}\"")
            } else {
                format!(
                    "DROP TRIGGER IF EXISTS \"{record}_{event}\" ON \"{name}\"; \
                     DROP FUNCTION IF EXISTS \"{record}_{event}\"()"
                )
            }
        };
        let dropped = ["INSERT", "UPDATE", "DELETE"].map(drop_trigger);
        dropped.into_iter().chain([format!("DROP TABLE IF EXISTS \"{record}\"")]).collect()
    }

    /// Returns the numbers of the records that a snapshot sees, as ranges without a gap: a missing number may be of a transaction
    /// that is not committed yet.
    async fn records(&self, source: &Snapshot) -> Result<Vec<RangeInclusive<i64>>, DbErr> {
        let numbers =
            format!("SELECT CAST(change AS BIGINT) AS change FROM \"{}\" ORDER BY 1", self.recorded());
        let mut numbers = source.stream(statement(source, &numbers)).await?;
        let mut ranges: Vec<RangeInclusive<i64>> = Vec::new();
        while let Some(number) = numbers.try_next().await? {
            let number: i64 = number.try_get("", "change")?;
            match ranges.last_mut() {
                Some(range) if range.end() + 1 == number => *range = *range.start()..=number,
                _ => ranges.push(number..=number),
            }
        }
        Ok(ranges)
    }

    /// Deletes records, unless the copy was cancelled: they may be another one's by now.
    fn delete_records(&self, range: &RangeInclusive<i64>, claimed: &str) -> String {
        let (first, last) = (range.start(), range.end());
        format!(
            "DELETE FROM \"{}\" WHERE change BETWEEN {first} AND {last} \
             AND EXISTS (SELECT 1 FROM installation WHERE {claimed})",
            self.recorded()
        )
    }

    fn select_changed_keys(&self) -> String {
        format!("SELECT DISTINCT {} FROM \"{}\"", self.key_list(), self.recorded())
    }

    /// Selects the changed rows that are there: a key without one was deleted.
    fn select_changed(&self, backend: DbBackend) -> String {
        // SQLite's way to say which table is read first.
        let join = if backend == DbBackend::Sqlite { "CROSS JOIN" } else { "JOIN" };
        let columns: Vec<_> = self.columns.iter().map(|column| format!("t.\"{}\"", column.name)).collect();
        format!(
            "SELECT {} FROM ({}) c {join} \"{}\" t ON {}",
            columns.join(", "),
            self.select_changed_keys(),
            self.name,
            self.same_key("t", "c")
        )
    }
}
