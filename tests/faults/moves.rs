//! `moves`: an installation under load is copied into a PostgreSQL that is to replace its database. The copy, the server and the new
//! database die at random moments, until one copy gets through: then its server goes on there. `--rounds` (3) of these deaths.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::cluster::Cluster;
use crate::harness::process::{output, pause};
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::report::Report;
use crate::trial::Trial;

/// For how long servers may refuse changes, until the first one runs on the new database.
const REFUSED_AT_MOST: Duration = Duration::from_secs(2);

pub fn run(options: &Options, on: Database) -> Option<Report> {
    let mut new = Cluster::durable(None)?;
    let mut trial = Trial::begin(Installation::on(on)?, options);
    for round in 0..options.number("rounds", 3) {
        trial.go_on();
        let mut copying = start(copy(&trial, &new, "--follow"));
        pause(Duration::from_millis(trial.chance.below(2_000)));
        let dies = ["copy", "server", "new database"][usize::try_from(round % 3).unwrap()];
        if dies == "server" {
            // The copy reads on without it.
            drop(trial.kill());
            pause(Duration::from_millis(trial.chance.below(1_000)));
        } else {
            trial.failed();
        }
        if dies == "new database" {
            new.crash();
        } else {
            let _ = copying.kill();
        }
        let has_moved = copying.wait().unwrap().success();
        // A copy that was complete before it was killed is not cancelled: servers may run on it.
        if !has_moved && output(&mut copy(&trial, &new, "--cancel")).0 == Some(0) {
            if dies == "server" {
                trial.start();
            }
            trial.look();
            continue;
        }
        return Some(go_on_there(trial, new, Instant::now(), None));
    }
    trial.go_on();
    let mut copying = start(copy(&trial, &new, "--follow"));
    // Its first line on stderr says that the installation has moved, and for how long changes were refused until then.
    let said = copying.stderr.as_mut().unwrap();
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        assert_eq!(said.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&line));
        line.push(byte[0]);
    }
    let moved = Instant::now();
    let line = String::from_utf8(line).unwrap();
    assert!(line.starts_with("The installation has moved"), "{line}");
    Some(go_on_there(trial, new, moved, Some(copying)))
}

/// Starts a server on the new database. The old one has answered 503 meanwhile, and is compared with the new one.
fn go_on_there(mut trial: Trial, new: Cluster, moved: Instant, comparing: Option<Child>) -> Report {
    let old_database = trial.replace(new);
    let refused = moved.elapsed();
    assert!(refused < REFUSED_AT_MOST * margin(), "changes were refused for {refused:?}");
    if let Some(comparing) = comparing {
        let compared = comparing.wait_with_output().unwrap();
        assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stderr));
    }
    drop(old_database);
    trial.go_on();
    trial.look();
    trial.end()
}

/// A debug build beside other tests takes longer.
fn margin() -> u32 {
    std::env::var("CARD_PAYMENTS_MOVE_MARGIN").map_or(10, |margin| margin.parse().unwrap())
}

fn copy(trial: &Trial, new: &Cluster, option: &str) -> Command {
    let mut copy = trial.installation.program();
    copy.args(["copy", "--to", &new.url(), option]);
    copy
}

fn start(mut copy: Command) -> Child {
    copy.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}
