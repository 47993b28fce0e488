//! Parameters of the search for subscriptions.

use entity::subscription::SubscriptionState;
use serde::Deserialize;
use validator::Validate;

use crate::params::{ParameterTree, Params, Search};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionSearch {
    /// Words, days and page.
    pub search: Search,
    /// Only subscriptions in this state.
    pub state: Option<SubscriptionState>,
}

#[derive(Deserialize, Validate)]
struct SubscriptionSearchParams {
    state: Option<SubscriptionState>,
}

impl SubscriptionSearch {
    pub fn read(tree: &impl ParameterTree) -> Params<Self> {
        let Params { value: search, mut faults } = Search::read(tree, &[], None);
        let Params { value: SubscriptionSearchParams { state }, faults: others } = tree.params();
        faults.append(others);
        Params { value: Self { search, state }, faults }
    }
}
