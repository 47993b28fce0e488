//! PUT /sandbox/webhook_endpoints/{webhook_endpoint_token}/key.

use crate::error::Error;
use crate::params::Params;
use crate::services::context::{Caller, Context};
use crate::services::sandbox::params::NewWebhookKey;
use crate::services::webhook_endpoints::view::RotatedKey;
use crate::services::webhook_endpoints::{by_token, keys};

/// Rotates an endpoint's key, as the operator would.
///
/// Refusals, first match wins: `resource_not_found`, `invalid_resource`, `invalid_state`.
pub async fn rotate(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    params: Params<NewWebhookKey>,
) -> Result<RotatedKey, Error> {
    let endpoint = by_token(ctx, &caller.account, token).await?;
    keys::rotate(ctx, caller, endpoint.id, params.grace()?).await
}
