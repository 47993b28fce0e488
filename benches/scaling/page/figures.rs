//! What was measured and what is assumed. The page shows each with its source.

/// A figure, and where it is from.
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
    pub unit: &'static str,
    pub source: &'static str,
}

impl Figure {
    /// A time in microseconds, as seconds.
    pub fn seconds(&self) -> f64 {
        self.value / 1_000_000.0
    }
}

const COSTS: &str = "[performance](performance.md#what-one-post-1charges-costs)";
const FIGURES: &str = "[performance](performance.md#figures)";
const CITUS: &str = "[below](#a-cluster)";
const ASSUMED: &str = "assumed";

macro_rules! figures {
    ($($id:ident $name:literal $value:literal $unit:literal $source:expr;)*) => {
        $(pub static $id: Figure = Figure { name: $name, value: $value as f64, unit: $unit, source: $source };)*
        pub static ALL: &[&Figure] = &[$(&$id),*];
    };
}

figures! {
    SQLITE "CPU of a payment, SQLite" 286 "us" COSTS;
    WRITER "of that, its one writer: a bare charge" 111 "us" COSTS;
    SERVER "CPU of a payment, PostgreSQL: server" 392 "us" COSTS;
    DATABASE "the same: database" 367 "us" COSTS;
    ALONE "one caller, p99" 4.5 "ms" FIGURES;
    CLUSTER "CPU of a payment, Citus: all nodes" 11_240 "us" CITUS;
    SQLITE_BYTES "disk of a payment, SQLite" 3_200 "bytes" COSTS;
    BYTES "disk of a payment, PostgreSQL" 4_200 "bytes" COSTS;
    EVENT_SHARE "of that, events" 33 "%" "[performance](performance.md#one-machine)";
    RETENTION "events are kept" 90 "days" "[operating](operating.md)";
    NODE_CORES "cores of a node" 64 "" ASSUMED;
    SERVER_CORES "cores of a server" 8 "" ASSUMED;
    NODE_DISK "disk of a node, used to two thirds" 16 "TB" ASSUMED;
    MOVED "rows that move between nodes" 100 "MB/s" ASSUMED;
    PEAK "a sale's peak lasts" 1 "hours" ASSUMED;
    PLACED "of a cluster's CPU, the node with the rows" 50 "%" ASSUMED;
}

/// Measured response times: 16 callers, two cores, a closed loop.
pub const FITTED: [(&str, f64, f64); 4] = [
    ("SQLite, 23 November", 4_028.0, 10.0),
    ("PostgreSQL, 23 November", 1_760.0, 20.5),
    ("SQLite, 25 November", 4_682.0, 7.7),
    ("PostgreSQL, 25 November", 2_085.0, 15.6),
];
