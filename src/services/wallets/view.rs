//! Wallet domain, session and certificate (specification, Wallet domain and certificate).

use entity::wallet_certificate::{self, CertificateState};
use entity::{Timestamp, WalletCertificateToken, WalletDomainToken, wallet_domain};
use macros::view;
use serde::Deserialize;

/// A registered domain.
#[view(of(wallet_domain::Model))]
pub struct WalletDomain {
    /// `apmd_...`
    token: WalletDomainToken,
    /// A fully qualified domain name.
    #[schema(example = "shop.example.com")]
    domain_name: String,
    /// Always true: an unregistered domain has no record.
    #[schema(example = true)]
    #[shows(true)]
    registered: bool,
    /// The time of the registration.
    created_at: Timestamp,
}

/// A key, and the provider's certificate for it.
#[view(of(wallet_certificate::Model))]
pub struct WalletCertificate {
    /// `apdp_...`
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
    merchant_id: Option<String>,
    /// The beginning of the certificate's validity.
    valid_from: Option<Timestamp>,
    /// The end of the certificate's validity.
    valid_until: Option<Timestamp>,
    /// The time of the key's creation.
    created_at: Timestamp,
}

/// A session of the provider. The page passes it to the device.
#[view]
#[derive(Deserialize)]
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
    pub operational_analytics_identifier: Option<String>,
    /// The number of retries.
    #[schema(required)]
    #[serde(default)]
    pub retries: i64,
    /// The identifier of the payment service.
    pub psp_id: Option<String>,
}
