//! The numbers of the database, in one place.

/// The number of units of work that one SQLite transaction groups.
pub const BATCH_UNITS_MAX: usize = 64;
/// The number of groups of units that PostgreSQL writes at once, each node of a distributed one; more units gather meanwhile.
pub const GROUPS_MAX: u8 = 2;
/// The number of units that are written in one group.
pub const GROUP_UNITS_MAX: usize = 16;
/// The number of kinds of units that are written in one group: each set of kinds is a statement of its own, to be parsed and planned.
pub const GROUP_KINDS_MAX: usize = 2;
/// The free space that a write must have needed to prove that payments can be written again: more than a batch of them.
pub const PROVING_BYTES: usize = 512 * 1024;
/// Over how many rows PostgreSQL spreads the writers of one count or balance: one hot row would cost two thirds of the
/// throughput.
pub const SLOTS: u8 = 32;
