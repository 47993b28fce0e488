//! walletG's payloads, ECv2 and ECv1: encrypted for the gateway's key and signed by a key of the provider, in ECv2 by an
//! intermediate one.
//!
//! The format is the provider's "Payment data cryptography", which also has the field names.

use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher};
use entity::Timestamp;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit as _, Mac as _};
use macros::params;
use p256::ecdsa::signature::{Signer as _, Verifier as _};
use p256::ecdsa::{DerSignature, SigningKey, VerifyingKey};
use p256::elliptic_curve::sec1::ToSec1Point as _;
use p256::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _, EncodePublicKey as _};
use p256::{PublicKey, SecretKey};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use validator::Validate as _;
use zeroize::Zeroizing;

use super::message::{Message, milliseconds};
use super::trust::RootKey;
use super::{DecryptedPayload, Plain, Roots, TEXT_BYTES_MAX, Unreadable, decoded, encoded};

const SENDER: &str = "Google";
/// The prefix of a gateway's name among recipients.
const GATEWAY: &str = "gateway:";

/// A walletG payment token, as the device makes it.
#[params]
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WalletGToken {
    /// The version of the protocol: `ECv2` or `ECv1`.
    #[schema(example = "ECv2")]
    pub protocol_version: String,
    /// The signature of the message in base64.
    pub signature: String,
    /// The certified key that signed the message; absent in ECv1.
    #[validate(nested)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intermediate_signing_key: Option<WalletGSigningKey>,
    /// The encrypted message, as a JSON text.
    pub signed_message: String,
}

/// A certified key that signs messages.
#[params]
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WalletGSigningKey {
    /// The key and its expiry, as a JSON text.
    pub signed_key: String,
    /// The signatures of the key by root keys, in base64.
    pub signatures: Vec<String>,
}

/// The supported versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    V1,
    V2,
}

impl Protocol {
    pub const fn name(self) -> &'static str {
        match self {
            Self::V1 => "ECv1",
            Self::V2 => "ECv2",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::V1, Self::V2].into_iter().find(|protocol| protocol.name() == name)
    }

    /// Bytes of each of the two keys.
    const fn key_bytes(self) -> usize {
        match self {
            Self::V1 => 16,
            Self::V2 => 32,
        }
    }
}

/// The recipient of payloads: this installation, under its name at the provider.
#[derive(Debug, Clone)]
pub struct Gateway {
    key: SecretKey,
    recipient: String,
}

/// The reason why a gateway is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    /// The key.
    #[error("is not a P-256 private key in PEM (PKCS #8)")]
    Key,
    /// The name.
    #[error("must be gateway:NAME, with the gateway's name at the provider")]
    Recipient,
}

impl Gateway {
    /// Parses a private key in PEM, and `gateway:` with the gateway's name.
    pub fn new(pem: &str, recipient: &str) -> Result<Self, GatewayError> {
        let key = SecretKey::from_pkcs8_pem(pem).map_err(|_| GatewayError::Key)?;
        Self::with(key, recipient)
    }

    /// Returns whether both have the same key.
    pub fn shares_key(&self, other: &Self) -> bool {
        self.key == other.key
    }

    pub(super) fn with(key: SecretKey, recipient: &str) -> Result<Self, GatewayError> {
        let named = recipient.strip_prefix(GATEWAY).is_some_and(|name| !name.trim().is_empty());
        if !named {
            return Err(GatewayError::Recipient);
        }
        Ok(Self { key, recipient: recipient.to_owned() })
    }

    pub(super) fn public_key(&self) -> PublicKey {
        self.key.public_key()
    }

    pub(super) fn recipient(&self) -> &str {
        &self.recipient
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct SignedKey {
    key_value: String,
    key_expiration: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sealed {
    encrypted_message: String,
    ephemeral_public_key: String,
    tag: String,
}

impl WalletGToken {
    /// Verifies and decrypts the payload.
    pub fn open(
        &self,
        gateway: &Gateway,
        roots: &Roots,
        now: Timestamp,
    ) -> Result<DecryptedPayload, Unreadable> {
        let plain = self.unseal(&gateway.key, &gateway.recipient, &roots.wallet_g, now)?;
        serde_json::from_slice::<Message>(&plain)?.opened(now)
    }

    pub(super) fn unseal(
        &self,
        key: &SecretKey,
        recipient: &str,
        roots: &[RootKey],
        now: Timestamp,
    ) -> Result<Plain, Unreadable> {
        let protocol = Protocol::named(&self.protocol_version).ok_or(Unreadable)?;
        if self.signed_message.len() > TEXT_BYTES_MAX {
            return Err(Unreadable);
        }
        let signed = join_parts(&[SENDER, recipient, protocol.name(), &self.signed_message]);
        let signature = DerSignature::try_from(decoded(&self.signature)?.as_slice())?;
        let mut signers = self.signers(protocol, roots, now)?.into_iter();
        if !signers.any(|signer| signer.verify(&signed, &signature).is_ok()) {
            return Err(Unreadable);
        }
        let sealed: Sealed = serde_json::from_str(&self.signed_message)?;
        let ephemeral = decoded(&sealed.ephemeral_public_key)?;
        let keys = keys(protocol, key, &PublicKey::from_sec1_bytes(&ephemeral)?, &ephemeral)?;
        let mut message = Plain::new(decoded(&sealed.encrypted_message)?);
        // In constant time.
        mac(protocol, &keys, &message).verify_slice(&decoded(&sealed.tag)?)?;
        encrypt(protocol, &keys, &mut message);
        Ok(message)
    }

    /// Returns the keys of which one must have signed the message.
    fn signers(
        &self,
        protocol: Protocol,
        roots: &[RootKey],
        now: Timestamp,
    ) -> Result<Vec<VerifyingKey>, Unreadable> {
        let mut roots = roots.iter().filter(|root| root.vouches(protocol, now)).map(|root| root.key);
        if protocol == Protocol::V1 {
            return Ok(roots.collect());
        }
        let WalletGSigningKey { signed_key, signatures } =
            self.intermediate_signing_key.as_ref().ok_or(Unreadable)?;
        if signed_key.len() > TEXT_BYTES_MAX || signatures.len() > SIGNATURES_MAX {
            return Err(Unreadable);
        }
        let signed = join_parts(&[SENDER, protocol.name(), signed_key]);
        let signatures: Vec<_> = signatures
            .iter()
            .filter_map(|signature| DerSignature::try_from(decoded(signature).ok()?.as_slice()).ok())
            .collect();
        if !roots.any(|root| signatures.iter().any(|signature| root.verify(&signed, signature).is_ok())) {
            return Err(Unreadable);
        }
        let key: SignedKey = serde_json::from_str(signed_key)?;
        if milliseconds(&key.key_expiration)? <= now {
            return Err(Unreadable);
        }
        Ok(vec![verifying_key(&key.key_value)?])
    }

    /// Encrypts a message for a gateway, signs it, and in ECv2 certifies the signing key.
    pub(super) fn seal(
        message: &[u8],
        gateway: &Gateway,
        ephemeral: &SecretKey,
        signer: &SigningKey,
        vouched: Option<WalletGSigningKey>,
    ) -> Option<Self> {
        let protocol = if vouched.is_some() { Protocol::V2 } else { Protocol::V1 };
        let point = ephemeral.public_key().to_sec1_point(false);
        let keys = keys(protocol, ephemeral, &gateway.public_key(), point.as_bytes()).ok()?;
        let mut message = Plain::new(message.to_vec());
        encrypt(protocol, &keys, &mut message);
        let sealed = Sealed {
            encrypted_message: encoded(&message),
            ephemeral_public_key: encoded(point.as_bytes()),
            tag: encoded(mac(protocol, &keys, &message).finalize().into_bytes()),
        };
        let signed_message = serde_json::to_string(&sealed).ok()?;
        let signature: DerSignature =
            signer.sign(&join_parts(&[SENDER, gateway.recipient(), protocol.name(), &signed_message]));
        Some(Self {
            protocol_version: protocol.name().into(),
            signature: encoded(signature.as_bytes()),
            intermediate_signing_key: vouched,
            signed_message,
        })
    }
}

impl WalletGSigningKey {
    /// Certifies a key until a time.
    pub(super) fn vouched(key: &SigningKey, until: Timestamp, root: &SigningKey) -> Option<Self> {
        let public = key.verifying_key().to_public_key_der().ok()?;
        let key =
            SignedKey { key_value: encoded(public.as_bytes()), key_expiration: until.millis().to_string() };
        let signed_key = serde_json::to_string(&key).ok()?;
        let signature: DerSignature = root.sign(&join_parts(&[SENDER, Protocol::V2.name(), &signed_key]));
        Some(Self { signed_key, signatures: vec![encoded(signature.as_bytes())] })
    }
}

/// The most keys that sign at a time.
const SIGNATURES_MAX: usize = 8;

/// Encodes a public key as X.509 in base64.
pub(super) fn verifying_key(text: &str) -> Result<VerifyingKey, Unreadable> {
    Ok(PublicKey::from_public_key_der(&decoded(text)?)?.into())
}

/// Joins the parts, each after its length in four bytes, the lowest first.
fn join_parts(parts: &[&str]) -> Vec<u8> {
    parts
        .iter()
        .flat_map(|part| {
            let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
            length.to_le_bytes().into_iter().chain(part.bytes())
        })
        .collect()
}

/// Derives the key that encrypts, and then the one that authenticates.
fn keys(
    protocol: Protocol,
    secret: &SecretKey,
    public: &PublicKey,
    ephemeral: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Unreadable> {
    let shared = secret.diffie_hellman(public);
    let material = Zeroizing::new([ephemeral, shared.raw_secret_bytes()].concat());
    let mut keys = Zeroizing::new(vec![0; 2 * protocol.key_bytes()]);
    Hkdf::<Sha256>::new(Some(&[0; 32]), &material)
        .expand(SENDER.as_bytes(), &mut keys)
        .map_err(|_| Unreadable)?;
    Ok(keys)
}

/// Counter mode, which encrypts and decrypts alike. Each key encrypts once, so the first block is zero.
fn encrypt(protocol: Protocol, keys: &[u8], message: &mut [u8]) {
    fn apply<C: KeyIvInit + StreamCipher>(key: &[u8], message: &mut [u8]) {
        let mut cipher = C::new_from_slices(key, &[0; 16]).expect("key and block of this cipher's length");
        cipher.apply_keystream(message);
    }
    let key = &keys[..protocol.key_bytes()];
    match protocol {
        Protocol::V1 => apply::<Ctr128BE<aes::Aes128>>(key, message),
        Protocol::V2 => apply::<Ctr128BE<aes::Aes256>>(key, message),
    }
}

fn mac(protocol: Protocol, keys: &[u8], message: &[u8]) -> Hmac<Sha256> {
    let key = &keys[protocol.key_bytes()..];
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// From the tests of the provider's own library (Tink, PaymentMethodTokenRecipientTest).
    #[test]
    fn the_example_that_the_provider_has_published_for_ecv1_opens() {
        let key = STANDARD
            .decode(
                "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCPSuFr4iSIaQprjjchHPyDu2NXFe0vDBoTpPkYaK9dehRANCAATnaFz/\
                 vQKuO90pxsINyVNWojabHfbx9qIJ6uD7Q7ZSxmtyo/Ez3/o2kDT8g0pIdyVIYktCsq65VoQIDWSh2Bdm",
            )
            .unwrap();
        let root = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEPYnHwS8uegWAewQtlxizmLFynwHcxRT1PK07cDA6/C4sXrVI1SzZCUx8U8S0LjMrT6ird/\
                    VW7be3Mz6t/srtRQ==";
        let sealed = r#"{"tag":"ZVwlJt7dU8Plk0+r8rPF8DmPTvDiOA1UAoNjDV+SqDE\u003d","ephemeralPublicKey":"BPhVspn70Zj2Kkgu9t8+ApEuUWsI/zos5whGCQBlgOkuYagOis7qsrcbQrcprjvTZO3XOU+Qbcc28FSgsRtcgQE\u003d","encryptedMessage":"12jUObueVTdy"}"#;
        let token = WalletGToken {
            protocol_version: "ECv1".into(),
            signature: "MEQCIDxBoUCoFRGReLdZ/cABlSSRIKoOEFoU3e27c14vMZtfAiBtX3pGMEpnw6mSAbnagCCgHlCk3NcFwWYEyxIE6KGZVA==".into(),
            intermediate_signing_key: None,
            signed_message: sealed.into(),
        };
        let key = SecretKey::from_pkcs8_der(&key).unwrap();
        let root = RootKey { key: verifying_key(root).unwrap(), protocol: Protocol::V1, until: None };
        let now = Timestamp::from_millis(0);
        let plain = token.unseal(&key, "someRecipient", std::slice::from_ref(&root), now).unwrap();
        assert_eq!(plain.as_slice(), b"plaintext");
        assert_eq!(token.unseal(&key, "someoneElse", &[root], now), Err(Unreadable));
    }
}
