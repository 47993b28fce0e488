//! Clients of one account that ask for much and read nothing, beside another account that makes its charges.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::thread::scope;
use std::time::{Duration, Instant};

use web::server::raise_file_limit;

use crate::harness::process::{PAYMENT, Process, pause, request, try_to_ask};
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::report::Report;

/// Requests that a connection sends at once.
const PIPELINED: usize = 40;
/// A list of as many as a page may have.
const LIST: &str = "/1/charges?per_page=500";
const RECORDS: usize = 500;
/// How long the connections of a round stay.
const ROUND: Duration = Duration::from_secs(4);
/// Between two charges: so many that a percentile of them means something, and not so many that they are a load.
const PACE: Duration = Duration::from_millis(20);

/// `readers`: 300 connections that ask for 40 long lists each and never read. `--rounds` (1), `--connections` (300). What a
/// charge of another account may take at the 99th percentile depends on the build, the machine and what else runs on it:
/// `CARD_PAYMENTS_READERS_P99_MS` says it. The default (20,000) is that of a debug build beside other tests.
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let (rounds, connections) = (options.number("rounds", 1), options.number("connections", 300));
    let bound = std::env::var("CARD_PAYMENTS_READERS_P99_MS").map_or(20_000, |bound| bound.parse().unwrap());
    let installation = Installation::on(on)?;
    raise_file_limit(usize::try_from(connections).unwrap());
    let server = installation.start();
    let (greedy, _) = server.keys();
    let made = server.ask("POST", "/1/sandbox/accounts", Some(&greedy), "").ok(201);
    let modest = made["secret_key"].as_str().unwrap();
    fill(&server, &greedy);

    let (mut alone, mut beside, mut refused) = (Vec::new(), Vec::new(), 0);
    charges(server.address, modest, &mut alone);
    for _ in 0..rounds {
        let attack: Vec<_> = (0..connections).map(|_| send_and_never_read(server.address, &greedy)).collect();
        refused += charges(server.address, modest, &mut beside);
        drop(attack);
    }
    let (quiet, p99) = (percentile(&mut alone), percentile(&mut beside));
    let longest = beside.last().copied().unwrap_or_default();
    let besides = format!(
        "{} charges beside {connections} connections: p99 {} ms, at most {} ms (alone: p99 {} ms), {refused} refused, peak {} MiB",
        beside.len(),
        p99.as_millis(),
        longest.as_millis(),
        quiet.as_millis(),
        peak_memory_mib(&server),
    );
    println!("readers on {}: {besides}", on.name());
    assert_eq!(refused, 0);
    assert!(p99 < Duration::from_millis(bound), "p99 {p99:?}");
    server.stopped();
    Some(Report { rounds, faults: rounds * connections, besides, seed: options.seed(), ..Report::default() })
}

/// A page that is full.
fn fill(server: &Process, key: &str) {
    const CLIENTS: usize = 8;
    scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                for _ in 0..RECORDS.div_ceil(CLIENTS) {
                    server.pay(key).ok(201);
                }
            });
        }
    });
}

fn send_and_never_read(address: SocketAddr, key: &str) -> Option<TcpStream> {
    let requests = request("GET", LIST, Some(key), "").replace("Connection: close\r\n", "").repeat(PIPELINED);
    let mut stream = TcpStream::connect(address).ok()?;
    // A server that has had enough closes.
    let _ = stream.write_all(requests.as_bytes());
    Some(stream)
}

/// Makes charges one after another, and notes how long each takes. Says how many were refused.
fn charges(address: SocketAddr, key: &str, took: &mut Vec<Duration>) -> usize {
    let (began, mut refused) = (Instant::now(), 0);
    while began.elapsed() < ROUND {
        let start = Instant::now();
        let answer = try_to_ask(address, &request("POST", "/1/charges", Some(key), PAYMENT));
        refused += usize::from(answer.is_err() || answer.is_ok_and(|answer| answer.status != 201));
        took.push(start.elapsed());
        pause(PACE);
    }
    refused
}

/// The 99th, after which they are sorted.
fn percentile(took: &mut [Duration]) -> Duration {
    took.sort_unstable();
    took[took.len() * 99 / 100]
}

fn peak_memory_mib(server: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}
