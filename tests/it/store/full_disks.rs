//! A disk that is full: nothing is promised that cannot be kept, and it is over as soon as there is room.

use crate::harness::process::{Process, output, program};
use crate::harness::small_disk::SmallDisk;
use crate::harness::{Database, Installed, eventually};

/// How /readyz answers.
fn ready(server: &Process) -> u16 {
    server.ask("GET", "/readyz", None, "").status
}

/// More often than it takes a worker to write something small between two of them.
const TIMES: u32 = 20;

/// For as long as payments are refused /readyz says no, and what is there is read.
#[track_caller]
fn is_out_of_room(server: &Process, key: &str) {
    for _ in 0..TIMES {
        let refused = server.pay(key);
        assert_eq!((refused.status, refused.json()["error"].as_str()), (503, Some("service_unavailable")));
        assert_eq!(ready(server), 503, "it cannot take a payment");
        server.ask("GET", "/1/charges", Some(key), "").ok(200);
    }
    assert_eq!(server.ask("GET", "/healthz", None, "").status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_on_a_full_disk_is_not_ready_until_payments_have_room() {
    let Some(disk) = SmallDisk::mount(6) else { return };
    let data = disk.path().join("data");
    let server = Process::start(&mut program(&data));
    let (key, _) = server.keys();
    server.pay(&key).ok(201);
    assert_eq!(ready(&server), 200);
    disk.fill();
    is_out_of_room(&server, &key);
    disk.empty();
    eventually(async || ready(&server) == 200).await;
    server.pay(&key).ok(201);
    assert_eq!(ready(&server), 200);
    let log = server.stopped();
    let times = |words: &str| log.matches(words).count();
    assert_eq!(times("the database cannot be written: payments are refused"), 1, "{log}");
    assert!(log.contains("the disk is full: 0 KiB are free at"), "{log}");
    assert_eq!(times("the database can be written again"), 1, "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_on_a_full_disk_serves_what_is_there_and_writes_once_there_is_room() {
    let Some(disk) = SmallDisk::mount(6) else { return };
    let data = disk.path().join("data");
    let server = Process::start(&mut program(&data));
    let (key, _) = server.keys();
    let charge = server.pay(&key).ok(201);
    // What was committed is in the log alone, and the database file cannot grow.
    server.killed();
    disk.fill();
    let server = Process::start(&mut program(&data));
    let refuses = server.banner.iter().find(|line| line.trim().starts_with("Writes")).unwrap();
    assert!(refuses.contains("the disk is full: 0 KiB are free at"), "{refuses}");
    let path = format!("/1/charges/{}", charge["token"].as_str().unwrap());
    assert_eq!(server.ask("GET", &path, Some(&key), "").ok(200), charge);
    assert_eq!(ready(&server), 503, "nothing has failed yet, and nothing can be written");
    is_out_of_room(&server, &key);
    disk.empty();
    eventually(async || ready(&server) == 200).await;
    server.pay(&key).ok(201);
    let log = server.stopped();
    assert!(log.contains("the disk is full: 0 KiB are free at"), "{log}");
    let (code, stdout, stderr) = output(program(&data).args(["ledger", "verify"]));
    assert_eq!(code, Some(0), "{stdout}{stderr}");
}

#[test]
fn a_start_that_has_no_room_for_the_index_of_the_log_says_so() {
    let Some(disk) = SmallDisk::mount(6) else { return };
    let data = disk.path().join("data");
    Process::start(&mut program(&data)).stopped();
    disk.fill();
    let (code, _, stderr) = output(&mut program(&data));
    assert_eq!((code, stderr.as_str()), (Some(1), "error: the disk is full: make room, and try again\n"));
    disk.empty();
    Process::start(&mut program(&data)).stopped();
}

/// As PostgreSQL says it when the table of charges cannot grow, while there are pages left for something small.
const FULL: &str = "\
    CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
        RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'could not extend file'; END $$; \
    CREATE FUNCTION no_room_at_all() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN \
        RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'could not extend file'; END $$; \
    CREATE TRIGGER no_room BEFORE INSERT ON charges EXECUTE FUNCTION no_room(); \
    CREATE EVENT TRIGGER no_room_at_all ON ddl_command_start WHEN TAG IN ('CREATE TABLE AS') \
        EXECUTE FUNCTION no_room_at_all()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_postgres_has_no_room_is_not_ready_until_it_has() {
    let Some(installed) = Installed::on(Database::Postgres).await else { return };
    let server = installed.serve();
    let (key, _) = server.keys();
    server.pay(&key).ok(201);
    installed.execute(FULL).await;
    is_out_of_room(&server, &key);
    installed.execute("DROP TRIGGER no_room ON charges; DROP EVENT TRIGGER no_room_at_all").await;
    eventually(async || ready(&server) == 200).await;
    server.pay(&key).ok(201);
    // What proved it has left nothing.
    let left = "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'card_payments_room'";
    assert_eq!(installed.number(left).await, 0);
    server.stopped();
}
