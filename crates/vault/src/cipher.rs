//! AES-256-GCM: `nonce || ciphertext || tag`.

use aes_gcm::aead::{Aead as _, Payload};
use aes_gcm::{Aes256Gcm, KeyInit as _, Nonce};
use base::random::random;
use zeroize::Zeroizing;

use super::{Key, VaultError};

const NONCE_BYTES: usize = 12;

/// Encrypts under a random nonce, which is safe for four billion messages a key. Seals of each data key are counted,
/// and the operator is warned in time to run `vault rotate`, which makes the next key (`limits::SEALS_MAX`).
pub(super) fn seal(key: &Key, context: &[u8], plain: &[u8]) -> Vec<u8> {
    let nonce = random::<NONCE_BYTES>();
    let ciphertext = cipher(key)
        .encrypt(&Nonce::from(nonce), Payload { msg: plain, aad: context })
        .expect("nothing that is sealed has 64 GiB");
    [&nonce[..], &ciphertext].concat()
}

pub(super) fn open(key: &Key, context: &[u8], bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
    let (nonce, ciphertext) = bytes.split_first_chunk::<NONCE_BYTES>().ok_or(VaultError::NotAuthentic)?;
    cipher(key)
        .decrypt(&Nonce::from(*nonce), Payload { msg: ciphertext, aad: context })
        .map(Zeroizing::new)
        .map_err(|_| VaultError::NotAuthentic)
}

/// Built for each message: the key schedule costs less than a microsecond and is wiped at once.
fn cipher(key: &Key) -> Aes256Gcm {
    Aes256Gcm::new(key.bytes().into())
}
