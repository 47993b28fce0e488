//! The sessions of people who sign in at the dashboard. They belong to the operator, not to an account (`docs/decisions.md`, 386).

use crate::Step;

pub const STEP: Step = Step {
    name: "m0009_people",
    both: "
CREATE TABLE person_sessions (
    hash BYTES NOT NULL PRIMARY KEY,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    roles TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX person_sessions_of_person ON person_sessions (subject, issuer);
CREATE INDEX person_sessions_by_end ON person_sessions (ends_at);
",
    postgres: "",
    sqlite: "",
};
