//! How connections end, on every listener: nobody keeps one for ever, and who may still hear his answer gets it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::harness::process::{PAYMENT, Process, heard, program, request};

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
        assert!(matches!(heard(stream).status, 200 | 201), "{request}");
    }
    server.stopped();
}

/// An address that nobody listens on.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn the_operators_listener_takes_few_connections_and_no_long_head() {
    let (data, admin) = (tempfile::tempdir().unwrap(), free());
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_ADMIN_LISTEN", admin.to_string()));
    let connect = || TcpStream::connect(admin).unwrap();
    let health = request("GET", "/healthz", None, "");
    let mut idle: Vec<_> = (0..32).map(|_| connect()).collect();
    let mut waiting = connect();
    waiting.write_all(health.as_bytes()).unwrap();
    waiting.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let nothing = waiting.read_exact(&mut [0]).unwrap_err();
    assert!(matches!(nothing.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{nothing}");
    // Callers are served meanwhile.
    assert_eq!(server.ask("GET", "/healthz", None, "").status, 200);
    drop(idle.pop());
    assert_eq!(heard(waiting).status, 200);

    let mut long = idle.pop().unwrap();
    long.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let _ = long.write_all(
        format!("GET /healthz HTTP/1.1\r\nX-Long: {}\r\n\r\n", "x".repeat(1024 * 1024)).as_bytes(),
    );
    let mut answer = String::new();
    let _ = long.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    server.stopped();
}
