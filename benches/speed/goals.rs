//! Goals.

use super::database::Kind;
use super::lines::{
    ALONE, BARE, BINARY, CHARGE, COPIES, CUSTOMER, EMPTY_ROUTE, FLUSH, IDLE, KEYED, LOCK_WAITS, START,
};
use super::report::Wanted::{AtLeast, AtMost};
use super::report::{Figure, Report};

/// Prints whether each measured goal is met.
pub fn judge(kind: Kind, report: &mut Report) {
    let on = kind.name();
    let is_sqlite = kind == Kind::Sqlite;
    let (charge_share, get_share) = if is_sqlite { (80, 40) } else { (115, 20) };
    for (name, of, share) in
        [(CHARGE, BARE[0], charge_share), (CUSTOMER, BARE[1], charge_share), ("get", EMPTY_ROUTE, get_share)]
    {
        if let Some(is) = report.is_part(on, name, of) {
            report.goal(on, format!("{name}, of {of}"), is, AtLeast(share), "%");
        }
    }
    if let Some(is) = report.is_part(on, KEYED, CHARGE) {
        report.goal(on, "keyed, of charge", is, AtLeast(90), "%");
    }
    let figure = |name| report.figure(on, name).cloned();
    let fact = |name| report.value(on, name);
    let (charge, get, alone, flush) = (figure(CHARGE), figure("get"), figure(ALONE), figure(FLUSH));
    let (list, copies) = (figure("list"), figure(COPIES));
    let searches = ["word", "token"].map(|name| (name, figure(name)));
    let start = if is_sqlite { 40 } else { 150 };
    let limits = [(START, start, "ms"), (IDLE, 20_000, "kB"), (BINARY, 25_000, "kB"), (LOCK_WAITS, 0, "")];
    let limits = limits.map(|(name, most, unit)| (name, fact(name), most, unit));

    if let Some(charge) = &charge {
        report.goal(on, "charge, p99", charge.p99_us, AtMost(15_000), "us");
    }
    if let Some(list) = list {
        report.goal(on, "list, a second", list.per_second, AtLeast(5_000), "");
    }
    for (name, search) in searches {
        if let (Some(search), Some(get)) = (search, &get) {
            report.goal(
                on,
                format!("search by {name}, p99"),
                search.p99_us,
                AtMost(3 * get.p99_us),
                "us: three of get",
            );
        }
    }
    if let (Some(alone), Some(flush)) = (alone, flush) {
        let wanted = AtMost(flush.p50_us + 1_000);
        report.goal(on, "alone, p50", alone.p50_us, wanted, "us: a flush and a millisecond");
    }
    if let (Some(copies), Some(charge)) = (copies, charge) {
        let cpu = |figure: &Figure| figure.cpu_us + figure.database_cpu_us;
        let is = cpu(&copies) * 100 / cpu(&charge).max(1);
        report.goal(on, "two copies, CPU of one", is, AtMost(115), "%");
    }
    for (name, is, most, unit) in limits {
        if let Some(is) = is {
            report.goal(on, name, is, AtMost(most), unit);
        }
    }
}
