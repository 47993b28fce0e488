//! Wallet domain, session and certificate (specification, Wallet domain and certificate).

use entity::wallet_certificate::{self, CertificateState};
use entity::{Timestamp, WalletCertificateToken, WalletDomainToken, wallet_domain};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A registered domain.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WalletDomain {
    /// `apmd_...`
    #[schema(value_type = String, example = "apmd_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: WalletDomainToken,
    /// A fully qualified domain name.
    #[schema(example = "shop.example.com")]
    domain_name: String,
    /// Always true: an unregistered domain has no record.
    #[schema(example = true)]
    registered: bool,
    /// The time of the registration.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl WalletDomain {
    /// Returns the record of a row.
    pub fn new(row: wallet_domain::Model) -> Self {
        Self { token: row.id, domain_name: row.domain_name, registered: true, created_at: row.created_at }
    }
}

/// A key, and the provider's certificate for it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WalletCertificate {
    /// `apdp_...`
    #[schema(value_type = String, example = "apdp_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: WalletCertificateToken,
    /// The public key in PEM.
    public_key: String,
    /// SHA-256 of the key in base64: payloads name the key by it.
    public_key_hash: String,
    /// The certificate signing request in PEM, for the provider.
    certificate_signing_request: String,
    /// `incomplete`, or `active` once the provider's certificate is uploaded.
    #[schema(value_type = String, example = "incomplete")]
    state: CertificateState,
    /// The merchant identifier in the certificate.
    #[schema(required)]
    merchant_id: Option<String>,
    /// The beginning of the certificate's validity.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    valid_from: Option<Timestamp>,
    /// The end of the certificate's validity.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    valid_until: Option<Timestamp>,
    /// The time of the key's creation.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl WalletCertificate {
    /// Returns the record of a row.
    pub fn new(row: wallet_certificate::Model) -> Self {
        Self {
            token: row.id,
            public_key: row.public_key,
            public_key_hash: row.public_key_hash,
            certificate_signing_request: row.certificate_signing_request,
            state: row.state,
            merchant_id: row.merchant_id,
            valid_from: row.valid_from,
            valid_until: row.valid_until,
            created_at: row.created_at,
        }
    }
}

/// A session of the provider. The page passes it to the device.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WalletSession {
    /// The beginning, in milliseconds since the epoch.
    pub epoch_timestamp: i64,
    /// The end, in milliseconds since the epoch.
    pub expires_at: i64,
    /// The identifier of the session.
    pub merchant_session_identifier: String,
    /// A nonce.
    pub nonce: String,
    /// The identifier of the merchant.
    pub merchant_identifier: String,
    /// The domain of the page.
    #[schema(required)]
    #[serde(default)]
    pub domain_name: String,
    /// The name that the device shows.
    pub display_name: String,
    /// The provider's signature.
    pub signature: String,
    /// An identifier for the provider's statistics.
    #[schema(required)]
    pub operational_analytics_identifier: Option<String>,
    /// The number of retries.
    #[schema(required)]
    #[serde(default)]
    pub retries: i64,
    /// The identifier of the payment service.
    #[schema(required)]
    pub psp_id: Option<String>,
}
