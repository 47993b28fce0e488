//! Finds files.

use entity::file;

use super::link::Links;
use crate::error::Error;
use crate::services::by_key;
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
    by_key::find::<file::Entity>(ctx.store.read(), account, token).await
}
