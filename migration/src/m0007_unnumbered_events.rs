//! An index that SQLite prefers to others of the account, and reads in place of the table, for the events without numbers.

use crate::Step;

pub const STEP: Step = Step {
    name: "m0007_unnumbered_events",
    both: "
DROP INDEX events_without_sequence;
CREATE INDEX events_without_sequence ON events (account_id, sequence, id) WHERE sequence IS NULL;
",
    postgres: "",
    sqlite: "",
};
