//! Which database a server accepts, and who shares it (`docs/decisions.md`, 293, 303 and 316).

use std::path::Path;

use sea_orm::{ConnectionTrait, Database};
use serde_json::json;

use super::{folder, refuses, vault_key};
use crate::harness::RawDatabase;
use crate::harness::postgres::Template;
use crate::harness::process::{Process, output, program};

/// A SQLite file with a table of another program.
async fn foreign(path: &Path) {
    let theirs = RawDatabase::connect(&format!("sqlite:{}", path.display())).await;
    theirs.execute("CREATE TABLE theirs (id INTEGER)").await;
}

#[test]
fn a_sqlite_file_has_one_server() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let file = data.path().join("card-payments.db");
    let line = format!("the database {} is in use by another server", file.display());
    refuses(&mut program(data.path()), &line);
    server.pay(&server.keys().0).ok(201);
    server.stopped();
    Process::start(&mut program(data.path())).stopped();
}

#[tokio::test]
async fn a_database_of_somebody_else_is_left_alone() {
    let data = folder();
    let file = data.path().join("theirs.db");
    foreign(&file).await;
    let before = std::fs::read(&file).unwrap();
    let url = format!("sqlite:{}", file.display());
    let line = "the database has tables of another program; give card-payments its own database";
    for command in ["serve", "migrate"] {
        refuses(program(data.path()).env("CARD_PAYMENTS_DATABASE_URL", &url).arg(command), line);
        assert!(std::fs::read(&file).unwrap() == before, "{command} changed it");
    }
}

#[tokio::test]
async fn a_postgresql_database_of_somebody_else_is_left_alone() {
    static THEIRS: Template = Template::new("theirs");
    let create = async |url: String| {
        let database = Database::connect(url).await.unwrap();
        database.execute_unprepared("CREATE TABLE theirs (id INTEGER)").await.unwrap();
        database.close().await.unwrap();
    };
    let Some(copy) = THEIRS.database(create).await else { return };
    let data = folder();
    let line = "the database has tables of another program; give card-payments its own database";
    for command in ["serve", "migrate"] {
        refuses(program(data.path()).env("CARD_PAYMENTS_DATABASE_URL", copy.url()).arg(command), line);
    }
    let database = Database::connect(copy.url()).await.unwrap();
    database.execute_unprepared("SELECT id FROM theirs").await.unwrap();
    database.execute_unprepared("SELECT 1 FROM seaql_migrations").await.unwrap_err();
}

#[tokio::test]
async fn copies_on_one_postgresql_database_are_one_service() {
    static EMPTY: Template = Template::new("empty");
    let Some(database) = EMPTY.database(async |_| {}).await else { return };
    let (one, other) = (folder(), folder());
    let key = vault_key();
    let start = |data: &tempfile::TempDir| {
        let mut command = program(data.path());
        command.env("CARD_PAYMENTS_DATABASE_URL", database.url()).env("CARD_PAYMENTS_VAULT_KEY", &key);
        Process::start(&mut command)
    };
    let (one, other) = (start(&one), start(&other));
    assert_eq!(one.keys(), other.keys());
    let (secret, _) = one.keys();
    let charge = one.pay(&secret).ok(201);
    assert_eq!(other.ask("GET", "/1/charges", Some(&secret), "").ok(200), json!([charge]));
    for server in [one, other] {
        assert!(!server.stopped().contains(database.url()), "the database's address holds a password");
    }
}

/// Either may be the first to commit the account; the other one must find it.
#[tokio::test]
async fn copies_that_start_at_once_with_a_configured_key_share_the_account() {
    static EMPTY: Template = Template::new("empty_at_once");
    const KEY: &str = "sk_of_the_operator";
    let rounds = std::env::var("CARD_PAYMENTS_RACE_ROUNDS").map_or(2, |rounds| rounds.parse().unwrap());
    for _ in 0..rounds {
        let Some(database) = EMPTY.database(async |_| {}).await else { return };
        let vault_key = vault_key();
        let folders = [folder(), folder()];
        let begin = |data: &tempfile::TempDir| {
            let mut command = program(data.path());
            command.env("CARD_PAYMENTS_DATABASE_URL", database.url());
            command.env("CARD_PAYMENTS_VAULT_KEY", &vault_key).env("CARD_PAYMENTS_SECRET_KEY", KEY);
            std::thread::spawn(move || Process::start(&mut command))
        };
        let [one, other] = folders.each_ref().map(begin).map(|starting| starting.join().unwrap());
        let charge = one.pay(KEY).ok(201);
        assert_eq!(other.ask("GET", "/1/charges", Some(KEY), "").ok(200), json!([charge]));
        one.stopped();
        other.stopped();
    }
}

#[test]
fn a_database_belongs_to_one_environment() {
    let data = folder();
    let key = vault_key();
    let live = || {
        let mut command = program(data.path());
        command.env("CARD_PAYMENTS_ENVIRONMENT", "live").env("CARD_PAYMENTS_ACQUIRER", "simulator");
        command.env("CARD_PAYMENTS_VAULT_KEY", &key).env("CARD_PAYMENTS_LOG", "error");
        command
    };
    let server = Process::start(&mut program(data.path()));
    let (secret, _) = server.keys();
    server.pay(&secret).ok(201);
    server.stopped();
    refuses(&mut live(), "the database belongs to the test environment");
    let server = Process::start(&mut program(data.path()));
    assert_eq!(server.ask("GET", "/1/charges", Some(&secret), "").json()["count"], 1);
    server.stopped();

    let other = folder();
    let file = format!("sqlite:{}", other.path().join("live.db").display());
    let server = Process::start(live().env("CARD_PAYMENTS_DATABASE_URL", &file));
    assert_eq!(server.banner[0], format!("card-payments {} (live)", env!("CARGO_PKG_VERSION")));
    assert!(!server.banner.iter().any(|line| line.contains("Keys") || line.contains("curl")));
    assert_eq!(
        server.ask("GET", "/metrics", None, "").status,
        404,
        "in live only on the operator's listener"
    );
    server.stopped();
    refuses(
        program(data.path()).env("CARD_PAYMENTS_DATABASE_URL", &file),
        "the database belongs to the live environment",
    );
}

#[test]
fn another_vault_key_does_not_open_the_database() {
    let data = folder();
    Process::start(&mut program(data.path())).stopped();
    let (code, stdout, stderr) = output(program(data.path()).env("CARD_PAYMENTS_VAULT_KEY", vault_key()));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.starts_with("error: the vault key does not open this database: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1);
    Process::start(&mut program(data.path())).stopped();
}
