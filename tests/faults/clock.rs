//! A wall clock that is wrong for seconds while the server takes payments, and while it starts: nothing is lost by age, and no
//! key is forgotten.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::disk::preloaded;
use crate::harness::process::{PAYMENT, Process, RawResponse, output, pause, repeatable_request};
use crate::installation::Installation;
use crate::load::{PATIENCE, Server};
use crate::options::{Database, Options};
use crate::report::Report;
use crate::truth::Wrong;

const CLIENTS: u64 = 8;
const DAY: i64 = 86_400;
/// By how many seconds the clock is wrong: retention, audit trail and keys have long ended, or have hardly begun.
const JUMPS: [i64; 4] = [500 * DAY, -DAY, 2 * 3600, -500 * DAY];
/// Acts in the audit trail.
const ACTS: usize = 3;

/// The clock of a program: `clock.c`, preloaded. Linux only.
struct WrongClock {
    library: PathBuf,
    file: PathBuf,
}

impl WrongClock {
    fn below(folder: &Path) -> Option<Self> {
        let clock = Self { library: preloaded("clock.c", folder)?, file: folder.join("clock") };
        fs::write(&clock.file, 0_i64.to_ne_bytes()).unwrap();
        Some(clock)
    }

    fn is_wrong_by(&self, seconds: i64) {
        // In place: the program has the file in its memory.
        File::options()
            .write(true)
            .open(&self.file)
            .unwrap()
            .write_all_at(&seconds.to_ne_bytes(), 0)
            .unwrap();
    }

    fn start(&self, installation: &Installation) -> Process {
        Process::start(
            installation.program().env("LD_PRELOAD", &self.library).env("FAULTS_CLOCK", &self.file),
        )
    }
}

/// `clock`: each wrong time in each of `--rounds` (1), for `--seconds` (3); every other time the server is killed and starts with it.
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let folder = tempfile::tempdir().unwrap();
    let clock = WrongClock::below(folder.path())?;
    let installation = Installation::on(on)?;
    let seconds = Duration::from_secs(options.number("seconds", 3));
    let first = clock.start(&installation);
    let server = Server::new(first.address, first.keys().0);
    let mut process = Some(first);
    act(&installation);
    let (mut report, mut wrong) = (Report { seed: options.seed(), ..Report::default() }, Wrong::default());
    let errors = AtomicU64::new(0);
    let mut acknowledged = pay(&server, "before", seconds / 2, &errors, || {});
    for round in 0..options.number("rounds", 1) {
        for (n, jump) in JUMPS.into_iter().enumerate() {
            let name = format!("{round}:{jump}");
            let paid = pay(&server, &name, seconds, &errors, || {
                clock.is_wrong_by(jump);
                if n % 2 == usize::try_from(round % 2).unwrap() {
                    // The next one starts with the wrong clock.
                    process.take().unwrap().killed();
                    let next = clock.start(&installation);
                    *server.address.write().unwrap() = next.address;
                    process = Some(next);
                    report.faults += 1;
                }
            });
            clock.is_wrong_by(0);
            report.faults += 1;
            report.rounds += 1;
            acknowledged.extend(paid);
            // Workers look each second.
            pause(Duration::from_secs(2));
            repeat(&server, &acknowledged, &mut wrong);
        }
    }
    compare(&server, &acknowledged, &mut wrong);
    let (code, trail, stderr) = output(installation.program().args(["audit", "--per-page", "500", "--json"]));
    assert_eq!(code, Some(0), "{stderr}");
    let acts = trail.lines().filter(|line| line.contains("\"key.created\"")).count();
    (acts..ACTS).for_each(|act| wrong.lost("an entry of the audit trail", &act.into()));
    installation.proves_its_books();
    let besides = format!("{} acknowledged", acknowledged.len());
    Some(Report {
        lost: wrong.lost,
        doubled: wrong.doubled,
        server_errors: errors.into_inner(),
        besides,
        ..report
    })
}

/// Does what the audit trail records.
fn act(installation: &Installation) {
    let (_, stdout, _) = output(installation.program().args(["account", "list", "--json"]));
    let account: Value = serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
    let account = account["token"].as_str().unwrap();
    for _ in 0..ACTS {
        let create = ["account", "key", "create", account, "--name", "Clock", "--right", "charges:read"];
        let (code, _, stderr) = output(installation.program().args(create));
        assert_eq!(code, Some(0), "{stderr}");
    }
}

/// Pays with all clients for so long, each payment under a key, until it is acknowledged, while something happens. Returns keys and
/// answers.
fn pay(
    server: &Server,
    name: &str,
    span: Duration,
    errors: &AtomicU64,
    happens: impl FnOnce(),
) -> Vec<(String, String)> {
    let (acknowledged, ends) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (acknowledged, ends) = (&acknowledged, &ends);
            scope.spawn(move || {
                for n in 0.. {
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                    let key = format!("{name}:{client}:{n}");
                    let body = acknowledge(server, &key, errors).body;
                    acknowledged.lock().unwrap().push((key, body));
                }
            });
        }
        pause(span / 4);
        happens();
        pause(span);
        ends.store(true, Ordering::Relaxed);
    });
    acknowledged.into_inner().unwrap()
}

/// Repeats a payment under its key until it is acknowledged.
fn acknowledge(server: &Server, key: &str, errors: &AtomicU64) -> RawResponse {
    let request = repeatable_request("POST", "/1/charges", Some(&server.secret), Some(key), PAYMENT);
    let deadline = Instant::now() + PATIENCE;
    loop {
        match server.send(&request) {
            Ok(response) if response.status == 201 => return response,
            // In flight, or of an unknown outcome.
            Ok(response) if matches!(response.status, 409 | 502 | 503) => {
                errors.fetch_add(u64::from(response.status > 500), Ordering::Relaxed);
            }
            Ok(response) => panic!("{key}: {} {}", response.status, response.body),
            Err(_) => {}
        }
        assert!(Instant::now() < deadline, "{key} is not acknowledged");
        pause(Duration::from_millis(50));
    }
}

/// Repeats acknowledged payments: each answer is the one that was.
fn repeat(server: &Server, acknowledged: &[(String, String)], wrong: &mut Wrong) {
    for (key, body) in acknowledged {
        let again = acknowledge(server, key, &AtomicU64::new(0));
        if again.body != *body {
            wrong.doubled(key, &again.json());
        }
    }
}

/// Compares charges and events with what was acknowledged.
fn compare(server: &Server, acknowledged: &[(String, String)], wrong: &mut Wrong) {
    let token = |record: &Value| record["token"].as_str().unwrap().to_owned();
    let mut promised: Vec<String> = acknowledged
        .iter()
        .map(|(_, body)| token(&serde_json::from_str::<Value>(body).unwrap()["response"]))
        .collect();
    promised.sort();
    let charges = server.all("/1/charges");
    let captured: Vec<String> =
        charges.iter().filter(|charge| charge["captured"] == true).map(token).collect();
    let events = server.all("/1/events");
    let told = events.iter().filter(|event| event["type"] == "charge.captured");
    let told = told.map(|event| token(&event["data"])).collect();
    for (what, mut found) in [("a charge", captured), ("charge.captured", told)] {
        found.sort();
        let found: Vec<String> = found;
        for token in promised.iter().filter(|token| found.binary_search(token).is_err()) {
            wrong.lost(what, &token.as_str().into());
        }
        for token in found.iter().filter(|token| promised.binary_search(token).is_err()) {
            wrong.doubled(what, &token.as_str().into());
        }
        assert!(found.windows(2).all(|two| two[0] != two[1]), "{what} is there twice");
    }
}
