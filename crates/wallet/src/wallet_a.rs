//! walletA's payloads, EC_v1: encrypted for the key of a merchant's certificate, signed by the wallet.
//!
//! The format is the provider's "Payment token format reference", which also has the field names.

mod signature;

use aes_gcm::aead::{Aead as _, consts::U16};
use aes_gcm::aes::Aes256;
use aes_gcm::{AesGcm, KeyInit as _, Nonce};
use base::hexadecimal;
use entity::{TimeSpan, Timestamp};
use macros::params;
use p256::pkcs8::{DecodePublicKey as _, EncodePublicKey as _};
use p256::{PublicKey, SecretKey};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use validator::Validate as _;
use zeroize::Zeroizing;

pub(super) use signature::{INTERMEDIATE, LEAF, sign};

use super::certificate::MerchantKey;
use super::message::PaymentData;
use super::{DecryptedPayload, Plain, Roots, Unreadable, decoded, encoded};

/// The greatest age of a signature (`docs/decisions.md`, 225).
const AGE_MAX: TimeSpan = TimeSpan::seconds(5 * 60);
const VERSION: &str = "EC_v1";
/// The longest id of a payment; the provider's have 32 bytes.
const PAYMENT_BYTES_MAX: usize = 128;

/// A walletA payment token, as the device makes it.
#[params]
#[derive(Debug, Clone, Serialize)]
pub struct WalletAToken {
    /// The encrypted payment data in base64.
    pub data: String,
    /// The detached CMS signature in base64.
    pub signature: String,
    /// The data for the decryption.
    #[validate(nested)]
    pub header: WalletAHeader,
    /// The version of the format: always `EC_v1`.
    #[schema(example = "EC_v1")]
    pub version: String,
}

/// The header of a walletA payment token.
#[params]
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WalletAHeader {
    /// The SHA-256 of the merchant's public key in base64, which names the certificate.
    pub public_key_hash: String,
    /// The X.509 public key in base64.
    pub ephemeral_public_key: String,
    /// The hexadecimal id of the payment.
    pub transaction_id: String,
    /// The hexadecimal SHA-256 of the merchant's own data; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application_data: Option<String>,
}

/// A recipient of payloads.
#[derive(Debug)]
pub struct Merchant {
    /// The key of the certificate.
    pub key: MerchantKey,
    /// The merchant identifier of the certificate.
    pub merchant_id: String,
}

impl WalletAToken {
    /// Verifies and decrypts the payload.
    pub fn open(
        &self,
        merchant: &Merchant,
        roots: &Roots,
        now: Timestamp,
    ) -> Result<DecryptedPayload, Unreadable> {
        if self.version != VERSION {
            return Err(Unreadable);
        }
        let ephemeral = decoded(&self.header.ephemeral_public_key)?;
        let data = decoded(&self.data)?;
        let payment = decoded_hexadecimal(&self.header.transaction_id)?;
        let application = self.header.application_data.as_deref().map(decoded_hexadecimal).transpose()?;
        let signed =
            [&ephemeral, &data, &payment, &application.unwrap_or_default()].map(Vec::as_slice).concat();
        let signed_at = signature::verify(&decoded(&self.signature)?, &signed, &roots.wallet_a, now)?;
        let until = signed_at + AGE_MAX;
        // A device's clock may be as far ahead as its payloads may be old.
        if payment.is_empty() || until < now || signed_at > now + AGE_MAX {
            return Err(Unreadable);
        }
        let ephemeral = PublicKey::from_public_key_der(&ephemeral)?;
        let key = symmetric_key(merchant.key.secret(), &ephemeral, &merchant.merchant_id);
        let plain: Plain = cipher(&key).decrypt(&nonce(), data.as_slice())?.into();
        let card = serde_json::from_slice::<PaymentData>(&plain)?.card()?;
        // Not the id of the transaction: what is signed does not say where it ends and the application's data begin.
        Ok(DecryptedPayload { card, payment: Sha256::digest(&signed).to_vec(), until, merchant: None })
    }

    /// Encrypts payment data for the owner of a public key, and has it signed.
    pub(super) fn seal(
        plain: &[u8],
        (public, merchant_id): (&PublicKey, &str),
        payment: [u8; 32],
        ephemeral: &SecretKey,
        sign: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let key = symmetric_key(ephemeral, public, merchant_id);
        let data = cipher(&key).encrypt(&nonce(), plain).ok()?;
        let ephemeral = ephemeral.public_key().to_public_key_der().ok()?;
        let signature = sign(&[ephemeral.as_bytes(), &data, &payment].concat())?;
        let header = WalletAHeader {
            public_key_hash: encoded(Sha256::digest(public.to_public_key_der().ok()?.as_bytes())),
            ephemeral_public_key: encoded(ephemeral.as_bytes()),
            transaction_id: hexadecimal::encode(&payment),
            application_data: None,
        };
        Some(Self { data: encoded(data), signature: encoded(signature), header, version: VERSION.into() })
    }
}

/// Each key encrypts once, so the nonce is zero; the provider makes it 16 bytes long.
fn nonce() -> Nonce<U16> {
    [0; 16].into()
}

fn cipher(key: &[u8; 32]) -> AesGcm<Aes256, U16> {
    AesGcm::new(key.into())
}

/// NIST SP 800-56A, section 5.8.1, one round of SHA-256; the other info is the provider's.
fn symmetric_key(secret: &SecretKey, public: &PublicKey, merchant_id: &str) -> Zeroizing<[u8; 32]> {
    let shared = secret.diffie_hellman(public);
    let mut hash = Sha256::new();
    hash.update(1_u32.to_be_bytes());
    hash.update(shared.raw_secret_bytes());
    hash.update(b"\x0did-aes256-GCM");
    hash.update(b"Apple");
    hash.update(Sha256::digest(merchant_id));
    Zeroizing::new(hash.finalize().into())
}

fn decoded_hexadecimal(text: &str) -> Result<Vec<u8>, Unreadable> {
    if text.len() > 2 * PAYMENT_BYTES_MAX {
        return Err(Unreadable);
    }
    hexadecimal::decode(text).ok_or(Unreadable)
}
