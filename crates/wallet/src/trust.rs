//! The roots that make payloads trusted.

use der::Decode as _;
use entity::Timestamp;
use p256::ecdsa::VerifyingKey;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;
use x509_cert::certificate::Certificate;

use super::certificate::timestamp;
use super::message::milliseconds;
use super::wallet_g::{Protocol, verifying_key};

/// The wallet providers' roots. Without any, no payload is trusted.
#[derive(Debug, Clone, Default)]
pub struct Roots {
    pub(super) wallet_a: Vec<CertificateDer<'static>>,
    pub(super) wallet_g: Vec<RootKey>,
}

#[derive(Debug, Clone)]
pub(super) struct RootKey {
    pub key: VerifyingKey,
    pub protocol: Protocol,
    /// The expiry in milliseconds since the epoch; none means never.
    pub until: Option<Timestamp>,
}

impl RootKey {
    pub fn vouches(&self, protocol: Protocol, now: Timestamp) -> bool {
        self.protocol == protocol && self.until.is_none_or(|until| until > now)
    }
}

/// The reason why a file of roots is invalid.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    /// It is no JSON of that shape.
    #[error("must be {{\"walletA\": [certificates in PEM], \"walletG\": [root signing keys]}}: {0}")]
    Shape(#[from] serde_json::Error),
    /// It has an invalid certificate.
    #[error("walletA: certificate {0} is invalid")]
    Certificate(usize),
    /// It has an invalid key.
    #[error("walletG: key {0} is invalid")]
    Key(usize),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    wallet_a: Vec<String>,
    #[serde(default)]
    wallet_g: Vec<Published>,
}

/// A key in the provider's published format.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Published {
    key_value: String,
    protocol_version: String,
    key_expiration: Option<String>,
}

impl Roots {
    /// Parses a file: PEM certificates of walletA, and the key list that walletG's provider publishes, without
    /// the keys for other protocols.
    pub fn parse(text: &str) -> Result<Self, RootsError> {
        let File { wallet_a, wallet_g } = serde_json::from_str(text)?;
        let certificates = wallet_a.iter().zip(1..).map(|(pem, place)| {
            let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).ok();
            let certificate =
                certificate.filter(|certificate| webpki::anchor_from_trusted_cert(certificate).is_ok());
            certificate.ok_or(RootsError::Certificate(place))
        });
        let keys = wallet_g.iter().zip(1..).filter_map(|(key, place)| {
            let protocol = Protocol::named(&key.protocol_version)?;
            let read = || {
                let until = key.key_expiration.as_deref().map(milliseconds).transpose()?;
                Ok(RootKey { key: verifying_key(&key.key_value)?, protocol, until })
            };
            Some(read().map_err(|_: super::Unreadable| RootsError::Key(place)))
        });
        Ok(Self {
            wallet_a: certificates.collect::<Result<_, _>>()?,
            wallet_g: keys.collect::<Result<_, _>>()?,
        })
    }

    /// Returns whether both have a root in common.
    pub fn shares_any(&self, others: &Self) -> bool {
        let key = |key: &RootKey| others.wallet_g.iter().any(|other| other.key == key.key);
        self.wallet_a.iter().any(|certificate| others.wallet_a.contains(certificate))
            || self.wallet_g.iter().any(key)
    }

    /// Returns when the first root of each wallet expires, if it does.
    pub fn first_ends(&self) -> [(&'static str, Option<Timestamp>); 2] {
        let end = |certificate: &CertificateDer<'_>| {
            let certificate = Certificate::from_der(certificate).ok()?;
            timestamp(certificate.tbs_certificate().validity().not_after.to_unix_duration()).ok()
        };
        [
            ("walletA", self.wallet_a.iter().filter_map(end).min()),
            ("walletG", self.wallet_g.iter().filter_map(|key| key.until).min()),
        ]
    }

    /// Returns the roots of both.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.wallet_a.extend(others.wallet_a);
        self.wallet_g.extend(others.wallet_g);
        self
    }
}
