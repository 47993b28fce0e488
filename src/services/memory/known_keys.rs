//! The API keys that a process has read, and the accounts that it keeps for payments.

use std::sync::Arc;

use entity::api_key::{KeyKind, KeyRestriction};
use entity::{AccountToken, JsonText, Timestamp, account};

use crate::error::Error;
use crate::services::account_version::AccountVersion;

/// The cached part of an API key: never the settings of its account.
#[derive(Debug, Clone)]
pub struct KeyEntry {
    pub hash: [u8; 32],
    /// The account that the key authenticates.
    pub account: AccountToken,
    /// The kind of key, which sets its permissions.
    pub kind: KeyKind,
    /// The end of the key's validity, by the wall clock.
    pub valid_until: Option<Timestamp>,
    /// The restriction of a restricted key; `None` for any other key.
    pub restriction: Option<Arc<KeyRestriction>>,
}

impl KeyEntry {
    /// Returns the entry of a stored key.
    pub fn new(
        hash: [u8; 32],
        account: AccountToken,
        kind: KeyKind,
        valid_until: Option<Timestamp>,
        restriction: Option<&JsonText>,
    ) -> Result<Self, Error> {
        let restriction = restriction.map(|json| serde_json::from_str(json.as_str())).transpose()?;
        Ok(Self { hash, account, kind, valid_until, restriction: restriction.map(Arc::new) })
    }

    /// Returns whether the key's validity has ended, by the wall clock.
    pub fn has_ended(&self, wall: Timestamp) -> bool {
        self.valid_until.is_some_and(|until| until <= wall)
    }
}

/// A key and its account, as the process read them.
#[derive(Debug, Clone)]
pub struct KeptAccount {
    pub key: KeyEntry,
    pub row: Arc<account::Model>,
    /// The version of both.
    pub version: AccountVersion,
}
