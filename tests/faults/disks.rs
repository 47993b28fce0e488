//! A disk that is full, fails, or has become read-only, under load: 503 and nothing else, /readyz says no, the log says why;
//! when it works again, so does the server, and what it has acknowledged outlives a cut of the power.

use crate::disk::{Order, PowerCutMode};
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::report::Report;
use crate::trial::Trial;

const TROUBLES: [Order; 4] = [Order::BeFull, Order::FailToWrite, Order::FailToFlush, Order::BeReadOnly];

/// `disks`: each trouble in each of `--rounds` (1).
pub fn run(options: &Options, _on: Database) -> Option<Report> {
    let mut trial = Trial::begin(Installation::on_a_disk()?, options);
    for _ in 0..options.number("rounds", 1) {
        for trouble in TROUBLES {
            trial.go_on();
            suffers(&mut trial, trouble);
            let log = trial.kill();
            assert!(log.contains("disk") || log.contains("readonly"), "{trouble:?} is not told: {log}");
            trial.installation.disk().cut(PowerCutMode::Nothing, &mut trial.random);
            trial.start();
        }
    }
    Some(trial.end())
}

/// The trouble comes, is noticed, and passes.
fn suffers(trial: &mut Trial, trouble: Order) {
    let errors = trial.server_errors();
    trial.installation.disk().order(trouble);
    trial.failed();
    trial.waits_until(|trial| trial.status("/readyz") == 503);
    trial.waits_until(|trial| trial.server_errors() > errors);
    assert_eq!(trial.status("/healthz"), 200, "{trouble:?}: it lives");
    assert_eq!(trial.status("/1/charges?per_page=1"), 200, "{trouble:?}: what is there can be read");
    trial.installation.disk().order(Order::Work);
    trial.waits_until(|trial| trial.status("/readyz") == 200);
    let promises = trial.promises();
    trial.waits_until(|trial| trial.promises() > promises + 16);
    trial.look();
}
