//! `moves`: an installation under load is copied into a PostgreSQL that is to replace its database. The copy, the server and the new
//! database die at random moments, `--rounds` (3) times; the copy is then gone on with, or cancelled. A copy that is complete before
//! such a death is no death, but a move: its server goes on there, and is copied into the next database.

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
    let mut deaths = 0;
    while deaths < options.number("rounds", 3) {
        trial.go_on();
        let mut copying = start(copy(&trial, &new, "--follow"));
        pause(Duration::from_millis(trial.random.below(2_000)));
        let dies = ["copy", "server", "new database"][usize::try_from(deaths % 3).unwrap()];
        if dies == "server" {
            // The copy reads on without it.
            drop(trial.kill());
            pause(Duration::from_millis(trial.random.below(1_000)));
        } else {
            trial.failed();
        }
        if dies == "new database" {
            new.crash();
        } else {
            let _ = copying.kill();
        }
        let ended = copying.wait_with_output().unwrap();
        let is_cancelled = dies == "server" || trial.random.below(2) == 0;
        // A copy that was complete before it was killed is not cancelled: servers may run on it.
        if ended.status.success()
            || is_complete(&String::from_utf8_lossy(&ended.stderr))
            || is_cancelled && !cancels(&trial, &new)
        {
            let next = Cluster::durable(None)?;
            go_on_there(&mut trial, std::mem::replace(&mut new, next), Instant::now(), None);
            continue;
        }
        deaths += 1;
        if dies == "server" {
            trial.start();
        }
        if is_cancelled {
            trial.look();
        }
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
    assert!(is_complete(&line), "{line}");
    go_on_there(&mut trial, new, moved, line.starts_with(MOVED).then_some(copying));
    Some(trial.end())
}

const MOVED: &str = "The installation has moved";

/// Returns whether a command has completed the copy, or finds that the one before was killed when it just had.
fn is_complete(said: &str) -> bool {
    said.contains(MOVED) || said.contains("the target is not empty")
}

/// Cancels the copy. Returns whether it was not complete.
fn cancels(trial: &Trial, new: &Cluster) -> bool {
    let (code, _, said) = output(&mut copy(trial, new, "--cancel"));
    assert!(code == Some(0) || said.contains("a server may run on it"), "{said}");
    code == Some(0)
}

/// Starts a server on the new database. The old one has answered 503 meanwhile, and is compared with the new one.
fn go_on_there(trial: &mut Trial, new: Cluster, moved: Instant, comparing: Option<Child>) {
    let (old_database, listening) = trial.replace(new);
    let refused = listening - moved;
    assert!(refused < REFUSED_AT_MOST * margin(), "changes were refused for {refused:?}");
    if let Some(comparing) = comparing {
        let compared = comparing.wait_with_output().unwrap();
        assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stderr));
    }
    drop(old_database);
    trial.go_on();
    trial.look();
}

/// A debug build beside other tests takes longer.
fn margin() -> u32 {
    std::env::var("CARD_PAYMENTS_MOVE_MARGIN").map_or(30, |margin| margin.parse().unwrap())
}

fn copy(trial: &Trial, new: &Cluster, option: &str) -> Command {
    let mut copy = trial.installation.program();
    copy.args(["copy", "--to", &new.url(), option]);
    copy
}

fn start(mut copy: Command) -> Child {
    copy.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}
