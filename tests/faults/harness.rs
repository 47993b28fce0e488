//! Files shared with tests/it.

#![expect(dead_code, reason = "the rules need more of it than the faults")]

#[path = "../it/harness/cluster.rs"]
pub mod cluster;
#[path = "../it/harness/process.rs"]
pub mod process;
#[path = "../it/harness/random.rs"]
pub mod random;
#[path = "../it/harness/skipped.rs"]
pub mod skipped;
#[path = "../it/harness/small_disk.rs"]
pub mod small_disk;
