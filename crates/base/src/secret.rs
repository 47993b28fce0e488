//! Text that is never logged and is wiped from memory: card numbers, security codes, passwords, keys.

use std::convert::Infallible;
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use subtle::ConstantTimeEq as _;
use tempfile::NamedTempFile;
use validator::{Validate, ValidateLength, ValidationErrors};
use zeroize::Zeroizing;

use crate::durable_fs::folder_of;
use crate::platform;

/// A text that wipes its memory, compares in constant time and never prints its content.
///
/// It has no `Display`, and it serialises as "": validator copies rejected values into its errors.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Returns the text. The name is long enough to be noticed in review.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(text))
    }
}

/// Writes a secret to a new file that only its owner can read: complete and flushed to the disk, or not at all.
///
/// Errors: [`std::io::ErrorKind::AlreadyExists`] if the file exists.
pub fn write_secret_file(file: &Path, text: &Secret) -> std::io::Result<()> {
    let folder = folder_of(file);
    let mut written = NamedTempFile::new_in(folder)?;
    written.write_all(text.expose().as_bytes())?;
    written.as_file().sync_all()?;
    written.persist_noclobber(file)?;
    platform::flush_folder(folder)
}

/// Refuses a file that [`write_secret_file`] could not make, with the same errors.
pub fn refuse_unwritable(file: &Path) -> std::io::Result<()> {
    File::create_new(file)?;
    std::fs::remove_file(file)
}

/// Constant-time but for the length, which may be known: it is that of a card number, a code or a key.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("")
    }
}

impl ValidateLength<u64> for Secret {
    fn length(&self) -> Option<u64> {
        self.0.as_str().length()
    }
}

/// Reads text: the decoder of parameters passes integers as text too, and reports values that are missing or no text.
impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Withheld::<String>::deserialize(deserializer).map(|Withheld(text)| Self::from(text))
    }
}

/// The name by which the decoder of parameters recognises a value that must not be shown.
pub const WITHHELD: &str = "$card_payments::Withheld";

/// A parameter that must not be shown, however plain its fields are: a wallet's payload.
#[derive(Deserialize)]
#[serde(rename = "$card_payments::Withheld")]
pub struct Withheld<T>(pub T);

impl<T: Validate> Validate for Withheld<T> {
    fn validate(&self) -> Result<(), ValidationErrors> {
        self.0.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: &str = "4200000000000000";

    #[test]
    fn neither_debug_nor_json_shows_the_text() {
        let secret = Secret::from(NUMBER);
        assert_eq!(format!("{secret:?}"), "Secret(***)");
        assert_eq!(format!("{:?}", Some(&secret)), "Some(Secret(***))");
        assert_eq!(serde_json::to_string(&secret).ok().as_deref(), Some(r#""""#));
    }

    #[test]
    fn equal_means_equal_text() {
        assert_eq!(Secret::from(NUMBER), NUMBER.parse::<Secret>().unwrap_or_default());
        assert_ne!(Secret::from(NUMBER), Secret::from("4200000000000001"));
        assert_ne!(Secret::from(NUMBER), Secret::from("42"));
        assert_ne!(Secret::from(NUMBER), Secret::default());
    }
}
