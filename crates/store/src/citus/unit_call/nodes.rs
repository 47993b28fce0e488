//! The nodes that hold rows, each with connections of its own: a call to the node of its accounts makes no detour through the
//! coordinator. Every node knows where all rows lie, so a call to another one is right, and only slower.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base::mutex::lock;
use base::request_context::detach;
use futures::future::join_all;
use sea_orm::{ConnectionTrait, Database, DbBackend, DbErr, Statement};
use tokio::time::timeout;

use super::has_function;
use crate::connect::{OF_PLANS, POSTGRES_CACHED, TIMEOUTS, options};
use crate::limits::GROUPS_MAX;
use crate::postgres::pool::{PostgresPool, Transaction};

/// Names the server that answers: its group of nodes, and its start. Elsewhere, a node's address may lead to another server.
const IDENTITY: &str = "SELECT concat_ws(' ', groupid, extract(epoch FROM pg_postmaster_start_time())) AS result FROM pg_dist_local_group";

/// The time for which the nodes and the places of shards are taken for known.
const KNOWN_FOR: Duration = Duration::from_mins(1);
/// The same while a node is not reached directly.
const RETRIED_AFTER: Duration = Duration::from_secs(10);
/// The time that a node may take to accept a connection, and to answer.
const NODE_TIMEOUT: Duration = Duration::from_secs(2);

/// Connections to a node: few, because each one's session prepares the statements of every shard.
const CALLS_MAX: u8 = 2 * GROUPS_MAX;

/// Returns the connections of calls, which connect when they are first needed: to the coordinator, or to a node, which takes the
/// user, the database and all else as the coordinator does.
async fn connections(url: &str, node: Option<(String, u16)>) -> Result<PostgresPool, DbErr> {
    let mut options = options(url, CALLS_MAX.into());
    if node.is_some() {
        options.acquire_timeout(NODE_TIMEOUT);
    }
    options.connect_lazy(true).map_sqlx_postgres_opts(move |postgres| {
        let postgres = postgres.options(TIMEOUTS).options(OF_PLANS).statement_cache_capacity(POSTGRES_CACHED);
        match &node {
            Some((host, port)) => postgres.host(host).port(*port),
            None => postgres,
        }
    });
    Ok(PostgresPool::new(Database::connect(options).await?, CALLS_MAX.into(), Arc::default()))
}

/// The nodes of a distributed database.
pub(super) struct Nodes {
    url: String,
    /// Of the node that the configured address names: mostly the coordinator.
    coordinator: PostgresPool,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// By their groups.
    reached: HashMap<i32, Node>,
    /// The addresses at which the coordinator reaches a node, and this server does not.
    unreached: BTreeSet<String>,
    checked_next: Option<Instant>,
}

#[derive(Clone)]
struct Node {
    host: String,
    port: u16,
    connections: PostgresPool,
}

impl Node {
    fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Returns the node's group if the server that the coordinator means answers here, and has the function; the reason if not.
    async fn group(&self, identity: &str) -> Result<i32, String> {
        let answers = async {
            let query = Statement::from_string(DbBackend::Postgres, IDENTITY);
            let row = self.connections.query_one_raw(query).await?;
            let answer = row.map(|row| row.try_get::<String>("", "result")).transpose()?;
            Ok::<_, DbErr>((answer, has_function(&self.connections).await?))
        };
        let answers = timeout(NODE_TIMEOUT, answers).await.map_err(|_| "it does not answer".to_owned())?;
        let (answer, has_function) = answers.map_err(|error| error.to_string())?;
        if answer.as_deref() != Some(identity) {
            return Err("another server answers".to_owned());
        }
        if !has_function {
            return Err("it lacks the function".to_owned());
        }
        identity
            .split(' ')
            .next()
            .and_then(|group| group.parse().ok())
            .ok_or_else(|| "it has no group".to_owned())
    }
}

impl Nodes {
    pub async fn connect(url: &str) -> Result<Self, DbErr> {
        let coordinator = connections(url, None).await?;
        Ok(Self { url: url.to_owned(), coordinator, known: Mutex::default() })
    }

    pub fn coordinator(&self) -> &PostgresPool {
        &self.coordinator
    }

    /// Returns a transaction of a group's node; of the coordinator while that node is not reached.
    pub async fn transaction(&self, group: i32) -> Result<Transaction, DbErr> {
        let node = lock(&self.known).reached.get(&group).cloned();
        if let Some(node) = node {
            match node.connections.transaction().await {
                Ok(transaction) => return Ok(transaction),
                Err(error) => {
                    tracing::debug!(%error, node = node.address(), "a node of the database is lost");
                    let mut known = lock(&self.known);
                    known.reached.remove(&group);
                    known.checked_next = None;
                }
            }
        }
        self.coordinator.transaction().await
    }

    /// Begins to check which nodes there are, if it is time. Returns whether it is: shards may have moved as well.
    pub fn check_when_due(self: &Arc<Self>) -> bool {
        let now = Instant::now();
        let mut known = lock(&self.known);
        let is_due = known.checked_next.is_none_or(|next| next <= now);
        if is_due {
            known.checked_next = Some(now + KNOWN_FOR);
            let nodes = Arc::clone(self);
            tokio::spawn(detach(async move {
                let checked = nodes.check().await;
                if !checked.is_ok_and(|all| all) {
                    lock(&nodes.known).checked_next = Some(Instant::now() + RETRIED_AFTER);
                }
            }));
        }
        is_due
    }

    /// Connects to each node, and returns whether all are reached.
    async fn check(&self) -> Result<bool, DbErr> {
        // Active primary nodes, but for the coordinator.
        let sql = format!(
            "SELECT nodename::text AS host, nodeport AS port, CASE WHEN success THEN result END AS identity \
             FROM run_command_on_workers($identity${IDENTITY}$identity$)"
        );
        let rows = self.coordinator.query_all_raw(Statement::from_string(DbBackend::Postgres, sql)).await?;
        let mut nodes = Vec::new();
        for row in &rows {
            // Without an identity the worker is away for the coordinator as well.
            if let Some(identity) = row.try_get::<Option<String>>("", "identity")? {
                let port = u16::try_from(row.try_get::<i32>("", "port")?).unwrap_or_default();
                nodes.push((self.node(row.try_get("", "host")?, port).await?, identity));
            }
        }
        let groups = join_all(nodes.iter().map(|(node, identity)| node.group(identity))).await;
        let mut known = lock(&self.known);
        let (mut reached, mut unreached) = (HashMap::new(), BTreeSet::new());
        for ((node, _), group) in nodes.into_iter().zip(groups) {
            let address = node.address();
            let was_unreached = known.unreached.contains(&address);
            match group {
                Ok(group) => {
                    if was_unreached {
                        tracing::info!(node = address, "a node of the database is reached directly again");
                    }
                    reached.insert(group, node);
                }
                Err(why) => {
                    if !was_unreached {
                        tracing::warn!(
                            node = address,
                            why,
                            "a node of the database is not reached directly: payments go to it through the coordinator"
                        );
                    }
                    unreached.insert(address);
                }
            }
        }
        let all = reached.len() == rows.len();
        (known.reached, known.unreached) = (reached, unreached);
        Ok(all)
    }

    /// Returns the node at an address, with the connections that it has.
    async fn node(&self, host: String, port: u16) -> Result<Node, DbErr> {
        let known = {
            let known = lock(&self.known);
            known.reached.values().find(|node| node.host == host && node.port == port).cloned()
        };
        if let Some(node) = known {
            return Ok(node);
        }
        let connections = connections(&self.url, Some((host.clone(), port))).await?;
        Ok(Node { host, port, connections })
    }
}
