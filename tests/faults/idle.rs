//! Clients that take all connections and ask for nothing.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use web::server::raise_file_limit;

use crate::harness::process::{Process, read_first_response, request};
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::report::Report;

/// As many as the server takes: eight times its concurrency.
const CONNECTIONS: usize = 1_024;
/// How long a newcomer may wait: less than anything that ends the idle ones by itself.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// A busy machine lets a newcomer wait now and then, a server that does so for idle connections each time.
const TRIES: usize = 3;
/// When an idle connection ends, and how late that may be on a busy machine.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(5);
const LATE: Duration = Duration::from_secs(10);

/// The bytes that such a client sends before it stops.
const BEGINNINGS: [&str; 3] = ["", "G", "whole requests"];

/// `idle`: 1,024 connections that send nothing, one byte, or a request and then nothing, and newcomers. `--rounds` (1).
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let rounds = options.number("rounds", 1);
    let installation = Installation::on(on)?;
    raise_file_limit(CONNECTIONS);
    let server = installation.start();
    let mut longest = Duration::ZERO;
    for _ in 0..rounds {
        for beginning in BEGINNINGS {
            let mut waited = longest_wait(&server, beginning);
            for _ in 1..TRIES {
                if waited >= WAIT_MAX {
                    waited = waited.min(longest_wait(&server, beginning));
                }
            }
            longest = longest.max(waited);
        }
    }
    let began = Instant::now();
    let mut silent = TcpStream::connect(server.address).unwrap();
    silent.set_read_timeout(Some(FIRST_BYTE_TIMEOUT + LATE)).unwrap();
    let end = silent.read(&mut [0]);
    let silent_for = began.elapsed();
    let besides = format!(
        "{CONNECTIONS} idle connections: newcomers waited {} ms at most, a connection that sent nothing ended after {} ms",
        longest.as_millis(),
        silent_for.as_millis()
    );
    println!("idle on {}: {besides}", on.name());
    assert!(longest < WAIT_MAX, "{longest:?}");
    assert!(matches!(end, Ok(0)) || end.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
    assert!(silent_for >= FIRST_BYTE_TIMEOUT && silent_for < FIRST_BYTE_TIMEOUT + LATE, "{silent_for:?}");
    server.stopped();
    let faults = rounds * (CONNECTIONS * BEGINNINGS.len()) as u64;
    Some(Report { rounds, faults, besides, seed: options.seed(), ..Report::default() })
}

/// Takes all connections, and returns how long newcomers waited at most.
fn longest_wait(server: &Process, beginning: &str) -> Duration {
    let _idle: Vec<_> = (0..CONNECTIONS).map(|_| connection(server.address, beginning)).collect();
    let wait = |_| {
        let start = Instant::now();
        assert_eq!(server.ask("GET", "/healthz", None, "").status, 200);
        start.elapsed()
    };
    (0..10).map(wait).max().unwrap()
}

fn connection(address: SocketAddr, beginning: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    if beginning == "whole requests" {
        let health = request("GET", "/healthz", None, "").replace("Connection: close\r\n", "");
        stream.write_all(health.as_bytes()).unwrap();
        assert_eq!(read_first_response(&mut stream).status, 200);
    } else {
        stream.write_all(beginning.as_bytes()).unwrap();
    }
    stream
}
