//! Numbers events within their account, in the order in which they became visible (`docs/decisions.md`, 374).

use crate::Step;

pub const STEP: Step = Step {
    name: "m0002_event_sequences",
    both: include_str!("m0002_event_sequences.sql"),
    postgres: "",
    sqlite: "",
};
