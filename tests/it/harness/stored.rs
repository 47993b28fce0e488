//! Stored rows and files, for rules about what a request must not change or keep.

use entity::{idempotency_answer, idempotency_key};
use sea_orm::{ConnectionTrait, EntityTrait, QueryOrder, Statement};
use serde_json::Value;

use super::app::{App, Database};
use super::client::Answer;
use super::rows::rows;

impl App {
    /// Returns every row and every stored file as text.
    pub async fn rows(&self) -> String {
        let rows = rows(self.ctx().store.backend(), async |sql| self.text(&sql).await).await;
        format!("{rows}\n{:#?}", self.blobs())
    }

    /// Returns the stored Idempotency-Keys and their answers.
    pub async fn idempotency_rows(&self) -> (Vec<idempotency_key::Model>, Vec<idempotency_answer::Model>) {
        let db = self.ctx().store.read();
        let keys = idempotency_key::Entity::find().order_by_asc(idempotency_key::Column::Hash);
        let answers = idempotency_answer::Entity::find().order_by_asc(idempotency_answer::Column::Hash);
        (keys.all(db).await.unwrap(), answers.all(db).await.unwrap())
    }

    /// Sends a request that must change nothing. Returns its answer.
    pub async fn unchanged(&self, request: impl Future<Output = Answer>) -> Answer {
        let before = self.rows().await;
        let answer = request.await;
        let after = self.rows().await;
        let difference = before.lines().zip(after.lines()).find(|(before, after)| before != after);
        assert!(before == after, "something changed: {difference:?}, by {}", answer.text);
        answer
    }

    /// Returns everything in the database as bytes: the files of SQLite's, the text of PostgreSQL's tables.
    pub async fn everything(&self) -> Vec<u8> {
        match self.database {
            Database::Sqlite => {
                let file = self.text("SELECT file FROM pragma_database_list WHERE name = 'main'").await;
                let files = ["", "-wal", "-shm"].map(|end| std::fs::read(format!("{file}{end}")));
                files.into_iter().flatten().flatten().collect()
            }
            Database::Postgres => {
                let tables = "SELECT string_agg(table_name, ' ') FROM information_schema.tables WHERE table_schema = current_schema()";
                let mut all = String::new();
                for table in self.text(tables).await.split(' ') {
                    let rows = format!(
                        "SELECT COALESCE(string_agg(row.row_text, ' '), '') FROM (SELECT t::text AS row_text FROM {table} t) AS row"
                    );
                    all.push_str(&self.text(&rows).await);
                }
                all.into_bytes()
            }
        }
    }

    /// Returns one text from the database.
    pub async fn text(&self, sql: &str) -> String {
        let reader = self.ctx().store.read();
        let statement = Statement::from_string(reader.get_database_backend(), sql);
        reader.query_one_raw(statement).await.unwrap().unwrap().try_get_by_index(0).unwrap()
    }
}

impl Answer {
    /// Expects a 422 `invalid_resource` with exactly these messages, in this order.
    #[track_caller]
    pub fn faulty(&self, expected: &[(&str, &str)]) {
        let faults = self.faults();
        let faults: Vec<_> =
            faults.iter().map(|(param, message)| (param.as_str(), message.as_str())).collect();
        assert_eq!(faults, expected, "{}", self.text);
        assert_eq!(
            self.json()["error_description"],
            "One or more parameters were missing or invalid",
            "{}",
            self.text
        );
    }

    /// Expects a success. Returns its record, byte for byte.
    #[track_caller]
    pub fn record(&self) -> &str {
        assert!((200..300).contains(&self.status), "{}", self.text);
        let record = self.text.strip_prefix("{\"response\":").expect("a record");
        let end = record.rfind(",\"ip_address\":\"").filter(|_| record.ends_with("\"}"));
        &record[..end.unwrap_or(record.len() - 1)]
    }
}

/// Returns the token of a record.
#[track_caller]
pub fn token(record: &Value) -> &str {
    record["token"].as_str().unwrap_or_else(|| panic!("no token: {record}"))
}

/// Returns the names of a record's fields, in their order.
pub fn fields(record: &Value) -> Vec<&str> {
    record.as_object().expect("an object").keys().map(String::as_str).collect()
}
