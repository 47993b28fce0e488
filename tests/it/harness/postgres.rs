//! A real PostgreSQL for the tests: one server a test process, one database a test.
//!
//! The server is the one named by `CARD_PAYMENTS_TEST_POSTGRES_URL` (its user must be allowed to create databases), or a
//! throwaway cluster made from installed programs and gone with this process, see `cluster.rs`. A database is a copy of
//! a [`Template`], which costs a fraction of running the migrations again.
//!
//! `CARD_PAYMENTS_TEST_CITUS_URL` names the coordinator of a Citus cluster instead. Copying a database leaves its shards
//! behind there, and workers know the one database only, so each test has a schema of its own in it, which is prepared each time.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sea_orm::{ConnectOptions, ConnectionTrait, DatabaseConnection, DbErr};
use tokio::sync::{OnceCell, mpsc, oneshot};

use super::cluster::Cluster;
use super::raw_database::RawDatabase;
pub use super::skipped::skipped;

const URL_VARIABLE: &str = "CARD_PAYMENTS_TEST_POSTGRES_URL";
const CITUS_VARIABLE: &str = "CARD_PAYMENTS_TEST_CITUS_URL";
/// All databases of a test process start with this, so that a later process knows those that were left.
const PREFIX: &str = "card_payments_test_";

/// Returns the coordinator's address, if there is one.
fn citus() -> Option<String> {
    std::env::var(CITUS_VARIABLE).ok().filter(|url| !url.is_empty())
}

/// Returns whether tables are to be distributed.
pub fn is_distributed() -> bool {
    citus().is_some()
}

static SERVER: LazyLock<Result<Option<Server>, String>> = LazyLock::new(Server::find);

/// A database that is prepared once a process and copied for every test.
pub struct Template {
    name: &'static str,
    prepared: OnceCell<()>,
}

impl Template {
    pub const fn new(name: &'static str) -> Self {
        Self { name, prepared: OnceCell::const_new() }
    }

    /// Makes a copy of this template. `prepare` gets the URL of the empty template, runs at most once and panics where
    /// it fails. None: there is no PostgreSQL here, and the test has nothing to do.
    pub async fn database<P>(&self, prepare: impl FnOnce(String) -> P) -> Option<Database>
    where
        P: Future<Output = ()>,
    {
        let server = SERVER.as_ref().unwrap_or_else(|reason| panic!("PostgreSQL: {reason}")).as_ref()?;
        if is_distributed() {
            return Some(server.schema(prepare).await);
        }
        let template = format!("{}_{}", server.tag, self.name);
        self.prepared
            .get_or_init(async || {
                // A preparation that panicked has left its half behind.
                server.run(format!("DROP DATABASE IF EXISTS {template} WITH (FORCE)")).await;
                server.run(format!("CREATE DATABASE {template}")).await;
                prepare(server.url_of(&template)).await;
                // A database is copied only while it has no connection.
                server.run(format!("ALTER DATABASE {template} WITH ALLOW_CONNECTIONS false")).await;
                let leave = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname";
                server.run(format!("{leave} = '{template}'")).await;
            })
            .await;
        let name = format!("{}_{}", server.tag, server.made.fetch_add(1, Ordering::Relaxed));
        server.run(format!("CREATE DATABASE {name} TEMPLATE {template} {}", server.strategy)).await;
        let gone = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        Some(Database { url: server.url_of(&name), gone })
    }
}

/// The database of one test. It is dropped with this value, also under open connections: a copy takes 8 MB of disk.
pub struct Database {
    url: String,
    /// The statement that drops it.
    gone: String,
}

impl Database {
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns its address at each node: on a cluster that of the coordinator comes first.
    pub async fn node_urls(&self) -> Vec<String> {
        if !is_distributed() {
            return vec![self.url.clone()];
        }
        let nodes = "SELECT string_agg(nodename || ':' || nodeport, ' ' ORDER BY groupid) FROM pg_dist_node WHERE isactive";
        let nodes = RawDatabase::connect(&self.url).await.text(nodes).await;
        let at = |node: &str| {
            let (host, port) = node.split_once(':').unwrap();
            let mut url = url::Url::parse(&self.url).unwrap();
            url.set_host(Some(host)).unwrap();
            url.set_port(port.parse().ok()).unwrap();
            url.into()
        };
        nodes.split(' ').map(at).collect()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Ok(Some(server)) = SERVER.as_ref() {
            // Not awaited: databases that are left at the end of the process go with the cluster or the next sweep.
            drop(server.send(self.gone.clone()));
        }
    }
}

struct Server {
    url: url::Url,
    /// The beginning of the names of this process's databases.
    tag: String,
    made: AtomicU64,
    /// How databases are copied.
    strategy: &'static str,
    jobs: mpsc::UnboundedSender<Job>,
    /// Holds the pipe that keeps the cluster alive.
    _cluster: Option<Cluster>,
}

struct Job {
    sql: String,
    done: oneshot::Sender<Result<(), DbErr>>,
}

impl Server {
    fn find() -> Result<Option<Self>, String> {
        if let Some(url) = citus() {
            return Self::connect(&url, None).map(Some);
        }
        if let Some(url) = std::env::var(URL_VARIABLE).ok().filter(|url| !url.is_empty()) {
            return Self::connect(&url, None).map(Some);
        }
        let Some(cluster) = Cluster::fast()? else { return Ok(None) };
        Self::connect(&cluster.url(), Some(cluster)).map(Some)
    }

    fn connect(url: &str, cluster: Option<Cluster>) -> Result<Self, String> {
        let tag = format!("{PREFIX}{:08x}", getrandom::u32().map_err(|fault| fault.to_string())?);
        let mut options = ConnectOptions::new(url);
        let name = tag.clone();
        options
            .max_connections(1)
            .sqlx_logging(false)
            .connect_timeout(Duration::from_secs(30))
            .map_sqlx_postgres_opts(move |options| options.application_name(&name));
        let url = url::Url::parse(url).map_err(|fault| format!("{URL_VARIABLE}: {fault}"))?;
        let (jobs, waiting) = mpsc::unbounded_channel();
        let (connected, answer) = std::sync::mpsc::channel();
        // A thread and runtime of its own: a test's runtime ends with the test and takes its connections along.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                match sea_orm::Database::connect(options).await {
                    Ok(admin) => {
                        sweep(&admin).await;
                        connected.send(Ok(strategy(&admin).await)).ok();
                        administer(&admin, waiting).await;
                    }
                    Err(fault) => connected.send(Err(fault.to_string())).unwrap_or_default(),
                }
            });
        });
        let strategy = answer.recv().map_err(|fault| fault.to_string())??;
        Ok(Self { url, tag, made: AtomicU64::new(0), strategy, jobs, _cluster: cluster })
    }

    fn url_of(&self, database: &str) -> String {
        let mut url = self.url.clone();
        url.set_path(database);
        url.into()
    }

    /// Makes a schema in the cluster's one database.
    async fn schema<P: Future<Output = ()>>(&self, prepare: impl FnOnce(String) -> P) -> Database {
        // Where no test's end takes them along.
        for extension in ["pg_trgm", "btree_gin"] {
            self.run(format!("CREATE EXTENSION IF NOT EXISTS {extension} SCHEMA public")).await;
        }
        let name = format!("{}_{}", self.tag, self.made.fetch_add(1, Ordering::Relaxed));
        self.run(format!("CREATE SCHEMA {name}")).await;
        let mut url = self.url.clone();
        let options = format!("-c search_path={name},public -c citus.shard_count=2");
        url.query_pairs_mut().append_pair("options", &options);
        prepare(url.to_string()).await;
        Database { url: url.into(), gone: format!("DROP SCHEMA IF EXISTS {name} CASCADE") }
    }

    fn send(&self, sql: String) -> oneshot::Receiver<Result<(), DbErr>> {
        let (done, answer) = oneshot::channel();
        self.jobs.send(Job { sql, done }).ok();
        answer
    }

    async fn run(&self, sql: String) {
        let answer = self.send(sql.clone()).await.expect("the administering thread");
        answer.unwrap_or_else(|fault| panic!("{sql}: {fault}"));
    }
}

/// Returns the strategy of copies: copying files takes a quarter of the time of writing a copy to the log. Before PostgreSQL 15
/// there is no other way.
async fn strategy(admin: &DatabaseConnection) -> &'static str {
    let version = "SELECT 1 WHERE current_setting('server_version_num')::int >= 150000";
    let is_new =
        admin.query_one_raw(sea_orm::Statement::from_string(sea_orm::DbBackend::Postgres, version)).await;
    if is_new.is_ok_and(|row| row.is_some()) { "STRATEGY file_copy" } else { "" }
}

/// Runs one statement after the other: two copies of one template at a time would refuse each other.
async fn administer(admin: &DatabaseConnection, mut jobs: mpsc::UnboundedReceiver<Job>) {
    while let Some(Job { sql, done }) = jobs.recv().await {
        let mut answer = admin.execute_unprepared(&sql).await;
        for _ in 0..100 {
            // A terminated session takes a moment to end.
            if !answer
                .as_ref()
                .is_err_and(|fault| fault.to_string().contains("being accessed by other users"))
            {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            answer = admin.execute_unprepared(&sql).await;
        }
        done.send(answer.map(drop)).ok();
    }
}

/// Drops the databases of test processes that have ended: on a server that outlives them, nothing else does.
async fn sweep(admin: &DatabaseConnection) {
    let (names, drop, forced) = if is_distributed() {
        ("SELECT nspname AS name FROM pg_namespace", "SCHEMA", "CASCADE")
    } else {
        ("SELECT datname AS name FROM pg_database", "DATABASE", "WITH (FORCE)")
    };
    let left = format!(
        "SELECT d.name FROM ({names}) d WHERE starts_with(d.name, '{PREFIX}') AND NOT EXISTS (SELECT 1 FROM \
         pg_stat_activity a WHERE starts_with(a.application_name, '{PREFIX}') AND starts_with(d.name, a.application_name))"
    );
    let rows = admin.query_all_raw(sea_orm::Statement::from_string(sea_orm::DbBackend::Postgres, left)).await;
    for row in rows.unwrap_or_default() {
        let name: String = row.try_get("", "name").expect("a name");
        // Another process may sweep at the same time.
        admin.execute_unprepared(&format!("DROP {drop} IF EXISTS {name} {forced}")).await.ok();
    }
}

mod tests {
    use std::ffi::OsStr;
    use std::net::TcpStream;

    use super::super::cluster::{programs, unprivileged};
    use super::super::skipped::without;
    use super::*;

    static NOTES: Template = Template::new("notes");

    async fn notes() -> Option<(Database, DatabaseConnection)> {
        // There it is schemas that come and go.
        if is_distributed() {
            return None;
        }
        let database = NOTES.database(async |url| {
            let template = sea_orm::Database::connect(url).await.expect("the template");
            template.execute_unprepared("CREATE TABLE notes (n BIGINT)").await.expect("a table");
            // Left open on purpose: the copies must not mind.
            std::mem::forget(template);
        });
        let database = database.await?;
        let connection = sea_orm::Database::connect(database.url()).await.expect("a connection");
        Some((database, connection))
    }

    async fn count(connection: &DatabaseConnection, from: &str) -> i64 {
        let sql = format!("SELECT count(*) AS n FROM {from}");
        let statement = sea_orm::Statement::from_string(sea_orm::DbBackend::Postgres, sql);
        let row = connection.query_one_raw(statement).await.expect("an answer").expect("a row");
        row.try_get("", "n").expect("a count")
    }

    #[tokio::test]
    async fn databases_made_at_once_are_copies_of_the_template_and_know_nothing_of_each_other() {
        let made = futures::future::join_all((0..6).map(|_| notes())).await;
        for (_, connection) in made.iter().flatten() {
            connection.execute_unprepared("INSERT INTO notes VALUES (1)").await.unwrap();
            assert_eq!(count(connection, "notes").await, 1);
        }
    }

    #[tokio::test]
    async fn a_database_ends_with_its_test_even_while_connected() {
        let (Some((first, open)), Some((_second, watching))) = (notes().await, notes().await) else { return };
        let name = first.url().rsplit('/').next().expect("a path");
        let there = format!("pg_database WHERE datname = '{name}'");
        assert_eq!(count(&watching, &there).await, 1);
        drop(first);
        // The administering thread works in order: when it has made one more, it has dropped ours.
        drop(notes().await);
        assert_eq!(count(&watching, &there).await, 0);
        drop(open);
    }

    #[tokio::test]
    async fn a_process_drops_what_ended_processes_left_and_nothing_else() {
        let Some((_ours, connection)) = notes().await else { return };
        connection.execute_unprepared(&format!("CREATE DATABASE {PREFIX}left_7")).await.unwrap();
        sweep(&connection).await;
        assert_eq!(count(&connection, &format!("pg_database WHERE datname = '{PREFIX}left_7'")).await, 0);
        assert_eq!(count(&connection, "notes").await, 0);
    }

    #[test]
    fn a_cluster_ends_when_its_pipe_closes() {
        let Some(mut cluster) = Cluster::fast().unwrap() else { return };
        let address = ("127.0.0.1", cluster.port);
        assert!(TcpStream::connect(address).is_ok());
        drop(cluster.watcher.stdin.take());
        assert!(cluster.watcher.wait().unwrap().success());
        assert!(TcpStream::connect(address).is_err());
    }

    #[test]
    fn the_programs_are_found_on_path_and_where_packages_put_them() {
        let root = tempfile::tempdir().unwrap();
        let install = |folder: &str, names: &[&str]| {
            let folder = root.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            for name in names {
                std::fs::write(folder.join(name), "").unwrap();
            }
            folder
        };
        assert_eq!(programs(OsStr::new(""), root.path()), None);
        install("usr/lib/postgresql/9/bin", &["initdb", "pg_ctl", "postgres"]);
        let newest = install("usr/lib/postgresql/17/bin", &["initdb", "pg_ctl", "postgres"]);
        install("usr/lib/postgresql/18/bin", &["initdb"]);
        assert_eq!(programs(OsStr::new(""), root.path()), Some(newest.canonicalize().unwrap()));
        let own = install("own", &["initdb", "pg_ctl", "postgres"]);
        assert_eq!(programs(own.as_os_str(), root.path()), Some(own.canonicalize().unwrap()));
    }

    #[test]
    fn root_hands_the_server_to_postgres_or_else_to_nobody() {
        let accounts = "root:x:0:0::/:/bin/sh\nnobody:x:65534:65533::/:/bin/false\n";
        assert_eq!(unprivileged(accounts), Some((65534, 65533)));
        assert_eq!(unprivileged(&format!("{accounts}postgres:x:101:104::/:/bin/sh\n")), Some((101, 104)));
        assert_eq!(unprivileged("root:x:0:0::/:/bin/sh\n"), None);
    }

    #[test]
    fn a_missing_program_is_a_failure_in_ci_only() {
        assert!(
            without("no PostgreSQL, so the tests on it are skipped", Some("true"))
                .unwrap_err()
                .contains("and CI=true wants the tests on it")
        );
        assert!(without("no PostgreSQL, so the tests on it are skipped", None).is_ok());
    }
}
