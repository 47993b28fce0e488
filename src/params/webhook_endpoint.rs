//! Parameters of webhook endpoints (specification, Webhook endpoints).

use serde::Deserialize;
use utoipa::ToSchema;
use validator::Validate;

use super::{HttpUrl, rules};
use crate::limits::NAME_LENGTH_MAX;

/// An endpoint to be registered.
#[derive(Deserialize, Validate, ToSchema)]
pub struct NewWebhookEndpoint {
    /// The URL that gets webhooks: http or https, without credentials and fragment.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::http_url"))]
    #[schema(value_type = String, max_length = 255, example = "https://example.com/webhooks")]
    pub url: HttpUrl,
}
