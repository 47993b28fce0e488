//! Restricted API keys (`docs/decisions.md`, 382).

use crate::Step;

pub const STEP: Step = Step {
    name: "m0004_restricted_keys",
    both: "
ALTER TABLE api_keys ADD COLUMN id UUID;
ALTER TABLE api_keys ADD COLUMN restriction TEXT;
DROP INDEX api_keys_of_account;
CREATE INDEX api_keys_of_account ON api_keys (account_id, id);
",
    postgres: "",
    sqlite: "",
};
