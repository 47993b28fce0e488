//! `soak`: a mixed load at a steady rate. Memory, WAL, open files and threads are looked at every second and must not grow
//! once the server is warm. `--minutes`, or `--seconds` (10), and `--rate` (40) requests a second.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use crate::harness::process::{PAYMENT, RawResponse, pause, request, try_to_ask};
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::receiving::{ReceiverBehaviour, Receiving};
use crate::report::Report;

/// Clients that share the rate.
const CLIENTS: u32 = 4;
/// From how many seconds on growth is judged; before that a server is getting warm.
const JUDGED_SECONDS: u64 = 120;
/// What memory may grow by from the first half of the judged time to the second, in kilobytes: what an allocator keeps.
const GROWTH_KB_MAX: u64 = 6_000;
/// What no server should ever have: kilobytes of memory, and of SQLite's log.
const MEMORY_KB_MAX: u64 = 400_000;
const WAL_KB_MAX: u64 = 64_000;

/// The process at one moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    memory_kb: u64,
    wal_kb: u64,
    database_kb: u64,
    files: u64,
    threads: u64,
}

/// Reads the figures of a process from the system.
fn sample(process: u32) -> Sample {
    let root = PathBuf::from(format!("/proc/{process}"));
    let status = std::fs::read_to_string(root.join("status")).unwrap();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    let open: Vec<_> = std::fs::read_dir(root.join("fd")).unwrap().flatten().map(|it| it.path()).collect();
    let size_kb = |end: &str| {
        let leads = |it: &&PathBuf| std::fs::read_link(it).is_ok_and(|to| is_named(to.as_path(), end));
        let size = open.iter().find(leads).and_then(|it| std::fs::metadata(it).ok());
        size.map_or(0, |size| size.len() / 1_024)
    };
    Sample {
        memory_kb: number("VmRSS:"),
        wal_kb: size_kb("card-payments.db-wal"),
        database_kb: size_kb("card-payments.db"),
        files: open.len() as u64,
        threads: number("Threads:"),
    }
}

fn is_named(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|file| file == name)
}

/// One client's requests, one after another, at its share of the rate.
struct Client<'a> {
    address: std::net::SocketAddr,
    secret: &'a str,
    answers: &'a [AtomicU64; 6],
}

impl Client<'_> {
    /// Sends a request, and sends it again while a server on a busy machine refuses it: what was answered 503 has done nothing.
    fn send(&self, method: &str, path: &str, form: &str) -> RawResponse {
        let send = || {
            let response = try_to_ask(self.address, &request(method, path, Some(self.secret), form)).unwrap();
            self.answers[usize::from(response.status / 100).min(5)].fetch_add(1, Ordering::Relaxed);
            response
        };
        let mut response = send();
        for _ in 0..600 {
            if response.status != 503 {
                break;
            }
            pause(Duration::from_millis(100));
            response = send();
        }
        response
    }

    fn goes_on(&self, until: Instant, pace: Duration) {
        let mut due = Instant::now();
        let mut charge = String::new();
        for n in 0_u64.. {
            let now = Instant::now();
            // On a machine that is too slow for the rate, what was missed is not made up for.
            due = now.max(due + pace);
            if due > until {
                return;
            }
            pause(due - now);
            match n % 8 {
                0 | 4 => {
                    let paid = self.send("POST", "/1/charges", PAYMENT);
                    charge = paid.ok(201)["token"].as_str().unwrap().to_owned();
                }
                1 => drop(self.send("GET", &format!("/1/charges/{charge}"), "")),
                2 => drop(self.send("POST", &format!("/1/charges/{charge}/refunds"), "amount=100")),
                3 => drop(self.send("GET", "/1/charges?per_page=25", "")),
                5 => drop(self.send("GET", &format!("/1/charges/search?query={charge}"), "")),
                6 => drop(self.send("POST", "/1/charges", "amount=1")),
                _ => {
                    let card = PAYMENT.replace("&amount=400", "");
                    drop(self.send("POST", "/1/customers", &card));
                }
            }
        }
    }
}

pub fn run(options: &Options, on: Database) -> Option<Report> {
    let seconds = match options.number("minutes", 0) {
        0 => options.number("seconds", 10),
        minutes => minutes * 60,
    };
    let rate = u32::try_from(options.number("rate", 40)).unwrap();
    let receiving = Receiving::start(options.seed());
    let installation = Installation::on(on)?;
    let process = installation.start();
    let (secret, _) = process.keys();
    let url = format!("url={}", receiving.url("/well"));
    let endpoint = process.ask("POST", "/1/webhook_endpoints", Some(&secret), &url).ok(201);
    receiving.behave("/well", ReceiverBehaviour::Well, endpoint["key"].as_str().unwrap());
    let answers: [AtomicU64; 6] = Default::default();
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut samples = Vec::new();
    scope(|scope| {
        for _ in 0..CLIENTS {
            let client = Client { address: process.address, secret: &secret, answers: &answers };
            scope.spawn(move || client.goes_on(until, Duration::from_secs(1) * CLIENTS / rate));
        }
        while Instant::now() < until {
            pause(Duration::from_secs(1));
            samples.push(sample(process.id()));
        }
    });
    let all: u64 = answers.iter().map(|class| class.load(Ordering::Relaxed)).sum();
    let report = Report {
        rounds: seconds,
        server_errors: answers[5].load(Ordering::Relaxed),
        seed: options.seed(),
        ..Report::default()
    };
    Some(Report { besides: format!("{all} requests, {}", judged(&samples)), ..report })
}

/// Judges the samples. Panics if a figure grows that should not.
fn judged(samples: &[Sample]) -> String {
    let most = |of: fn(&Sample) -> u64| samples.iter().map(of).max().unwrap();
    assert!(most(|it| it.memory_kb) < MEMORY_KB_MAX, "{} kB of memory", most(|it| it.memory_kb));
    assert!(most(|it| it.wal_kb) < WAL_KB_MAX, "{} kB of WAL", most(|it| it.wal_kb));
    let warm = &samples[samples.len() / 3..];
    let (earlier, later) = warm.split_at(warm.len() / 2);
    let mean = |of: Measure, some: &[Sample]| some.iter().map(of).sum::<u64>() / (some.len() as u64).max(1);
    if samples.len() as u64 >= JUDGED_SECONDS {
        let bounds: [(&str, Measure, u64); 4] = [
            ("kB of memory", |it| it.memory_kb, GROWTH_KB_MAX),
            ("kB of WAL", |it| it.wal_kb, GROWTH_KB_MAX),
            ("open files", |it| it.files, 16),
            ("threads", |it| it.threads, 4),
        ];
        for (what, of, margin) in bounds {
            let (before, after) = (mean(of, earlier), mean(of, later));
            assert!(after <= before + margin, "from {before} to {after} {what}");
        }
    }
    let first = samples[0];
    format!(
        "memory {} to {} kB (slope {} kB a minute), WAL at most {} kB, {} files, {} threads, database {} to {} kB",
        mean(|it| it.memory_kb, earlier),
        mean(|it| it.memory_kb, later),
        slope_a_minute(warm),
        most(|it| it.wal_kb),
        most(|it| it.files),
        most(|it| it.threads),
        first.database_kb,
        samples[samples.len() - 1].database_kb,
    )
}

/// Returns one figure of a sample.
type Measure = fn(&Sample) -> u64;

/// By how many kilobytes a minute memory grows, by least squares over samples a second apart.
fn slope_a_minute(samples: &[Sample]) -> i64 {
    let count = i64::try_from(samples.len()).unwrap();
    let (mut sum_x, mut sum_y, mut squares, mut products) = (0, 0, 0, 0);
    for (x, sample) in (0..).zip(samples) {
        let y = i64::try_from(sample.memory_kb).unwrap();
        (sum_x, sum_y, squares, products) = (sum_x + x, sum_y + y, squares + x * x, products + x * y);
    }
    let below = count * squares - sum_x * sum_x;
    if below == 0 { 0 } else { 60 * (count * products - sum_x * sum_y) / below }
}
