//! Parameters of lists that may be waited for (`docs/decisions.md`, 372).

use std::time::Duration;

use serde::Deserialize;
use validator::Validate;

use super::{ParameterTree, Params};
use crate::limits::{WAIT_COUNT_MAX, WAIT_SECONDS_MAX};

/// The number of records that a client waits for, and the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// The number of records that must match.
    pub count: u64,
    /// The longest time to wait for them.
    pub wait: Duration,
}

#[derive(Deserialize, Validate)]
struct WaitingParams {
    #[validate(range(min = 1, max = WAIT_COUNT_MAX))]
    count: Option<i64>,
    #[validate(range(min = 0, max = WAIT_SECONDS_MAX))]
    wait: Option<i64>,
}

impl Waiting {
    /// Reads `count` and `wait`.
    pub fn read(tree: &impl ParameterTree) -> Params<Self> {
        let Params { value, faults } = tree.params::<WaitingParams>();
        let number = |number: Option<i64>, absent| number.map_or(absent, i64::unsigned_abs);
        let waiting =
            Self { count: number(value.count, 1), wait: Duration::from_secs(number(value.wait, 0)) };
        Params { value: waiting, faults }
    }
}
