//! The figures of the model, measured or assumed: the only place where they are written. The page shows each with its source.

/// A figure, and its source.
#[derive(Clone, Copy)]
pub struct Figure {
    pub name: &'static str,
    value: f64,
    pub unit: &'static str,
    pub source: &'static str,
}

impl Figure {
    /// Returns the value in its unit.
    pub const fn shown(self) -> f64 {
        self.value
    }

    /// Returns the value in seconds, bytes, or shares of one.
    pub fn get(self) -> f64 {
        let unit = match self.unit {
            "us" => 1e-6,
            "ms" | "ms a thousand charges" => 1e-3,
            "%" => 1e-2,
            "hours" => 3_600.0,
            "MB/s" => 1e6,
            "TB" => 1e12,
            _ => 1.0,
        };
        self.value * unit
    }
}

/// A measured line charge: all cores are busy, and each caller sends again after each response.
pub struct Measurement {
    pub name: &'static str,
    pub rate: f64,
    /// In milliseconds.
    pub p99: f64,
}

const COSTS: &str = "[performance](performance.md#what-one-post-1charges-costs)";
const LINES: &str = "[measured](measuring.md#how-to-measure) on 26 November 2026";
const GROWTH: &str = "[performance](performance.md#how-it-grows)";
const MACHINE: &str = "[performance](performance.md#one-machine)";
const OVERLOAD: &str = "[configure](operating/configure.md#overload)";
const CONFIGURATION: &str = "[configure](operating/configure.md#configuration)";
const COPY: &str = "[copying](operating/laptop-to-cluster.md#copying)";
const CLUSTER: &str = "[below](#a-cluster)";
const CARRY: &str = "[below](#what-machines-carry)";
const ASSUMED: &str = "assumed";

macro_rules! figures {
    ($($id:ident = $value:literal $unit:literal, $name:literal, $source:expr;)*) => {
        $(pub const $id: Figure = Figure { name: $name, value: $value, unit: $unit, source: $source };)*
        pub const ALL: &[Figure] = &[$($id),*];
    };
}

figures! {
    MEASURED_CORES = 2.0 "", "cores of the machine that was measured, clients included", LINES;
    CALLERS = 16.0 "", "callers there", LINES;
    SQLITE_CPU = 277.0 "us", "CPU of a payment, SQLite", LINES;
    SQLITE_BARE = 8_443.0 "a second", "bare charges, which SQLite's one writer makes", LINES;
    SQLITE_ALONE = 3.6 "ms", "one caller, p99, SQLite", LINES;
    SERVER_CPU = 238.0 "us", "CPU of a payment, PostgreSQL: the server's", LINES;
    DATABASE_CPU = 351.0 "us", "the same: the database's", LINES;
    POSTGRES_ALONE = 4.6 "ms", "one caller, p99, PostgreSQL", LINES;
    CLUSTER_RATE = 1457.0 "a second", "payments on a cluster on the same cores", CLUSTER;
    SQLITE_BYTES = 3_200.0 "bytes", "disk of a payment, SQLite", COSTS;
    POSTGRES_BYTES = 4_200.0 "bytes", "disk of a payment, PostgreSQL", COSTS;
    LOG_BYTES = 6_600.0 "bytes", "log (WAL) of a payment, PostgreSQL", CARRY;
    EVENTS = 33.0 "%", "of that, events", MACHINE;
    RETENTION = 90.0 "days", "events are kept for", CONFIGURATION;
    SETTLEMENT = 5.7 "ms a thousand charges", "settlement of an account's day, PostgreSQL", GROWTH;
    COPIED = 3_700.0 "a second", "charges copied from SQLite to PostgreSQL", COPY;
    PERMITS = 768.0 "", "payments in flight that a server takes", OVERLOAD;
    PLANNED = 50.0 "%", "of the processors are planned to be busy", MACHINE;
    ACQUIRER = 300.0 "ms", "the acquirer answers after", ASSUMED;
    NODE_CORES = 64.0 "", "cores of a database machine", ASSUMED;
    SERVER_CORES = 8.0 "", "cores of a server's machine", ASSUMED;
    DISK = 10.0 "TB", "rows on the disk of a machine", ASSUMED;
    MOVED = 100.0 "MB/s", "rows that a machine sends or takes", ASSUMED;
    OWN_NODE = 50.0 "%", "of a cluster's CPU for a payment, the node with its rows", ASSUMED;
}

/// What the model is fitted to.
pub const MEASUREMENTS: [Measurement; 4] = [
    Measurement { name: "SQLite, made for size", rate: 5_225.0, p99: 6.2 },
    Measurement { name: "SQLite, made for speed", rate: 4_844.0, p99: 10.9 },
    Measurement { name: "PostgreSQL, made for size", rate: 2_182.0, p99: 14.3 },
    Measurement { name: "PostgreSQL, made for speed", rate: 2_582.0, p99: 14.9 },
];
