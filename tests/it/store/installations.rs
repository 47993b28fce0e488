//! A server that does not belong to a database is refused before it changes anything in it or beside it.

use std::fs;
use std::path::PathBuf;

use crate::harness::{Installed, operated};

const KEY: &str = "other:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// As an older release would have left it: without this release's step.
async fn older(installed: &Installed) {
    installed.serve().stopped();
    installed.execute("DELETE FROM seaql_migrations WHERE version = 'm0001_schema'").await;
}

/// What there is: the steps that have run, and of the data directory every file with its bytes.
async fn all(installed: &Installed) -> (i64, Vec<(PathBuf, Vec<u8>)>) {
    let steps = installed.number("SELECT COUNT(*) FROM seaql_migrations").await;
    let files = fs::read_dir(installed.data.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    files.sort();
    (steps, files)
}

operated! {
    async fn an_older_database_that_is_not_ours_is_not_brought_up_to_date(installed) {
        older(installed).await;
        let before = all(installed).await;
        installed.with("ENVIRONMENT", "live");
        installed.with("ACQUIRER", "simulator");
        installed.with("VAULT_KEY", KEY);
        for command in [&["serve"][..], &["migrate"], &["account", "list"], &["ledger", "verify"], &["vault", "rotate"]] {
            let (code, stdout, stderr) = installed.run(command);
            assert_eq!((code, stdout.as_str()), (Some(1), ""), "{command:?}");
            assert!(stderr.ends_with("error: the database belongs to the test environment\n"), "{stderr}");
        }
        installed.without("ENVIRONMENT");
        for command in [&["serve"][..], &["vault", "rotate"]] {
            let (code, stdout, stderr) = installed.run(command);
            assert_eq!((code, stdout.as_str()), (Some(1), ""), "{command:?}");
            assert!(stderr.starts_with("error: the vault key does not open this database: "), "{stderr}");
        }
        assert!(all(installed).await == before, "something was touched");
        installed.without("VAULT_KEY");
        installed.execute("INSERT INTO seaql_migrations (version, applied_at) VALUES ('m0001_schema', 0)").await;
        let server = installed.serve();
        server.pay(&server.keys().0).ok(201);
        server.stopped();
        assert_eq!(all(installed).await.0, before.0 + 1);
    }

    async fn a_vault_key_that_is_gone_is_not_replaced(installed) {
        installed.serve().stopped();
        let (key, kept) = (installed.data.path().join("vault.key"), installed.data.path().join("kept"));
        fs::rename(&key, &kept).unwrap();
        let before = all(installed).await;
        for command in [&["serve"][..], &["vault", "rotate"]] {
            let (code, stdout, stderr) = installed.run(command);
            assert_eq!((code, stdout.as_str()), (Some(1), ""), "{command:?}");
            assert!(stderr.starts_with("error: the database was sealed with a vault key that is not there"), "{stderr}");
            assert!(stderr.contains(key.to_str().unwrap()), "{stderr}");
        }
        assert!(all(installed).await == before, "something was touched");
        fs::rename(&kept, &key).unwrap();
        let server = installed.serve();
        server.pay(&server.keys().0).ok(201);
        server.stopped();
    }

    async fn a_database_without_keys_gets_them_from_a_fresh_vault_key(installed) {
        assert_eq!(installed.run(&["migrate"]).0, Some(0));
        assert!(!installed.data.path().join("vault.key").exists());
        installed.serve().stopped();
        assert!(installed.data.path().join("vault.key").exists());
    }
}
