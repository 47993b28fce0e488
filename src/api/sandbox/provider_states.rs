//! The states of a provider, which verifiers of pacts ask for.

use axum::extract::State;
use entity::section::Right;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::api::answer::CreatedValues;
use crate::api::rights::everywhere;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::InvalidResource;
use crate::services::sandbox::params::NewProviderState;
use crate::services::sandbox::provider_states;
use crate::services::sandbox::view::ProviderStateValues;

/// Describes the response: the values, in `response` and beside it.
pub struct ProviderStateResponse;

impl ToSchema for ProviderStateResponse {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((ProviderStateValues::name().into_owned(), ProviderStateValues::schema()));
    }
}

impl PartialSchema for ProviderStateResponse {
    fn schema() -> RefOr<Schema> {
        let RefOr::T(Schema::Object(mut values)) = ProviderStateValues::schema() else {
            unreachable!("values are an object")
        };
        values.description = Some(
            "The values of a state, also beside the response, where verifiers look for them.".to_owned(),
        );
        values.properties.shift_insert(
            0,
            "response".into(),
            Ref::from_schema_name(ProviderStateValues::name()).into(),
        );
        values.required.push("response".to_owned());
        values.into()
    }
}

/// Change the provider's state.
///
/// Makes the records that an interaction of a pact begins with, and returns their tokens, by their names in paths, in the response and
/// beside it, where verifiers look for them. A teardown ends what would outlast the interaction, and keeps the records.
#[utoipa::path(post, path = "/sandbox/provider_states", tag = "Sandbox",
    request_body(content = NewProviderState, example = json!({ "consumer": "shop", "state": "a charge", "params": { "amount": 400 }, "action": "setup" })),
    responses((status = 201, description = "The values of the state", body = ProviderStateResponse)),
    extensions(("x-rights" = json!(everywhere(Right::Write))), ("x-refusals" = json!([InvalidResource]))))]
pub async fn change_provider_state(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<CreatedValues<ProviderStateValues>, Error> {
    request.answer(provider_states::change(&app.ctx, &request.caller, request.input.params())).await
}
