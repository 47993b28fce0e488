//! What a server cannot start on it says as `check` does, soon and in one line; what it starts with all the same, it warns of.

use std::net::{SocketAddr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr as NotifyAddress, UnixDatagram};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::process::{Process, as_of_tests, ask, free_address, install, output, program};
use crate::harness::{Installed, operated};

/// The user nobody, who may not write our files.
const NOBODY: u32 = 65534;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A server refuses to start in these words, within some seconds, and a check finds the same.
#[track_caller]
fn assert_both_report(installation: impl Fn() -> Command, message: &str) {
    let began = Instant::now();
    let (code, stdout, stderr) = output(installation().arg("serve").env("CARD_PAYMENTS_LOG", "error"));
    // The program itself waits for two seconds at most; this machine may be busy.
    assert!(began.elapsed() < Duration::from_secs(20), "after {:?}", began.elapsed());
    assert_eq!((code, stdout.as_str(), stderr), (Some(1), "", format!("error: {message}\n")));
    let (code, stdout, _) = output(installation().args(["check", "--json"]));
    let findings: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is = |finding: &&Value| {
        finding["level"] == "wrong" && finding["said"] == message && finding["remedy"].is_string()
    };
    assert!(code == Some(1) && findings.iter().any(|finding| is(&finding)), "{message}: {findings:#?}");
}

fn on(url: &str) -> impl Fn() -> Command {
    let data = folder().keep();
    let url = url.to_owned();
    move || {
        let mut command = program(&data);
        command.env("CARD_PAYMENTS_DATABASE_URL", &url);
        command
    }
}

operated! {
    async fn a_schema_of_a_later_release_is_told_alike(installed) {
        installed.serve().stopped();
        installed.execute("INSERT INTO seaql_migrations (version, applied_at) VALUES ('m9999_later', 0)").await;
        let message = "the database's schema is of a later release: m9999_later";
        assert_both_report(|| installed.program(), message);
        for command in [&["migrate"][..], &["account", "list"], &["vault", "rotate"]] {
            installed.refuses(command, message);
        }
    }
}

#[test]
fn a_postgresql_that_refuses_or_says_nothing_is_named_within_seconds() {
    let gone = free_address();
    let url = |address: SocketAddr| format!("postgres://payments:hunter2@{address}/payments");
    let refused = "Connection refused (os error 111)";
    assert_both_report(on(&url(gone)), &format!("no PostgreSQL answers at {gone}: {refused}"));
    // It takes the call, and that is all.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let message = format!("no PostgreSQL answers at {address}: nothing was heard for 2 seconds");
    assert_both_report(on(&url(address)), &message);
    for command in [&["account", "list"][..], &["migrate"], &["ledger", "verify"]] {
        let (code, _, stderr) = output(on(&url(address))().args(command));
        assert_eq!((code, stderr), (Some(1), format!("error: {message}\n")), "{command:?}");
    }
}

#[test]
fn a_path_that_is_no_file_or_no_folder_is_told_alike() {
    let data = folder();
    let place = data.path().join("place");
    std::fs::create_dir(&place).unwrap();
    assert_both_report(
        on(&format!("sqlite:{}", place.display())),
        &format!("the database cannot be opened: {} is a folder, not a file", place.display()),
    );
    let file = data.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for below in [file.clone(), file.join("below")] {
        assert_both_report(|| program(&below), &format!("{} is no folder", file.display()));
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"x");
}

#[test]
fn a_file_that_only_others_may_write_to_or_read_is_told_alike() {
    let data = folder();
    Process::start(&mut program(data.path())).stopped();
    let file = data.path().join("card-payments.db");
    let is_root = rustix::process::getuid().is_root();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    mode(&file, 0o444);
    mode(&data.path().join("vault.key"), 0o444);
    // A folder that the user cannot enter cannot hold the program.
    let copy = folder();
    let own = copy.path().join("card-payments");
    if is_root {
        mode(data.path(), 0o777);
        mode(copy.path(), 0o755);
        install(env!("CARGO_BIN_EXE_card-payments").as_ref(), &own);
    }
    let installation = || {
        let mut command = program(data.path());
        if is_root {
            command = Command::new(&own);
            command
                .env_clear()
                .envs(as_of_tests())
                .env("CARD_PAYMENTS_DATA_DIR", data.path())
                .uid(NOBODY)
                .gid(NOBODY);
            command.env("CARD_PAYMENTS_LISTEN", "127.0.0.1:0");
        }
        command
    };
    let denied =
        format!("the database {} cannot be written: Permission denied (os error 13)", file.display());
    assert_both_report(installation, &denied);
    mode(&file, 0o000);
    assert_both_report(installation, &denied);
}

#[test]
fn a_file_that_is_damaged_is_told() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    server.pay(&server.keys().0).ok(201);
    server.stopped();
    let file = data.path().join("card-payments.db");
    let whole = std::fs::read(&file).unwrap();
    let check = || output(program(data.path()).arg("check"));
    assert!(check().1.contains("every page of it is whole"), "{}", check().1);
    // A page in its middle, which no start reads.
    let page: u32 = {
        let connection = rusqlite::Connection::open(&file).unwrap();
        let root = "SELECT rootpage FROM sqlite_master WHERE name = 'charges'";
        connection.query_row(root, [], |row| row.get(0)).unwrap()
    };
    let page = usize::try_from(page).unwrap();
    let size = usize::from(u16::from_be_bytes([whole[16], whole[17]]));
    let mut damaged = whole.clone();
    damaged[(page - 1) * size..page * size].fill(0xff);
    std::fs::write(&file, &damaged).unwrap();
    let (code, stdout, _) = check();
    assert!(
        code == Some(1) && stdout.contains("it is damaged: ") && stdout.contains("restore the last backup"),
        "{stdout}"
    );
    // Its first page, without which it is nothing.
    let mut damaged = whole;
    damaged[..size].fill(0xff);
    std::fs::write(&file, &damaged).unwrap();
    let message = format!("the database {} is damaged: it cannot be read as a database", file.display());
    assert_both_report(|| program(data.path()), &message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_that_postgresql_finds_itself_is_told() {
    let Some(installed) = Installed::on(crate::harness::Database::Postgres).await else { return };
    installed.serve().stopped();
    let check = || output(installed.program().arg("check"));
    assert!(check().1.contains("not checked: the extension amcheck is not there"), "{}", check().1);
    if installed.number("SELECT count(*) FROM pg_available_extensions WHERE name = 'amcheck'").await == 0 {
        return;
    }
    installed.execute("CREATE EXTENSION amcheck").await;
    let (code, stdout, _) = check();
    assert!(
        code == Some(0) && stdout.contains("indexes and ") && stdout.contains("tables are whole"),
        "{stdout}"
    );
    // An index whose order means something else than when it was made.
    let compares = |less: i32| {
        format!(
            "CREATE OR REPLACE FUNCTION compared(int4, int4) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT AS \
             $$ SELECT CASE WHEN $1 = $2 THEN 0 WHEN $1 < $2 THEN {less} ELSE {} END $$",
            -less
        )
    };
    installed.execute(&compares(-1)).await;
    for sql in [
        "CREATE OPERATOR CLASS turned FOR TYPE int4 USING btree AS OPERATOR 1 < (int4, int4), OPERATOR 2 <= (int4, int4), \
         OPERATOR 3 = (int4, int4), OPERATOR 4 >= (int4, int4), OPERATOR 5 > (int4, int4), FUNCTION 1 compared(int4, int4)",
        "CREATE TABLE numbers (n int4)",
        "INSERT INTO numbers SELECT generate_series(1, 1000)",
        "CREATE INDEX numbers_by_n ON numbers (n turned)",
    ] {
        installed.execute(sql).await;
    }
    assert_eq!(check().0, Some(0));
    installed.execute(&compares(1)).await;
    let (code, stdout, _) = check();
    assert!(code == Some(1) && stdout.contains("it is damaged: the index numbers_by_n"), "{stdout}");
}

#[test]
fn a_port_of_another_installation_is_told_from_ones_own() {
    let (one, other) = (folder(), folder());
    let server = Process::start(&mut program(one.path()));
    let address = server.address.to_string();
    let check = |data: &Path| output(program(data).env("CARD_PAYMENTS_LISTEN", &address).arg("check"));
    let (code, stdout, _) = check(one.path());
    assert!(
        code == Some(0) && stdout.contains(&format!("a server of this installation answers at {address}")),
        "{stdout}"
    );
    let another = format!("another installation of card-payments listens on {address}");
    let (code, stdout, _) = check(other.path());
    assert!(code == Some(1) && stdout.contains(&another), "one that has no database yet: {stdout}");
    Process::start(&mut program(other.path())).stopped();
    let (code, stdout, _) = check(other.path());
    assert!(code == Some(1) && stdout.contains(&another), "{stdout}");
    let health = ask(server.address, "GET", "/healthz", None, "");
    assert_eq!((health.body.as_str(), health.headers["x-installation"].len()), ("ok\n", 16));
    // It stays what it is, whatever keys it has since.
    output(program(one.path()).args(["vault", "rotate"]));
    assert_eq!(check(one.path()).0, Some(0));
    server.stopped();
}

#[test]
fn a_misspelled_variable_is_warned_of() {
    let data = folder();
    let mut command = program(data.path());
    command.env("CARD_PAYMENTS_RETENTION_DAY", "40").env("CARD_PAYMENTS_COLOUR_OF_THE_DOOR", "red");
    let log = Process::start(&mut command).stopped();
    let warnings: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let warns = |name: &str, mend: &str| {
        let message = format!("{name} is no variable of this release and has no effect; {mend}");
        warnings.iter().any(|line| line["level"] == "WARN" && line["fields"]["message"] == message.as_str())
    };
    assert!(warns("CARD_PAYMENTS_RETENTION_DAY", "did you mean CARD_PAYMENTS_RETENTION_DAYS?"), "{log}");
    let help = "remove it; card-payments serve --help lists all variables";
    assert!(warns("CARD_PAYMENTS_COLOUR_OF_THE_DOOR", help), "{log}");
    let log = Process::start(&mut program(data.path())).stopped();
    assert!(!log.contains("has no effect"), "{log}");
}

#[test]
fn a_port_is_enough_of_an_address() {
    let port = free_address().port();
    let data = folder();
    for listen in [format!("{port}"), format!(":{port}"), format!("localhost:{port}")] {
        let server = Process::start(program(data.path()).args(["--listen", &listen]));
        assert_eq!(server.address.to_string(), format!("127.0.0.1:{port}"), "{listen}");
        let health = output(program(data.path()).args(["health", "--listen", &listen]));
        assert_eq!(health, (Some(0), "ok\n".into(), String::new()));
        let ping = output(program(data.path()).env("CARD_PAYMENTS_LISTEN", &listen).args([
            "trigger",
            "customer.created",
            "--json",
        ]));
        assert_eq!((ping.0, ping.2.as_str()), (Some(0), ""), "{listen}");
        server.stopped();
    }
}

#[test]
fn a_service_manager_is_told_when_a_server_takes_requests_and_when_it_ends() {
    let data = folder();
    let by_path = data.path().join("notify");
    let by_name = format!("card-payments-{}", std::process::id());
    let manager = |address: &NotifyAddress| {
        let manager = UnixDatagram::bind_addr(address).unwrap();
        manager.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        manager
    };
    for (address, variable) in [
        (NotifyAddress::from_pathname(&by_path).unwrap(), by_path.display().to_string()),
        (NotifyAddress::from_abstract_name(&by_name).unwrap(), format!("@{by_name}")),
    ] {
        let manager = manager(&address);
        let hears = |expected: &str| {
            let mut state = [0; 64];
            let length = manager.recv(&mut state).unwrap();
            assert_eq!(str::from_utf8(&state[..length]), Ok(expected));
        };
        let server = Process::start(program(&data.path().join("data")).env("NOTIFY_SOCKET", &variable));
        hears("READY=1");
        server.terminate();
        hears("STOPPING=1");
        assert_eq!(server.ended().0, Some(0));
    }
    let log =
        Process::start(program(&data.path().join("data")).env("NOTIFY_SOCKET", "/nobody/listens")).stopped();
    assert!(log.contains("the service manager was not told"), "it serves all the same: {log}");
}
