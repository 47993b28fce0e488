//! How statements run on SQLite: values come back as they were stored, and readers do not wait for writers.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use card_payments::services::accounts::stored_rows;
use entity::*;
use futures::future::join_all;
use sea_orm::sea_query::ColumnType;
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, FromQueryResult, IdenStatic, Iterable, Statement,
};
use uuid::Uuid;

use crate::harness::{App, Database, eventually};

/// Column by column, what an entity reads: `charges.amount BIGINT`.
#[expect(clippy::wildcard_enum_match_arm, reason = "columns of ours are of these types")]
fn read_by<E: EntityTrait>() -> Vec<String> {
    let column = |column: E::Column| {
        let read = match column.def().get_column_type() {
            ColumnType::BigInteger => "BIGINT",
            ColumnType::Integer => "INTEGER",
            ColumnType::Boolean => "BOOLEAN",
            ColumnType::Uuid | ColumnType::VarBinary(_) => "BLOB",
            ColumnType::String(_) | ColumnType::Text | ColumnType::Json => "TEXT",
            other => {
                panic!("{} reads a type that SQLite's rows are not made for: {other:?}", column.as_str())
            }
        };
        format!("{}.{} {read}", E::default().table_name(), column.as_str())
    };
    E::Column::iter().map(column).collect()
}

macro_rules! read_by_all {
    ($($entity:ident)*) => { [$(read_by::<$entity::Entity>()),*].concat() };
}

// An integer is read as the type that its column declares; as another type it reads as NULL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_column_is_declared_as_its_entity_reads_it() {
    let app = App::start(Database::Sqlite).await.unwrap();
    let read: BTreeSet<_> = read_by_all! {
        account api_key approval audit_entry balance bank_account card card_attack challenge_page charge counter customer deposit dispute dispute_activity ended_session erasure event event_sequence evidence file idempotency_answer idempotency_key inbox inbox_delivery installation journal_entry key_use logged_request merchant person_session plan posting recipient reconciliation_exception refund scheduled_dispute snapshot snapshot_file
        snapshot_part statement statement_line stray_blob subscription subscription_entry
        three_d_secure transfer vault_key wallet_certificate wallet_domain wallet_payload webhook webhook_endpoint
    }
    .into_iter()
    .collect();
    let declared = "SELECT group_concat(m.name || '.' || c.name || ' ' || c.type, ';') FROM sqlite_master m, \
                    pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE '%search%' \
                    AND m.name NOT LIKE 'seaql%'";
    let declared = app.text(declared).await;
    assert_eq!(read, declared.split(';').map(str::to_owned).collect());
    let tables: BTreeSet<_> = declared.split(';').map(|column| column.split_once('.').unwrap().0).collect();
    assert_eq!(stored_rows::tables().collect::<BTreeSet<_>>(), tables, "a copy reads the rows of each table");
}

// Sixteen bytes would be taken for an id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_ids_is_sixteen_bytes_long() {
    let app = App::start(Database::Sqlite).await.unwrap();
    app.whole_run().await;
    let bytes = app
        .text(
            "SELECT group_concat('SELECT ''' || m.name || '.' || c.name || ''' AS name, length(' || c.name || ') AS n FROM ' \
             || m.name, ' UNION ALL ') FROM sqlite_master m, pragma_table_info(m.name) c WHERE c.type = 'BLOB' \
             AND (c.name LIKE '%sealed' OR c.name IN ('hash', 'wrapped', 'claim', 'fingerprint'))",
        )
        .await;
    let lengths = format!("SELECT COALESCE(group_concat(name), '') FROM ({bytes}) WHERE n < 28");
    assert_eq!(app.text(&lengths).await, "");
    let some = app.number(&format!("SELECT COUNT(DISTINCT name) FROM ({bytes}) WHERE n IS NOT NULL")).await;
    assert!(some > 5, "{some} columns were filled");
}

#[derive(Debug, PartialEq, FromQueryResult)]
struct Row {
    missing: Option<i64>,
    count: i64,
    text: Option<String>,
    id: Uuid,
    bytes: Vec<u8>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expression_is_read_by_its_name_and_by_its_place() {
    let app = App::start(Database::Sqlite).await.unwrap();
    let reader = app.ctx().store.read();
    let id = Uuid::from_u128(7);
    let values =
        [id.into(), vec![1_u8, 2].into(), 9_000_000_000_i64.into(), "text".into(), None::<i64>.into()];
    let sql = "SELECT ? AS id, ? AS bytes, ? AS count, ? AS text, ? AS missing";
    let statement = || Statement::from_sql_and_values(DbBackend::Sqlite, sql, values.clone());
    let row = Row::find_by_statement(statement()).one(reader).await.unwrap();
    let expected =
        Row { missing: None, count: 9_000_000_000, text: Some("text".into()), id, bytes: vec![1, 2] };
    assert_eq!(row, Some(expected));
    let row = reader.query_one_raw(statement()).await.unwrap().unwrap();
    assert_eq!(row.try_get_by_index::<Uuid>(0).unwrap(), id);
    assert_eq!(row.try_get_by_index::<i64>(2).unwrap(), 9_000_000_000);
    assert_eq!(row.try_get_by_index::<Option<String>>(3).unwrap().as_deref(), Some("text"));
    assert_eq!(row.try_get_by_index::<Option<String>>(4).unwrap(), None);
}

/// Counts to three hundred thousand, some tens of milliseconds at least.
const LONG: &str =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT MAX(i) FROM n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_statement_is_done_all_the_same_and_holds_up_nobody() {
    let app = App::start(Database::Sqlite).await.unwrap();
    let client = app.client();
    let token = client.captured(400).await["token"].as_str().unwrap().to_owned();
    // More than there are workers, and more than there are connections for such statements.
    let long = (0..6).map(|_| {
        let ctx = app.ctx().clone();
        tokio::spawn(async move {
            let row = ctx.store.read().query_one_raw(Statement::from_string(DbBackend::Sqlite, LONG)).await;
            row.unwrap().unwrap().try_get_by_index::<i64>(0).unwrap()
        })
    });
    let long: Vec<_> = long.collect();
    // Requests are answered meanwhile.
    let mut answered = 0;
    while !long.iter().any(tokio::task::JoinHandle::is_finished) {
        client.get(&format!("/1/charges/{token}")).await.ok(200);
        answered += 1;
    }
    assert!(answered > 0);
    for counted in join_all(long).await {
        assert_eq!(counted.unwrap(), 300_000);
    }
    let (open, _) = app.ctx().store.pool();
    assert!(open >= 2, "{open} connections");
    eventually(async || app.ctx().store.pool().0 == app.ctx().store.pool().1).await;
    app.check_books().await;
}

/// Commits one transaction after another, each of which holds the file for a few milliseconds, until `test` is over.
fn commit_without_a_pause(file: &str, test: &Weak<()>) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let holding = LONG.replace("300000", "10000");
    while test.strong_count() > 0 {
        connection.execute_batch(&format!("BEGIN IMMEDIATE; {holding}; COMMIT")).unwrap();
    }
}

// A command that writes beside a busy server meets the moment between two of its commits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_another_process_always_writes_to_is_written_to_all_the_same() {
    let app = App::start(Database::Sqlite).await.unwrap();
    let file = Statement::from_string(DbBackend::Sqlite, "SELECT file FROM pragma_database_list");
    let file = app.ctx().store.read().query_one_raw(file).await.unwrap().unwrap();
    let file: String = file.try_get_by_index(0).unwrap();
    let test = Arc::new(());
    let is_on = Arc::downgrade(&test);
    let other = std::thread::spawn(move || commit_without_a_pause(&file, &is_on));
    let client = app.client();
    for _ in 0..10 {
        client.captured(400).await;
    }
    drop(test);
    other.join().unwrap();
    app.check_books().await;
}

// SQLite plans a statement again for each bound LIMIT, unless it is built not to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_do_not_depend_on_what_is_bound() {
    let app = App::start(Database::Sqlite).await.unwrap();
    assert_eq!(app.number("SELECT sqlite_compileoption_used('ENABLE_QPSG')").await, 1);
}
