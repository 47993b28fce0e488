//! Requests that wait for something to happen: what each of many costs, and how soon after the commit they are answered.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use card_payments::http::server::raise_file_limit;

use crate::harness::process::{PAYMENT, Process, pause, read_response, request};
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::report::Report;

/// How many are sent at once: a server takes a burst, and refuses more.
const BURST: usize = 100;
/// How long a burst has to arrive.
const REST: Duration = Duration::from_millis(500);
/// Bounds of a debug build beside other tests.
const KILOBYTES_MAX: u64 = 100;
const FIRST_MAX: Duration = Duration::from_secs(2);
const LAST_MAX: Duration = Duration::from_secs(20);

/// What is waited for: the list's path for the next record but so many, and the request that makes one.
struct Subject {
    name: &'static str,
    list: String,
    trigger: (&'static str, String, &'static str),
}

/// `waits`: one request, and many, that wait for an event, a logged request, a delivery to an inbox; on PostgreSQL also for what another
/// copy of the server commits. `--rounds` (1), `--waits` (100; a server takes 1,024 connections), `--program` (a debug build).
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let rounds = options.number("rounds", 1);
    let waits = usize::try_from(options.number("waits", 100)).unwrap();
    let installation = Installation::on(on)?;
    raise_file_limit(waits);
    let mut told = Vec::new();
    for subject in 0..3 {
        let server = Process::start(&mut program(&installation, options));
        let other = (on == Database::Postgres).then(|| Process::start(&mut program(&installation, options)));
        let (key, _) = server.keys();
        let subject = subjects(&server, &key).swap_remove(subject);
        let mut kilobytes = 0;
        for (made_by, at) in [("", Some(&server)), (" by another copy", other.as_ref())] {
            let Some(at) = at else { continue };
            for many in [1, waits] {
                let mut took = Vec::new();
                for _ in 0..rounds {
                    let before = memory(&server);
                    let begun = begin(&server, &key, &subject, many);
                    // Later waits reuse it.
                    kilobytes = kilobytes.max(memory(&server).saturating_sub(before) / 1_000 / waits as u64);
                    let (method, path, form) = &subject.trigger;
                    assert!(at.ask(method, path, Some(&key), form).status < 300);
                    took.extend(answered(begun));
                }
                took.sort_unstable();
                let [p50, p99] = [50, 99].map(|percent| took[took.len() * percent / 100]);
                told.push(format!("{many} for {}{made_by}: {p50:.1?}, {p99:.1?}", subject.name));
                assert!(p99 < if many == 1 { FIRST_MAX } else { LAST_MAX }, "{told:?}");
            }
        }
        told.push(format!("{kilobytes} kB each"));
        assert!(kilobytes < KILOBYTES_MAX, "{told:?}");
        server.stopped();
        other.map(Process::stopped);
    }
    let besides = format!("p50 and p99 after the answer to the request that made it: {}", told.join("; "));
    Some(Report { rounds, besides, seed: options.seed(), ..Report::default() })
}

/// Returns the program, or another build of it.
fn program(installation: &Installation, options: &Options) -> Command {
    let own = installation.program();
    let Some(path) = options.text("program") else { return own };
    let mut other = Command::new(path);
    other.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other
}

fn subjects(server: &Process, key: &str) -> Vec<Subject> {
    server.pay(key).ok(201);
    let inbox = server.ask("POST", "/1/sandbox/inboxes", Some(key), "").ok(201);
    let inbox = inbox["token"].as_str().unwrap();
    let subject = |name, list: String, trigger| Subject { name, list, trigger };
    vec![
        subject("an event", "/1/events?type=charge.captured".into(), ("POST", "/1/charges".into(), PAYMENT)),
        subject("a request", "/1/sandbox/requests?route=/1/balance".into(), ("GET", "/1/balance".into(), "")),
        subject(
            "a delivery",
            format!("/1/sandbox/inboxes/{inbox}/deliveries?"),
            ("POST", format!("/inboxes/{inbox}"), "x=1"),
        ),
    ]
}

/// Sends requests that wait for the next record.
fn begin(server: &Process, key: &str, subject: &Subject, many: usize) -> Vec<TcpStream> {
    let page = server.ask("GET", &format!("{}&per_page=1", subject.list), Some(key), "").json();
    let so_far = page["pagination"]["count"].as_u64().unwrap();
    let path = format!("{}&per_page=1&count={}&wait=30", subject.list, so_far + 1);
    let text = request("GET", &path, Some(key), "");
    let mut waits = Vec::new();
    while waits.len() < many {
        let burst = BURST.min(many - waits.len());
        waits.extend((0..burst).map(|_| sent(server.address, &text)));
        pause(REST);
    }
    waits
}

fn sent(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

/// Returns when each was answered, which must be with a record.
fn answered(mut waits: Vec<TcpStream>) -> Vec<Duration> {
    let (began, mut took, mut answered) = (Instant::now(), Vec::new(), Vec::new());
    while !waits.is_empty() {
        assert!(began.elapsed() < LAST_MAX, "{} are not answered", waits.len());
        for at in (0..waits.len()).rev() {
            if waits[at].peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
                continue;
            }
            took.push(began.elapsed());
            answered.push(waits.swap_remove(at));
        }
    }
    for stream in answered {
        stream.set_nonblocking(false).unwrap();
        assert_eq!(read_response(stream).ok(200).as_array().unwrap().len(), 1);
    }
    took
}

/// Returns the bytes that a server holds in memory.
fn memory(server: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    resident.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
