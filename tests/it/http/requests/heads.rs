//! Heads that are refused: with the documented body and a request id, whatever is wrong with them (`docs/decisions.md`, 28
//! and 39).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::harness::process::{Process, RawResponse, program, read_first_response, read_response, request};

fn connect(server: &Process) -> TcpStream {
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// What is answered to these bytes on a connection of their own.
fn answer(server: &Process, bytes: &str) -> RawResponse {
    let mut stream = connect(server);
    // All of it can be sent, however early it is refused.
    stream.write_all(bytes.as_bytes()).unwrap();
    read_response(stream)
}

#[track_caller]
fn is_refused(answer: &RawResponse, status: u16, request: &str) {
    let request = &request[..request.len().min(100)];
    assert_eq!(answer.status, status, "{request:?}: {}", answer.body);
    let body = answer.json();
    assert_eq!(body["error"], "bad_request", "{request:?}");
    assert!(body["error_description"].is_string(), "{request:?}");
    assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8", "{request:?}");
    assert_eq!(answer.headers["connection"], "close", "{request:?}");
    assert!(!answer.headers["x-request-id"].is_empty(), "{request:?}");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{request:?}");
}

#[test]
fn every_refused_head_gets_the_documented_body_and_a_request_id() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_LOG", "info"));
    let (long, many) = ("x".repeat(1024 * 1024), "X-Many: 1\r\n".repeat(101));
    for (status, request) in [
        (400, "GET /1/charges HTTP/1.1\r\n\r\n"),
        (400, "GET /1/charges HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        (400, "GET /1/charges HTTP/1.1\nHost: a\r\n\r\n"),
        (400, "GET /1/charges HTTP/1.1\r\nHost: a\n\n"),
        (400, "GET /1/charges HTTP/1.1\r\nHost : a\r\n\r\n"),
        (400, "GET /1/charges HTTP/3.0\r\nHost: a\r\n\r\n"),
        (400, "GET /1/<> HTTP/1.1\r\nHost: a\r\n\r\n"),
        (400, "nothing of the kind\r\n\r\n"),
        (400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        (400, "POST /1/charges HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
        (400, "POST /1/charges HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        (
            400,
            "POST /1/charges HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        (501, "POST /1/charges HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"),
        (501, "POST /1/charges HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        (414, &format!("GET /1/charges?{long} HTTP/1.1\r\nHost: a\r\n\r\n")),
        (431, &format!("GET /1/charges HTTP/1.1\r\nHost: a\r\nX-Long: {long}\r\n\r\n")),
        (431, &format!("GET /1/charges HTTP/1.1\r\nHost: a\r\n{many}\r\n")),
    ] {
        is_refused(&answer(&server, request), status, request);
    }
    let named = answer(&server, "GET / HTTP/1.1\r\nX-Request-Id: mine-1\r\n\r\n");
    assert_eq!((named.status, named.headers["x-request-id"].as_str()), (400, "mine-1"));
    // A HEAD is answered without a body.
    let head = answer(&server, "HEAD / HTTP/1.1\r\n\r\n");
    assert_eq!((head.status, head.body.as_str()), (400, ""));
    let output = server.stopped();
    assert!(
        output.contains("mine-1") && output.contains("\"status\":431"),
        "each has its line in the log: {output}"
    );
}

#[test]
fn a_request_of_http_1_0_needs_no_host() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    assert_eq!(answer(&server, "GET /healthz HTTP/1.0\r\n\r\n").status, 200);
    server.stopped();
}

#[test]
fn requests_on_one_connection_are_told_apart_whatever_their_bodies_are() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let mut stream = connect(&server);
    let (key, _) = server.keys();
    // Its body is read, and is none that could be done.
    let head = request("POST", "/1/charges", Some(&key), "").replace("Connection: close\r\n", "");
    let head = head.strip_suffix("\r\n").unwrap();
    let bodies = [
        "\r\n",
        "Content-Length: 5\r\n\r\nab\ncd",
        "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\na\nb\r\n\r\n1\r\nx\r\n0\r\nTrailer: x\r\n\r\n",
        "Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n",
    ];
    // All at once, and with a line too many between.
    let sent = bodies.map(|body| [head, body, "\r\n"].concat()).concat();
    stream.write_all(sent.as_bytes()).unwrap();
    for body in bodies {
        let answer = read_first_response(&mut stream);
        assert_eq!((answer.status, &answer.json()["error"]), (422, &"invalid_resource".into()), "{body:?}");
    }
    // Byte by byte.
    for body in bodies {
        for byte in format!("{head}{body}").bytes() {
            stream.write_all(&[byte]).unwrap();
        }
        assert_eq!(read_first_response(&mut stream).status, 422, "{body:?}");
    }
    // What is wrong is answered in its turn, and is the last.
    stream.write_all(format!("{head}\r\nGET / HTTP/1.1\nHost: a\r\n\r\n{head}\r\n").as_bytes()).unwrap();
    assert_eq!(read_first_response(&mut stream).status, 422);
    is_refused(&read_first_response(&mut stream), 400, "the second");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    server.stopped();
}

#[test]
fn a_chunk_that_is_none_is_a_body_that_is_cut_off() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let head = request("POST", "/1/charges", Some(&key), "");
    let head = head.replace("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n");
    for chunks in ["x\r\n", "5\nabcde\r\n0\r\n\r\n", "0\r\nTrailer: x\n\r\n"] {
        let refused = answer(&server, &format!("{head}{chunks}"));
        assert_eq!((refused.status, &refused.json()["error"]), (400, &"bad_request".into()), "{chunks:?}");
    }
    server.stopped();
}
