//! Checks clocks. Leases, keys and links end by the wall clock, so it must not go back, nor differ from other servers'. One that was
//! set far, or went on while no server ran, is doubted for a while (`docs/decisions.md`, 404).

use std::time::Duration;

use base::clock::Clock;
use base::trusted_clock::ClockRecord;
use entity::Timestamp;
use store::{DatabaseKind, Inspection};

use super::findings::{Area, Findings};
use crate::limits::SETTLE_AFTER;

/// Far more than the difference between two machines that are set by the network.
const APART_MILLIS: i64 = 1000;
const CONFIRM: &str = "nothing, if no server ran meanwhile; otherwise set the clock, or confirm that it is right: card-payments clock confirm";
const REMEDY: &str = "synchronise the machine's clock over the network (chrony, systemd-timesyncd)";

/// Checks the clocks. `began`: the wall clock and the elapsed time at the start of the check.
pub fn check(
    inspection: Option<&Inspection>,
    clock: &dyn Clock,
    began: (Timestamp, Duration),
    findings: &mut Findings,
) {
    findings.begin_area(Area::Clock);
    let (now, passed) = (clock.now(), clock.elapsed().saturating_sub(began.1));
    let passed = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
    if (now - began.0).millis().abs_diff(passed) > APART_MILLIS.unsigned_abs() {
        findings.warning("the clock was set during the check", REMEDY);
    }
    let Some(inspection) = inspection else { return };
    if let Some(made) = inspection.youngest_key.filter(|made| *made > now) {
        findings.wrong(format!("it is {now}, but the database's newest key was made at {made}"), REMEDY);
    }
    let record = inspection.found.clock.as_deref().and_then(ClockRecord::parse);
    if let Some(doubt) = record.and_then(|record| record.doubt(now)) {
        findings.warning(doubt.to_string(), CONFIRM);
    }
    match &inspection.kind {
        DatabaseKind::Postgres(server) => {
            let ahead = server.ahead.millis();
            let apart = ahead.saturating_abs() - server.give_or_take.millis();
            let text = format!("the database's clock is {} seconds ahead of this machine's", ahead / 1000);
            if apart > SETTLE_AFTER.millis() {
                findings.wrong(text, REMEDY);
            } else if apart > APART_MILLIS {
                findings.warning(text, REMEDY);
            }
        }
        DatabaseKind::Sqlite(_) => {}
    }
    if findings.is_silent() {
        findings.ok(format!("it is {now}"));
    }
}
