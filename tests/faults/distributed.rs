//! A distributed database: a coordinator and two workers, each a PostgreSQL of its own that may be killed.

use std::process::Command;

use entity::AccountToken;

use crate::harness::cluster::Cluster;

/// A shard of the accounts, with the rows of these accounts in all tables.
#[derive(Debug, Clone, Copy)]
pub struct Shard {
    pub id: i64,
    /// The worker that has it.
    pub worker: usize,
}

/// The nodes.
pub struct Distributed {
    coordinator: Cluster,
    pub workers: [Cluster; 2],
}

impl Distributed {
    /// Starts the nodes. None where Citus is not installed.
    pub fn new() -> Option<Self> {
        let new = Self { coordinator: Cluster::node()?, workers: [Cluster::node()?, Cluster::node()?] };
        let Self { coordinator, workers } = &new;
        for node in workers.iter().chain([coordinator]) {
            node.run("CREATE EXTENSION citus").unwrap();
        }
        coordinator.run(&format!("SELECT citus_set_coordinator_host({})", address(coordinator))).unwrap();
        for worker in workers {
            coordinator.run(&format!("SELECT citus_add_node({})", address(worker))).unwrap();
        }
        Some(new)
    }

    pub fn url(&self) -> String {
        // The extension makes a certificate that our TLS refuses.
        self.coordinator.url() + "?sslmode=disable"
    }

    /// Returns the shards, by their ids.
    pub fn shards(&self) -> Vec<Shard> {
        let sql = "SELECT shardid, nodeport FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) \
                   JOIN pg_dist_node USING (groupid) WHERE logicalrelid = 'accounts'::regclass ORDER BY shardid";
        let shard = |line: String| {
            let (id, port) = line.split_once('|').unwrap();
            let worker = self.workers.iter().position(|worker| worker.port.to_string() == port);
            Shard { id: id.parse().unwrap(), worker: worker.unwrap() }
        };
        self.coordinator.run(sql).unwrap().into_iter().map(shard).collect()
    }

    /// Returns the id of the shard that an account is in.
    pub fn shard_of(&self, account: AccountToken) -> i64 {
        let account = account.id();
        let sql = format!("SELECT get_shard_id_for_distribution_column('accounts', '{account}'::uuid)");
        self.coordinator.run(&sql).unwrap()[0].parse().unwrap()
    }

    /// Returns how many sessions have lately sent a call to each worker itself, and how many to another node.
    pub fn calls(&self) -> ([u32; 2], u32) {
        let count = |node: &Cluster, condition: &str| -> u32 {
            let sql = format!(
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%write_unit(%' AND pid <> pg_backend_pid() \
                 AND query_start > now() - interval '2 seconds' AND {condition}"
            );
            node.run(&sql).unwrap()[0].parse().unwrap()
        };
        // A node gives the sessions that it begins on others such names.
        let internal = "application_name LIKE 'citus_internal%'";
        let direct = self.workers.each_ref().map(|worker| count(worker, &format!("NOT {internal}")));
        let delegated = self.workers.iter().map(|worker| count(worker, internal)).sum::<u32>();
        (direct, delegated + count(&self.coordinator, "true"))
    }

    /// Returns a program that moves a shard to the other worker, with the accounts' rows in all tables.
    pub fn moving(&self, shard: Shard) -> Command {
        let [from, to] = [shard.worker, 1 - shard.worker].map(|worker| address(&self.workers[worker]));
        let id = shard.id;
        let sql = format!("SELECT citus_move_shard_placement({id}, {from}, {to}, 'force_logical')");
        self.coordinator.psql(&sql)
    }
}

fn address(node: &Cluster) -> String {
    format!("'127.0.0.1', {}", node.port)
}
