//! Parameters of the list of webhooks (`docs/decisions.md`, 457).

use entity::event::EventType;
use serde::Deserialize;
use validator::Validate;

use crate::params::{Paging, ParameterTree, Params};

/// Which webhooks to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookSearch {
    /// Only webhooks of events of this type.
    pub r#type: Option<EventType>,
    pub paging: Paging,
}

#[derive(Deserialize, Validate)]
struct WebhookSearchParams {
    r#type: Option<EventType>,
}

impl WebhookSearch {
    /// Reads the parameters of GET /webhooks.
    pub fn read(tree: &impl ParameterTree) -> Params<Self> {
        let Params { value: params, mut faults } = tree.params::<WebhookSearchParams>();
        let paging = Paging::read(tree);
        faults.append(paging.faults);
        Params { value: Self { r#type: params.r#type, paging: paging.value }, faults }
    }
}
