//! Sessions of keys at the dashboard that were signed out, which every copy of the server refuses (`docs/decisions.md`, 407).

use crate::Step;

pub const STEP: Step = Step {
    name: "m0014_ended_sessions",
    both: "
CREATE TABLE ended_sessions (
    hash BYTES NOT NULL PRIMARY KEY,
    ends_at BIGINT NOT NULL
) CLUSTERED;
CREATE INDEX ended_sessions_by_end ON ended_sessions (ends_at);
",
    postgres: "",
    sqlite: "",
};
