//! A copy of a SQLite database that is in use (`docs/decisions.md`, 322).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use entity::{ChargeToken, TimeSpan, charge};
use sea_orm::EntityTrait;
use serde_json::json;
use store::{BackupError, Location};

use crate::harness::process::{PAYMENT, Process, output, program, request, try_to_ask};
use crate::harness::{App, Database, Installed, card, operated, token_of};

/// A number of a known scheme that is in no table of test numbers.
const REAL: &str = "4012888888881881";

operated! {
    async fn a_backup_made_under_load_holds_all_that_was_answered_before_and_its_books_are_right(installed) {
        if installed.database == Database::Postgres {
            let file = installed.data.path().join("copy.db");
            installed.refuses(
                &["backup", file.to_str().unwrap()],
                "a PostgreSQL database is backed up by its own tools: pg_dump --format=custom --file=FILE",
            );
            assert!(!file.exists());
            return;
        }
        let server = installed.serve();
        let (key, _) = server.keys();
        let (before, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        let copies = tempfile::tempdir().unwrap();
        let answered = std::thread::scope(|scope| {
            let customers: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let mut paid = Vec::new();
                        while !stop.load(Ordering::SeqCst) {
                            let sent_before = !before.load(Ordering::SeqCst);
                            let text = request("POST", "/1/charges", Some(&key), PAYMENT);
                            let charge = token_of(&try_to_ask(server.address, &text).unwrap().ok(201));
                            // Only what was answered before the backup began is promised to be in it.
                            if sent_before && !before.load(Ordering::SeqCst) {
                                paid.push(charge);
                            }
                        }
                        paid
                    })
                })
                .collect();
            while server.ask("GET", "/1/charges", Some(&key), "").json()["pagination"]["count"].as_u64() < Some(20) {}
            before.store(true, Ordering::SeqCst);
            for name in ["one.db", "two.db", "three.db"] {
                let file = copies.path().join(name);
                let made = installed.records(&["backup", file.to_str().unwrap()]).remove(0);
                assert_eq!(made["file"].as_str(), file.to_str());
                assert_eq!(made["bytes"].as_u64(), Some(file.metadata().unwrap().len()));
                assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            }
            stop.store(true, Ordering::SeqCst);
            customers.into_iter().flat_map(|customer| customer.join().unwrap()).collect::<Vec<_>>()
        });
        server.stopped();
        assert!(!answered.is_empty());
        let mut names: Vec<_> = std::fs::read_dir(copies.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["one.db", "three.db", "two.db"], "nothing is left beside them");
        for name in &names {
            let mut restored = program(installed.data.path());
            restored.env("CARD_PAYMENTS_DATABASE_URL", format!("sqlite:{}", copies.path().join(name).display()));
            let verified = output(restored.args(["ledger", "verify"]));
            assert_eq!(verified, (Some(0), "The books balance.\n".into(), String::new()), "{name:?}");
        }
        // The folder of the data as it would be restored: the copy in the place of the database, and the vault's key.
        let restored = Installed::on(Database::Sqlite).await.unwrap();
        std::fs::copy(copies.path().join("one.db"), restored.data.path().join("card-payments.db")).unwrap();
        std::fs::copy(installed.data.path().join("vault.key"), restored.data.path().join("vault.key")).unwrap();
        let server = restored.serve();
        assert_eq!(server.keys().0, key);
        for charge in &answered {
            server.ask("GET", &format!("/1/charges/{charge}"), Some(&key), "").ok(200);
        }
        server.pay(&key).ok(201);
        server.stopped();
        assert_eq!(restored.run(&["ledger", "verify"]).0, Some(0));
    }
}

/// The acquirer repeats its answer to a key, so no card is charged twice.
#[tokio::test]
async fn a_restored_live_server_makes_forgotten_renewals_under_their_own_tokens_and_keys() {
    let mut app = App::live(Database::Sqlite).await.unwrap();
    let client = app.client();
    let plan = client.plan(&json!({ "interval_unit": "week" })).await;
    let [pays, owes] = [client.customer(REAL).await, client.customer(REAL).await].map(|made| token_of(&made));
    for customer in [&pays, &owes] {
        client.subscribed(&plan, customer).await;
    }
    let declined = json!({ "card": card("4100000000000001") });
    client.put(&format!("/1/customers/{owes}"), &declined).await.ok(200);
    drop(client);
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("copy.db");
    app.back_up(&copy);
    let weeks = async |app: &App| {
        for _ in 0..15 {
            app.clock.advance(TimeSpan::days(1));
            app.do_due_work().await;
        }
        charges(app).await
    };
    let made = weeks(&app).await;
    // Two firsts, two renewals, and one that is tried four times.
    assert_eq!(made.len(), 8, "{made:?}");

    app.restore(&copy).await;
    assert_eq!(charges(&app).await.len(), 2);
    // All that was due is late now.
    let again = weeks(&app).await;
    assert!(made.iter().all(|charge| again.contains(charge)), "{made:?} {again:?}");
    app.check_books().await;
}

/// Returns the tokens of all charges, each with the acquirer's reference.
async fn charges(app: &App) -> Vec<(ChargeToken, Option<String>)> {
    let rows = charge::Entity::find().all(app.ctx().store.read()).await.unwrap();
    rows.into_iter().map(|row| (row.id, row.acquirer_reference)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_cannot_be_made_says_why_and_leaves_no_file() {
    let mut installed = Installed::on(Database::Sqlite).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let database = installed.data.path().join("card-payments.db");
    installed.refuses(&["backup", &path("copy.db")], &installed.no_database());
    assert!(!database.exists(), "nor is one made");
    Process::start(&mut installed.program()).stopped();

    std::fs::write(path("taken.db"), "somebody's").unwrap();
    installed.refuses(&["backup", &path("taken.db")], &format!("{} already exists", path("taken.db")));
    assert_eq!(std::fs::read_to_string(path("taken.db")).unwrap(), "somebody's");
    std::os::unix::fs::symlink(path("nowhere"), path("link.db")).unwrap();
    installed.refuses(&["backup", &path("link.db")], &format!("{} already exists", path("link.db")));
    installed.refuses(
        &["backup", "-"],
        "a backup is a database, which cannot be written to standard output: name a file",
    );
    let (code, stdout, stderr) = installed.run(&["backup", &path("no/such/folder.db")]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.starts_with(&format!("error: {}: ", path("no/such/folder.db"))), "{stderr}");
    installed.with("ENVIRONMENT", "live");
    installed.refuses(&["backup", &path("copy.db")], "the database belongs to the test environment");
    let location: Location = format!("sqlite:{}", database.display()).parse().unwrap();
    let stopped =
        store::backup(&location, "test", Path::new(&path("stopped.db")), &(), &AtomicBool::new(true));
    assert!(matches!(stopped, Err(BackupError::Stopped)), "{stopped:?}");
    let mut left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["link.db", "taken.db"]);

    installed.without("ENVIRONMENT");
    let (code, stdout, _) = installed.run(&["backup", &path("copy.db")]);
    assert_eq!(code, Some(0));
    assert!(
        stdout.starts_with(&format!("{}: ", path("copy.db"))) && stdout.ends_with(" bytes\n"),
        "{stdout}"
    );
}
