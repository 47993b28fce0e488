//! Finds files.

use entity::file;
use entity::{FileToken, Listed};

use super::link::Links;
use crate::error::{Error, ErrorCode};
use crate::services::context::{Account, Context};
use crate::services::files::view::File;

/// Returns one file with a new link.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<File, Error> {
    let row = by_token(ctx, account, token).await?;
    Ok(Links::new(ctx, account).shown(&row))
}

/// Finds the row of a file.
///
/// Refusals: `not_found`.
pub(in crate::services) async fn by_token(
    ctx: &Context,
    account: &Account,
    token: &str,
) -> Result<file::Model, Error> {
    let id: FileToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let row = file::Entity::at(account.id(), id).one(ctx.store.read()).await?;
    row.ok_or_else(|| ErrorCode::NotFound.into())
}
