//! Requests that are answered before their body has come: the caller reads the answer, whatever it still sends.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::harness::process::{
    PAYMENT, Process, RawResponse, pause, program, read_first_response, read_response, request,
};

const MIB: usize = 1024 * 1024;

fn connect(server: &Process) -> TcpStream {
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// The head of a request whose connection is kept.
fn head(line: &str, key: Option<&str>, headers: &[&str]) -> String {
    let mut head = format!("{line} HTTP/1.1\r\nHost: test\r\n");
    if let Some(key) = key {
        write!(head, "Authorization: Basic {}\r\n", STANDARD.encode(format!("{key}:"))).unwrap();
    }
    for header in headers {
        write!(head, "{header}\r\n").unwrap();
    }
    head + "\r\n"
}

fn length(bytes: usize) -> String {
    format!("Content-Length: {bytes}")
}

const JSON: &str = "Content-Type: application/json";
const MULTIPART: &str = "Content-Type: multipart/form-data; boundary=x";

#[test]
fn whoever_sends_all_before_it_reads_can_send_all_and_reads_the_refusal() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let long = length(2 * MIB);
    for (line, key, headers, status, error) in [
        ("POST /1/charges", None, [JSON, &long], 401, "unauthorized"),
        ("POST /1/charges", Some(key.as_str()), [JSON, &long], 413, "payload_too_large"),
        ("POST /1/files", Some("wrong_key_1"), [MULTIPART, &long], 401, "unauthorized"),
        ("POST /1/nothing", Some(&key), [JSON, &long], 404, "resource_not_found"),
        ("PATCH /1/charges", Some(&key), [JSON, &long], 405, "method_not_allowed"),
    ] {
        let mut stream = connect(&server);
        stream.write_all(head(line, key, &headers).as_bytes()).unwrap();
        let piece = vec![b'x'; 64 * 1024];
        for sent in 0..2 * MIB / piece.len() {
            stream.write_all(&piece).unwrap_or_else(|error| panic!("{line}, after {sent} pieces: {error}"));
            pause(Duration::from_millis(2));
        }
        let answer = read_response(stream);
        assert_eq!((answer.status, answer.json()["error"].as_str()), (status, Some(error)), "{line}");
        assert_eq!(answer.headers["connection"], "close", "{line}");
    }
    server.pay(&key).ok(201);
    server.stopped();
}

#[test]
fn a_body_without_a_length_that_becomes_too_long_can_be_sent_to_its_end() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let mut stream = connect(&server);
    let head = head("POST /1/charges", Some(&key), &[JSON, "Transfer-Encoding: chunked"]);
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..32 {
        write!(stream, "10000\r\n{}\r\n", "x".repeat(0x10000)).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let answer = read_first_response(&mut stream);
    assert_eq!((answer.status, answer.json()["error"].as_str()), (413, Some("payload_too_large")));
    server.stopped();
}

/// What is answered to a head alone, and the connection.
fn early(server: &Process, bytes: usize, more: &[&str]) -> (RawResponse, TcpStream) {
    let mut stream = connect(server);
    let form = "Content-Type: application/x-www-form-urlencoded";
    let length = length(bytes);
    let headers = [&[form, &length], more].concat();
    stream.write_all(head("POST /1/charges", Some("wrong_key_1"), &headers).as_bytes()).unwrap();
    (read_first_response(&mut stream), stream)
}

#[test]
fn a_kept_connection_goes_on_after_a_short_body_and_is_told_to_end_after_a_long_one() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();

    let (refused, mut stream) = early(&server, PAYMENT.len(), &[]);
    assert_eq!((refused.status, refused.headers.get("connection")), (401, None));
    stream.write_all(PAYMENT.as_bytes()).unwrap();
    stream.write_all(request("POST", "/1/charges", Some(&key), PAYMENT).as_bytes()).unwrap();
    read_response(stream).ok(201);

    let (refused, mut stream) = early(&server, 2 * MIB, &[]);
    assert_eq!((refused.status, refused.headers["connection"].as_str()), (401, "close"));
    stream.write_all(&vec![b'x'; 2 * MIB]).unwrap();
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0, "it ends well");
    server.stopped();
}

#[test]
fn a_body_that_was_announced_and_is_not_wanted_is_not_asked_for() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (refused, mut stream) = early(&server, 2 * MIB, &["Expect: 100-continue"]);
    assert_eq!((refused.status, refused.headers["connection"].as_str()), (401, "close"));
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0);
    server.stopped();
}

#[test]
fn a_large_body_that_stops_on_its_way_is_not_waited_for() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let mut stream = connect(&server);
    stream.set_read_timeout(Some(Duration::from_secs(50))).unwrap();
    stream.write_all(head("POST /1/charges", Some(&key), &[JSON, &length(MIB)]).as_bytes()).unwrap();
    stream.write_all(" ".repeat(20_000).as_bytes()).unwrap();
    let answer = read_first_response(&mut stream);
    assert_eq!((answer.status, answer.json()["error"].as_str()), (504, Some("gateway_timeout")));
    assert_eq!(answer.headers["connection"], "close");
    server.stopped();
}
