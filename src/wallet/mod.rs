//! Payment data of wallets: what they sealed is verified and opened, and in the test environment sealed and signed as
//! they do it. Pure cryptography over bytes and times; knows no table and makes no call.
//!
//! Whatever is wrong with a payload, nobody is told what: [`Unreadable`] is all.

pub mod certificate;
mod issuer;
mod message;
mod trust;
mod wallet_a;
mod wallet_g;

use entity::Timestamp;
use zeroize::Zeroizing;

pub use issuer::{DeviceCard, Issuer};
pub use trust::{Roots, RootsError};
pub use wallet_a::{Merchant, WalletAHeader, WalletAToken};
pub use wallet_g::{Gateway, GatewayError, WalletGSigningKey, WalletGToken};

use crate::sensitive::secret::Secret;

/// The payload cannot be read, is not genuine, is too old, or is for somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the payload cannot be used")]
pub struct Unreadable;

/// A payload that was sealed for us by a wallet that we believe, and is young enough.
#[derive(Debug)]
pub struct DecryptedPayload {
    /// What it pays with.
    pub card: WalletCard,
    /// The wallet's own name of this payment, by which a second use is known.
    pub payment: Vec<u8>,
    /// When the payload is too old at the latest, by the wall clock: so long its name must be remembered.
    pub until: Timestamp,
    /// The merchant to whom the holder gave it, where the payload says so.
    pub merchant: Option<String>,
}

/// The card inside of a payload.
#[derive(Debug)]
pub struct WalletCard {
    /// Of the device or of the card.
    pub number: Secret,
    /// 1 to 12, where the wallet tells the truth.
    pub expiry_month: i64,
    /// Four digits.
    pub expiry_year: i64,
    /// The proof that this payment was approved on the device; none where the wallet only knows the number.
    pub cryptogram: Option<Secret>,
    /// Electronic commerce indicator.
    pub eci: Option<String>,
}

/// No text of a payload is longer; the longest, a signature with two certificates, has about 5,000 characters.
const TEXT_BYTES_MAX: usize = 20_000;

/// Base64 of bounded length.
fn decoded(text: &str) -> Result<Vec<u8>, Unreadable> {
    use base64::Engine as _;
    if text.len() > TEXT_BYTES_MAX {
        return Err(Unreadable);
    }
    base64::engine::general_purpose::STANDARD.decode(text).map_err(|_| Unreadable)
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Two digits a byte.
pub fn hexadecimal_of(bytes: &[u8]) -> String {
    let digit = |digit: u8| char::from_digit(digit.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Bytes that are wiped.
type Plain = Zeroizing<Vec<u8>>;

macro_rules! unreadable {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for Unreadable {
            fn from(_: $error) -> Self {
                Self
            }
        }
    )+};
}

unreadable! {
    aes_gcm::Error, der::Error, hmac::digest::MacError, p256::ecdsa::Error, p256::elliptic_curve::Error,
    p256::pkcs8::spki::Error, serde_json::Error, std::num::ParseIntError, webpki::Error, x509_cert::builder::Error,
}
