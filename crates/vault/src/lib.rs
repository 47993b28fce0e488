//! The vault encrypts data that only the operator's key can open.
//!
//! Three layers, so that keys can change without rewriting all protected data at once:
//!   the operator's key (configuration, [`OperatorKeys`]) wraps data keys and hash keys (a table);
//!   a data key seals card numbers and the like ([`DataKeys::seal`]), and the row keeps its id;
//!   a hash key, one for each purpose, finds data that must not be readable ([`Vault::keyed_hash`]).
//!
//! Pure cryptography: the caller reads and writes the table.

mod cipher;
mod key;
pub mod limits;
mod operator_keys;
mod seals;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base::mutex::lock;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use uuid::Uuid;
use zeroize::Zeroizing;

pub use self::key::Key;
pub use self::operator_keys::{OperatorKeys, OperatorKeysError, Wrapped};
pub use self::seals::Seals;

/// The reason why sealed bytes cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// The table does not hold the data key.
    #[error("the vault has no data key {0}")]
    UnknownDataKey(Uuid),
    /// The configuration does not hold the operator's key.
    #[error("the vault has no operator key with the id {0:?}")]
    UnknownOperatorKey(String),
    /// Another key, another context, or changed bytes: the cipher cannot tell which.
    #[error("the ciphertext does not open with this key and context")]
    NotAuthentic,
}

/// The purpose of a keyed hash. Each purpose has its own key, so equal texts of two purposes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Finds an account by its secret or publishable key.
    ApiKey,
    /// Compares requests, and card numbers.
    Fingerprint,
    /// Signs addresses of pages and downloads, and makes their secrets.
    Link,
    /// Seals the audit trail. Its key is derived from that of [`Purpose::Link`], so every database has it.
    Audit,
    /// Signs the marks of erased customers. Its key is derived likewise.
    Erasure,
}

impl Purpose {
    /// Every purpose whose key is stored.
    pub const STORED: [Self; 3] = [Self::ApiKey, Self::Fingerprint, Self::Link];

    /// The name of the purpose's key, in the table of keys if it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::Fingerprint => "fingerprint",
            Self::Link => "link",
            Self::Audit => "audit",
            Self::Erasure => "erasure",
        }
    }
}

/// The stored keys. They are never replaced, only wrapped again: a new key would find nothing.
#[derive(Debug)]
pub struct HashKeys {
    /// The key of [`Purpose::ApiKey`].
    pub api_key: Key,
    /// The key of [`Purpose::Fingerprint`].
    pub fingerprint: Key,
    /// The key of [`Purpose::Link`].
    pub link: Key,
}

/// Sealed bytes and the id of their data key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedBytes {
    /// The data key's id.
    pub key: Uuid,
    /// Nonce, ciphertext, tag.
    pub bytes: Vec<u8>,
}

/// A set of data keys: one seals, all of them open.
#[derive(Debug)]
pub struct DataKeys {
    current: Uuid,
    keys: HashMap<Uuid, Key>,
    seals: Arc<Seals>,
}

impl DataKeys {
    /// Creates the set: `current` seals; it and the `older` ones open.
    pub fn new(current: (Uuid, Key), older: impl IntoIterator<Item = (Uuid, Key)>) -> Self {
        let id = current.0;
        Self { current: id, keys: older.into_iter().chain([current]).collect(), seals: Arc::default() }
    }

    /// Takes over the counts of the set that this one replaces.
    #[must_use]
    pub fn after(self, former: &Self) -> Self {
        Self { seals: Arc::clone(&former.seals), ..self }
    }

    /// The seals of these keys that are not stored yet.
    pub fn seals(&self) -> &Seals {
        &self.seals
    }

    /// The data key that seals. Rows of other keys wait to be encrypted again.
    pub const fn current(&self) -> Uuid {
        self.current
    }

    /// Seals under the current data key. `context` says what the bytes are and whose: opening needs the same one, so
    /// sealed bytes that were copied into another row stay closed.
    pub fn seal(&self, context: &[u8], plain: &[u8]) -> SealedBytes {
        let bytes = cipher::seal(&self.keys[&self.current], context, plain);
        self.seals.add(self.current, 1);
        SealedBytes { key: self.current, bytes }
    }

    /// Opens bytes that [`Self::seal`] sealed in the same context.
    pub fn open(&self, context: &[u8], key: Uuid, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let key = self.keys.get(&key).ok_or(VaultError::UnknownDataKey(key))?;
        cipher::open(key, context, bytes)
    }
}

/// The unwrapped keys of one process.
#[derive(Debug)]
pub struct Vault {
    data_keys: Mutex<Arc<DataKeys>>,
    hash_keys: HashKeys,
    audit_key: Key,
    erasure_key: Key,
}

impl Vault {
    /// Creates a vault with these keys.
    pub fn new(data_keys: DataKeys, hash_keys: HashKeys) -> Self {
        let source = Hkdf::<Sha256>::new(None, hash_keys.link.bytes());
        let derived = |purpose: Purpose| {
            let mut key = [0; 32];
            let name = format!("card-payments {} key", purpose.name());
            source.expand(name.as_bytes(), &mut key).expect("HKDF gives 32 bytes");
            Key::from(key)
        };
        let (audit_key, erasure_key) = (derived(Purpose::Audit), derived(Purpose::Erasure));
        Self { data_keys: Mutex::new(Arc::new(data_keys)), hash_keys, audit_key, erasure_key }
    }

    fn hash_key(&self, purpose: Purpose) -> &Key {
        match purpose {
            Purpose::ApiKey => &self.hash_keys.api_key,
            Purpose::Fingerprint => &self.hash_keys.fingerprint,
            Purpose::Link => &self.hash_keys.link,
            Purpose::Audit => &self.audit_key,
            Purpose::Erasure => &self.erasure_key,
        }
    }

    /// Returns the current set of data keys. A row seals all its columns with one set, for a rotation may come between
    /// two.
    pub fn data_keys(&self) -> Arc<DataKeys> {
        Arc::clone(&lock(&self.data_keys))
    }

    /// Replaces `former`, the data keys that were current before the new ones were read. Returns false if others have replaced
    /// them meanwhile, which may be newer.
    pub fn replace(&self, former: &Arc<DataKeys>, data_keys: impl Into<Arc<DataKeys>>) -> bool {
        let mut current = lock(&self.data_keys);
        let is_current = Arc::ptr_eq(&current, former);
        if is_current {
            *current = data_keys.into();
        }
        is_current
    }

    /// Seals with the current set: [`DataKeys::seal`].
    pub fn seal(&self, context: &[u8], plain: &[u8]) -> SealedBytes {
        self.data_keys().seal(context, plain)
    }

    /// HMAC-SHA256 over the parts, each behind its length: ("ab", "c") and ("a", "bc") differ.
    pub fn keyed_hash(&self, purpose: Purpose, parts: &[&[u8]]) -> [u8; 32] {
        let key = self.hash_key(purpose);
        let mut hash = Hmac::<Sha256>::new_from_slice(key.bytes()).expect("HMAC takes keys of any length");
        for part in parts {
            hash.update(&(part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: &[u8] = b"card number of card_1";
    const NUMBER: &[u8] = b"4200000000000000";

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    fn hash_keys() -> HashKeys {
        HashKeys { api_key: Key::from([1; 32]), fingerprint: Key::from([2; 32]), link: Key::from([3; 32]) }
    }

    fn vault() -> Vault {
        Vault::new(DataKeys::new((id(1), Key::from([7; 32])), []), hash_keys())
    }

    fn rotated() -> Vault {
        let vault = vault();
        assert!(vault.replace(&vault.data_keys(), second()));
        vault
    }

    fn second() -> DataKeys {
        DataKeys::new((id(2), Key::from([8; 32])), [(id(1), Key::from([7; 32]))])
    }

    fn opened(vault: &Vault, context: &[u8], sealed: &SealedBytes) -> Result<Vec<u8>, VaultError> {
        vault.data_keys().open(context, sealed.key, &sealed.bytes).map(|plain| plain.to_vec())
    }

    #[test]
    fn a_ciphertext_opens_in_its_context_only() {
        let sealed = vault().seal(CARD, NUMBER);
        assert_eq!(opened(&vault(), CARD, &sealed), Ok(NUMBER.to_vec()));
        assert_eq!(opened(&vault(), b"card number of card_2", &sealed), Err(VaultError::NotAuthentic));
    }

    #[test]
    fn a_changed_bit_anywhere_keeps_it_closed() {
        let sealed = vault().seal(CARD, NUMBER);
        for at in 0..sealed.bytes.len() {
            let mut changed = sealed.clone();
            changed.bytes[at] ^= 1;
            assert_eq!(opened(&vault(), CARD, &changed), Err(VaultError::NotAuthentic), "byte {at}");
        }
    }

    #[test]
    fn bytes_too_short_to_be_sealed_stay_closed() {
        for length in 0..28 {
            let short = SealedBytes { key: id(1), bytes: vec![0; length] };
            assert_eq!(opened(&vault(), CARD, &short), Err(VaultError::NotAuthentic), "{length} bytes");
        }
    }

    #[test]
    fn the_same_text_is_never_sealed_alike_twice() {
        assert_ne!(vault().seal(CARD, NUMBER), vault().seal(CARD, NUMBER));
    }

    #[test]
    fn after_a_rotation_old_rows_open_and_new_ones_use_the_new_key() {
        let old = vault().seal(CARD, NUMBER);
        assert_eq!(opened(&rotated(), CARD, &old), Ok(NUMBER.to_vec()));
        let new = rotated().seal(CARD, NUMBER);
        assert_eq!(new.key, rotated().data_keys().current());
        assert_eq!(opened(&vault(), CARD, &new), Err(VaultError::UnknownDataKey(id(2))));
    }

    #[test]
    fn keys_that_were_read_before_a_rotation_do_not_replace_those_read_after_it() {
        let vault = vault();
        let former = vault.data_keys();
        let late = DataKeys::new((id(1), Key::from([7; 32])), []);
        assert!(vault.replace(&former, second()));
        assert!(!vault.replace(&former, late));
        assert_eq!(vault.data_keys().current(), id(2));
    }

    #[test]
    fn seals_of_each_data_key_are_counted_over_a_rotation() {
        let vault = vault();
        vault.seal(CARD, NUMBER);
        let former = vault.data_keys();
        assert!(vault.replace(&former, second().after(&former)));
        // A caller that still holds the former keys.
        former.seal(CARD, NUMBER);
        let sealed = vault.seal(CARD, NUMBER);
        assert_eq!(opened(&vault, CARD, &sealed), Ok(NUMBER.to_vec()));
        assert_eq!(vault.data_keys().seals().take(), [(id(1), 2), (id(2), 1)]);
        assert_eq!(vault.data_keys().seals().take(), []);
    }

    #[test]
    fn a_hash_depends_on_its_purpose_and_on_where_its_parts_end() {
        let vault = vault();
        let mut hashes: Vec<_> =
            Purpose::STORED.map(|purpose| vault.keyed_hash(purpose, &[b"ab", b"c"])).to_vec();
        hashes.push(vault.keyed_hash(Purpose::Audit, &[b"ab", b"c"]));
        hashes.push(vault.keyed_hash(Purpose::Erasure, &[b"ab", b"c"]));
        hashes.push(vault.keyed_hash(Purpose::Link, &[b"a", b"bc"]));
        hashes.push(vault.keyed_hash(Purpose::Link, &[b"abc"]));
        hashes.push(vault.keyed_hash(Purpose::Link, &[]));
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 8);
        assert_eq!(
            vault.keyed_hash(Purpose::ApiKey, &[b"ab", b"c"]),
            rotated().keyed_hash(Purpose::ApiKey, &[b"ab", b"c"]),
        );
    }

    /// The values were made with other implementations: rows written today must open for ever.
    #[test]
    fn the_formats_at_rest_never_change() {
        let bytes = b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\
            \x2c\xb3\xd9\x40\x2d\x39\xe9\x79\x47\x82\xd5\xac\xd2\x68\x5c\xca\
            \xac\x6a\x62\x1b\x98\xce\x85\x9f\x56\x09\x6c\x83\x72\xc7\x25\x5d";
        let sealed = SealedBytes { key: id(1), bytes: bytes.to_vec() };
        assert_eq!(opened(&vault(), CARD, &sealed), Ok(NUMBER.to_vec()));
        let hash = vault().keyed_hash(Purpose::Link, &[b"ab", b"c"]);
        assert_eq!(hash[..8], [0x35, 0x6d, 0xfb, 0x69, 0x6e, 0x4e, 0x76, 0x79]);
        let hash = vault().keyed_hash(Purpose::Audit, &[b"ab", b"c"]);
        assert_eq!(hash[..8], [0xad, 0x88, 0xdf, 0xf5, 0x9c, 0x29, 0x05, 0x8d]);
    }

    #[test]
    fn no_key_is_printed() {
        let printed = format!("{:?}", vault());
        assert!(printed.contains("Key(***)") && !printed.contains("7, 7"), "{printed}");
    }
}
