//! Files in a bucket: the real program beside a server that speaks S3 (`tests/verifiers/bucket.py`, of the library
//! moto). `.ci/run` installs it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::customers::erasures::{CUSTOMER, NONE, words_in};
use crate::harness::postgres::skipped;
use crate::harness::process::{Process, ask, output, pause, program};
use crate::harness::{PDF, multipart, token, token_of};

const MISSING: &str = "A server that speaks S3 is not installed, so the tests on it are skipped: .ci/run installs it where \
                       there is python3 with venv.\n";
const PYTHON: &str = "target/bucket/bin/python";

fn bucket() -> Option<Process> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let there = Command::new(root.join(PYTHON)).args(["-c", "import moto.server"]).output();
    if !there.is_ok_and(|done| done.status.success()) {
        skipped(MISSING).unwrap_or_else(|missing| panic!("{missing}"));
        return None;
    }
    let mut command = Command::new(root.join(PYTHON));
    Some(Process::start(command.arg(root.join("tests/verifiers/bucket.py"))))
}

fn server(data: &Path, bucket: &Process) -> Command {
    let mut command = program(data);
    command
        .env("CARD_PAYMENTS_BLOBS", "s3://evidence/some/where")
        .env("AWS_ENDPOINT", format!("http://{}", bucket.address))
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test");
    command
}

/// An upload; its answer.
fn upload(address: SocketAddr, key: &str, content: &[u8]) -> (u16, Value) {
    let body = multipart("a.pdf", content);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
    let head = format!(
        "POST /1/files HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Basic {}\r\n\
         Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {}\r\n\r\n",
        STANDARD.encode(format!("{key}:")),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

/// The bytes that a link leads to.
fn read(link: &str) -> Vec<u8> {
    let (address, path) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
    answer.split_off(end + 4)
}

/// The bucket's objects.
fn objects(bucket: &Process) -> Vec<String> {
    let listed = ask(bucket.address, "GET", "/evidence?list-type=2", None, "").body;
    let keys = listed.split("<Key>").skip(1).map(|rest| rest.split("</Key>").next().unwrap().to_owned());
    keys.collect()
}

#[test]
fn files_are_kept_in_a_bucket_and_leave_it_when_they_are_deleted() {
    let Some(bucket) = bucket() else { return };
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut server(data.path(), &bucket));
    let (key, _) = server.keys();
    // More than one part, and less.
    let mut large = PDF.to_vec();
    large.extend((0..10 * 1024 * 1024 - PDF.len()).map(|n| u8::try_from(n % 251).unwrap()));
    for content in [PDF, &large] {
        let (status, answer) = upload(server.address, &key, content);
        let file = &answer["response"];
        assert_eq!((status, &file["size"]), (200, &json!(content.len())));
        let objects = self::objects(&bucket);
        assert_eq!(objects.len(), 1, "{objects:?}");
        assert!(objects[0].starts_with("some/where/"), "{objects:?}");
        assert_eq!(std::fs::read_dir(data.path().join("files")).unwrap().count(), 0);
        assert!(read(file["presigned_url"].as_str().unwrap()) == content, "other bytes came back");
        let deleted = server.ask("DELETE", &format!("/1/files/{}", token(file)), Some(&key), "");
        assert_eq!(deleted.status, 204, "{}", deleted.body);
        let began = Instant::now();
        while !self::objects(&bucket).is_empty() {
            assert!(began.elapsed() < Duration::from_mins(1), "the object stays");
            pause(Duration::from_millis(100));
        }
    }
    let (status, refused) = upload(server.address, &key, b"MZ");
    assert_eq!((status, &refused["error"]), (422, &json!("invalid_resource")));
    assert_eq!(self::objects(&bucket), Vec::<String>::new());
    server.stopped();
}

#[test]
fn without_its_bucket_the_server_goes_on_and_says_that_files_cannot_be_kept() {
    let Some(bucket) = bucket() else { return };
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(server(data.path(), &bucket).env("AWS_ENDPOINT", "http://127.0.0.1:1"));
    let (key, _) = server.keys();
    let (status, refused) = upload(server.address, &key, PDF);
    assert_eq!((status, &refused["error"]), (503, &json!("service_unavailable")));
    server.pay(&key).ok(201);
    server.stopped();
}

#[test]
fn a_bucket_that_stands_still_holds_up_those_alone_who_want_its_files() {
    let Some(bucket) = bucket() else { return };
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(server(data.path(), &bucket).env("CARD_PAYMENTS_CONCURRENCY", "1"));
    let (key, _) = server.keys();
    let (_, file) = upload(server.address, &key, PDF);
    let link = file["response"]["presigned_url"].as_str().unwrap();
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &bucket.id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    signal("-STOP");
    std::thread::scope(|scope| {
        let reading: Vec<_> = (0..3).map(|_| scope.spawn(|| read(link))).collect();
        for _ in 0..10 {
            // On a slow machine the second may be over that it waits for the only place; the bucket would hold it for ever.
            let mut tries = (0..60).map(|_| server.pay(&key));
            let paid = tries.find(|paid| paid.status != 503).expect("a place");
            pause(Duration::from_millis(30));
            assert_eq!(paid.status, 201, "{}", paid.body);
        }
        signal("-CONT");
        for read in reading {
            assert!(read.join().unwrap() == PDF, "other bytes came back");
        }
    });
    server.stopped();
}

#[test]
fn the_heads_of_the_audit_trail_are_kept_in_a_bucket() {
    let Some(bucket) = bucket() else { return };
    let data = tempfile::tempdir().unwrap();
    let program = |data: &Path| {
        let mut command = server(data, &bucket);
        command.env("CARD_PAYMENTS_AUDIT_ANCHOR", "s3://evidence/audit");
        command
    };
    let older = data.path().join("older.db");
    let server = Process::start(&mut program(data.path()));
    let heads =
        || -> Vec<_> { objects(&bucket).into_iter().filter(|name| name.starts_with("audit/")).collect() };
    for n in 1..=2 {
        assert_eq!(output(program(data.path()).arg("audit")).0, Some(0));
        until("the head does not come", || heads().len() >= n);
        // Of the first one.
        if !older.exists() {
            assert_eq!(output(program(data.path()).arg("backup").arg(&older)).0, Some(0));
        }
    }
    server.stopped();
    let heads = heads();
    assert!(
        heads[0].starts_with("audit/audit-000000000001-")
            && heads[1].starts_with("audit/audit-000000000002-"),
        "{heads:?}"
    );
    let file = data.path().join("heads");
    // Any credentials will do.
    let lines = heads
        .iter()
        .map(|name| ask(bucket.address, "GET", &format!("/evidence/{name}"), Some("test"), "").body);
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    let verified = output(program(data.path()).args(["audit", "verify", "--json", "--anchor"]).arg(&file));
    let report: Value = serde_json::from_str(&verified.1).unwrap();
    assert_eq!(
        (verified.0, &report["anchored"], &report["verified"]),
        (Some(0), &json!(2), &json!(2)),
        "{report}"
    );
    assert!(output(program(data.path()).arg("check")).1.contains("s3://evidence/audit answers"));
    // A server that starts on an older database reads in the bucket that there was more.
    for log in ["card-payments.db-wal", "card-payments.db-shm"] {
        let _ = std::fs::remove_file(data.path().join(log));
    }
    std::fs::copy(&older, data.path().join("card-payments.db")).unwrap();
    let server = Process::start(&mut program(data.path()));
    until("nobody notices", || {
        let metrics = ask(server.address, "GET", "/metrics", None, "").body;
        metrics.lines().any(|line| {
            line.strip_prefix("card_payments_audit_tampering_total ").is_some_and(|times| times != "0")
        })
    });
    assert!(server.stopped().contains("the audit trail is not the one that this server or its anchor knows"));
    let refused = output(program(data.path()).env("CARD_PAYMENTS_AUDIT_ANCHOR", "s3://"));
    assert!(refused.2.starts_with("error: CARD_PAYMENTS_AUDIT_ANCHOR: "), "{}", refused.2);
}

#[test]
fn an_erasure_is_marked_in_the_bucket_and_an_older_database_forgets_again() {
    let Some(bucket) = bucket() else { return };
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let program = || {
        let mut command = server(data.path(), &bucket);
        command.env("CARD_PAYMENTS_ERASE_AFTER", "1");
        command
    };
    let server = Process::start(&mut program());
    let (key, _) = server.keys();
    let customer = token_of(&ask(server.address, "POST", "/1/customers", Some(&key), CUSTOMER).ok(201));
    let older = copies.path().join("older.db");
    assert_eq!(output(program().arg("backup").arg(&older)).0, Some(0));
    let path = format!("/1/customers/{customer}");
    assert_eq!(ask(server.address, "DELETE", &path, Some(&key), "").status, 204);
    ask(server.address, "PUT", "/1/sandbox/clock", Some(&key), "advance=2d").ok(200);
    let is_marked = || objects(&bucket).iter().any(|name| name.starts_with("some/where/erased/"));
    until("the mark does not come", is_marked);
    server.stopped();
    assert_eq!(words_in(objects(&bucket).concat().as_bytes()), NONE);
    for log in ["card-payments.db-wal", "card-payments.db-shm"] {
        let _ = std::fs::remove_file(data.path().join(log));
    }
    let words_of = |file: &Path| words_in(&std::fs::read(file).unwrap_or_default());
    assert_ne!(words_of(&older), NONE, "this is where the words are");
    std::fs::copy(&older, data.path().join("card-payments.db")).unwrap();

    let server = Process::start(&mut program());
    until("it is not forgotten again", || ask(server.address, "GET", &path, Some(&key), "").status == 404);
    // The erasure ends two minutes after it began, by the account's clock.
    ask(server.address, "PUT", "/1/sandbox/clock", Some(&key), "advance=3m").ok(200);
    until("words are left", || {
        ["card-payments.db", "card-payments.db-wal"]
            .iter()
            .all(|file| words_of(&data.path().join(file)) == NONE)
    });
    server.stopped();
}

fn until(why: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_mins(1), "{why}");
        pause(Duration::from_millis(100));
    }
}

#[test]
fn an_address_that_is_no_buckets_is_refused_at_start() {
    let data = tempfile::tempdir().unwrap();
    for address in ["evidence", "https://bucket/a", "s3://", "s3:///a"] {
        let (code, _, stderr) = output(program(data.path()).env("CARD_PAYMENTS_BLOBS", address));
        assert_eq!(code, Some(1), "{address}");
        assert!(
            stderr.contains("CARD_PAYMENTS_BLOBS: ") && stderr.contains("is not s3://BUCKET"),
            "{stderr}"
        );
    }
}
