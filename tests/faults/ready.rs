//! A balancer beside a disk that is full, under load: whenever a payment was refused for want of room, /readyz says no; once it
//! says yes, payments are accepted.

use std::time::Duration;

use crate::full_disks::on_a_small_disk;
use crate::harness::process::{PAYMENT, RawResponse, pause, repeatable_request};
use crate::options::{Database, Options};
use crate::report::Report;
use crate::trial::Trial;

/// How many refused payments are looked at in a round, and how many accepted ones.
const TIMES: u32 = 25;

/// `disks --ready`: in each of `--rounds` (1) the disk becomes full, and then has room again.
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let rounds = options.number("rounds", 1);
    let (disk, mut trial) = on_a_small_disk(options, on, rounds)?;
    // What it pays is nobody's who keeps count.
    let made = send(&trial, &trial.server.secret, "/1/sandbox/accounts", "").ok(201);
    let own = made["secret_key"].as_str().unwrap().to_owned();
    let pays = |trial: &Trial| send(trial, &own, "/1/charges", PAYMENT).status;
    let (mut refused, mut accepted) = (0, 0);
    for round in 1..=rounds {
        trial.go_on();
        disk.fill();
        trial.failed();
        while refused < u64::from(TIMES) * round {
            trial.waits_until(|trial| pays(trial) == 503);
            assert_eq!(trial.status("/readyz"), 503, "a payment has just been refused for want of room");
            refused += 1;
        }
        disk.empty();
        // A PostgreSQL that could not write its log has ended, and is its operator's to start.
        for _ in 0..100 {
            if trial.status("/readyz") == 200 {
                break;
            }
            pause(Duration::from_millis(100));
        }
        if on == Database::Postgres && trial.status("/readyz") != 200 {
            trial.installation.crash_database();
        }
        trial.waits_until(|trial| trial.status("/readyz") == 200);
        for _ in 0..TIMES {
            assert_eq!(pays(&trial), 201, "it has said that it is ready");
            accepted += 1;
        }
        trial.look();
    }
    let report = trial.end();
    let besides = format!(
        "{}; not ready after {refused} of {refused} refusals, {accepted} of {accepted} accepted when ready",
        report.besides
    );
    Some(Report { besides, ..report })
}

fn send(trial: &Trial, key: &str, path: &str, form: &str) -> RawResponse {
    trial.server.send(&repeatable_request("POST", path, Some(key), None, form)).unwrap()
}
