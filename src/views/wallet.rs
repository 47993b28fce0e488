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
    /// Fully qualified.
    #[schema(example = "shop.example.com")]
    domain_name: String,
    /// Always: one that is not is no record.
    #[schema(example = true)]
    #[shows(true)]
    registered: bool,
    /// When it was registered.
    created_at: Timestamp,
}

/// A key, and the certificate that the provider issued for it.
#[view(of(wallet_certificate::Model))]
pub struct WalletCertificate {
    /// `apdp_...`
    token: WalletCertificateToken,
    /// The key in PEM.
    public_key: String,
    /// SHA-256 of the key, base64: payloads name it so.
    public_key_hash: String,
    /// To be handed to the provider, in PEM.
    certificate_signing_request: String,
    /// `incomplete`, or `active` once the provider's certificate is there.
    #[schema(value_type = String, example = "incomplete")]
    state: CertificateState,
    /// The merchant that the certificate names.
    merchant_id: Option<String>,
    /// The certificate's first instant.
    valid_from: Option<Timestamp>,
    /// The certificate's last instant.
    valid_until: Option<Timestamp>,
    /// When the key was made.
    created_at: Timestamp,
}

/// A session as the provider gives it: for the page, which hands it to the device.
#[view]
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WalletSession {
    /// When it began, in milliseconds since the epoch.
    pub epoch_timestamp: i64,
    /// When it ends, in milliseconds since the epoch.
    pub expires_at: i64,
    /// Names the session.
    pub merchant_session_identifier: String,
    /// Used once.
    pub nonce: String,
    /// Names the merchant.
    pub merchant_identifier: String,
    /// Where the payment begins.
    #[schema(required)]
    #[serde(default)]
    pub domain_name: String,
    /// What the device shows.
    pub display_name: String,
    /// The provider's.
    pub signature: String,
    /// For the provider's statistics.
    pub operational_analytics_identifier: Option<String>,
    /// How often it was asked for.
    #[schema(required)]
    #[serde(default)]
    pub retries: i64,
    /// Names the payment service.
    pub psp_id: Option<String>,
}
