//! SQLite's file: one server, under any of its names; unreadable for other users; and noticed when it is gone.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::harness::process::{Process, in_shell, output, program, read_response};
use crate::harness::{PDF, eventually, multipart};

/// The program on a database of this name.
fn on(data: &Path, file: &Path) -> Command {
    let mut command = program(data);
    command.env("CARD_PAYMENTS_DATABASE_URL", format!("sqlite:{}", file.display()));
    command
}

#[test]
fn a_path_is_the_name_of_the_file_whatever_letters_it_has() {
    for name in [&b"feature?x"[..], b"a#b", b"50%20c", b"file:x", b"not \xff utf-8"] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join(OsStr::from_bytes(name));
        let started = || {
            let mut server = program(Path::new(data.file_name().unwrap()));
            Process::start(server.current_dir(folder.path()))
        };
        let server = started();
        server.pay(&server.keys().0).ok(201);
        server.stopped();
        assert!(data.join("card-payments.db").exists(), "{data:?}");
        let (code, stdout, stderr) = output(program(&data).args(["ledger", "verify"]));
        assert_eq!((code, stdout.as_str()), (Some(0), "The books balance.\n"), "{data:?}: {stderr}");
        assert_eq!(output(program(&data).arg("check")).0, Some(0), "{data:?}");
        let copies = tempfile::tempdir().unwrap();
        let copy = copies.path().join("copy?x.db");
        assert_eq!(
            output(program(&data).args([OsStr::new("backup"), copy.as_os_str()])).0,
            Some(0),
            "{data:?}"
        );
        assert!(copy.exists(), "{data:?}");
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), [data.file_name().unwrap()]);
        let server = started();
        assert_eq!(
            server.ask("GET", "/1/charges", Some(&server.keys().0), "").json()["pagination"]["count"],
            1
        );
        server.stopped();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a?b#c%20.db");
    Process::start(&mut on(folder.path(), &file)).stopped();
    assert!(file.exists());
}

#[test]
fn no_second_server_runs_on_a_file_by_whichever_name() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let file = data.path().join("card-payments.db");
    let beside = tempfile::tempdir().unwrap();
    let (linked, led, folder) =
        (beside.path().join("linked.db"), beside.path().join("led.db"), beside.path().join("folder"));
    fs::hard_link(&file, &linked).unwrap();
    symlink(&file, &led).unwrap();
    symlink(data.path(), &folder).unwrap();
    for (name, message) in [
        (&file, "is in use by another server"),
        (&led, "is in use by another server"),
        (&folder.join("card-payments.db"), "is in use by another server"),
        (&linked, "is in use by a server under another name of the file: give the name that the server has"),
    ] {
        let (code, _, stderr) = output(on(data.path(), name).arg("serve"));
        let line = format!("error: the database {} {message}\n", name.display());
        assert!(code == Some(1) && stderr.ends_with(&line), "{name:?}: {stderr}");
    }
    // Commands run beside the server, but not by a name that gives the file another log.
    for name in [&file, &led] {
        let (code, stdout, stderr) = output(on(data.path(), name).args(["ledger", "verify"]));
        assert_eq!(code, Some(0), "{name:?}: {stdout}{stderr}");
    }
    let copy = beside.path().join("copy.db");
    for command in [
        &["ledger", "verify"][..],
        &["account", "list"],
        &["vault", "rotate"],
        &["check"],
        &["backup", copy.to_str().unwrap()],
    ] {
        let (code, stdout, stderr) = output(on(data.path(), &linked).args(command));
        let printed = stdout + &stderr;
        assert!(
            code == Some(1) && printed.contains("under another name of the file"),
            "{command:?}: {printed}"
        );
    }
    let left: Vec<_> = fs::read_dir(beside.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "a log of its own was made: {left:?}");
    server.pay(&key).ok(201);
    server.stopped();
    // It has no lock now.
    let server = Process::start(&mut on(data.path(), &linked));
    assert_eq!(server.ask("GET", "/1/charges", Some(&key), "").json()["count"], 1);
    server.stopped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_moved_or_replaced_is_missed_and_nothing_is_written_until_it_is_back() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    server.pay(&key).ok(201);
    let (file, away) = (data.path().join("card-payments.db"), data.path().join("away.db"));
    let ready = || server.ask("GET", "/readyz", None, "").status;
    let refuses = || {
        assert_eq!(server.pay(&key).status, 503);
        assert_eq!(ready(), 503);
        assert_eq!(
            server.ask("GET", "/1/charges", Some(&key), "").json()["count"],
            1,
            "what is open is read"
        );
    };
    fs::rename(&file, &away).unwrap();
    // At once, and not after a while: a payment in a file that has no name is lost with the process.
    refuses();
    assert!(!file.exists(), "another one was made in its place");
    fs::write(&file, "").unwrap();
    refuses();
    assert_eq!(fs::metadata(&file).unwrap().len(), 0, "it was written to");
    // No other server takes over what this one has.
    let (code, _, stderr) = output(program(data.path()).arg("serve"));
    assert!(code == Some(1) && stderr.contains("is in use by another server"), "{stderr}");
    fs::rename(&away, &file).unwrap();
    eventually(async || ready() == 200).await;
    server.pay(&key).ok(201);
    assert_eq!(server.ask("GET", "/1/charges", Some(&key), "").json()["count"], 2);
    let log = server.stopped();
    let times = |words: &str| log.matches(words).count();
    assert_eq!(times("the database file was renamed, deleted or replaced: writes are refused"), 1, "{log}");
    assert_eq!(times("the database file is back"), 1, "{log}");
    let (code, stdout, stderr) = output(program(data.path()).args(["ledger", "verify"]));
    assert_eq!(code, Some(0), "{stdout}{stderr}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_deleted_under_an_idle_server_is_told_of() {
    let data = tempfile::tempdir().unwrap();
    let log_file = data.path().join("said");
    let mut command = program(data.path());
    command.stdout(Stdio::null()).stderr(fs::File::create(&log_file).unwrap());
    let mut server = command.spawn().unwrap();
    let file = data.path().join("card-payments.db");
    let log = || fs::read_to_string(&log_file).unwrap();
    eventually(async || data.path().join("files").exists() && file.exists()).await;
    fs::remove_file(&file).unwrap();
    eventually(async || log().contains("the database file was renamed, deleted or replaced")).await;
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(log().matches("the database file was renamed").count(), 1, "{}", log());
    assert!(!log().contains("due work failed"), "one line says it: {}", log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_more_is_written_to_a_file_whose_pages_are_none_of_a_database() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    for _ in 0..20 {
        server.pay(&key).ok(201);
    }
    server.stopped();
    // As a copy does that writes into the file of a running server.
    let server = Process::start(&mut program(data.path()));
    let file = data.path().join("card-payments.db");
    let length = fs::metadata(&file).unwrap().len();
    let mut written = fs::OpenOptions::new().write(true).open(&file).unwrap();
    written.write_all(&vec![0xa5; usize::try_from(length).unwrap()]).unwrap();
    eventually(async || {
        server.ask("GET", "/1/charges?per_page=20", Some(&key), "");
        server.pay(&key).status == 503
    })
    .await;
    for _ in 0..5 {
        assert_eq!(server.pay(&key).status, 503);
    }
    assert_eq!(server.ask("GET", "/readyz", None, "").status, 503);
    assert_eq!(server.killed().matches("the database file is damaged, and writes are refused").count(), 1);
}

#[test]
fn a_limit_of_a_files_size_is_like_a_full_disk() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut in_shell(&program(data.path()), "ulimit -f 6000"));
    let (key, _) = server.keys();
    let refused = (0..2000).find(|_| server.pay(&key).status == 503);
    assert!(refused.is_some());
    assert_eq!(server.ask("GET", "/1/charges", Some(&key), "").status, 200);
    server.stopped();
}

/// The program with the widest umask.
fn generous(command: &Command) -> Command {
    in_shell(command, "umask 000")
}

/// Files and folders below one, itself among them, and what others may do with them.
fn modes(path: &Path) -> Vec<(String, u32)> {
    let found = fs::metadata(path).unwrap();
    let mut all = vec![(path.display().to_string(), found.permissions().mode() & 0o777)];
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            all.extend(modes(&entry.unwrap().path()));
        }
    }
    all
}

#[test]
fn files_of_a_server_are_its_users_alone_whatever_the_umask() {
    let above = tempfile::tempdir().unwrap();
    let data = above.path().join("data");
    let server = Process::start(&mut generous(&program(&data)));
    let (key, _) = server.keys();
    server.pay(&key).ok(201);
    let content = multipart("evidence.pdf", PDF);
    let mut stream = TcpStream::connect(server.address).unwrap();
    let credentials = STANDARD.encode(format!("{key}:"));
    let head = format!(
        "POST /1/files HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Basic {credentials}\r\n\
         Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    stream.write_all(&[head.as_bytes(), &content].concat()).unwrap();
    read_response(stream).ok(200);
    let copy = above.path().join("backups.db");
    let (code, _, stderr) = output(&mut generous(program(&data).args(["backup", copy.to_str().unwrap()])));
    assert_eq!(code, Some(0), "{stderr}");
    let made = [modes(&data), modes(&copy)].concat();
    for (name, mode) in &made {
        assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
    }
    let is_there = |end: &str| made.iter().any(|(name, _)| name.ends_with(end));
    for end in ["card-payments.db", "-wal", "-shm", ".lock", "vault.key", "files", "backups.db"] {
        assert!(is_there(end), "{end}: {made:?}");
    }
    assert!(made.iter().any(|(name, _)| name.contains("/files/")), "{made:?}");
    server.stopped();
}

#[test]
fn a_check_names_what_others_may_use_and_leaves_it() {
    let above = tempfile::tempdir().unwrap();
    let data = above.path().join("data");
    Process::start(&mut program(&data)).stopped();
    let check = || output(program(&data).arg("check"));
    let (code, stdout, _) = check();
    assert_eq!(code, Some(0));
    assert!(stdout.contains("only their owner may use the data directory and the files in it"), "{stdout}");
    let file = data.join("card-payments.db");
    fs::write(data.join("files/upload"), "").unwrap();
    for (path, mode) in [(&data, 0o755), (&file, 0o640), (&data.join("files/upload"), 0o604)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let (code, stdout, _) = check();
    assert_eq!(code, Some(0), "an operator may share it on purpose");
    for wide in [
        format!("others than its owner may use {} (mode 755)", data.display()),
        format!("others than its owner may use {} (mode 640)", file.display()),
        "others than their owner may use 1 files".to_owned(),
    ] {
        assert!(
            stdout.lines().any(|line| line.starts_with("warning  disk") && line.contains(&wide)),
            "{stdout}"
        );
    }
    assert!(!stdout.contains("only their owner may use"), "{stdout}");
    Process::start(&mut program(&data)).stopped();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_fault_of_a_schema_is_told_without_stored_values() {
    const STORED: &str = "Roland Robot roland@example.com";
    let data = tempfile::tempdir().unwrap();
    Process::start(&mut program(data.path())).stopped();
    let file = data.path().join("card-payments.db");
    // As where a page of the schema holds another one's bytes.
    let damaged = format!(
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET name = '{STORED}', sql = 'CREATE {STORED}' \
         WHERE name = 'charges'"
    );
    rusqlite::Connection::open(&file).unwrap().execute_batch(&damaged).unwrap();
    for command in [&["serve"][..], &["check"], &["migrate"], &["ledger", "verify"], &["account", "list"]] {
        let (code, stdout, stderr) = output(program(data.path()).args(command));
        let printed = stdout + &stderr;
        assert_eq!(code, Some(1), "{command:?}: {printed}");
        assert!(printed.contains("is damaged: it cannot be read as a database"), "{command:?}: {printed}");
        assert!(!printed.contains("Roland") && !printed.contains("example.com"), "{command:?}: {printed}");
    }
}
