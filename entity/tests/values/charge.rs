//! States of charges.

use entity::charge::{ChargeState, LISTED};

#[test]
fn the_sql_condition_excludes_exactly_the_states_that_are_not_listed() {
    for &state in ChargeState::ALL {
        let excludes = LISTED.contains(&format!("state <> '{}'", state.code()));
        assert_eq!(excludes, !state.is_listed(), "{state:?}");
    }
}
