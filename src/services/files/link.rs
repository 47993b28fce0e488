//! Links to files: a client with a link may read the file without a key until the link expires.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::{AccountToken, FileToken, Listed, Timestamp, account, file};
use outbound::blobs::{BlobName, Content};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use subtle::ConstantTimeEq;
use vault::{Purpose, Vault};

use crate::error::{Error, ErrorCode};
use crate::limits::LINK_LIFETIME;
use crate::services::context::{Account, Context};
use crate::services::files::view::File;

/// Creates an account's links.
pub(in crate::services) struct Links {
    account: AccountToken,
    /// The time by the account's clock.
    now: Timestamp,
    vault: Arc<Vault>,
    base_url: Arc<str>,
}

impl Links {
    /// Returns a creator of links as of now.
    pub fn new(ctx: &Context, account: &Account) -> Self {
        let (vault, base_url) = (Arc::clone(&ctx.vault), Arc::clone(&ctx.settings.base_url));
        Self { account: account.id(), now: account.now, vault, base_url }
    }

    /// Returns a file with a link that is valid from now on.
    pub fn shown(&self, row: &file::Model) -> File {
        let expires_at = self.now + LINK_LIFETIME;
        // Whole seconds, as the API shows it.
        let expires = expires_at.millis().div_euclid(1000);
        let signature = URL_SAFE_NO_PAD.encode(signature(&self.vault, self.account, row.id, expires));
        let (base_url, account, file) = (&self.base_url, self.account, row.id);
        let url = format!("{base_url}/files/{account}/{file}?expires={expires}&signature={signature}");
        File::new(row.clone(), url, Timestamp::from_millis(expires * 1000))
    }
}

fn signature(vault: &Vault, account: AccountToken, file: FileToken, expires: i64) -> [u8; 32] {
    let (account, file) = (account.id(), file.id());
    let parts: [&[u8]; 4] = [b"file", account.as_bytes(), file.as_bytes(), &expires.to_be_bytes()];
    vault.keyed_hash(Purpose::Link, &parts)
}

/// A file and its content.
pub struct Download {
    /// The file's row.
    pub file: file::Model,
    /// The file's bytes.
    pub content: Content,
}

/// Returns a link's file. A link that was changed, has expired or whose file is deleted is not found; the error does
/// not say which.
///
/// Refusals: `not_found`, `service_unavailable` if blobs cannot be read.
pub async fn download(
    ctx: &Context,
    account: &str,
    file: &str,
    expires: Option<&str>,
    signed: Option<&str>,
) -> Result<Download, Error> {
    let lost = || Error::from(ErrorCode::NotFound);
    let (account, file): (AccountToken, FileToken) =
        (account.parse().map_err(|_| lost())?, file.parse().map_err(|_| lost())?);
    let expires: i64 = expires.and_then(|text| text.parse().ok()).ok_or_else(lost)?;
    let signed = signed.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok()).ok_or_else(lost)?;
    if !bool::from(signature(&ctx.vault, account, file, expires).ct_eq(&signed)) {
        return Err(lost());
    }
    let owner = account::Entity::find_by_id(account).filter(account::Column::ClosedAt.is_null());
    let owner = owner.one(ctx.store.read()).await?.ok_or_else(lost)?;
    let now = owner.now(ctx.clock.now());
    if Timestamp::from_millis(expires.saturating_mul(1000)) <= now {
        return Err(lost());
    }
    let row = file::Entity::at(account, file);
    let row = row.one(ctx.store.read()).await?.ok_or_else(lost)?;
    match ctx.blobs.get(BlobName::new(account, file)).await {
        Ok(Some(content)) => Ok(Download { file: row, content }),
        // Deleted between the two reads.
        Ok(None) => Err(lost()),
        Err(error) => {
            tracing::error!(%error, "a blob cannot be read");
            Err(ErrorCode::ServiceUnavailable.into())
        }
    }
}
