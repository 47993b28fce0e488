//! Parameters of webhook endpoints (specification, Webhook endpoints).

use macros::params;

use crate::limits::NAME_LENGTH_MAX;
use crate::params::{HttpUrl, rules};

/// An endpoint to be registered.
#[params]
pub struct NewWebhookEndpoint {
    /// The URL that gets webhooks: http or https, without credentials and fragment.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::http_url"))]
    #[schema(example = "https://example.com/webhooks")]
    pub url: HttpUrl,
}
