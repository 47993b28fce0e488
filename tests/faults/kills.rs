//! SIGKILL at random moments under load: of the server, and of PostgreSQL.

use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::report::Report;
use crate::trial::Trial;

/// `kills`: the server dies, and is started again. `--rounds` (3).
pub fn servers(options: &Options, on: Database) -> Option<Report> {
    let mut trial = Trial::begin(Installation::on(on)?, options);
    for _ in 0..options.number("rounds", 3) {
        trial.go_on();
        trial.kill();
        trial.start();
    }
    Some(trial.end())
}

/// `database-kills`: PostgreSQL dies with all its processes, and is started again; the server stays as it is, answers 503
/// meanwhile, and recovers. `--rounds` (2).
pub fn databases(options: &Options, on: Database) -> Option<Report> {
    let mut trial = Trial::begin(Installation::on(on)?, options);
    for _ in 0..options.number("rounds", 2) {
        trial.go_on();
        trial.installation.crash_database();
        trial.failed();
        trial.look();
    }
    Some(trial.end())
}
