//! The head of the audit trail: its last link, signed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::{Timestamp, installation};
use sea_orm::{ConnectionTrait, EntityTrait};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use store::Tx;
use vault::{Purpose, Vault};

use crate::error::Error;

/// The counter of the times that the server has met a trail that somebody else has changed.
pub const TAMPERING: &str = "card_payments_audit_tampering_total";
/// The head's name in the table `installation`.
pub(super) const HEAD: &str = "audit_head";

/// A keyed hash, as base64 in a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mac(pub [u8; 32]);

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| serde::de::Error::custom("no keyed hash"))
    }
}

/// The end of the trail, and its beginning if old entries have been removed. The same text is in the table
/// `installation` and in the anchor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// The number of the last sealed entry.
    pub number: i64,
    pub(super) link: Mac,
    /// Of the last sealed entry, in milliseconds since 1970.
    pub(super) kept_from: i64,
    /// The number of the last removed entry.
    pub(super) removed: i64,
    pub(super) removed_link: Mac,
    /// The time at which the head was signed, in milliseconds since 1970.
    pub(super) signed_at: i64,
    signature: Mac,
}

impl AuditHead {
    /// Reads the head as it is stored, whether its signature is right or not.
    pub(super) async fn find(db: &impl ConnectionTrait) -> Result<Option<installation::Model>, Error> {
        Ok(installation::Entity::find_by_id(HEAD).one(db).await?)
    }

    /// Returns the head that a text holds, if its signature is right.
    pub(super) fn parse(vault: &Vault, text: &str) -> Option<Self> {
        let head: Self = serde_json::from_str(text).ok()?;
        (head.signed_by(vault) == head.signature).then_some(head)
    }

    fn signed_by(&self, vault: &Vault) -> Mac {
        let numbers = [self.number, self.kept_from, self.removed, self.signed_at].map(i64::to_be_bytes);
        let parts = [&b"head"[..], numbers.as_flattened(), &self.link.0, &self.removed_link.0];
        Mac(vault.keyed_hash(Purpose::Audit, &parts))
    }

    /// Returns the text, signed at an instant of the wall clock.
    pub(super) fn sign(&mut self, vault: &Vault, wall: Timestamp) -> Result<String, Error> {
        self.signed_at = wall.millis();
        self.signature = self.signed_by(vault);
        Ok(serde_json::to_string(self)?)
    }

    /// Locks the head until the commit, so that one unit at a time seals or removes. A head that is gone or was changed is extended
    /// no further.
    pub(super) async fn lock(tx: &Tx, vault: &Vault) -> Result<(installation::Model, Self), Error> {
        tx.lock::<installation::Entity>(HEAD.to_owned()).await?;
        Self::require(vault, Self::find(tx).await?)
    }

    /// Returns the head that a row holds. Every database has one (see [`begin`](super::chain::begin)), so an absent one was deleted.
    pub(super) fn require(
        vault: &Vault,
        row: Option<installation::Model>,
    ) -> Result<(installation::Model, Self), Error> {
        let row = row.ok_or_else(|| tampered("the head of the audit trail is gone"))?;
        let head = Self::parse(vault, &row.value)
            .ok_or_else(|| tampered("the head of the audit trail was changed"))?;
        Ok((row, head))
    }

    /// Returns whether the trail of an earlier head may have become this one's.
    pub(super) fn follows(&self, earlier: &Self) -> bool {
        let is_same = self.number == earlier.number && self.link == earlier.link;
        self.removed >= earlier.removed && (self.number > earlier.number || is_same)
    }
}

/// Counts and returns the finding that somebody else than the server has changed the trail.
pub(super) fn tampered(finding: &str) -> Error {
    metrics::counter!(TAMPERING).increment(1);
    Error::internal(format!("{finding}: run card-payments audit verify"))
}
