//! The keys that sign an endpoint's webhooks: the current one, and for a while after a rotation the former one too, so
//! that the receiver can install the new key while events keep arriving.

use std::sync::Arc;
use std::time::Duration;

use base::secret::Secret;
use entity::audit_entry::Action;
use entity::webhook_endpoint::{self, Column};
use entity::{AccountToken, Listed, TimeSpan, Timestamp, WebhookEndpointToken};
use outbound::signature::generate_key;
use sea_orm::sea_query::LockType;
use sea_orm::{FromQueryResult, QuerySelect};
use serde_json::json;
use store::Tx;
use uuid::Uuid;
use vault::{DataKeys, VaultError};

use crate::error::{Error, ErrorCode};
use crate::limits::TIDY_REST;
use crate::services::audit::{self, OperatorAction};
use crate::services::context::{Caller, Context};
use crate::services::data_keys::reencrypt::SealedTable;
use crate::services::data_keys::{reload, unseal};
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{DueRow, DueWork, WorkResult};
use crate::services::idempotency;
use crate::services::webhook_endpoints::view::RotatedKey;

/// An endpoint's decrypted keys.
pub struct SigningKeys {
    own: Secret,
    former: Option<(Secret, Timestamp)>,
}

impl SigningKeys {
    /// Returns the keys that sign at this time of the account's clock, the current one first.
    pub fn at(&self, now: Timestamp) -> impl Iterator<Item = &Secret> {
        let former = self.former.as_ref().filter(|(_, until)| now < *until).map(|(key, _)| key);
        std::iter::once(&self.own).chain(former)
    }
}

/// An endpoint's encrypted keys, as stored in its row.
#[derive(FromQueryResult)]
pub struct SealedKeys {
    key_sealed: Vec<u8>,
    sealed_by: Uuid,
    former_key_sealed: Option<Vec<u8>>,
    former_key_until: Option<Timestamp>,
}

impl From<webhook_endpoint::Model> for SealedKeys {
    fn from(row: webhook_endpoint::Model) -> Self {
        let webhook_endpoint::Model { key_sealed, sealed_by, former_key_sealed, former_key_until, .. } = row;
        Self { key_sealed, sealed_by, former_key_sealed, former_key_until }
    }
}

impl SealedKeys {
    pub async fn open(
        &self,
        ctx: &Context,
        account: AccountToken,
        endpoint: WebhookEndpointToken,
    ) -> Result<SigningKeys, Error> {
        let own = unseal_key(ctx, &own_context(account, endpoint), self.sealed_by, &self.key_sealed).await?;
        let former = match (&self.former_key_sealed, self.former_key_until) {
            (Some(sealed), Some(until)) => {
                let context = former_context(account, endpoint);
                Some((unseal_key(ctx, &context, self.sealed_by, sealed).await?, until))
            }
            (Some(_), None) | (None, Some(_) | None) => None,
        };
        Ok(SigningKeys { own, former })
    }
}

/// Decrypts the endpoint's current key.
pub(super) async fn own(ctx: &Context, row: &webhook_endpoint::Model) -> Result<Secret, Error> {
    unseal_key(ctx, &own_context(row.account_id, row.id), row.sealed_by, &row.key_sealed).await
}

async fn unseal_key(ctx: &Context, context: &[u8], sealed_by: Uuid, sealed: &[u8]) -> Result<Secret, Error> {
    let plain = unseal(ctx, context, sealed_by, sealed).await?;
    std::str::from_utf8(&plain).map(Secret::from).map_err(|_| Error::internal("a key is no text"))
}

/// Returns the associated data that binds a ciphertext to its endpoint.
pub(super) fn own_context(account: AccountToken, endpoint: WebhookEndpointToken) -> Vec<u8> {
    format!("key of {endpoint} of {account}").into_bytes()
}

/// Returns the associated data of a former key, so that it never decrypts as the current one.
fn former_context(account: AccountToken, endpoint: WebhookEndpointToken) -> Vec<u8> {
    format!("former key of {endpoint} of {account}").into_bytes()
}

/// Gives an endpoint a new key. The current one keeps signing for `grace`, by the account's clock.
///
/// An endpoint has at most two keys, and a rotation never silently revokes one that still signs: while a former key
/// signs, only a rotation without grace succeeds, and it revokes both.
///
/// Refusals, first match wins: `resource_not_found`, `invalid_state`.
pub async fn rotate(
    ctx: &Context,
    caller: &Caller,
    endpoint: WebhookEndpointToken,
    grace: TimeSpan,
) -> Result<RotatedKey, Error> {
    let rotated = || {
        let rotation = RotateKeyUnit {
            account: caller.account.id(),
            endpoint,
            fresh: generate_key(&ctx.random),
            grace,
            until: caller.account.now + ctx.trusted.lag() + grace,
            now: caller.account.now,
            data_keys: ctx.vault.data_keys(),
        };
        idempotency::write(ctx, caller, rotation, async |tx, rotation| rotation.record(tx).await)
    };
    match rotated().await {
        // Another process has added the data key that the row names.
        Err(Error::Vault(VaultError::UnknownDataKey(_))) => {
            reload(ctx).await?;
            rotated().await
        }
        rotated => rotated,
    }
}

struct RotateKeyUnit {
    account: AccountToken,
    endpoint: WebhookEndpointToken,
    fresh: Secret,
    grace: TimeSpan,
    /// The end of the former key, by the later of the times that may be now.
    until: Timestamp,
    now: Timestamp,
    data_keys: Arc<DataKeys>,
}

impl RotateKeyUnit {
    async fn record(&self, tx: &Tx) -> Result<RotatedKey, Error> {
        let row = webhook_endpoint::Entity::at(self.account, self.endpoint);
        let row = row.lock(LockType::NoKeyUpdate).one(tx).await?.ok_or(ErrorCode::RecordNotFound)?;
        let (former_key_sealed, former_key_until) = self.former(&row)?.unzip();
        let own = self.data_keys.seal(&own_context(row.account_id, row.id), self.fresh.expose().as_bytes());
        let rotated = webhook_endpoint::Model {
            key_sealed: own.bytes,
            sealed_by: own.key,
            former_key_sealed,
            former_key_until,
            updated_at: self.now,
            ..row.clone()
        };
        tx.update(&row, &rotated).await?;
        let detail = json!({ "former_key_until": former_key_until });
        audit::record(
            tx,
            &OperatorAction::about(Action::WebhookKeyRotated, row.account_id, row.id.to_string(), detail),
        )?;
        Ok(RotatedKey::new(row.id, &self.fresh, former_key_until))
    }

    /// Returns the current key encrypted as the former one, and the time until which it signs.
    fn former(&self, row: &webhook_endpoint::Model) -> Result<Option<(Vec<u8>, Timestamp)>, Error> {
        if self.grace == TimeSpan::ZERO {
            return Ok(None);
        }
        if row.former_key_until.is_some_and(|until| self.now < until) {
            return Err(Error::explained(ErrorCode::InvalidState, FORMER_SIGNS));
        }
        let own =
            self.data_keys.open(&own_context(row.account_id, row.id), row.sealed_by, &row.key_sealed)?;
        let sealed = self.data_keys.seal(&former_context(row.account_id, row.id), &own);
        Ok(Some((sealed.bytes, self.until)))
    }
}

/// The error message of a rotation while a former key signs.
pub const FORMER_SIGNS: &str =
    "A former key still signs: wait for its end, or end it by a rotation without grace";

/// Erases former keys that no longer sign.
pub struct WebhookKeyEndWork;

impl DueWork for WebhookKeyEndWork {
    type Entity = webhook_endpoint::Entity;
    const NAME: &'static str = "ended_webhook_key";
    const DESTROYS: bool = true;
    const REST: Duration = TIDY_REST;
    const AT: Column = Column::FormerKeyUntil;
    const ID: Column = Column::Id;

    fn subject(row: &webhook_endpoint::Model) -> DueRow {
        let at = row.former_key_until.unwrap_or(row.updated_at);
        DueRow::new(row.account_id, at, row.id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: webhook_endpoint::Model) -> Result<WorkResult, Error> {
        let unit = time.write(ctx, row, async |tx, seen| {
            let erased =
                webhook_endpoint::Model { former_key_sealed: None, former_key_until: None, ..seen.clone() };
            // Or the endpoint was deleted or its key rotated again.
            let is_erased = tx.compare_and_swap(seen, &erased, &[Column::FormerKeyUntil]).await?;
            Ok(is_erased.then_some(WorkResult::Silent))
        });
        unit.await.map(WorkResult::from)
    }
}

impl SealedTable for webhook_endpoint::Entity {
    const SEALED_BY: Column = Column::SealedBy;
    const SEALED: &'static [Column] = &[Column::KeySealed, Column::FormerKeySealed];

    fn context(row: &webhook_endpoint::Model, column: Column) -> Vec<u8> {
        if matches!(column, Column::FormerKeySealed) {
            former_context(row.account_id, row.id)
        } else {
            own_context(row.account_id, row.id)
        }
    }
}
