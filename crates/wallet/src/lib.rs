//! Wallet payloads: verifies and decrypts them, and in the test environment encrypts and signs them as wallets do. Pure
//! cryptography over bytes and times; knows no table and makes no call.
//!
//! Every fault of a payload is the same error, [`Unreadable`], so that a forger learns nothing.

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

use base::secret::Secret;

/// The payload is unreadable, forged, too old, or for another recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the payload cannot be used")]
pub struct Unreadable;

/// A decrypted payload: genuine, for us, and recent enough.
#[derive(Debug)]
pub struct DecryptedPayload {
    /// The card inside.
    pub card: WalletCard,
    /// The id of this payment, which reveals a second use: only the wallet can make another one.
    pub payment: Vec<u8>,
    /// The time, by the wall clock, until which the id must be remembered: then the payload is too old.
    pub until: Timestamp,
    /// The merchant to whom the holder gave it, if the payload names one.
    pub merchant: Option<String>,
}

/// The card inside a payload.
#[derive(Debug)]
pub struct WalletCard {
    /// The number of the device or of the card.
    pub number: Secret,
    /// 1 to 12, unless the wallet sends nonsense.
    pub expiry_month: i64,
    /// Four digits.
    pub expiry_year: i64,
    /// The proof that this payment was approved on the device; none if the wallet only knows the number.
    pub cryptogram: Option<Secret>,
    /// Electronic commerce indicator.
    pub eci: Option<String>,
}

/// The longest text of a payload; a signature with two certificates has about 5,000 characters.
const TEXT_BYTES_MAX: usize = 20_000;

/// Decodes base64 of bounded length.
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

/// Bytes that are wiped from memory.
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
