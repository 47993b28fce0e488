//! `card-payments check`: what an operator has configured, and the machine and the database that it meets, looked at as a
//! server would look at them. Each part says what it has found, what is wrong with it, and how to mend it. Nothing is
//! changed: no folder, key or schema is made, and beside a running server nobody is disturbed.

mod acquirer;
mod clocks;
mod configuration;
mod database;
mod disk;
mod findings;
mod keys;
mod modes;
mod ports;
mod roots;

use std::ffi::OsString;

use self::findings::Findings;
pub use self::findings::{Area, Finding, Level};
use crate::runtime::clock::{Clock, SystemClock};

/// Look at everything. `given` stands for variables of the environment, by the names that their options have
/// (`database_url`).
pub async fn check(given: &[(&'static str, OsString)]) -> Vec<Finding> {
    let clock = SystemClock;
    let began = (clock.now(), clock.elapsed());
    let mut findings = Findings::default();
    let Some(configuration) = configuration::read(given, &mut findings) else { return findings.all() };
    let inspection = database::look(&configuration, &clock, &mut findings).await;
    keys::look(&configuration, inspection.as_ref(), &mut findings);
    roots::look(&configuration, &clock, &mut findings);
    clocks::look(inspection.as_ref(), &clock, began, &mut findings);
    disk::look(&configuration, &mut findings).await;
    modes::look(&configuration, &mut findings);
    ports::look(&configuration, inspection.as_ref(), &mut findings);
    acquirer::look(&configuration, &mut findings).await;
    findings.all()
}
