//! A real PostgreSQL database beside the machine, for several servers. Its histories do not repeat byte for byte.

use std::sync::OnceLock;

use sea_orm::{ConnectOptions, ConnectionTrait};
use tokio::runtime::Builder;

use crate::harness::cluster::Cluster;

const URL_VARIABLE: &str = "CARD_PAYMENTS_TEST_POSTGRES_URL";
/// The tests drop databases of this name that a process has left.
const PREFIX: &str = "card_payments_test_simulation_";

/// Holds the pipe that keeps a throwaway cluster alive.
static CLUSTER: OnceLock<Cluster> = OnceLock::new();

/// Returns the address of a server: the one that a variable names, or a throwaway one that ends with this process.
pub fn server() -> String {
    if let Some(url) = std::env::var(URL_VARIABLE).ok().filter(|url| !url.is_empty()) {
        return url;
    }
    let cluster = CLUSTER.get_or_init(|| Cluster::fast().unwrap().expect("PostgreSQL is installed"));
    cluster.url()
}

/// The name of the variable by which a process finds the server of the one that has started it.
pub const fn variable() -> &'static str {
    URL_VARIABLE
}

/// A database that is empty at first.
pub struct Database {
    server: String,
    name: String,
}

impl Database {
    /// Makes one before the machine starts, and lets the machine's threads through to it.
    pub fn create() -> Self {
        let name = format!("{PREFIX}{:08x}", getrandom::u32().unwrap());
        let database = Self { server: server(), name };
        let create = database.run(format!("CREATE DATABASE {}", database.name));
        std::thread::scope(|scope| {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            scope.spawn(move || runtime.block_on(create)).join().unwrap();
        });
        let url = url::Url::parse(&database.server).unwrap();
        simulated_machine::admit(url.port().unwrap_or(5432));
        database
    }

    pub fn url(&self) -> String {
        let mut url = url::Url::parse(&self.server).unwrap();
        url.set_path(&self.name);
        // The machine reads along, to know when an answer is due.
        url.query_pairs_mut().append_pair("sslmode", "disable");
        url.into()
    }

    /// Drops it under open connections.
    pub async fn remove(&self) {
        self.run(format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)).await;
    }

    async fn run(&self, sql: String) {
        let mut options = ConnectOptions::new(format!("{}?sslmode=disable", self.server));
        options.max_connections(1).sqlx_logging(false);
        let connection = sea_orm::Database::connect(options).await.unwrap();
        connection.execute_unprepared(&sql).await.unwrap();
        connection.close().await.unwrap();
    }
}
