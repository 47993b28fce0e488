//! Migrations: by many processes at once, killed anywhere, and from one release to the next.

use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use migration::{DbErr, MigrationName, MigrationTrait, Migrator, MigratorTrait, SchemaManager, Sql};
use sea_orm::{ConnectionTrait, DbBackend, TransactionTrait};
use sha2::{Digest, Sha256};

use crate::harness::process::pause;
use crate::harness::raw_database::RawDatabase;
use crate::harness::steps::sql_of;
use crate::harness::{Installed, eventually, operated};

/// Released steps, and the digests of what they run on PostgreSQL and on SQLite. Lines are added here, and none is changed.
const RELEASED: [(&str, &str, &str); 17] = [
    (
        "m0001_schema",
        "9u7HW2D3gFQPHNRIYLb5TdW5/rEjmGQI2FxbFq8NK3g=",
        "JtKjsGBTwX9YL0irq50k/bGNjiIHIfnm30q26DrucRU=",
    ),
    (
        "m0002_event_sequences",
        "GZtSmP7vyl9jRf5uyYJzTxg8wjkw71HczJ8i8E8fx3c=",
        "jC6MvVh8Az1T8513AfsHsGAh0GzPWGeVdlhckV5/kd0=",
    ),
    (
        "m0003_inboxes",
        "tOAnbHhYQQhQzOboFQWy/zfPIgSAsrklQyABBjbJACg=",
        "zB3+S4XQ0stP1hwH26XtbFHuwXN7jFnXQHc3TqBk77w=",
    ),
    (
        "m0004_restricted_keys",
        "CiUxVPp0du3xnfFGZPb/mT/CmyKhrIX7pz7TthitQtE=",
        "1ygS9wIZe1wWcmYKU1hte0csUvQFhUq+dWjD8N4uKrg=",
    ),
    (
        "m0005_statements",
        "pLhO18oMz7WGFbtttb2lDVdrBONJFWSGZZR17X8FApE=",
        "2NsXB/VpQAFM3S8+CL5VJujjD/ijNXzy4y9662VzItQ=",
    ),
    (
        "m0006_audit_chain",
        "s/dz3U++zQTg3sh8jX1hbzZvNIEf4AobYEWzS4YDBII=",
        "3OZEKHeCgnx66Sl0TrZDa9QeqCJl8kR8tPLknae6yE4=",
    ),
    (
        "m0007_unnumbered_events",
        "NaVr83wQTGXaTULVl8tuyfu0X7LU+n78beduNbEl2h0=",
        "NaVr83wQTGXaTULVl8tuyfu0X7LU+n78beduNbEl2h0=",
    ),
    (
        "m0008_failed_charges",
        "SJiO3ToSXcmVICvUKSlXa0csZp6QMK15V0NkAgtg61I=",
        "SJiO3ToSXcmVICvUKSlXa0csZp6QMK15V0NkAgtg61I=",
    ),
    (
        "m0009_people",
        "Yt8HsxQfrnLih3UdozSex/b2uVV+mMB7PvPFqHimfP8=",
        "zEuCTQFY7/iZ1FRH4pkDfHAtW2xoMfQcQlNL9zTxTW8=",
    ),
    (
        "m0010_card_testing",
        "0f5YGMKsS8+ZAdqsCzdnRaUFQr07guO12vrMg3HmJkw=",
        "AYQN3AujIz50mrNgwPQ00DKLmXsE6QldA58FBTqm1Y4=",
    ),
    (
        "m0011_erasures",
        "LHywskECoOrx/nuvfLgJqpdAe7Rabp+vuTOb/JwfQ/o=",
        "KWQRXyvkTkspuyB6Cf8TSnPZq0Bk158laTWL6J6Ta1I=",
    ),
    (
        "m0012_words",
        "Dh1C/qCraAQdHqN8P88HZw6JFhFyNoCJS3EUVjwkeQo=",
        "sD5Jkr4vtmSYSJ2NlTvpoBMlP5T1GpdlkxKIXOO+V2I=",
    ),
    (
        "m0013_approval_facts",
        "+pnyjCVrrkEN8yVuuE5ZFzHdf4i8LkddYkMUudIScd8=",
        "+pnyjCVrrkEN8yVuuE5ZFzHdf4i8LkddYkMUudIScd8=",
    ),
    (
        "m0014_ended_sessions",
        "3rDsXZU2rZ45lYQUyvWqjqF6vm1A7mNPT/Z2VYqe7A0=",
        "S3YK3Ed5EJuMXwFqWwKlSaIvbgKHtm71rbFc2sgqC0g=",
    ),
    (
        "m0015_statement_periods",
        "e5jPb21p6pBi1DyWEBbcQ1DnGAF7aSKicDumPgzov0E=",
        "e5jPb21p6pBi1DyWEBbcQ1DnGAF7aSKicDumPgzov0E=",
    ),
    (
        "m0016_strict_and_challenges",
        "127JEcZi0TRFV8J7/HEQ9si9BGCNlP2MZ+Q/uMj368A=",
        "127JEcZi0TRFV8J7/HEQ9si9BGCNlP2MZ+Q/uMj368A=",
    ),
    (
        "m0017_summer_time",
        "dKuJzvK6pavfh2j3krbyQN/VxMd6nC3HMVQ35OjHqSY=",
        "dKuJzvK6pavfh2j3krbyQN/VxMd6nC3HMVQ35OjHqSY=",
    ),
];

#[test]
fn a_released_step_never_changes() {
    let digest = |step: &dyn MigrationTrait, backend| BASE64.encode(Sha256::digest(sql_of(step, backend)));
    let steps: Vec<_> = Migrator::migrations()
        .iter()
        .map(|step| {
            (step.name().to_owned(), digest(&**step, DbBackend::Postgres), digest(&**step, DbBackend::Sqlite))
        })
        .collect();
    assert_eq!(steps, RELEASED.map(|(name, postgres, sqlite)| (name.into(), postgres.into(), sqlite.into())));
}

/// A step of no release.
struct Step(&'static str, Sql);

impl MigrationName for Step {
    fn name(&self) -> &str {
        self.0
    }
}

#[async_trait]
impl MigrationTrait for Step {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        self.1.run(manager).await
    }
}

/// What a later release may add.
const NEXT: Sql = Sql {
    both: "
        ALTER TABLE charges ADD COLUMN note TEXT NOT NULL DEFAULT 'none';
        CREATE TABLE notes (account_id UUID NOT NULL, id UUID NOT NULL, text BYTES, PRIMARY KEY (account_id, id)) CLUSTERED;
        INSERT INTO notes (account_id, id) SELECT account_id, id FROM charges;
    ",
    postgres: "CREATE INDEX charges_by_note ON charges USING gin (account_id, note gin_trgm_ops);",
    sqlite: "CREATE INDEX charges_by_note ON charges (account_id, note);",
};

/// SQL that fails after it has changed something.
const BROKEN: Sql =
    Sql { both: "UPDATE charges SET note = 'lost'; INSERT INTO nowhere (id) VALUES (1);", ..Sql::NONE };

struct NextRelease;

impl MigratorTrait for NextRelease {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        let mut steps = Migrator::migrations();
        steps.push(Box::new(Step("m0099_next", NEXT)));
        steps
    }
}

struct BrokenRelease;

impl MigratorTrait for BrokenRelease {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        let mut steps = NextRelease::migrations();
        steps.push(Box::new(Step("m0100_broken", BROKEN)));
        steps
    }
}

/// Returns the steps of a release that ran on an installation's database.
async fn upgraded<M: MigratorTrait>(installed: &Installed) -> Result<Vec<String>, String> {
    let location = installed.database_url().parse().unwrap();
    store::migrate::<M>(&location, &()).await.map_err(|error| error.to_string())
}

operated! {
    async fn an_additional_step_runs_on_a_database_with_rows(installed) {
        let server = installed.serve();
        server.pay(&server.keys().0).ok(201);
        server.stopped();
        let before = installed.number("SELECT COUNT(*) FROM charges").await;
        assert!(before > 0);
        assert_eq!(upgraded::<Migrator>(installed).await, Ok(vec![]));
        assert_eq!(upgraded::<NextRelease>(installed).await, Ok(vec!["m0099_next".to_owned()]));
        assert_eq!(upgraded::<NextRelease>(installed).await, Ok(vec![]));
        upgraded::<BrokenRelease>(installed).await.unwrap_err();
        for rows in ["charges WHERE note = 'none'", "notes"] {
            assert_eq!(installed.number(&format!("SELECT COUNT(*) FROM {rows}")).await, before, "{rows}");
        }
        installed.refuses(&["account", "list"], "the database's schema is of a later release: m0099_next");
    }

    async fn a_step_waits_for_a_table_that_is_read_and_nobody_waits_behind_it(installed) {
        assert_eq!(installed.run(&["migrate"]).0, Some(0));
        let RawDatabase::Postgres(outside) = installed.outside().await else { return };
        let dump = outside.begin().await.unwrap();
        dump.execute_unprepared("LOCK TABLE charges IN ACCESS SHARE MODE").await.unwrap();
        let others = async {
            let waiting = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = 'charges'::regclass";
            eventually(async || installed.number(waiting).await > 0).await;
            installed.number("SELECT COUNT(*) FROM charges").await;
            dump.rollback().await.unwrap();
        };
        let others = tokio::time::timeout(Duration::from_mins(1), others);
        let (ran, waited) = tokio::join!(upgraded::<NextRelease>(installed), others);
        assert_eq!((ran, waited), (Ok(vec!["m0099_next".to_owned()]), Ok(())));
    }

    async fn a_database_from_before_the_first_release_is_refused(installed) {
        installed.execute("CREATE TABLE seaql_migrations (version TEXT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)").await;
        installed.execute("INSERT INTO seaql_migrations VALUES ('m0001_accounts', 0), ('m0002_cards_and_customers', 0)").await;
        let line = "the database's schema is older than the first release, and no release reads it";
        for command in [&["serve"][..], &["migrate"], &["account", "list"]] {
            installed.refuses(command, line);
        }
        let findings = installed.run(&["check", "--json"]);
        assert!(findings.0 == Some(1) && findings.1.contains(line), "{findings:?}");
    }

    async fn many_may_migrate_an_empty_database_at_once(installed) {
        let running: Vec<_> = (0..4).map(|_| installed.program().arg("migrate").spawn().unwrap()).collect();
        for mut one in running {
            assert_eq!(one.wait().unwrap().code(), Some(0));
        }
        assert_eq!(installed.run(&["migrate"]), (Some(0), String::new(), String::new()));
        let server = installed.serve();
        server.pay(&server.keys().0).ok(201);
        assert_eq!(installed.run(&["migrate"]), (Some(0), String::new(), String::new()));
        server.stopped();
    }

    async fn a_migration_that_is_killed_anywhere_is_finished_by_the_next_one(installed) {
        for moment in [1, 3, 6, 10, 15, 20, 30, 40, 60, 80, 120, 180] {
            let mut killed = installed.program().arg("migrate").spawn().unwrap();
            pause(Duration::from_millis(moment));
            killed.kill().unwrap();
            killed.wait().unwrap();
        }
        assert_eq!(installed.run(&["migrate"]), (Some(0), String::new(), String::new()));
        let server = installed.serve();
        server.pay(&server.keys().0).ok(201);
        server.stopped();
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    }
}
