//! Wallet domain, session and certificate (specification, Wallet domain and certificate).

use entity::wallet_certificate::{self, CertificateState};
use entity::{Timestamp, WalletCertificateToken, WalletDomainToken, wallet_domain};
use macros::view;
use serde::Deserialize;

/// A domain on whose pages walletA may be used.
#[view(of(wallet_domain::Model))]
pub struct WalletDomain {
    /// The domain's token, `apmd_...`.
    token: WalletDomainToken,
    /// The fully qualified domain name.
    #[schema(example = "shop.example.com")]
    domain_name: String,
    /// Whether the domain is registered: always true, because other domains have no record.
    #[schema(example = true)]
    #[shows(true)]
    registered: bool,
    /// The time of the domain's registration.
    created_at: Timestamp,
}

/// A key for which walletA encrypts payments, and the provider's certificate for it.
#[view(of(wallet_certificate::Model))]
pub struct WalletCertificate {
    /// The certificate's token, `apdp_...`.
    token: WalletCertificateToken,
    /// The public key in PEM.
    public_key: String,
    /// The SHA-256 of the public key in base64, by which payment tokens name the key.
    public_key_hash: String,
    /// The certificate signing request in PEM, for the provider.
    certificate_signing_request: String,
    /// Whether the provider's certificate is uploaded.
    state: CertificateState,
    /// The merchant identifier in the certificate; null until it is uploaded.
    merchant_id: Option<String>,
    /// The time from which the certificate is valid; null until it is uploaded.
    valid_from: Option<Timestamp>,
    /// The time until which the certificate is valid; null until it is uploaded.
    valid_until: Option<Timestamp>,
    /// The time of the key's creation.
    created_at: Timestamp,
}

/// A session that the wallet's provider has opened. The page passes it to the device.
#[view]
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WalletSession {
    /// The beginning of the session, in milliseconds since the epoch.
    pub epoch_timestamp: i64,
    /// The end of the session, in milliseconds since the epoch.
    pub expires_at: i64,
    /// The identifier of the session.
    pub merchant_session_identifier: String,
    /// A random text that is used once.
    pub nonce: String,
    /// The identifier of the merchant.
    pub merchant_identifier: String,
    /// The domain of the page.
    #[schema(required)]
    #[serde(default)]
    pub domain_name: String,
    /// The name that the device shows.
    pub display_name: String,
    /// The provider's signature of the session.
    pub signature: String,
    /// An identifier for the provider's statistics; null if it gives none.
    pub operational_analytics_identifier: Option<String>,
    /// The number of retries that the provider counted.
    #[schema(required)]
    #[serde(default)]
    pub retries: i64,
    /// The identifier of the payment service; null if the provider gives none.
    pub psp_id: Option<String>,
}
