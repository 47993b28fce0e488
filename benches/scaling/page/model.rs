//! What machines carry, and what loads need.

use super::figures::{
    CLUSTER_RATE, DATABASE_CPU, DISK, EVENTS, MEASURED_CORES, NODE_CORES, OWN_NODE, PLANNED, POSTGRES_ALONE,
    POSTGRES_BYTES, RETENTION, SERVER_CORES, SERVER_CPU, SQLITE_ALONE, SQLITE_BARE, SQLITE_CPU,
};
use super::queue::Queue;

pub const DAY: f64 = 86_400.0;

/// Equal machines, or the one writer of SQLite, that payments pass: each of them through one.
struct Station {
    name: &'static str,
    machines: f64,
    queue: Queue,
}

impl Station {
    fn capacity(&self) -> f64 {
        self.machines * self.queue.capacity()
    }
}

/// Machines that carry payments together.
pub struct Arrangement {
    pub name: String,
    stations: Vec<Station>,
    /// The p99 without others, in seconds.
    alone: f64,
}

impl Arrangement {
    fn sqlite(cores: f64) -> Self {
        let processors = Queue { service: SQLITE_CPU.get(), cores };
        let writer = Queue { service: SQLITE_BARE.get().recip(), cores: 1.0 };
        Self {
            name: format!("SQLite and server, {cores} cores"),
            stations: vec![
                Station { name: "processors", machines: 1.0, queue: processors },
                Station { name: "the writer", machines: 1.0, queue: writer },
            ],
            alone: SQLITE_ALONE.get(),
        }
    }

    fn postgres(cores: f64) -> Self {
        let queue = Queue { service: SERVER_CPU.get() + DATABASE_CPU.get(), cores };
        Self {
            name: format!("PostgreSQL and server, {cores} cores"),
            stations: vec![Station { name: "processors", machines: 1.0, queue }],
            alone: POSTGRES_ALONE.get(),
        }
    }

    /// A database with as many servers as it carries.
    fn postgres_with_servers() -> Self {
        let database = Queue { service: DATABASE_CPU.get(), cores: NODE_CORES.get() };
        let server = Queue { service: SERVER_CPU.get(), cores: SERVER_CORES.get() };
        let servers = machines(database.capacity(), server.capacity());
        Self {
            name: format!("PostgreSQL, {} cores; {servers} servers of {}", database.cores, server.cores),
            stations: vec![
                Station { name: "the database", machines: 1.0, queue: database },
                Station { name: "the servers", machines: servers, queue: server },
            ],
            alone: POSTGRES_ALONE.get(),
        }
    }

    /// A cluster, with servers enough.
    fn cluster(nodes: f64) -> Self {
        let queue = Queue { service: cluster_cpu(), cores: NODE_CORES.get() };
        Self {
            name: format!("cluster, {nodes} nodes of {} cores", queue.cores),
            stations: vec![Station { name: "the nodes", machines: nodes, queue }],
            alone: cluster_alone(),
        }
    }

    fn narrowest(&self) -> Option<&Station> {
        self.stations.iter().min_by(|one, other| one.capacity().total_cmp(&other.capacity()))
    }

    /// Returns what is busy first.
    pub fn bottleneck(&self) -> &'static str {
        self.narrowest().map_or("", |station| station.name)
    }

    /// Returns the payments a second with which the bottleneck is busy for this share of the time.
    pub fn rate_at(&self, share: f64) -> f64 {
        share * self.narrowest().map_or(0.0, Station::capacity)
    }

    /// Returns the p99 there, in seconds.
    pub fn p99_at(&self, share: f64) -> f64 {
        let rate = self.rate_at(share);
        let waits = self.stations.iter().map(|station| station.queue.wait_p99(rate / station.machines));
        self.alone + waits.sum::<f64>()
    }
}

/// Returns the arrangements that the page compares.
pub fn arrangements() -> Vec<Arrangement> {
    let peak = LOADS[1].nodes_by_processors();
    vec![
        Arrangement::sqlite(2.0),
        Arrangement::sqlite(8.0),
        Arrangement::postgres(2.0),
        Arrangement::postgres(8.0),
        Arrangement::postgres(NODE_CORES.get()),
        Arrangement::postgres_with_servers(),
        Arrangement::cluster(3.0),
        Arrangement::cluster(peak),
    ]
}

/// Returns the CPU of a payment of all nodes of a cluster, in seconds: what its server has not used of the measured cores.
pub fn cluster_cpu() -> f64 {
    MEASURED_CORES.get() / CLUSTER_RATE.get() - SERVER_CPU.get()
}

/// Returns the p99 of a payment without others on a cluster, in seconds: PostgreSQL's, and the additional CPU.
fn cluster_alone() -> f64 {
    POSTGRES_ALONE.get() + cluster_cpu() - DATABASE_CPU.get()
}

/// Returns how many machines are needed, of which each has so much.
pub fn machines(needed: f64, each: f64) -> f64 {
    (needed / each).ceil().max(1.0)
}

/// Payments for a time.
pub struct Load {
    pub name: &'static str,
    /// Payments a second.
    pub rate: f64,
    pub days: f64,
}

/// The loads of the page.
pub const LOADS: [Load; 2] = [
    Load { name: "1,000 a second for a year", rate: 1_000.0, days: 365.0 },
    Load { name: "100,000 a second for an hour", rate: 100_000.0, days: 1.0 / 24.0 },
];

impl Load {
    /// Returns the number of payments.
    pub fn payments(&self) -> f64 {
        self.rate * self.days * DAY
    }

    /// Returns the cores that such a payment needs as planned: not always busy.
    pub fn cores(&self, cpu: f64) -> f64 {
        self.rate * cpu / PLANNED.get()
    }

    /// Returns the bytes that are stored at the end, where events are kept for so many days.
    pub fn stored(&self, bytes: f64, retention: f64) -> f64 {
        let rows = (1.0 - EVENTS.get()) * self.days + EVENTS.get() * self.days.min(retention);
        self.rate * DAY * bytes * rows
    }

    /// Returns the bytes in PostgreSQL at the end.
    pub fn bytes(&self) -> f64 {
        self.stored(POSTGRES_BYTES.get(), RETENTION.get())
    }

    /// Returns the bytes of all events, deleted ones too.
    pub fn all_events(&self) -> f64 {
        self.payments() * POSTGRES_BYTES.get() * EVENTS.get()
    }

    /// Returns the nodes of a cluster that the processors need.
    pub fn nodes_by_processors(&self) -> f64 {
        machines(self.cores(cluster_cpu()), NODE_CORES.get())
    }

    /// Returns the nodes of a cluster that the disk needs.
    pub fn nodes_by_disk(&self) -> f64 {
        machines(self.bytes(), DISK.get())
    }

    /// Returns the nodes of a cluster.
    pub fn nodes(&self) -> f64 {
        self.nodes_by_processors().max(self.nodes_by_disk())
    }

    /// Returns the load of an account that is a tenth of all.
    pub fn of_large_account(&self) -> Self {
        Self { name: self.name, rate: self.rate / 10.0, days: self.days }
    }

    /// Returns the share of its node's processors that an account needs.
    pub fn share_of_node(&self) -> f64 {
        self.rate / own_node().capacity()
    }

    /// Returns the p99 of an account's payments on a node that has no other account, in seconds, if the node carries them.
    pub fn p99_on_own_node(&self) -> Option<f64> {
        (self.share_of_node() < 1.0).then(|| cluster_alone() + own_node().wait_p99(self.rate))
    }
}

/// Returns the queue of a node for the payments of one of its accounts.
fn own_node() -> Queue {
    Queue { service: cluster_cpu() * OWN_NODE.get(), cores: NODE_CORES.get() }
}

/// Returns the days after which a machine's disk is full of payments that come at a rate.
pub fn days_until_full(rate: f64, bytes: f64) -> f64 {
    let payments = DISK.get() / (rate * DAY * bytes);
    let retention = RETENTION.get();
    if payments < retention { payments } else { (payments - EVENTS.get() * retention) / (1.0 - EVENTS.get()) }
}
