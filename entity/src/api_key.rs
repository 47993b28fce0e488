//! API keys, found by a keyed hash of the secret (`docs/decisions.md`, 56).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::section::{Right, Section};
use crate::{AccountToken, ApiKeyToken, Bytes, JsonText, Timestamp};

table! {
    /// One key, by its HMAC-SHA256. Merchant detail shows the keys of a pair again, so they are kept encrypted as well.
    "api_keys" [hash: Bytes] {
        account_id: AccountToken,
        kind: KeyKind,
        /// The encrypted key; of a restricted key an empty text.
        sealed: Bytes,
        sealed_by: Uuid,
        /// The end of its validity, by the wall clock; null if none is set.
        valid_until: Option<Timestamp>,
        /// By the wall clock. The API shows the youngest pair.
        created_at: Timestamp,
        /// The token of a restricted key.
        id: Option<ApiKeyToken>,
        /// A [`KeyRestriction`], for a restricted key.
        restriction: Option<JsonText>,
    } relations {
        /// The account that it opens.
        #[sea_orm(belongs_to, from = "account_id", to = "id")]
        account: (BelongsTo<crate::account::Entity>),
    }
}

impl crate::Owned for Entity {
    const ACCOUNT: Column = Column::AccountId;
}

/// Lists show restricted keys only.
impl crate::Listed for Entity {
    type Id = crate::ApiKeyToken;

    const ID: Column = Column::Id;
}

string_enum! {
    /// The kind of a key (specification, Authentication): a secret key is for servers, a publishable one for browsers.
    pub enum KeyKind {
        /// Works on every endpoint.
        Secret "secret",
        /// Works on the endpoints that store a card, a payment source or a bank account.
        Publishable "publishable",
        /// A secret key with a [`KeyRestriction`].
        Restricted "restricted",
    }
}

/// The name of a restricted key, and what it may do from where. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRestriction {
    /// The name that people have given it.
    pub name: String,
    /// The end of the key.
    pub last_characters: String,
    /// In sections that are absent it may do nothing.
    pub rights: BTreeMap<Section, Right>,
    /// The networks from which it works, as `192.0.2.0/24`; from all if there is none.
    pub networks: Vec<String>,
}

impl KeyRestriction {
    /// Returns the right in a section.
    pub fn right(&self, section: Section) -> Right {
        self.rights.get(&section).copied().unwrap_or(Right::None)
    }
}
