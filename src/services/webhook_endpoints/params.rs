//! Parameters of webhook endpoints (specification, Webhook endpoints).

use macros::params;

use crate::limits::NAME_LENGTH_MAX;
use crate::params::{HttpUrl, rules};

/// A webhook endpoint to register.
#[params]
pub struct NewWebhookEndpoint {
    /// The URL to which events are sent: http or https, without credentials and fragment.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::http_url"))]
    #[schema(example = "https://example.com/webhooks")]
    pub url: HttpUrl,
}
