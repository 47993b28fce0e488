//! A key in memory.

use std::fmt;

use base::random::random;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// 256 bits that are wiped when dropped and never printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Key([u8; 32]);

impl Key {
    /// Generates a key.
    pub fn random() -> Self {
        Self(random())
    }

    pub(super) const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Key {
    fn from(mut bytes: [u8; 32]) -> Self {
        let key = Self(bytes);
        bytes.zeroize();
        key
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(***)")
    }
}
