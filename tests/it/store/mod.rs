//! The database: its units of work, statements, files, copies and clusters.

mod backups;
mod buckets;
mod clock_jumps;
mod copies;
mod database_copies;
mod database_files;
mod distributed;
mod doubted_clocks;
mod full_disks;
mod installations;
mod laptop_to_cluster;
mod locks;
mod migrations;
pub mod query_plans;
mod sleeps;
mod sqlite;
pub mod statement_costs;
pub mod statements;
mod units;
mod vanished;
