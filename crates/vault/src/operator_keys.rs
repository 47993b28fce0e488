//! The operator's keys: the only keys outside the database. They only wrap other keys.

use std::fmt;
use std::str::FromStr;

use base::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::{Key, VaultError, cipher};

const ID_CHARACTERS_MAX: usize = 32;

/// `id:base64[,id:base64...]`: the first key wraps; the others only open keys that they wrapped before.
#[derive(Clone)]
pub struct OperatorKeys {
    wrapping: OperatorKey,
    former: Vec<OperatorKey>,
}

#[derive(Clone)]
struct OperatorKey {
    id: String,
    key: Key,
}

/// A wrapped data key or hash key, and the id of the operator's key that opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapped {
    /// The operator key's id.
    pub by: String,
    /// Nonce, ciphertext, tag.
    pub bytes: Vec<u8>,
}

/// The reason why a text does not hold operator keys. Names positions and ids, never a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperatorKeysError {
    /// Without a valid id the text may be the key itself, so the error names only its position.
    #[error(
        "vault key {position} is not id:base64 with an id of at most {ID_CHARACTERS_MAX} letters, digits, - and _"
    )]
    NoId {
        /// Counted from 1.
        position: usize,
    },
    /// The key is not base64 of 32 bytes.
    #[error("vault key {id:?} is not the base64 of 32 bytes")]
    NotAKey {
        /// The key's id.
        id: String,
    },
    /// Two keys have one id.
    #[error("vault key id {id:?} is given twice")]
    IdTwice {
        /// The repeated id.
        id: String,
    },
}

impl OperatorKeys {
    /// Returns whether a text can be the id of a key: shorter than a key's 43 characters, so that a key in the place of the id is
    /// no id, and no error prints it.
    pub fn is_id(text: &str) -> bool {
        (1..=ID_CHARACTERS_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    }

    /// Generates a key under this id, with no former ones.
    pub fn generate(id: &str) -> Self {
        debug_assert!(Self::is_id(id), "a generated key parses again");
        Self { wrapping: OperatorKey { id: id.to_owned(), key: Key::random() }, former: Vec::new() }
    }

    /// Returns the text that parses into these keys, for a key file.
    pub fn to_text(&self) -> Secret {
        let texts: Vec<_> = self.all().map(OperatorKey::to_text).collect();
        let texts: Vec<_> = texts.iter().map(|text| text.as_str()).collect();
        texts.join(",").into()
    }

    /// The id of the key that wraps. Keys that another one wrapped wait to be wrapped again.
    pub fn wrapping_id(&self) -> &str {
        &self.wrapping.id
    }

    /// Wraps under the first key. `context` names the wrapped key, so that no two wrapped keys can be swapped.
    pub fn wrap(&self, context: &[u8], key: &Key) -> Wrapped {
        let OperatorKey { id, key: wrapping } = &self.wrapping;
        Wrapped { by: id.clone(), bytes: cipher::seal(wrapping, context, key.bytes()) }
    }

    /// Opens a key that any of these keys wrapped in the same context.
    pub fn unwrap(&self, context: &[u8], wrapped: &Wrapped) -> Result<Key, VaultError> {
        let by = self
            .all()
            .find(|candidate| candidate.id == wrapped.by)
            .ok_or_else(|| VaultError::UnknownOperatorKey(wrapped.by.clone()))?;
        let bytes = cipher::open(&by.key, context, &wrapped.bytes)?;
        <[u8; 32]>::try_from(bytes.as_slice()).map(Key::from).map_err(|_| VaultError::NotAuthentic)
    }

    fn all(&self) -> impl Iterator<Item = &OperatorKey> {
        std::iter::once(&self.wrapping).chain(&self.former)
    }
}

impl OperatorKey {
    fn parse(text: &str, position: usize) -> Result<Self, OperatorKeysError> {
        let (id, base64) = text.trim().split_once(':').ok_or(OperatorKeysError::NoId { position })?;
        if !OperatorKeys::is_id(id) {
            return Err(OperatorKeysError::NoId { position });
        }
        let id = id.to_owned();
        let decoded = STANDARD.decode(base64).map(Zeroizing::new).ok();
        match decoded.and_then(|bytes| <[u8; 32]>::try_from(bytes.as_slice()).ok()) {
            Some(bytes) => Ok(Self { id, key: Key::from(bytes) }),
            None => Err(OperatorKeysError::NotAKey { id }),
        }
    }

    fn to_text(&self) -> Zeroizing<String> {
        let base64 = Zeroizing::new(STANDARD.encode(self.key.bytes()));
        Zeroizing::new(format!("{}:{}", self.id, base64.as_str()))
    }
}

impl FromStr for OperatorKeys {
    type Err = OperatorKeysError;

    fn from_str(text: &str) -> Result<Self, OperatorKeysError> {
        let mut keys: Vec<OperatorKey> = Vec::new();
        for (text, position) in text.split(',').zip(1..) {
            let key = OperatorKey::parse(text, position)?;
            if keys.iter().any(|earlier| earlier.id == key.id) {
                return Err(OperatorKeysError::IdTwice { id: key.id });
            }
            keys.push(key);
        }
        let wrapping = keys.remove(0);
        Ok(Self { wrapping, former: keys })
    }
}

/// Prints ids only.
impl fmt::Debug for OperatorKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().map(|key| &key.id)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const B: &str = "b:HxwdHhgZGhsUFRYXEBESEwwNDg8ICQoLBAUGBwABAgM=";

    fn keys(text: &str) -> OperatorKeys {
        text.parse().expect("good keys")
    }

    #[test]
    fn the_first_key_wraps_and_the_others_open() {
        let old = keys(A).wrap(b"data key 1", &Key::from([9; 32]));
        let both = keys(&format!("{B},{A}\n"));
        let key = both.unwrap(b"data key 1", &old).expect("a former key opens");
        assert_eq!(key.bytes(), &[9; 32]);
        let anew = both.wrap(b"data key 1", &key);
        assert_eq!((anew.by.as_str(), both.wrapping_id()), ("b", "b"));
        assert!(keys(B).unwrap(b"data key 1", &anew).is_ok());
    }

    #[test]
    fn a_wrapped_key_opens_with_its_key_in_its_context_only() {
        let wrapped = keys(A).wrap(b"data key 1", &Key::from([9; 32]));
        let refusal = |keys: OperatorKeys, context: &[u8]| keys.unwrap(context, &wrapped).err();
        assert_eq!(refusal(keys(A), b"data key 2"), Some(VaultError::NotAuthentic));
        assert_eq!(refusal(keys(B), b"data key 1"), Some(VaultError::UnknownOperatorKey("a".into())));
        assert_eq!(refusal(keys(&B.replacen('b', "a", 1)), b"data key 1"), Some(VaultError::NotAuthentic));
    }

    #[test]
    fn a_generated_key_survives_its_file() {
        let generated = OperatorKeys::generate("first");
        let wrapped = generated.wrap(b"", &Key::from([9; 32]));
        assert!(keys(generated.to_text().expose()).unwrap(b"", &wrapped).is_ok());
        assert_eq!(keys(&format!("{A},{B}")).to_text().expose(), format!("{A},{B}"));
    }

    #[test]
    fn faulty_keys_are_refused_without_telling_a_key() {
        let key = A.trim_start_matches("a:");
        let unpadded = key.trim_end_matches('=');
        let no_id = |position| OperatorKeysError::NoId { position };
        let not_a_key = |id: &str| OperatorKeysError::NotAKey { id: id.into() };
        for (text, error) in [
            (String::new(), no_id(1)),
            (key.to_owned(), no_id(1)),
            (format!("{unpadded}:a"), no_id(1)),
            (format!(":{key}"), no_id(1)),
            (format!("{A},"), no_id(2)),
            (format!("{A},{key}"), no_id(2)),
            ("a:".to_owned(), not_a_key("a")),
            ("a:AAEC".to_owned(), not_a_key("a")),
            (format!("a:{unpadded}"), not_a_key("a")),
            (format!("a:x{key}"), not_a_key("a")),
            (format!("{A},{A}"), OperatorKeysError::IdTwice { id: "a".into() }),
        ] {
            let refusal = text.parse::<OperatorKeys>().expect_err(&text);
            assert_eq!(refusal, error, "{text}");
            assert!(!refusal.to_string().contains(&unpadded[..8]), "{refusal}");
        }
    }

    #[test]
    fn no_key_is_printed() {
        assert_eq!(format!("{:?}", keys(&format!("{A},{B}"))), r#"["a", "b"]"#);
    }
}
