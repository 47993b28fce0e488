//! What a request for approval shows besides its parameters: an approval is of that (`docs/decisions.md`, 406).

use crate::Step;

pub const STEP: Step = Step {
    name: "m0013_approval_facts",
    both: "
ALTER TABLE approvals ADD COLUMN facts TEXT;
",
    postgres: "",
    sqlite: "",
};
