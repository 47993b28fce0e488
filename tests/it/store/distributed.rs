//! Growing past one PostgreSQL (design, The store): what the schema owes to a database whose tables are distributed, and
//! the command that distributes them. `distributed/citus.sql` stands for the extension.

mod nodes;

use std::collections::BTreeMap;
use std::process::Command;

use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, Statement};
use store::Place;

use crate::harness::postgres::{self, Template};
use crate::harness::process::{
    PAYMENT, Process, RawResponse, output, program, repeatable_request, try_to_ask,
};
use crate::harness::{App, Database, token_of};

const CITUS: &str = include_str!("distributed/citus.sql");

static BARE: Template = Template::new("bare");

const CARD: &str = "number=4200000000000000&expiry_month=5&expiry_year=2030&cvc=123&name=Roland+Robot\
    &address_line1=42+Sevenoaks+St&address_city=Lathlain&address_country=AU";

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

// An expression is no column.
const UNIQUE: &str = "SELECT concat_ws(' ', c.relname, i.indexrelid::regclass, (SELECT coalesce(string_agg(a.attname, ',' ORDER BY k.n), '-') \
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
            match Place::for_table(table, names.first().copied()).unwrap() {
                Place::Accounts => Some("id"),
                Place::Account => Some("account_id"),
                Place::Hash => Some("hash"),
                Place::Everywhere => None,
            }
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
        "api_keys everywhere ",
        "challenge_pages hash none",
        "audit_entries everywhere ",
        "key_uses account_id accounts",
        "installation everywhere ",
        "statement_lines everywhere ",
        "vault_keys everywhere ",
        "seaql_migrations everywhere ",
    ] {
        assert!(placed.iter().any(|line| line == expected), "{expected}: {placed:?}");
    }
    let tables =
        "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
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

/// A distributed database, and what its commands are run in.
struct Distributed {
    database: postgres::Database,
    connection: DatabaseConnection,
    data: tempfile::TempDir,
}

impl Distributed {
    async fn new() -> Option<Self> {
        let (database, connection) = with_citus().await?;
        assert_eq!(migrate(&database).0, Some(0));
        Some(Self { database, connection, data: tempfile::tempdir().unwrap() })
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = program(self.data.path());
        command.args(arguments).env("CARD_PAYMENTS_DATABASE_URL", self.database.url());
        command
    }

    /// Returns a server and its secret key.
    fn server(&self) -> (Process, String) {
        self.server_with("")
    }

    /// Returns a server that writes units in groups `always`, or when it is busy.
    fn server_with(&self, groups: &str) -> (Process, String) {
        let server = Process::start(self.program(&[]).env("CARD_PAYMENTS_TEST_GROUPS", groups));
        let (key, _) = server.keys();
        (server, key)
    }

    async fn number(&self, sql: &str) -> i64 {
        let statement = Statement::from_string(DbBackend::Postgres, sql);
        self.connection.query_one_raw(statement).await.unwrap().unwrap().try_get_by_index(0).unwrap()
    }

    /// Returns the number of units that were calls.
    async fn calls(&self) -> i64 {
        self.number("SELECT count(*) FROM citus.locked").await
    }

    fn check_books(&self) {
        let (code, _, stderr) = output(&mut self.program(&["ledger", "verify"]));
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
    }
}

/// Returns the number of events after a payment and a refund, of webhooks, and of webhooks that were counted.
async fn events_and_webhooks(database: &Distributed, groups: &str) -> [i64; 3] {
    let (server, key) = database.server_with(groups);
    for endpoint in ["one", "two"] {
        let url = format!("url=http://127.0.0.1:9/{endpoint}");
        server.ask("POST", "/1/webhook_endpoints", Some(&key), &url).ok(201);
    }
    let refunds = format!("/1/charges/{}/refunds", token_of(&server.pay(&key).ok(201)));
    server.ask("POST", &refunds, Some(&key), "amount=100").ok(201);
    server.stopped();
    database.check_books();
    [
        database.number("SELECT count(*) FROM events").await,
        database.number("SELECT count(*) FROM webhooks").await,
        database.number("SELECT sum(n)::bigint FROM counters WHERE kind = 'webhooks'").await,
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_endpoint_is_told_of_every_event() {
    for groups in ["", "always"] {
        let Some(database) = Distributed::new().await else { return };
        let [events, webhooks, counted] = events_and_webhooks(&database, groups).await;
        assert!(events > 0);
        assert_eq!((webhooks, counted), (2 * events, 2 * events), "{groups}");
        assert!(database.calls().await > 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_function_each_statement_adds_rows_in_one_part() {
    let Some(database) = Distributed::new().await else { return };
    // So an earlier release has distributed it.
    database.connection.execute_unprepared("DROP FUNCTION write_unit").await.unwrap();
    let [events, webhooks, counted] = events_and_webhooks(&database, "").await;
    assert!(events > 0);
    assert_eq!((webhooks, counted), (2 * events, 2 * events));
    assert_eq!(database.calls().await, 0);
    assert_eq!(migrate(&database.database), (Some(0), String::new(), String::new()));
    let function = "SELECT count(*) FROM citus.distributed_functions WHERE name = 'write_unit'::regproc::oid";
    assert_eq!(database.number(function).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_is_one_call_and_a_capture_two() {
    let Some(database) = Distributed::new().await else { return };
    let (server, key) = database.server();
    let before = database.calls().await;
    server.pay(&key).ok(201);
    assert_eq!(database.calls().await, before + 1);
    let authorised =
        server.ask("POST", "/1/charges", Some(&key), &format!("{PAYMENT}&capture=false")).ok(201);
    let before = database.calls().await;
    let capture = format!("/1/charges/{}/capture", token_of(&authorised));
    server.ask("PUT", &capture, Some(&key), "").ok(200);
    assert_eq!(database.calls().await, before + 2);
    server.stopped();
    database.check_books();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_guard_a_taken_key_and_a_refused_row_are_one_units_alone() {
    for groups in ["", "always"] {
        let Some(database) = Distributed::new().await else { return };
        check_refusals(&database, groups).await;
    }
}

async fn check_refusals(database: &Distributed, groups: &str) {
    let (server, key) = database.server_with(groups);
    let paid = server.ask("POST", "/1/cards", Some(&key), CARD).ok(201);
    let with_token = format!(
        "email=roland@example.com&description=Test&amount=400&ip_address=203.192.1.172&card_token={}",
        token_of(&paid)
    );
    let answers = |form: &str, idempotency_key: Option<&str>| -> Vec<RawResponse> {
        let text = repeatable_request("POST", "/1/charges", Some(&key), idempotency_key, form);
        std::thread::scope(|scope| {
            let clients: Vec<_> =
                (0..6).map(|_| scope.spawn(|| try_to_ask(server.address, &text).unwrap())).collect();
            clients.into_iter().map(|client| client.join().unwrap()).collect()
        })
    };
    let charges = async || database.number("SELECT count(*) FROM charges").await;

    let before = charges().await;
    let statuses: Vec<_> = answers(&with_token, None).iter().map(|answer| answer.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [201, 400].contains(status)), "{statuses:?}");
    assert_eq!(charges().await, before + 1);

    let answered = answers(PAYMENT, Some("once"));
    assert!(answered.iter().all(|answer| [201, 409].contains(&answer.status)), "{answered:?}");
    assert_eq!(charges().await, before + 2);

    let refuse = "ALTER TABLE charges ADD CONSTRAINT refused CHECK (amount <> 666)";
    database.connection.execute_unprepared(refuse).await.unwrap();
    let refused = PAYMENT.replace("amount=400", "amount=666");
    let (refused, paid) = std::thread::scope(|scope| {
        let refused = scope.spawn(|| answers(&refused, None));
        let paid = answers(PAYMENT, None);
        (refused.join().unwrap(), paid)
    });
    assert!(refused.iter().all(|answer| answer.status >= 500), "{refused:?}");
    assert!(paid.iter().all(|answer| answer.status == 201), "{paid:?}");
    assert_eq!(charges().await, before + 8);
    server.stopped();
    database.check_books();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_the_call_does_not_reach_is_written_by_statements() {
    let Some(database) = Distributed::new().await else { return };
    let (server, key) = database.server();
    server.pay(&key).ok(201);
    let before = database.calls().await;
    database.connection.execute_unprepared("UPDATE citus.pg_dist_placement SET groupid = 2").await.unwrap();
    server.pay(&key).ok(201);
    assert_eq!(database.calls().await, before);
    database.connection.execute_unprepared("UPDATE citus.pg_dist_placement SET groupid = 0").await.unwrap();
    server.pay(&key).ok(201);
    assert_eq!(database.calls().await, before + 1);
    server.stopped();
    database.check_books();
}

/// Calls the function with parts, each of a table and the statement that it uses, of the same number of values.
async fn parts(
    session: &DatabaseConnection,
    parts: &[(&str, usize)],
    statements: &[&str],
    values: &str,
) -> Result<i64, DbErr> {
    let join = |texts: Vec<String>| texts.join(", ");
    let shards =
        join(parts.iter().map(|(table, _)| format!("'{table}'::regclass::oid::bigint + 100000")).collect());
    let used = join(parts.iter().map(|(_, used)| used.to_string()).collect());
    let size = values.split(", ").count() / parts.len();
    let sizes = join(statements.iter().map(|_| size.to_string()).collect());
    let sql = format!(
        "SELECT write_unit('00000000-0000-0000-0000-000000000001', '5s', ARRAY[{shards}], ARRAY[{used}], ARRAY[{}], ARRAY[{sizes}], \
         ARRAY[{values}]::text[])",
        statements.join(", ")
    );
    let row = session.query_one_raw(Statement::from_string(DbBackend::Postgres, sql)).await?;
    row.unwrap().try_get_by_index::<i64>(0)
}

#[tokio::test]
async fn the_parts_of_a_call_are_one_transaction() {
    let Some(database) = Distributed::new().await else { return };
    let session = &database.connection;
    session.execute_unprepared("CREATE TABLE written (n bigint)").await.unwrap();
    let statements = [
        "'WITH w AS (INSERT INTO written SELECT ($1)[1]::bigint) SELECT 10 / ($1)[2]::bigint'",
        "'WITH w AS (INSERT INTO written SELECT ($1)[2]::bigint) SELECT 0::bigint'",
    ];
    let written = "SELECT coalesce(string_agg(n::text, ' ' ORDER BY n), '') FROM written";
    let used = [("accounts", 1), ("accounts", 2), ("charges", 1)];
    // The last part fails, twice: once it prepares its plan, and once it has one.
    for _ in 0..2 {
        assert!(parts(session, &used, &statements, "'1', '2', '3', '4', '5', '0'").await.is_err());
        assert_eq!(lines(session, written).await, [""]);
    }
    assert_eq!(parts(session, &used, &statements, "'1', '2', '3', '4', '6', '5'").await, Ok(5 + 2));
    assert_eq!(lines(session, written).await, ["1 4 6"]);
}

#[tokio::test]
async fn a_session_keeps_its_newest_plans_and_works_by_all() {
    let Some(database) = Distributed::new().await else { return };
    let mut options = sea_orm::ConnectOptions::new(database.database.url());
    options.max_connections(1);
    let session = sea_orm::Database::connect(options).await.unwrap();
    let write = async |text: &str, values: &[&str]| {
        let values: Vec<_> = values.iter().map(|value| format!("'{value}'")).collect();
        let values = values.join(", ");
        let text = format!("$unit${text}$unit$");
        parts(&session, &[("accounts", 1)], &[&text], &values).await
    };
    let plans = async || {
        let plans = "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'unit_%'";
        let row =
            session.query_one_raw(Statement::from_string(DbBackend::Postgres, plans)).await.unwrap().unwrap();
        row.try_get_by_index::<i64>(0).unwrap()
    };
    let lost = "SELECT 1 / ($1)[1]::bigint";
    for won in ["0", "1", "0", "1"] {
        assert_eq!(write(lost, &[won]).await.ok(), (won == "1").then_some(1));
    }
    assert_eq!(plans().await, 1);
    let text = |n: i64| format!("SELECT {n} / ($1)[1]::bigint");
    for n in 2..=320 {
        assert_eq!(write(&text(n), &["1"]).await.unwrap(), n);
    }
    assert!((200..=201).contains(&plans().await), "{}", plans().await);
    // A transaction that makes room and is undone leaves all plans usable.
    for n in 2..=320 {
        assert!(write(&text(n), &["0"]).await.is_err());
        assert_eq!(write(&text(n), &["1"]).await.unwrap(), n);
    }
    assert!((200..=201).contains(&plans().await), "{}", plans().await);
    let many = ["3"; 257];
    assert_eq!(write("SELECT ($1)[257]::bigint", &many).await.unwrap(), 3);
    assert!((200..=201).contains(&plans().await), "a text with many values is not kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_serves_and_is_neither_migrated_nor_copied_into() {
    let Some(database) = Distributed::new().await else { return };
    for node in ["local_group", "placement"] {
        let worker = format!("UPDATE citus.pg_dist_{node} SET groupid = 1");
        database.connection.execute_unprepared(&worker).await.unwrap();
    }
    let (server, key) = database.server();
    server.pay(&key).ok(201);
    server.stopped();

    let refusal =
        "error: the database is on a worker of a cluster: name the cluster's coordinator\n".to_owned();
    assert_eq!(migrate(&database.database), (Some(1), String::new(), refusal.clone()));
    let laptop = tempfile::tempdir().unwrap();
    assert_eq!(output(program(laptop.path()).arg("migrate")).0, Some(0));
    let copied = output(program(laptop.path()).args(["copy", "--to", database.database.url()]));
    assert_eq!(copied, (Some(1), String::new(), refusal.clone()));
    let older = "DELETE FROM seaql_migrations WHERE version = (SELECT max(version) FROM seaql_migrations)";
    database.connection.execute_unprepared(older).await.unwrap();
    assert_eq!(output(&mut database.program(&["migrate"])), (Some(1), String::new(), refusal));
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
