//! Requests of one key that wait for what never comes, beside another account that makes its charges.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use web::server::raise_file_limit;

use crate::attackers::{Attack, beside};
use crate::harness::process::{Process, pause, request};
use crate::installation::Installation;
use crate::neighbour::{Neighbour, bound};
use crate::options::{Database, Options};
use crate::report::Report;

/// How long an attack of a round lasts.
const ROUND: Duration = Duration::from_secs(4);
/// How many requests a second are sent and reset.
const RESETS: u32 = 35;
/// How long clients that reset go on before the other account pays: for more of them than a server has connections.
const RESETS_BEFORE: Duration = Duration::from_secs(2);
const WAIT: &str = "/1/events?wait=30&count=1000";

/// `waiters`: 1,024 connections whose requests wait, with a key that may read events only; and clients that send such a request and
/// reset the connection, 35 a second. `--rounds` (1), `--connections` (1,024: all that a server takes), `--resets` (seconds of them
/// before the first charge: 2; after 30 they would hold all connections). `CARD_PAYMENTS_NEIGHBOUR_P99_MS` (10,000: a debug build
/// beside other tests) bounds the p99 of another account's charge, and half of it that of /healthz.
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let (rounds, connections) = (options.number("rounds", 1), options.number("connections", 1_024));
    let before = Duration::from_secs(options.number("resets", RESETS_BEFORE.as_secs()));
    let connections = usize::try_from(connections).unwrap();
    let installation = Installation::on(on)?;
    // Of this run, and of one on the other database in the same process.
    raise_file_limit(2 * connections);
    let server = installation.start();
    let key = key_to_read_events(&server);
    let waits = Attack { beginning: wait(&key), byte: None };
    let mut told = Vec::new();
    for attack in ["waits", "resets"] {
        let mut neighbour = Neighbour::new(&server);
        neighbour.pays_for(ROUND);
        let quiet = neighbour.begins_anew();
        for _ in 0..rounds {
            if attack == "waits" {
                beside(server.address, connections, &waits, || neighbour.pays_for(ROUND));
            } else {
                beside_resets(server.address, &key, || {
                    pause(before);
                    neighbour.pays_for(ROUND);
                });
            }
        }
        let attack = match attack {
            "waits" => format!("{connections} requests that wait"),
            _ => format!("{RESETS} such requests a second that are reset"),
        };
        told.push(neighbour.tells(&format!("{attack} ({})", on.name()), quiet, bound()));
    }
    server.stopped();
    let faults = rounds * connections as u64;
    Some(Report { rounds, faults, besides: told.join("; "), seed: options.seed(), ..Report::default() })
}

fn key_to_read_events(server: &Process) -> String {
    let form = "name=Reader&rights[events]=read";
    let made = server.ask("POST", "/1/sandbox/keys", Some(&server.keys().0), form).ok(201);
    made["secret_key"].as_str().unwrap().to_owned()
}

fn wait(key: &str) -> String {
    request("GET", WAIT, Some(key), "").replace("Connection: close\r\n", "")
}

/// Sends waiting requests and resets their connections during `work`.
fn beside_resets(address: SocketAddr, key: &str, work: impl FnOnce()) {
    let text = request("GET", "/healthz", None, "").replace("Connection: close\r\n", "") + &wait(key);
    let is_over = AtomicBool::new(false);
    scope(|scope| {
        let attacking = scope.spawn(|| {
            let (began, mut sent) = (Instant::now(), 0);
            while !is_over.load(Ordering::Relaxed) {
                sent += 1;
                let due = began + Duration::from_secs(1) * sent / RESETS;
                pause(due.saturating_duration_since(Instant::now()));
                scope.spawn(|| reset(address, &text));
            }
        });
        work();
        is_over.store(true, Ordering::Relaxed);
        attacking.join().unwrap();
    });
}

/// Sends a request and one that waits. A connection that is closed over an unread answer is reset.
fn reset(address: SocketAddr, text: &str) {
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    if stream.write_all(text.as_bytes()).is_ok() {
        let _ = stream.peek(&mut [0]);
    }
}
