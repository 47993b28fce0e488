//! Merchants' keys and certificates: the server makes the key, the provider certifies it.

use std::str::FromStr as _;
use std::time::Duration;

use base::random::{RandomSource, RandomStream};
use der::asn1::{GeneralizedTime, ObjectIdentifier, PrintableStringRef, UtcTime, Utf8StringRef};
use der::{Decode as _, Encode as _, EncodePem as _, pem::LineEnding};
use entity::Timestamp;
use p256::ecdsa::{DerSignature, SigningKey};
use p256::pkcs8::{DecodePublicKey as _, EncodePublicKey as _};
use p256::{PublicKey, SecretKey};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use sha2::{Digest as _, Sha256};
use x509_cert::builder::{Builder as _, RequestBuilder};
use x509_cert::certificate::Certificate;
use x509_cert::name::Name;
use x509_cert::time::Time;
use zeroize::Zeroizing;

use super::{Unreadable, encoded};

/// A merchant's private key on the curve P-256.
#[derive(Debug, Clone)]
pub struct MerchantKey(SecretKey);

impl MerchantKey {
    /// Generates a key.
    pub fn generate(random: &RandomSource) -> Self {
        loop {
            // One in four billion numbers is no key.
            let number = Zeroizing::new(random.bytes::<32>(RandomStream::MerchantKey));
            if let Ok(key) = SecretKey::from_slice(number.as_slice()) {
                return Self(key);
            }
        }
    }

    /// Returns the private key's bytes, for the vault.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.0.to_bytes().to_vec())
    }

    /// Restores a key from the vault.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Unreadable> {
        Ok(Self(SecretKey::from_slice(bytes)?))
    }

    /// Returns the public key in PEM.
    pub fn public_pem(&self) -> Result<String, Unreadable> {
        Ok(self.0.public_key().to_public_key_pem(LineEnding::LF)?)
    }

    /// Returns SHA-256 of the public key in X.509, base64: payloads name the certificate by it.
    pub fn public_hash(&self) -> Result<String, Unreadable> {
        Ok(encoded(Sha256::digest(self.0.public_key().to_public_key_der()?.as_bytes())))
    }

    /// Returns a certificate signing request in PEM. The provider sets the subject itself.
    pub fn signing_request(&self) -> Result<String, Unreadable> {
        let request = RequestBuilder::new(Name::from_str("CN=Payment processing")?)?;
        let request = request.build::<_, DerSignature>(&SigningKey::from(&self.0))?;
        Ok(request.to_pem(LineEnding::LF)?)
    }

    pub(super) fn secret(&self) -> &SecretKey {
        &self.0
    }
}

/// Parses a public key of [`MerchantKey::public_pem`].
pub(super) fn public_key(pem: &str) -> Result<PublicKey, Unreadable> {
    Ok(PublicKey::from_public_key_pem(pem)?)
}

/// The contents of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certified {
    /// The hash of its key: [`MerchantKey::public_hash`].
    pub public_key_hash: String,
    /// The merchant identifier: the subject's UID.
    pub merchant_id: String,
    /// The beginning of its validity.
    pub valid_from: Timestamp,
    /// The end of its validity.
    pub valid_until: Timestamp,
}

impl Certified {
    /// Parses the first certificate in a PEM text. Its issuer does not matter: only the provider's devices encrypt for
    /// the key.
    pub fn read(pem: &str) -> Result<Self, Unreadable> {
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| Unreadable)?;
        let certificate = Certificate::from_der(&certificate)?;
        let contents = certificate.tbs_certificate();
        Ok(Self {
            public_key_hash: encoded(Sha256::digest(contents.subject_public_key_info().to_der()?)),
            merchant_id: uid(contents.subject())?,
            valid_from: timestamp(contents.validity().not_before.to_unix_duration())?,
            valid_until: timestamp(contents.validity().not_after.to_unix_duration())?,
        })
    }

    /// Returns whether it is valid at an instant.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        (self.valid_from..=self.valid_until).contains(&now)
    }
}

const UID: ObjectIdentifier = ObjectIdentifier::new_unwrap("0.9.2342.19200300.100.1.1");
/// The longest name in a directory (RFC 4519).
const UID_CHARACTERS_MAX: usize = 256;

fn uid(subject: &Name) -> Result<String, Unreadable> {
    let value = subject.iter().find(|attribute| attribute.oid == UID).ok_or(Unreadable)?;
    let utf8 = value.value.decode_as::<Utf8StringRef<'_>>().map(|text| text.as_str().to_owned());
    let text = utf8.or_else(|_| {
        value.value.decode_as::<PrintableStringRef<'_>>().map(|text| text.as_str().to_owned())
    })?;
    let fits = !text.trim().is_empty() && text.chars().count() <= UID_CHARACTERS_MAX && !text.contains('\0');
    if fits { Ok(text) } else { Err(Unreadable) }
}

/// Encodes a time as certificates and signatures do: with a two-digit year as long as possible.
pub(super) fn time(at: Timestamp) -> Result<Time, der::Error> {
    let since_epoch = Duration::from_secs(u64::try_from(at.seconds()).unwrap_or_default());
    let short = UtcTime::from_unix_duration(since_epoch).map(Time::UtcTime);
    short.or_else(|_| GeneralizedTime::from_unix_duration(since_epoch).map(Time::GeneralTime))
}

pub(super) fn timestamp(since_epoch: Duration) -> Result<Timestamp, Unreadable> {
    i64::try_from(since_epoch.as_millis()).map(Timestamp::from_millis).map_err(|_| Unreadable)
}
