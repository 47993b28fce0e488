//! Restricted API key (`docs/decisions.md`, 382).

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use base::plain_text::OneLine;
use entity::api_key::KeyRestriction;
use entity::section::{Right, Section};
use entity::{ApiKeyToken, Timestamp};
use macros::view;

/// An API key that may do only what its rights say.
#[view(secret)]
pub struct ApiKey {
    /// The key's token, `key_...`.
    pub token: ApiKeyToken,
    /// The name that tells the key from others.
    #[schema(example = "Accounting")]
    pub name: String,
    /// The secret key itself; present only when it is created or rolled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "rk_Yq0rQmvbQ0mF9QhJ9iVt7w")]
    pub secret_key: Option<String>,
    /// The last characters of the secret key.
    #[schema(example = "Vt7w")]
    pub last_characters: String,
    /// What the key may do, by section of this document.
    #[schema(value_type = BTreeMap<String, Right>, example = json!({ "charges": "read", "refunds": "write" }))]
    pub rights: BTreeMap<Section, Right>,
    /// The networks from which the key works; empty if it works from all.
    #[schema(example = json!(["192.0.2.0/24"]))]
    pub networks: Vec<String>,
    /// The real time at which the key ends; null if it never does.
    pub expires_at: Option<Timestamp>,
    /// The real time of the key's last use, within seconds; null if it was never used.
    pub last_used_at: Option<Timestamp>,
    /// The real time of the key's creation.
    pub created_at: Timestamp,
}

impl ApiKey {
    /// Returns the record of a key.
    pub fn new(
        token: ApiKeyToken,
        restriction: KeyRestriction,
        (created_at, expires_at): (Timestamp, Option<Timestamp>),
    ) -> Self {
        let KeyRestriction { name, last_characters, rights, networks } = restriction;
        Self {
            token,
            name,
            secret_key: None,
            last_characters,
            rights,
            networks,
            expires_at,
            last_used_at: None,
            created_at,
        }
    }
}

impl Display for ApiKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let never = |at: Option<Timestamp>| at.map_or_else(|| "never".to_owned(), |at| at.to_string());
        let rights =
            self.rights.iter().map(|(section, right)| format!("{}:{}", section.code(), right.code()));
        writeln!(
            f,
            "{} ...{} {}, made {}",
            self.token,
            self.last_characters,
            OneLine(&self.name),
            self.created_at
        )?;
        if let Some(key) = &self.secret_key {
            writeln!(f, "  key       {key}")?;
        }
        writeln!(f, "  rights    {}", rights.collect::<Vec<_>>().join(", "))?;
        let networks = if self.networks.is_empty() { "all".to_owned() } else { self.networks.join(", ") };
        writeln!(f, "  networks  {networks}")?;
        write!(f, "  ends {}, last used {}", never(self.expires_at), never(self.last_used_at))
    }
}
