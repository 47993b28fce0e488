//! Parameters of walletA's domains, sessions and certificates (specification, Mobile wallet support).

use macros::params;
use serde::{Deserialize, Serialize};

use crate::limits::{NAME_LENGTH_MAX, WALLET_PEM_LENGTH_MAX};
use crate::params::{HttpUrl, rules};

/// A domain.
#[params]
pub struct NamedDomain {
    /// Fully qualified.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::domain_name"))]
    #[schema(example = "shop.example.com")]
    pub domain_name: String,
}

/// What walletA asks a page to prove.
#[params]
pub struct NewSession {
    /// The URL that the wallet's validation event supplies.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "https://gateway.wallet.example/paymentSession")]
    pub validation_url: HttpUrl,
    /// `web` or `messaging`.
    #[schema(value_type = String, example = "web")]
    pub initiative: Initiative,
    /// The registered domain of the page; required for `web`.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "shop.example.com")]
    pub initiative_context: Option<String>,
}

/// Where a payment begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
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
    /// Payment processing certificate in PEM.
    #[validate(length(max = WALLET_PEM_LENGTH_MAX))]
    #[schema(example = "-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----\n")]
    pub pem: String,
}
