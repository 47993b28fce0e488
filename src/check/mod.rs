//! `card-payments check`: checks the operator's configuration, the machine and the database as a server would use them.
//! Each part reports its findings, errors, and how to fix them. A check changes nothing: it creates no directory, key
//! or schema, and disturbs no running server.

mod acquirer;
mod clocks;
mod configuration;
mod database;
mod disk;
mod findings;
mod keys;
mod modes;
mod people;
mod ports;
mod roots;
mod system;

use std::ffi::OsString;

use self::findings::Findings;
pub use self::findings::{Area, Finding, Level};
use base::clock::{Clock, SystemClock};

/// Runs every check. `given` stands for variables of the environment, by the names that their options have
/// (`database_url`).
pub async fn check(given: &[(&'static str, OsString)]) -> Vec<Finding> {
    let clock = SystemClock;
    let began = (clock.now(), clock.elapsed());
    let mut findings = Findings::default();
    let Some(configuration) = configuration::read(given, &mut findings) else { return findings.all() };
    let inspection = database::check(&configuration, &clock, &mut findings).await;
    keys::check(&configuration, inspection.as_ref(), &mut findings).await;
    roots::check(&configuration, &clock, &mut findings);
    clocks::check(inspection.as_ref(), &clock, began, &mut findings);
    disk::check(&configuration, &mut findings).await;
    modes::check(&configuration, &mut findings);
    ports::check(&configuration, inspection.as_ref(), &mut findings);
    acquirer::check(&configuration, &mut findings).await;
    people::check(&configuration, &mut findings).await;
    system::check(&mut findings);
    findings.all()
}
