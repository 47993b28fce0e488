//! Growing past one PostgreSQL (design, The store): what the schema owes to a database whose tables are distributed, and
//! the command that distributes them. `distributed/citus.sql` stands for the extension.

use std::collections::BTreeMap;
use std::process::Command;

use card_payments::store::Place;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, Statement};

use crate::harness::postgres::{self, Template};
use crate::harness::process::{Process, output, program};
use crate::harness::{App, Database, token_of};

const CITUS: &str = include_str!("distributed/citus.sql");

static BARE: Template = Template::new("bare");

/// Lines of text from a query.
async fn lines(database: &impl ConnectionTrait, sql: &str) -> Vec<String> {
    let rows = database.query_all_raw(Statement::from_string(DbBackend::Postgres, sql)).await.unwrap();
    rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
}

fn migrate(database: &postgres::Database) -> (Option<i32>, String, String) {
    let data = tempfile::tempdir().unwrap();
    let mut command: Command = program(data.path());
    output(command.args(["migrate", "--distribute"]).env("CARD_PAYMENTS_DATABASE_URL", database.url()))
}

/// An empty database without the extension.
async fn plain() -> Option<postgres::Database> {
    // A cluster of Citus' own needs nothing that stands for it: every test's tables are distributed there.
    if postgres::is_distributed() { None } else { BARE.database(async |_| {}).await }
}

/// An empty database with what stands for the extension.
async fn with_citus() -> Option<(postgres::Database, DatabaseConnection)> {
    let database = plain().await?;
    let connection = sea_orm::Database::connect(database.url()).await.unwrap();
    connection.execute_unprepared(CITUS).await.unwrap();
    let name = database.url().rsplit('/').next().unwrap();
    let path = format!("ALTER DATABASE {name} SET search_path = public, citus");
    connection.execute_unprepared(&path).await.unwrap();
    Some((database, connection))
}

const UNIQUE: &str = "SELECT concat_ws(' ', c.relname, i.indexrelid::regclass, (SELECT string_agg(a.attname, ',' ORDER BY k.n) \
    FROM unnest(i.indkey::smallint[]) WITH ORDINALITY k (attnum, n) \
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum)) \
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid \
    WHERE i.indisunique AND c.relnamespace = current_schema()::regnamespace ORDER BY NOT i.indisprimary";

#[tokio::test]
async fn every_key_and_unique_constraint_holds_what_its_table_is_distributed_by() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    let mut columns = BTreeMap::new();
    for line in lines(app.ctx().store.read(), UNIQUE).await {
        let [table, index, names] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let names: Vec<_> = names.split(',').collect();
        // The primary key comes first.
        let by = columns.entry(table.to_owned()).or_insert_with(|| {
            Place::of(table, names.first().copied()).unwrap().and_then(|place| match place {
                Place::Accounts => Some("id"),
                Place::Account => Some("account_id"),
                Place::Hash => Some("hash"),
                Place::Everywhere => None,
            })
        });
        assert!(by.is_none_or(|by| names.contains(&by)), "{index} of {table} has no {by:?}: {names:?}");
    }
    let tables = "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace";
    for table in lines(app.ctx().store.read(), tables).await {
        assert!(columns.contains_key(&table), "{table} has no primary key");
    }
    let by_account = columns.values().filter(|by| **by == Some("account_id")).count();
    assert!(by_account >= 30, "{by_account} tables belong to accounts");
}

#[tokio::test]
async fn the_schema_has_nothing_that_a_distributed_database_lacks() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    for (what, sql) in [
        (
            "triggers",
            "SELECT tgname::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace",
        ),
        (
            "sequences",
            "SELECT relname::text FROM pg_class WHERE relkind = 'S' AND relnamespace = current_schema()::regnamespace",
        ),
        (
            "foreign keys",
            "SELECT conname::text FROM pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace",
        ),
        (
            "views",
            "SELECT relname::text FROM pg_class WHERE relkind IN ('v', 'm') AND relnamespace = current_schema()::regnamespace",
        ),
    ] {
        assert_eq!(lines(app.ctx().store.read(), sql).await, [""; 0], "{what}");
    }
}

#[tokio::test]
async fn every_table_gets_its_place_and_a_second_run_has_nothing_to_do() {
    let Some((database, connection)) = with_citus().await else { return };
    let (code, told, stderr) = migrate(&database);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let told: Vec<_> = told.lines().collect();
    assert_eq!(told[0], "accounts", "what the others lie beside comes first");
    let placed = "SELECT concat_ws(' ', logicalrelid, distributed_by, beside) FROM citus.pg_dist_partition";
    let placed = lines(&connection, placed).await;
    for expected in [
        "accounts id none",
        "charges account_id accounts",
        "counters account_id accounts",
        "idempotency_keys account_id accounts",
        "api_keys hash none",
        "challenge_pages hash none",
        "audit_entries everywhere ",
        "key_uses account_id accounts",
        "installation everywhere ",
        "vault_keys everywhere ",
    ] {
        assert!(placed.iter().any(|line| line == expected), "{expected}: {placed:?}");
    }
    let tables = "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'seaql_migrations'";
    assert_eq!((placed.len(), told.len()), (lines(&connection, tables).await.len(), placed.len()));
    let left = "SELECT logicalrelid::text FROM citus.pg_dist_partition WHERE logicalrelid NOT IN (SELECT name FROM citus.truncated)";
    assert_eq!(lines(&connection, left).await, [""; 0], "rows that were copied do not stay behind");
    assert_eq!(migrate(&database), (Some(0), String::new(), String::new()));
    assert_eq!(
        lines(&connection, "SELECT count(*)::text FROM citus.pg_dist_partition").await,
        [told.len().to_string()]
    );
}

#[tokio::test]
async fn a_run_that_ended_half_way_is_gone_on_with() {
    let Some((database, connection)) = with_citus().await else { return };
    connection.execute_unprepared("INSERT INTO citus.failing VALUES ('events')").await.unwrap();
    let (code, _, stderr) = migrate(&database);
    assert_eq!((code, stderr.lines().count()), (Some(1), 1));
    assert!(stderr.starts_with("error: ") && stderr.contains("the worker is gone"), "{stderr}");
    let placed = "SELECT logicalrelid::text FROM citus.pg_dist_partition";
    let before = lines(&connection, placed).await;
    assert!(before.contains(&"charges".to_owned()) && !before.contains(&"events".to_owned()), "{before:?}");
    connection.execute_unprepared("DELETE FROM citus.failing").await.unwrap();
    let (code, told, stderr) = migrate(&database);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(told.lines().any(|table| table == "events"), "{told}");
    assert!(told.lines().all(|table| !before.contains(&table.to_owned())), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_statement_adds_rows_in_one_part_and_every_endpoint_is_told_of_every_event() {
    let Some((database, connection)) = with_citus().await else { return };
    assert_eq!(migrate(&database).0, Some(0));
    let data = tempfile::tempdir().unwrap();
    let here = |arguments: &[&str]| {
        let mut command = program(data.path());
        command.args(arguments).env("CARD_PAYMENTS_DATABASE_URL", database.url());
        command
    };
    let server = Process::start(&mut here(&[]));
    let (key, _) = server.keys();
    for endpoint in ["one", "two"] {
        let url = format!("url=http://127.0.0.1:9/{endpoint}");
        server.ask("POST", "/1/webhook_endpoints", Some(&key), &url).ok(201);
    }
    let refunds = format!("/1/charges/{}/refunds", token_of(&server.pay(&key).ok(201)));
    server.ask("POST", &refunds, Some(&key), "amount=100").ok(201);
    server.stopped();
    let counted = "SELECT concat_ws(' ', (SELECT count(*) FROM events), (SELECT count(*) FROM webhooks), \
        (SELECT sum(n) FROM counters WHERE kind = 'webhooks'))";
    let [counted] = &lines(&connection, counted).await[..] else { panic!("one row") };
    let [events, webhooks, told] = counted.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<i64>>()[..]
    else {
        panic!("{counted}")
    };
    assert!(events > 0);
    assert_eq!((webhooks, told), (2 * events, 2 * events));
    let (code, _, stderr) = output(&mut here(&["ledger", "verify"]));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn without_the_extension_it_is_refused_and_nothing_is_changed() {
    let Some(database) = plain().await else { return };
    let (code, told, stderr) = migrate(&database);
    assert_eq!((code, told.as_str(), stderr.lines().count()), (Some(1), "", 1));
    assert!(stderr.starts_with("error: the database has no Citus extension"), "{stderr}");
    let connection = sea_orm::Database::connect(database.url()).await.unwrap();
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(lines(&connection, tables).await, [""; 0]);
}

#[test]
fn a_sqlite_database_cannot_be_distributed_and_none_is_made() {
    let data = tempfile::tempdir().unwrap();
    let (code, told, stderr) = output(program(data.path()).args(["migrate", "--distribute"]));
    assert_eq!((code, told.as_str(), stderr.lines().count()), (Some(1), "", 1));
    assert!(stderr.starts_with("error: a SQLite database cannot be distributed"), "{stderr}");
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
}
