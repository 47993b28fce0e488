//! Bytes on the socket of the real program: broken heads, lengths and chunks, encodings, nesting, brackets, boundaries,
//! pipelines, connections that end in the middle. Everything is answered as documented. No 5xx but 501, no panic, and memory
//! that does not grow with the number of requests.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::harness::app::DOCUMENT;
use crate::harness::process::{Process, program};
use crate::harness::random::Random;

const KEY: &str = "sk_test_0123456789";
/// So many callers at once.
const CALLERS: u64 = 4;
/// What the program may come to hold at most, in KiB: an unoptimised build with a database in it.
const MEMORY_MAX_KIB: u64 = 250_000;

/// Names, numbers and marks at which some reader turns.
const PIECES: &[&str] = &[
    "amount",
    "card",
    "card[number]",
    "card[",
    "]",
    "[",
    "[]",
    "[0]",
    "[][a]",
    "a[b][c][d][e][f][g][h]",
    "=",
    "&",
    ";",
    "%",
    "%2",
    "%zz",
    "%00",
    "%C3%28",
    "%F0%9F%92%B3",
    "+",
    "{",
    "}",
    "{\"a\":",
    "[[[[[[[[",
    "\"",
    "\\u0000",
    "\\ud800",
    "1e400",
    "-0",
    "NaN",
    "99999999999999999999",
    "null",
    "true",
    "4200000000000000",
    "\r\n",
    "\n",
    "\0",
    "\u{feff}",
    "\u{10ffff}",
    "--x",
    "--x--\r\n",
    "Content-Disposition: form-data; name=\"a\"\r\n\r\n",
    "filename=\"",
    "publishable_api_key=pk_1",
    "callback=f",
    "_method=POST",
    "page=-1",
    "per_page=501",
    "$serde_json::private::Number",
    "$serde_json::private::RawValue",
    " ",
    "/",
    "//",
    ".json",
    "..",
    "%2e%2e/",
    "é",
];

const TYPES: &[&str] = &[
    "application/json",
    "application/json; charset=utf-16",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "multipart/form-data; boundary=\"",
    "multipart/form-data",
    "text/plain",
    ";;;",
];

/// Heads that are odd, and mostly harmless.
const HEADS: &[&str] = &[
    "Expect: 100-continue",
    "Expect: miracles",
    "Authorization: Basic ====",
    "Authorization: Bearer x",
    "Authorization:",
    "Idempotency-Key: ",
    "Idempotency-Key: \u{e9}",
    "X-Request-Id: a b",
    "Accept: nothing/at-all",
    "Accept-Encoding: br;q=nine",
    "Content-Encoding: gzip",
    "Cookie: a=b; a=c",
    "Origin: null",
    "X-Forwarded-For: ::::, 1.2.3.4.5",
    "Range: bytes=9-1",
    "Upgrade: h2c",
    "If-None-Match: *",
];

/// What frames a body wrongly.
const FRAMES: &[&str] = &[
    "Content-Length: 10",
    "Content-Length: -1",
    "Content-Length: 1, 2",
    "Content-Length: 99999999999999999999",
    "Content-Length: 1073741824",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: gzip",
    "Transfer-Encoding: chunked\r\nContent-Length: 3",
    "Content-Length",
    ": nameless",
    "Na me: x",
    "Folded: a\r\n b",
];

/// One request as bytes.
struct RawRequest {
    bytes: Vec<u8>,
    /// What it asks for, if its head and length are those of HTTP, so that it must be answered by name.
    framed: Option<Framed>,
}

struct Framed {
    target: String,
    /// The answer has no body.
    head_only: bool,
}

fn pick<'a>(random: &mut Random, from: &[&'a str]) -> &'a str {
    from[usize::try_from(random.below(from.len() as u64)).unwrap()]
}

fn one_of(random: &mut Random, n: u64) -> bool {
    random.below(n) == 0
}

/// Pieces in a row, and now and then bytes that are no text.
fn jumble(random: &mut Random, pieces: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.below(pieces + 1) {
        match random.below(12) {
            0 => bytes.push(u8::try_from(random.below(256)).unwrap()),
            1 => bytes.extend(std::iter::repeat_n(b'[', usize::try_from(random.below(300)).unwrap())),
            _ => bytes.extend_from_slice(pick(random, PIECES).as_bytes()),
        }
    }
    bytes
}

/// A jumble that a request line can carry.
fn visible(random: &mut Random, pieces: u64) -> String {
    let fits = |byte: &u8| byte.is_ascii_graphic() && !b"#\"<>`".contains(byte);
    jumble(random, pieces).into_iter().map(|byte| if fits(&byte) { char::from(byte) } else { '%' }).collect()
}

fn target(random: &mut Random, paths: &[String]) -> String {
    let mut path = paths[usize::try_from(random.below(paths.len() as u64)).unwrap()].clone();
    while let Some((before, (_, after))) =
        path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let token = visible(random, 2).replace(['{', '}', '?'], "x");
        path = format!("{before}x{token}{after}");
    }
    match random.below(4) {
        0 => path + "?" + &visible(random, 6),
        1 => path + &visible(random, 2),
        _ => path,
    }
}

fn chunked(random: &mut Random, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in body.chunks(usize::try_from(1 + random.below(40)).unwrap()) {
        bytes.extend(
            format!("{:x}{}\r\n", chunk.len(), if one_of(random, 4) { ";ext=\"1\"" } else { "" }).bytes(),
        );
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    bytes.extend(if one_of(random, 4) { &b"0\r\nTrailer: x\r\n\r\n"[..] } else { &b"0\r\n\r\n"[..] });
    bytes
}

/// A request whose frame holds, whatever is inside; the last of its connection if it says so.
fn framed(random: &mut Random, paths: &[String], last: bool) -> RawRequest {
    let method = pick(random, &["POST", "POST", "PUT", "GET", "DELETE", "HEAD", "OPTIONS", "BREW"]);
    let target = target(random, paths);
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: test\r\n");
    if !one_of(random, 4) {
        write!(head, "Authorization: Basic {}\r\n", STANDARD.encode(format!("{KEY}:"))).unwrap();
    }
    if !one_of(random, 4) {
        write!(head, "Content-Type: {}\r\n", pick(random, TYPES)).unwrap();
    }
    if one_of(random, 3) {
        head += pick(random, HEADS);
        head += "\r\n";
    }
    if one_of(random, 50) {
        write!(head, "X-Long: {}\r\n", "x".repeat(usize::try_from(random.below(20_000)).unwrap())).unwrap();
    }
    if last {
        head += "Connection: close\r\n";
    }
    let body = match random.below(300) {
        // Too long, and deep beyond reading.
        0 => vec![b'a'; 1_100_000],
        1 => b"{\"a\":".repeat(100_000),
        _ => jumble(random, 12),
    };
    let mut bytes = head.into_bytes();
    if one_of(random, 4) {
        bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
        bytes.extend(chunked(random, &body));
    } else {
        bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
        bytes.extend(body);
    }
    RawRequest { bytes, framed: Some(Framed { target, head_only: method == "HEAD" }) }
}

/// A request that is none, or is cut off.
fn broken(random: &mut Random, paths: &[String]) -> RawRequest {
    let mut bytes = framed(random, paths, true).bytes;
    match random.below(5) {
        0 => bytes.truncate(usize::try_from(random.below(bytes.len() as u64)).unwrap()),
        1 => {
            let at = usize::try_from(random.below(bytes.len().min(200) as u64)).unwrap();
            let inserted = jumble(random, 3);
            bytes.splice(at..at, inserted);
        }
        2 => {
            let at = bytes.windows(2).position(|pair| pair == b"\r\n").unwrap_or_default() + 2;
            bytes.splice(at..at, [pick(random, FRAMES), "\r\n"].concat().into_bytes());
        }
        3 => {
            let many = "X-Many: 1\r\n".repeat(usize::try_from(random.below(400)).unwrap());
            bytes = [b"GET /1/charges HTTP/1.1\r\n", many.as_bytes(), b"\r\n"].concat();
        }
        _ => bytes = jumble(random, 30),
    }
    RawRequest { bytes, framed: None }
}

struct ParsedAnswer {
    status: u16,
    content_type: String,
    body: Vec<u8>,
}

/// The first answer, and what comes after it.
fn answer(bytes: &[u8], head_only: bool) -> Option<(ParsedAnswer, &[u8])> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).expect("a head is text");
    let status = head.strip_prefix("HTTP/1.1 ").or(head.strip_prefix("HTTP/1.0 ")).expect("an answer");
    let status = status.get(..3)?.parse().ok()?;
    let rest = &bytes[end + 4..];
    if status < 200 {
        return answer(rest, head_only);
    }
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let length = if head_only { 0 } else { header("content-length: ").parse().unwrap_or(0) };
    let body = rest.get(..length)?.to_vec();
    Some((ParsedAnswer { status, content_type: header("content-type: ").to_owned(), body }, &rest[length..]))
}

/// Below /1 everything is answered in JSON, and every error says what it is.
fn is_documented(answer: &ParsedAnswer, request: &RawRequest, shown_request: &str) {
    let ParsedAnswer { status, content_type, body } = answer;
    let text = String::from_utf8_lossy(body);
    // Another transfer coding than chunked.
    let is_unknown = *status == 501 && request.framed.is_none();
    assert!(*status < 500 || is_unknown, "{status} {text} to {shown_request}");
    let Some(framed) = &request.framed else { return };
    let is_json = content_type == "application/json; charset=utf-8";
    let bodiless = framed.head_only || *status == 204 || content_type == "application/javascript";
    assert!(
        is_json || bodiless || !framed.target.starts_with("/1"),
        "{status} {content_type} {text} to {shown_request}"
    );
    if is_json && !framed.head_only {
        let shown: Value =
            serde_json::from_slice(body).unwrap_or_else(|_| panic!("{text} to {shown_request}"));
        let error = if shown.is_array() { &shown[0] } else { &shown };
        let named = error["error"].is_string() && error["error_description"].is_string();
        assert!(*status < 400 || named, "{status} {text} to {shown_request}");
    }
}

/// One connection with one to three requests; how many.
fn connection(address: SocketAddr, random: &mut Random, paths: &[String]) -> u64 {
    let mut sent: Vec<RawRequest> = Vec::new();
    let pipelined = if one_of(random, 4) { 1 + random.below(2) } else { 0 };
    for _ in 0..pipelined {
        sent.push(framed(random, paths, false));
    }
    sent.push(if one_of(random, 3) { broken(random, paths) } else { framed(random, paths, true) });
    let bytes: Vec<u8> = sent.iter().flat_map(|request| request.bytes.clone()).collect();
    let shown_request = format!("{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]));

    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(90))).unwrap();
    let at = usize::try_from(random.below(bytes.len() as u64 + 1)).unwrap();
    // A server that has heard enough closes, and the rest cannot be written.
    let _ = stream.write_all(&bytes[..at]).and_then(|()| stream.write_all(&bytes[at..]));
    // The library drops requests in flight of a client that ends its connection, even one direction of it.
    let whole = sent.iter().all(|request| request.framed.is_some());
    if !whole {
        if one_of(random, 4) {
            return sent.len() as u64;
        }
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut response = Vec::new();
    let end = stream.read_to_end(&mut response);
    let timed_out = end.err().is_some_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    assert!(!timed_out, "no end of the answer to {shown_request}");

    let (mut rest, mut answered) = (response.as_slice(), 0);
    for request in &sent {
        let head_only = request.framed.as_ref().is_some_and(|framed| framed.head_only);
        let Some((answer, next)) = answer(rest, head_only) else { break };
        is_documented(&answer, request, &shown_request);
        (rest, answered) = (next, answered + 1);
    }
    // A body that is not read to its end closes the connection, and may take the answers after it along.
    assert!(answered > 0 || !whole || bytes.len() > 64 * 1024, "no answer to {shown_request}");
    sent.len() as u64
}

/// The most that a process has held so far, in KiB.
fn memory(server: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn no_bytes_on_the_socket_break_the_server() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(
        program(data.path()).env("CARD_PAYMENTS_SECRET_KEY", KEY).env("CARD_PAYMENTS_LOG", "warn"),
    );
    let document = &*DOCUMENT;
    let mut paths: Vec<String> = document["paths"].as_object().unwrap().keys().cloned().collect();
    paths.extend(
        ["/", "/docs/", "/healthz", "/3d-secure/x", "/files/x", "*", "/1/nothing"].map(str::to_owned),
    );
    let number = |name: &str, default| std::env::var(name).map_or(default, |number| number.parse().unwrap());
    let (wanted, seed) = (number("CARD_PAYMENTS_RAW_REQUESTS", 5_000), number("CARD_PAYMENTS_RAW_SEED", 1));
    let (made, address) = (AtomicU64::new(0), server.address);
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (made, paths) = (&made, &paths);
            let mut random = Random(seed * CALLERS + caller);
            scope.spawn(move || {
                while made.load(Ordering::Relaxed) < wanted {
                    made.fetch_add(connection(address, &mut random, paths), Ordering::Relaxed);
                }
            });
        }
    });
    server.pay(KEY).ok(201);
    let held = memory(&server);
    println!("{} requests, {held} KiB", made.into_inner());
    assert!(held < MEMORY_MAX_KIB, "{held} KiB");
    let log = server.stopped();
    assert!(!log.contains("panicked") && !log.contains("ERROR"), "{log}");
}
