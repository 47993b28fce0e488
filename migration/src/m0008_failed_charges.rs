//! What the dashboard counts and lists: the charges that failed lately, and the accounts that one has made.

use crate::Step;

pub const STEP: Step = Step {
    name: "m0008_failed_charges",
    both: "
CREATE INDEX charges_failed ON charges (account_id, created_at, failure)
    WHERE state = 'failed' AND origin <> 'authorisation';
CREATE INDEX accounts_made ON accounts (made_by, id) WHERE made_by IS NOT NULL;
",
    postgres: "",
    sqlite: "",
};
