//! How connections end, on every listener: none stays open without use, and a client that still reads gets its answer.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use web::server::raise_file_limit;

use crate::harness::process::{
    PAYMENT, Process, free_address, program, read_first_response, read_response, request,
};

#[test]
fn who_ends_his_side_after_the_request_gets_the_answer() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    for request in [
        request("POST", "/1/charges", Some(&key), PAYMENT),
        request("GET", "/1/charges", Some(&key), ""),
        request("GET", "/1/charges", Some(&key), "").replace("Connection: close\r\n", ""),
    ] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert!(matches!(read_response(stream).status, 200 | 201), "{request}");
    }
    server.stopped();
}

#[test]
fn the_operators_listener_takes_few_connections_and_no_long_head() {
    let (data, admin) = (tempfile::tempdir().unwrap(), free_address());
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_ADMIN_LISTEN", admin.to_string()));
    let connect = || TcpStream::connect(admin).unwrap();
    let mut idle: Vec<_> = (0..32).map(|_| connect()).collect();
    let mut one_more = connect();
    one_more.write_all(request("GET", "/healthz", None, "").as_bytes()).unwrap();
    assert_eq!(read_response(one_more).status, 200);
    let mut oldest = idle.remove(0);
    oldest.set_read_timeout(Some(Duration::from_secs(4))).unwrap();
    assert_eq!(oldest.read(&mut [0]).unwrap(), 0, "it has made room");

    let mut long = idle.pop().unwrap();
    let head = format!("GET /healthz HTTP/1.1\r\nHost: test\r\nX-Long: {}\r\n\r\n", "x".repeat(1024 * 1024));
    long.write_all(head.as_bytes()).unwrap();
    let answer = read_response(long);
    assert_eq!((answer.status, &answer.json()["error"]), (431, &"bad_request".into()));
    server.stopped();
}

#[test]
fn a_connection_that_sends_nothing_ends_after_five_seconds_and_one_that_has_asked_does_not() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let health = request("GET", "/healthz", None, "");
    let mut kept = TcpStream::connect(server.address).unwrap();
    kept.write_all(health.replace("Connection: close\r\n", "").as_bytes()).unwrap();
    assert_eq!(read_first_response(&mut kept).status, 200);
    let (began, mut silent) = (Instant::now(), TcpStream::connect(server.address).unwrap());
    silent.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    assert!(began.elapsed() >= Duration::from_secs(4), "{:?}", began.elapsed());
    kept.write_all(health.as_bytes()).unwrap();
    assert_eq!(read_response(kept).status, 200);
    server.stopped();
}

#[test]
fn as_many_callers_may_wait_to_be_accepted_as_the_system_allows() {
    const CALLERS: u32 = 1_000;
    let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let callers = CALLERS.min(allowed.trim().parse().unwrap());
    raise_file_limit(CALLERS.try_into().unwrap());
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &server.id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    // It accepts no connection.
    signal("-STOP");
    let connect = |_| TcpStream::connect_timeout(&server.address, Duration::from_millis(500));
    let waiting: Result<Vec<_>, _> = (0..callers).map(connect).collect();
    signal("-CONT");
    let waiting = waiting.unwrap();
    assert_eq!(server.ask("GET", "/healthz", None, "").status, 200);
    drop(waiting);
    server.stopped();
}
