//! Parameters of walletA's domains, sessions and certificates (specification, Mobile wallet support).

use macros::params;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::limits::{NAME_LENGTH_MAX, WALLET_PEM_LENGTH_MAX};
use crate::params::{HttpUrl, rules};

/// A domain to register.
#[params]
pub struct NamedDomain {
    /// The fully qualified domain name.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::domain_name"))]
    #[schema(example = "shop.example.com")]
    pub domain_name: String,
}

/// The session that walletA asks a page to open.
#[params]
pub struct NewSession {
    /// The URL that the wallet's validation event supplies.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "https://gateway.wallet.example/paymentSession")]
    pub validation_url: HttpUrl,
    /// Where the payment begins.
    pub initiative: Initiative,
    /// The registered domain of the page; required if `initiative` is `web`, and otherwise not read.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "shop.example.com")]
    pub initiative_context: Option<String>,
}

/// Where a payment begins: on a web page, or in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Initiative {
    /// On a page.
    Web,
    /// In a conversation.
    Messaging,
}

/// A certificate that the provider has issued.
#[params]
pub struct IssuedCertificate {
    /// The payment processing certificate in PEM.
    #[validate(length(max = WALLET_PEM_LENGTH_MAX))]
    #[schema(example = "-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----\n")]
    pub pem: String,
}
