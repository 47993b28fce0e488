//! Parameters of the list of attempts.

use entity::FailureCode;
use serde::Deserialize;
use validator::Validate;

use crate::params::{ParameterTree, Params, Search};

/// The state by which a list of attempts can be filtered, besides words and days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptState {
    /// Approved by a bank, whatever became of it.
    Succeeded,
    /// Declined, or without the bank's answer.
    Declined,
    /// In flight, or waiting for the cardholder.
    Pending,
    /// The money is reserved.
    Authorised,
    /// The reservation has expired.
    Expired,
    Captured,
    Voided,
    /// Refunded, at least in part.
    Refunded,
    /// Has a dispute that is not decided.
    Disputed,
}

impl AttemptState {
    /// The words of all states.
    pub const WORDS: [&str; 9] = [
        "succeeded",
        "declined",
        "pending",
        "authorised",
        "expired",
        "captured",
        "voided",
        "refunded",
        "disputed",
    ];
}

/// The parameters of a search for attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptSearch {
    /// Words, days, order and page.
    pub search: Search,
    /// Only attempts in this state.
    pub state: Option<AttemptState>,
    /// Only attempts that failed for this reason.
    pub reason: Option<FailureCode>,
}

#[derive(Deserialize, Validate)]
struct AttemptSearchParams {
    state: Option<AttemptState>,
    reason: Option<FailureCode>,
}

impl AttemptSearch {
    /// Reads the parameters of a list that can be sorted by one of `sorts`.
    pub fn read(tree: &impl ParameterTree, sorts: &'static [&'static str]) -> Params<Self> {
        let Params { value: search, mut faults } = Search::read(tree, sorts, "created_at");
        let Params { value: AttemptSearchParams { state, reason }, faults: others } = tree.params();
        faults.append(others);
        Params { value: Self { search, state, reason }, faults }
    }
}
