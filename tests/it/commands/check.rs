//! `check` reports everything that is wrong before a server meets it, and changes nothing (`docs/decisions.md`, 340 to 343).

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use vault::OperatorKeys;

use crate::harness::process::{PAYMENT, Process, output, program, repeatable_request, try_to_ask};
use crate::harness::{Database, Installed, fields, operated};

const OTHER_KEY: &str = "other:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// The findings of a check: how many things are wrong, as its exit code says, and its output.
#[track_caller]
fn checked(installed: &Installed, arguments: &[&str]) -> (usize, Vec<Value>) {
    let mut command = installed.program();
    let (code, stdout, stderr) = output(command.arg("check").args(arguments).arg("--json"));
    let findings: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let wrong = findings.iter().filter(|finding| finding["level"] == "wrong").count();
    let expected = match wrong {
        0 => String::new(),
        1 => "error: 1 thing is wrong\n".into(),
        many => format!("error: {many} things are wrong\n"),
    };
    assert_eq!((code, stderr), (Some(i32::from(wrong > 0)), expected), "{findings:#?}");
    for finding in &findings {
        assert_eq!(fields(finding), ["level", "area", "said", "remedy"]);
        assert_eq!(finding["remedy"].is_null(), finding["level"] == "ok", "{finding}");
    }
    (wrong, findings)
}

/// Returns whether this was found.
#[track_caller]
fn assert_finding(findings: &[Value], level: &str, area: &str, text: &str) {
    let is = |finding: &&Value| {
        finding["level"] == level
            && finding["area"] == area
            && finding["said"].as_str().unwrap().contains(text)
    };
    assert!(findings.iter().any(|finding| is(&finding)), "{level} {area} {text}: {findings:#?}");
}

/// The files of the data directory with their bytes. SQLite makes the index of its log again each time it opens the file.
fn files(installed: &Installed) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(installed.data.path()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.map(|file| {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes =
            if file.is_file() && !name.ends_with("-shm") { fs::read(&file).unwrap() } else { Vec::new() };
        (name, bytes)
    });
    files.collect()
}

fn is_untouched(installed: &Installed, before: &BTreeMap<String, Vec<u8>>) {
    let now = files(installed);
    assert_eq!(now.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    for (name, bytes) in now {
        assert!(
            bytes == before[&name],
            "{name} was touched: {} bytes, then {}",
            before[&name].len(),
            bytes.len()
        );
    }
}

async fn steps(installed: &Installed) -> i64 {
    installed.number("SELECT COUNT(*) FROM seaql_migrations").await
}

operated! {
    async fn before_the_first_start_all_is_well_and_nothing_is_made(installed) {
        let (wrong, findings) = checked(installed, &[]);
        assert_eq!(wrong, 0, "{findings:#?}");
        for area in ["configuration", "database", "keys", "roots", "clock", "disk", "ports", "acquirer"] {
            assert!(findings.iter().any(|finding| finding["area"] == area), "nothing is said of {area}: {findings:#?}");
        }
        assert_eq!(files(installed).len(), 0, "something was made");
        if installed.database == Database::Postgres {
            let tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()";
            assert_eq!(installed.number(tables).await, 0);
        }
        let (code, stdout, _) = installed.run(&["check"]);
        assert_eq!(code, Some(0));
        assert!(stdout.lines().any(|line| line.starts_with("ok       database       ")), "{stdout}");
        let nowhere = installed.data.path().join("below/it");
        let (wrong, findings) = checked(installed, &["--data-dir", nowhere.to_str().unwrap()]);
        assert_eq!(wrong, 0, "{findings:#?}");
        let disk = findings.iter().find(|finding| finding["area"] == "disk").unwrap();
        assert!(disk["said"].as_str().unwrap().contains("can be created"), "{disk}");
        assert!(!nowhere.exists());
    }

    async fn beside_a_server_and_after_its_end_all_is_well_and_not_a_byte_is_changed(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        server.pay(&key).ok(201);
        installed.with("LISTEN", &server.address.to_string());
        let (wrong, findings) = checked(installed, &[]);
        assert_eq!(wrong, 0, "{findings:#?}");
        assert_finding(&findings, "ok", "ports", "a server of this installation answers at");
        assert_finding(&findings, "ok", "keys", "the vault key \"local\" opens this database");
        assert_finding(&findings, "ok", "database", "its schema is up to date; it belongs to the test environment");
        if installed.database == Database::Sqlite {
            assert_finding(&findings, "ok", "database", "a server runs on it");
        }
        server.pay(&key).ok(201);
        // What is in the log alone stays there.
        server.killed();
        let before = files(installed);
        assert_eq!(checked(installed, &[]).0, 0);
        is_untouched(installed, &before);
        installed.with("LISTEN", "127.0.0.1:0");
        let server = installed.serve();
        server.pay(&key).ok(201);
        server.stopped();
        let before = files(installed);
        let (wrong, findings) = checked(installed, &[]);
        assert_eq!(wrong, 0, "{findings:#?}");
        is_untouched(installed, &before);
        if installed.database == Database::Sqlite {
            assert_finding(&findings, "ok", "database", "no server runs on it");
        }
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn all_faults_of_the_configuration_are_told_at_once_and_no_secret_is(installed) {
        for (name, value) in [
            ("LISTEN", "everywhere"), ("CONCURRENCY", "0"), ("RETENTION_DAYS", "5"), ("TRUSTED_PROXIES", "everybody"),
            ("SECRET_KEY", "hunter2"), ("VAULT_KEY", "hunter2hunter2"), ("ACQUIRER", "nobody"), ("BLOBS", "ftp://files"),
            ("WALLET_ROOTS", "/nowhere/roots.json"), ("WALLET_G_RECIPIENT", "gateway:own"), ("WALLET_A_HOSTS", "a.example.com"),
            ("WALLET_A_IDENTITY_FILE", "/nowhere/identity.pem"), ("LISTNE", "127.0.0.1:1"), ("COLOUR_OF_THE_DOOR", "red"),
            ("LOG", "card_payments=loud"),
        ] {
            installed.with(name, value);
        }
        let (wrong, findings) = checked(installed, &["--environment", "production"]);
        for (area, text) in [
            ("configuration", "CARD_PAYMENTS_LISTEN: "),
            ("configuration", "CARD_PAYMENTS_CONCURRENCY: 0 is not in 1..=8192"),
            ("configuration", "CARD_PAYMENTS_RETENTION_DAYS: 5 is not in 30..=36500"),
            ("configuration", "CARD_PAYMENTS_TRUSTED_PROXIES: "),
            ("configuration", "CARD_PAYMENTS_ENVIRONMENT: is none of test, live"),
            ("configuration", "CARD_PAYMENTS_SECRET_KEY must be 8 to 100 visible characters, the last of them no colon"),
            ("configuration", "/nowhere/identity.pem: "),
            ("configuration", "CARD_PAYMENTS_LOG: error parsing level filter"),
            ("keys", "CARD_PAYMENTS_VAULT_KEY: vault key 1 is not id:base64"),
            ("roots", "CARD_PAYMENTS_WALLET_ROOTS: "),
            ("roots", "CARD_PAYMENTS_WALLET_G_KEY is required with CARD_PAYMENTS_WALLET_G_RECIPIENT"),
            ("roots", "CARD_PAYMENTS_WALLET_A_IDENTITY is required with CARD_PAYMENTS_WALLET_A_HOSTS"),
            ("disk", "CARD_PAYMENTS_BLOBS: \"ftp://files\" is not s3://BUCKET"),
            ("acquirer", "nobody"),
        ] {
            assert_finding(&findings, "wrong", area, text);
        }
        assert_eq!(wrong, 14, "{findings:#?}");
        let unknown = |name: &str| findings.iter().find(|finding| finding["said"].as_str().unwrap().contains(name)).unwrap();
        assert_eq!(unknown("CARD_PAYMENTS_LISTNE ")["remedy"], "did you mean CARD_PAYMENTS_LISTEN?");
        let door = unknown("CARD_PAYMENTS_COLOUR_OF_THE_DOOR ");
        assert!(door["level"] == "warning" && !door["remedy"].as_str().unwrap().contains("did you mean"), "{door}");
        assert!(!findings.iter().any(|finding| finding.to_string().contains("hunter2")));
        assert_eq!(files(installed).len(), 0, "something was made");
    }

    async fn a_key_that_is_gone_or_wrong_or_read_by_others_is_told(installed) {
        installed.serve().stopped();
        let key = installed.data.path().join("vault.key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        let (wrong, findings) = checked(installed, &[]);
        assert_eq!(wrong, 0, "{findings:#?}");
        assert_finding(&findings, "warning", "keys", "(mode 644)");
        fs::rename(&key, installed.data.path().join("kept")).unwrap();
        let before = files(installed);
        let (wrong, findings) = checked(installed, &[]);
        assert_eq!(wrong, 1, "{findings:#?}");
        assert_finding(&findings, "wrong", "keys", "the database was sealed with a vault key that is not there");
        fs::write(&key, "garbage").unwrap();
        let (wrong, findings) = checked(installed, &[]);
        assert_eq!(wrong, 1, "{findings:#?}");
        let malformed = "vault key 1 is not id:base64 with an id of at most 32 letters, digits, - and _";
        assert_finding(&findings, "wrong", "keys", &format!("{}: {malformed}", key.display()));
        fs::remove_file(&key).unwrap();
        installed.with("VAULT_KEY", OTHER_KEY);
        let (wrong, findings) = checked(installed, &[]);
        assert_eq!(wrong, 1, "{findings:#?}");
        assert_finding(&findings, "wrong", "keys", "the vault key does not open this database");
        let kept = fs::read_to_string(installed.data.path().join("kept")).unwrap();
        installed.with("VAULT_KEY", &format!("{OTHER_KEY},{}", kept.trim()));
        let (wrong, findings) = checked(installed, &[]);
        assert_eq!(wrong, 0, "{findings:#?}");
        assert_finding(&findings, "warning", "keys", "still needs the former vault key \"local\"");
        is_untouched(installed, &before);
        installed.records(&["vault", "rotate"]);
        assert_finding(&checked(installed, &[]).1, "ok", "keys", "the vault key \"other\" opens this database");
    }

    async fn seals_by_a_data_key_are_counted_and_told_in_time_and_a_rotation_begins_anew(installed) {
        const COUNTED: &str = "SELECT seals FROM vault_keys WHERE purpose = 'data' AND remove_at IS NULL";
        // What is kept for an Idempotency-Key is sealed.
        let pay = |server: &Process, key: &str, once: &str| {
            let text = repeatable_request("POST", "/1/charges", Some(key), Some(once), PAYMENT);
            try_to_ask(server.address, &text).unwrap().ok(201);
        };
        let shown = |server: &Process| -> i64 {
            let metrics = server.ask("GET", "/metrics", None, "").body;
            let gauge = metrics.lines().find_map(|line| line.strip_prefix("card_payments_data_key_seals "));
            gauge.unwrap().parse().unwrap()
        };
        let server = installed.serve();
        let (key, _) = server.keys();
        let before = shown(&server);
        pay(&server, &key, "first");
        // The answer that is kept, and what is kept of the card.
        let each = shown(&server) - before;
        assert!(before > 0 && each > 0, "{before} and {each}");
        server.stopped();
        assert_eq!(installed.number(COUNTED).await, before + each);
        let server = installed.serve();
        // A start counts as well what it seals and does not keep: the keys of a first account that is there already.
        let restarted = shown(&server);
        assert!(restarted >= before + each, "{restarted}");
        pay(&server, &key, "second");
        assert_eq!(shown(&server), restarted + each);
        server.stopped();
        assert_eq!(installed.number(COUNTED).await, restarted + each);
        let is_fresh = |installed: &Installed| {
            let (wrong, findings) = checked(installed, &[]);
            wrong == 0 && !findings.iter().any(|finding| finding["said"].as_str().unwrap().contains("the data key"))
        };
        let set = async |installed: &Installed, seals: i64| {
            installed.execute(&format!("UPDATE vault_keys SET seals = {seals} WHERE purpose = 'data'")).await;
        };
        set(installed, 2_147_483_647).await;
        assert!(is_fresh(installed));
        for (seals, level) in [(2_147_483_648, "warning"), (4_294_967_296, "wrong")] {
            set(installed, seals).await;
            let (wrong, findings) = checked(installed, &[]);
            assert_eq!(wrong, usize::from(level == "wrong"), "{findings:#?}");
            assert_finding(&findings, level, "keys", &format!("the data key has encrypted {seals} times; the limit is 4294967296"));
        }
        let rotated = installed.records(&["vault", "rotate"]).remove(0);
        // Each row has one column that is sealed, or a few.
        let rows = rotated["rows"].as_i64().unwrap();
        let anew = installed.number(COUNTED).await;
        assert!(rows > 0 && (rows..=restarted + each).contains(&anew), "{rows} rows, {anew} seals");
        assert!(is_fresh(installed));
    }

    async fn a_schema_of_another_release_is_told_and_left_as_it_is(installed) {
        installed.serve().stopped();
        installed.execute("DELETE FROM seaql_migrations WHERE version = 'm0001_schema'").await;
        let before = steps(installed).await;
        let (wrong, findings) = checked(installed, &[]);
        assert_eq!(wrong, 0, "{findings:#?}");
        assert_finding(&findings, "warning", "database", "lacks 1 of this release's steps: m0001_schema");
        assert_eq!(steps(installed).await, before);
        installed.execute("INSERT INTO seaql_migrations (version, applied_at) VALUES ('m9999_later', 0)").await;
        let (wrong, findings) = checked(installed, &[]);
        assert_eq!(wrong, 1, "{findings:#?}");
        assert_finding(&findings, "wrong", "database", "of a later release: m9999_later");
        installed.execute("UPDATE vault_keys SET created_at = 99999999999999").await;
        assert_finding(&checked(installed, &[]).1, "wrong", "clock", "the database's newest key was made at");
    }

    async fn a_database_of_the_other_environment_is_told(installed) {
        installed.serve().stopped();
        let before = files(installed);
        installed.with("ENVIRONMENT", "live");
        installed.with("ACQUIRER", "simulator");
        installed.with("SECRET_KEY", "sk_of_the_operator");
        installed.with("SEED", "x");
        let (_, findings) = checked(installed, &[]);
        assert_finding(&findings, "wrong", "database", "the database belongs to the test environment");
        assert_finding(&findings, "wrong", "keys", "CARD_PAYMENTS_VAULT_KEY is required in the live environment");
        assert_finding(&findings, "wrong", "configuration", "CARD_PAYMENTS_SECRET_KEY is not for the live environment");
        assert_finding(&findings, "wrong", "configuration", "CARD_PAYMENTS_SEED is not for the live environment");
        is_untouched(installed, &before);
    }

    async fn another_seed_than_the_databases_own_is_told(installed) {
        installed.with("SEED", "first");
        installed.serve().stopped();
        assert_eq!(checked(installed, &[]).0, 0);
        for (seed, text) in [
            (Some("second"), "CARD_PAYMENTS_SEED is not the seed of this database"),
            (None, "this database needs the CARD_PAYMENTS_SEED"),
        ] {
            match seed {
                Some(seed) => installed.with("SEED", seed),
                None => installed.without("SEED"),
            }
            let (wrong, findings) = checked(installed, &[]);
            assert_eq!(wrong, 1, "{findings:#?}");
            assert_finding(&findings, "wrong", "database", text);
        }
    }

    async fn a_live_server_is_checked_as_one(installed) {
        installed.with("ENVIRONMENT", "live");
        installed.with("VAULT_KEY", OperatorKeys::generate("live").to_text().expose());
        let (_, findings) = checked(installed, &[]);
        assert_finding(&findings, "wrong", "acquirer", "CARD_PAYMENTS_ACQUIRER is required in the live environment");
        assert_finding(&findings, "warning", "configuration", "CARD_PAYMENTS_BASE_URL is no https address");
        installed.with("ACQUIRER", "simulator");
        installed.with("BASE_URL", "https://api.example.com");
        let server = installed.serve();
        let (_, findings) = checked(installed, &[]);
        assert_finding(&findings, "warning", "acquirer", "no money moves");
        assert_finding(&findings, "ok", "database", "it belongs to the live environment");
        // The tests' own PostgreSQL may flush nothing, for speed; no real money should be on such a server.
        let wrong = findings.iter().filter(|finding| finding["level"] == "wrong");
        for finding in wrong {
            let means = finding["said"].as_str().unwrap();
            assert!(installed.database == Database::Postgres && means.contains(" is off: "), "{finding}");
        }
        server.stopped();
    }
}

#[test]
fn a_port_that_somebody_else_has_is_told() {
    let data = tempfile::tempdir().unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let talking = std::thread::spawn(move || {
        let mut caller = other.accept().unwrap().0;
        caller.write_all(b"220 mail.example.com\r\n").unwrap();
        caller.shutdown(Shutdown::Write).unwrap();
        // Until the caller has hung up.
        let _ = caller.read_to_end(&mut Vec::new());
    });
    let mut command = program(data.path());
    command.env("CARD_PAYMENTS_LISTEN", &address).env("CARD_PAYMENTS_ADMIN_LISTEN", &address);
    let (code, stdout, _) = output(command.arg("check"));
    assert_eq!(code, Some(1));
    assert!(stdout.contains(&format!("another program listens on {address}")), "{stdout}");
    assert!(stdout.contains("CARD_PAYMENTS_ADMIN_LISTEN is the address of CARD_PAYMENTS_LISTEN"), "{stdout}");
    talking.join().unwrap();
    let (code, stdout, _) =
        output(program(data.path()).env("CARD_PAYMENTS_LISTEN", "203.0.113.1:80").arg("check"));
    assert!(code == Some(1) && stdout.contains("cannot listen on 203.0.113.1:80"), "{stdout}");
}

#[test]
fn a_secret_that_systemd_hands_over_is_read_by_nobody_else_whatever_its_mode_says() {
    let (data, handed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let key = handed.path().join("vault-key");
    fs::write(&key, OTHER_KEY).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o440)).unwrap();
    let check = |credentials: &str| {
        let mut command = program(data.path());
        command.env("CARD_PAYMENTS_VAULT_KEY_FILE", &key).env("CREDENTIALS_DIRECTORY", credentials);
        output(command.arg("check")).1
    };
    assert!(check("/run/credentials/another").contains("(mode 440)"));
    let stdout = check(handed.path().to_str().unwrap());
    assert!(!stdout.contains("mode") && stdout.contains("the vault key is valid"), "{stdout}");
}

#[test]
fn a_server_that_does_not_answer_is_no_stranger() {
    let data = tempfile::tempdir().unwrap();
    // The port is taken, and its server does not answer.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = silent.local_addr().unwrap().to_string();
    let check = || output(program(data.path()).env("CARD_PAYMENTS_LISTEN", &listen).arg("check"));
    let (code, stdout, _) = check();
    assert!(code == Some(1) && stdout.contains("an overloaded server, or another program"), "{stdout}");
    let server = Process::start(&mut program(data.path()));
    let (code, stdout, _) = check();
    assert!(code == Some(0) && stdout.contains("warning  ports "), "{stdout}");
    assert!(stdout.contains("and a server runs on the database's file"), "{stdout}");
    server.stopped();
}

#[test]
fn traces_that_would_keep_a_server_from_its_start_are_told() {
    let data = tempfile::tempdir().unwrap();
    let collector = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    let (code, stdout, _) = output(program(data.path()).envs([collector]).arg("check"));
    assert_eq!(code, Some(0), "{stdout}");
    let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let (code, stdout, _) = output(program(data.path()).envs([collector, grpc]).arg("check"));
    assert!(
        code == Some(1) && stdout.contains("OTEL_EXPORTER_OTLP_PROTOCOL: traces are exported by"),
        "{stdout}"
    );
}

#[test]
fn somebody_elses_database_and_an_address_of_none_are_told_with_all_else() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("theirs.db");
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE theirs (n INTEGER)").unwrap();
    let before = fs::read(&file).unwrap();
    for (url, text) in [
        (format!("sqlite:{}", file.display()), "the database has tables of another program"),
        ("mysql://root:hunter2@localhost/payments".to_owned(), "must begin with sqlite: or postgres://"),
        (format!("sqlite:{}", data.path().display()), "the database cannot be opened"),
    ] {
        let (code, stdout, stderr) = output(program(data.path()).args(["check", "--database-url", &url]));
        assert_eq!((code, stderr.as_str()), (Some(1), "error: 1 thing is wrong\n"), "{stdout}");
        assert!(
            stdout.contains(text) && stdout.contains("acquirer") && !stdout.contains("hunter2"),
            "{stdout}"
        );
    }
    assert!(fs::read(&file).unwrap() == before);
    let names: Vec<_> = fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["theirs.db"], "something was made");
}
