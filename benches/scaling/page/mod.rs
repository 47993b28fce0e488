//! The tables of `docs/scaling.md`.

mod figures;
mod model;
mod queue;

use self::figures::{
    ACQUIRER, ALL, COPIED, DATABASE_CPU, DISK, LOG_BYTES, MEASUREMENTS, MOVED, NODE_CORES, PERMITS, PLANNED,
    POSTGRES_BYTES, SERVER_CORES, SERVER_CPU, SETTLEMENT, SQLITE_BARE, SQLITE_BYTES,
};
use self::model::{DAY, LOADS, Load, arrangements, cluster_cpu, days_until_full, machines};

/// A line of a table of loads: what it shows, and its value.
type Line = (&'static str, fn(&Load) -> String);

/// Returns all tables.
pub fn tables() -> [String; 8] {
    [figures(), fit(), capacities(), loads(), large_account(), moves(), disks(), retentions()]
}

fn figures() -> String {
    let rows = ALL.iter().map(|figure| {
        let value = [number(figure.shown()).as_str(), figure.unit].join(" ");
        [figure.name.to_owned(), value.trim_end().to_owned(), figure.source.to_owned()]
    });
    table("| figure | value | source |", rows)
}

fn fit() -> String {
    let rows = MEASUREMENTS.iter().map(|measured| {
        [
            measured.name.to_owned(),
            number(measured.rate),
            milliseconds(measured.mean()),
            milliseconds(measured.p99 / 1e3),
            number(measured.variability()),
        ]
    });
    table("| measured | a second | mean, by Little's law | p99 | variability |", rows)
}

fn capacities() -> String {
    let rows = arrangements().into_iter().map(|machines| {
        let [planned, more, most] = [PLANNED.get(), 0.8, 0.9].map(|busy| milliseconds(machines.p99_at(busy)));
        let rate = number(machines.rate_at(PLANNED.get()));
        [machines.name.clone(), machines.bottleneck().to_owned(), rate, planned, more, most]
    });
    table(
        "| machines | busy first | payments a second, half busy | p99 | 80 % busy: p99 | 90 % busy: p99 |",
        rows,
    )
}

fn loads() -> String {
    of_loads(
        "all accounts",
        &LOADS,
        &[
            ("payments, millions", |load| number(load.payments() / 1e6)),
            ("SQLite's writer is busy", |load| percent(load.rate / SQLITE_BARE.get())),
            ("servers: cores", |load| number(load.cores(SERVER_CPU.get()))),
            ("servers, by processors", |load| {
                number(machines(load.cores(SERVER_CPU.get()), SERVER_CORES.get()))
            }),
            ("servers, by payments in flight", |load| {
                number(machines(load.rate * ACQUIRER.get(), PERMITS.get()))
            }),
            ("one PostgreSQL: cores", |load| number(load.cores(DATABASE_CPU.get()))),
            ("one PostgreSQL is busy", |load| percent(load.rate * DATABASE_CPU.get() / NODE_CORES.get())),
            ("one PostgreSQL writes a log of", |load| {
                format!("{} MB/s", number(load.rate * LOG_BYTES.get() / 1e6))
            }),
            ("stored at the end", |load| volume(load.bytes())),
            ("events of the whole time, for an archive", |load| volume(load.all_events())),
            ("cluster: cores", |load| number(load.cores(cluster_cpu()))),
            ("nodes, by processors", |load| number(load.nodes_by_processors())),
            ("nodes, by disk", |load| number(load.nodes_by_disk())),
            ("nodes in all: cores", |load| number(load.nodes() * NODE_CORES.get())),
            ("nodes in all: disks", |load| volume(load.nodes() * DISK.get())),
        ],
    )
}

fn large_account() -> String {
    of_loads(
        "one account, a tenth of all",
        &LOADS.map(|load| load.of_large_account()),
        &[
            ("payments a second", |load| number(load.rate)),
            ("stored at the end, on one node", |load| volume(load.bytes())),
            ("that node's disk is full after", |load| days(days_until_full(load.rate, POSTGRES_BYTES.get()))),
            ("its processors are busy for this account", |load| percent(load.share_of_node())),
            ("p99, if it has no other account", |load| {
                load.p99_on_own_node().map_or("never".into(), milliseconds)
            }),
            ("a PostgreSQL of its own: cores", |load| number(load.cores(DATABASE_CPU.get()))),
            ("settlement of a day", |load| {
                seconds(load.rate * DAY * load.days.min(1.0) * SETTLEMENT.get() / 1e3)
            }),
        ],
    )
}

fn moves() -> String {
    let [year, peak] = &LOADS;
    let one_more = |load: &Load| load.bytes() / (load.nodes() + 1.0);
    let speed = MOVED.get();
    let rows = [
        ("a node more, after the year", one_more(year), speed),
        ("a node more, after the peak", one_more(peak), speed),
        ("the large account to another node, after the year", year.of_large_account().bytes(), speed),
        ("a full disk to its replacement", DISK.get(), speed),
        ("a full SQLite into PostgreSQL, by `copy --follow`", DISK.get(), COPIED.get() * SQLITE_BYTES.get()),
    ];
    let rows = rows.map(|(name, bytes, speed)| [name.to_owned(), volume(bytes), hours(bytes / speed)]);
    table("| what moves | rows | takes |", rows)
}

fn disks() -> String {
    let rows = [1.0, 10.0, 100.0, 1_000.0].map(|rate| {
        let full = [SQLITE_BYTES, POSTGRES_BYTES].map(|bytes| days(days_until_full(rate, bytes.get())));
        let [sqlite, postgres] = full;
        [number(rate), sqlite, postgres]
    });
    table("| payments a second | a disk is full: SQLite | PostgreSQL |", rows)
}

fn retentions() -> String {
    let year = &LOADS[0];
    let rows = [30.0, 90.0, 365.0].map(|retention| {
        let events = Load { days: retention, ..*year }.all_events();
        let stored = year.stored(POSTGRES_BYTES.get(), retention);
        [format!("{retention} days"), volume(events), volume(stored)]
    });
    table("| events are kept for | events | stored after the year |", rows)
}

fn of_loads(name: &str, loads: &[Load; 2], lines: &[Line]) -> String {
    let [one, other] = loads;
    let heading = format!("| {name} | {} | {} |", one.name, other.name);
    table(&heading, lines.iter().map(|(name, value)| [(*name).to_owned(), value(one), value(other)]))
}

fn table<const N: usize>(heading: &str, rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows = rows.into_iter().map(|row| format!("| {} |", row.join(" | ")));
    let lines: Vec<_> =
        [heading.to_owned(), format!("|{}", "---|".repeat(N))].into_iter().chain(rows).collect();
    lines.join("\n") + "\n"
}

/// Returns a number with commas, and one digit after the point if it has two before it.
fn number(value: f64) -> String {
    if value < 99.95 {
        return format!("{value:.1}").trim_end_matches(".0").to_owned();
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn percent(share: f64) -> String {
    format!("{} %", number(share * 1e2))
}

fn seconds(time: f64) -> String {
    format!("{} s", number(time))
}

fn milliseconds(time: f64) -> String {
    format!("{} ms", number(time * 1e3))
}

fn hours(time: f64) -> String {
    format!("{} hours", number(time / 3_600.0))
}

fn days(days: f64) -> String {
    if days < 1_000.0 { format!("{} days", number(days)) } else { format!("{} years", number(days / 365.0)) }
}

fn volume(bytes: f64) -> String {
    if bytes < 1e11 { format!("{} GB", number(bytes / 1e9)) } else { format!("{} TB", number(bytes / 1e12)) }
}
