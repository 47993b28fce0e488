//! The states of a provider, which verifiers of pacts ask for.

use std::collections::BTreeMap;

use axum::extract::State;
use entity::section::Right;
use utoipa::ToSchema;

use crate::api::answer::CreatedValues;
use crate::api::rights::everywhere;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::InvalidResource;
use crate::services::sandbox::params::NewProviderState;
use crate::services::sandbox::provider_states;
use crate::services::sandbox::view::ProviderStateValues;

/// The values of a state, in `response` and beside it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described here")]
pub struct ProviderStateResponse {
    response: ProviderStateValues,
    #[serde(flatten)]
    values: BTreeMap<String, String>,
}

/// Change the provider's state.
///
/// Makes the records that an interaction of a pact begins with, and returns their tokens, by their names in paths, in the response and
/// beside it, where verifiers look for them. A teardown ends what would outlast the interaction, and keeps the records.
#[utoipa::path(post, path = "/sandbox/provider_states", tag = "Sandbox",
    request_body(content = NewProviderState, example = json!({ "consumer": "shop", "params": { "amount": 400 }, "action": "setup" })),
    responses((status = 201, description = "The values of the state", body = ProviderStateResponse)),
    extensions(("x-rights" = json!(everywhere(Right::Write))), ("x-refusals" = json!([InvalidResource]))))]
pub async fn change_provider_state(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<CreatedValues<ProviderStateValues>, Error> {
    request.answer(provider_states::change(&app.ctx, &request.caller, request.input.params())).await
}
