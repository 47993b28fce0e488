//! Requests that wait for something to happen: what each of many costs, and how soon after the commit they are answered.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use entity::ChargeToken;
use uuid::Uuid;
use web::server::raise_file_limit;

use crate::harness::process::{PAYMENT, Process, pause, read_first_response, read_response, request};
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::report::Report;

/// How many are sent at once: a server takes a burst, and refuses more.
const BURST: usize = 100;
/// How long a burst has to arrive.
const REST: Duration = Duration::from_millis(500);
/// How long each waits, if nothing ends it.
const WAIT: Duration = Duration::from_secs(30);
/// How many payments measure the pace, and how many clients make them.
const PAYMENTS: usize = 24;
const PAYERS: usize = 4;
/// Bounds of a debug build beside other tests; the first is well below the time after which a request checks by itself.
const KILOBYTES_MAX: u64 = 100;
const FIRST_MAX: Duration = Duration::from_secs(6);
const LAST_MAX: Duration = Duration::from_secs(20);

/// What is waited for: the list's path for the next record but so many, the request that makes one, and lists that get none by it.
struct Subject {
    name: &'static str,
    list: String,
    trigger: (&'static str, String, &'static str),
    others: Vec<String>,
}

/// `waits`: one request, and many, that wait for an event, a logged request, a delivery to an inbox; one of many that wait for other
/// things; on PostgreSQL also for what another copy of the server commits. And what an open connection costs, what a wait costs, and what
/// waits cost the payments that end none. `--rounds` (1), `--waits` (100; a server takes 1,024 connections), `--program` (a debug build).
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let rounds = options.number("rounds", 1);
    let waits = usize::try_from(options.number("waits", 100)).unwrap();
    let installation = Installation::on(on)?;
    raise_file_limit(waits);
    let mut told = Vec::new();
    let subjects = subjects(&Process::start(&mut program(&installation, options)));
    for subject in subjects {
        for made_by in ["", " by another copy"] {
            let server = Process::start(&mut program(&installation, options));
            let other = (!made_by.is_empty() && on == Database::Postgres)
                .then(|| Process::start(&mut program(&installation, options)));
            let at = if made_by.is_empty() { Some(&server) } else { other.as_ref() };
            if let Some(at) = at {
                let measured = measured(&server, at, &subject, rounds, waits);
                told.push(format!("{}{made_by}: {measured}", subject.name));
            }
            server.stopped();
            other.map(Process::stopped);
        }
    }
    let besides = format!("p50 and p99 after the answer to the request that made it: {}", told.join("; "));
    Some(Report { rounds, besides, seed: options.seed(), ..Report::default() })
}

/// Measures the waits at one server for what another one, or the same, commits.
fn measured(server: &Process, at: &Process, subject: &Subject, rounds: u64, waits: usize) -> String {
    let (key, _) = server.keys();
    let trigger = || {
        let (method, path, form) = &subject.trigger;
        assert!(at.ask(method, path, Some(&key), form).status < 300);
    };
    let mut alone = Vec::new();
    for _ in 0..rounds {
        let wait = begin(&next(server, &key, subject, 1), connect(server, &key, 1), &key);
        trigger();
        alone.extend(answered(wait));
    }
    let (mut together, mut open, mut all) = (Vec::new(), 0, 0);
    for _ in 0..rounds {
        let before = memory(server);
        let connections = connect(server, &key, waits);
        // Later ones reuse it.
        open = open.max(memory(server).saturating_sub(before));
        let begun = begin(&next(server, &key, subject, waits), connections, &key);
        all = all.max(memory(server).saturating_sub(before));
        trigger();
        together.extend(answered(begun));
    }
    let alone_took = pay(server, &key);
    let others: Vec<_> = (1..waits).map(|wait| subject.others[wait % subject.others.len()].clone()).collect();
    let connections = connect(server, &key, waits - 1);
    let began = Instant::now();
    let others = begin(&others, connections, &key);
    // On a busy machine they may be over by themselves; those say nothing.
    let only_time_ends_others = || others.iter().all(is_waiting) || began.elapsed() >= WAIT;
    let mut one_of_many = Vec::new();
    for _ in 0..rounds {
        let wait = begin(&next(server, &key, subject, 1), connect(server, &key, 1), &key);
        trigger();
        one_of_many.extend(answered(wait));
        assert!(only_time_ends_others(), "another record has ended a wait");
    }
    let pace = alone_took.as_micros() * 100 / pay(server, &key).as_micros();
    assert!(only_time_ends_others(), "a payment has ended a wait");
    let [open, all] = [open, all].map(|bytes| bytes / 1_000 / waits as u64);
    assert!(all < KILOBYTES_MAX, "{all} kB each");
    format!(
        "one {}, one of {waits} for others {}, {waits} for the same {}; {all} kB each, of which {open} are those of an open connection; \
         payments beside {waits} that they do not end: {pace} percent of their pace alone",
        percentiles(alone, FIRST_MAX),
        percentiles(one_of_many, FIRST_MAX),
        percentiles(together, LAST_MAX)
    )
}

/// Returns p50 and p99, which must be within a bound.
fn percentiles(mut took: Vec<Duration>, bound: Duration) -> String {
    took.sort_unstable();
    let [p50, p99] = [50, 99].map(|percent| took[took.len() * percent / 100]);
    assert!(p99 < bound, "{took:?}");
    format!("{p50:.1?} and {p99:.1?}")
}

/// Returns how long some payments take, of several clients at once.
fn pay(server: &Process, key: &str) -> Duration {
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..PAYERS {
            scope.spawn(|| (0..PAYMENTS / PAYERS).for_each(|_| drop(server.pay(key).ok(201))));
        }
    });
    began.elapsed()
}

/// Returns the program, or another build of it.
fn program(installation: &Installation, options: &Options) -> Command {
    let own = installation.program();
    let Some(path) = options.text("program") else { return own };
    let mut other = Command::new(path);
    other.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other
}

/// Returns what is waited for, with inboxes that a server makes.
fn subjects(server: &Process) -> Vec<Subject> {
    let (key, _) = server.keys();
    server.pay(&key).ok(201);
    let inboxes = [(); 2].map(|()| {
        let inbox = server.ask("POST", "/1/sandbox/inboxes", Some(&key), "").ok(201);
        inbox["token"].as_str().unwrap().to_owned()
    });
    let deliveries = |inbox: &str| format!("/1/sandbox/inboxes/{inbox}/deliveries?");
    let subject = |name, list: String, trigger, others| Subject { name, list, trigger, others };
    let charges = (0..1000).map(|n| format!("/1/events?about={}", ChargeToken::new(Uuid::from_u128(n))));
    let routes = (0..1000).map(|n| format!("/1/sandbox/requests?route=/1/{n}"));
    vec![
        subject(
            "an event",
            "/1/events?type=charge.captured".into(),
            ("POST", "/1/charges".into(), PAYMENT),
            charges.collect(),
        ),
        subject(
            "a request",
            "/1/sandbox/requests?route=/1/balance".into(),
            ("GET", "/1/balance".into(), ""),
            routes.collect(),
        ),
        subject(
            "a delivery",
            deliveries(&inboxes[0]),
            ("POST", format!("/inboxes/{}", inboxes[0]), "x=1"),
            vec![deliveries(&inboxes[1])],
        ),
    ]
}

/// Returns the paths of waits for the next record.
fn next(server: &Process, key: &str, subject: &Subject, many: usize) -> Vec<String> {
    let page = server.ask("GET", &format!("{}&per_page=1", subject.list), Some(key), "").json();
    let so_far = page["pagination"]["count"].as_u64().unwrap();
    vec![format!("{}&per_page=1&count={}", subject.list, so_far + 1); many]
}

/// Opens connections, each of which has had an answer.
fn connect(server: &Process, key: &str, many: usize) -> Vec<TcpStream> {
    let text = request("GET", "/1/customers", Some(key), "").replace("Connection: close\r\n", "");
    let mut connections = Vec::new();
    while connections.len() < many {
        let mut burst: Vec<_> = (0..BURST.min(many - connections.len()))
            .map(|_| TcpStream::connect(server.address).unwrap())
            .collect();
        for stream in &mut burst {
            stream.write_all(text.as_bytes()).unwrap();
        }
        for stream in &mut burst {
            read_first_response(stream).ok(200);
        }
        connections.append(&mut burst);
    }
    connections
}

/// Sends requests that wait.
fn begin(paths: &[String], mut connections: Vec<TcpStream>, key: &str) -> Vec<TcpStream> {
    for (paths, burst) in paths.chunks(BURST).zip(connections.chunks_mut(BURST)) {
        for (path, stream) in paths.iter().zip(burst) {
            let text = request("GET", &format!("{path}&wait={}", WAIT.as_secs()), Some(key), "");
            stream.write_all(text.as_bytes()).unwrap();
            stream.set_nonblocking(true).unwrap();
        }
        pause(REST);
    }
    connections
}

fn is_waiting(stream: &TcpStream) -> bool {
    stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

/// Returns when each was answered, which must be with a record.
fn answered(mut waits: Vec<TcpStream>) -> Vec<Duration> {
    let (began, mut took, mut answered) = (Instant::now(), Vec::new(), Vec::new());
    while !waits.is_empty() {
        assert!(began.elapsed() < LAST_MAX, "{} are not answered", waits.len());
        for at in (0..waits.len()).rev() {
            if is_waiting(&waits[at]) {
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

/// Returns the bytes that a server holds in memory, without those of its program, which the system takes and gives back as it likes.
fn memory(server: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    resident.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
