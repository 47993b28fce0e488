//! A database belongs to one environment and carries its keys, wrapped by the operator's vault key.

use entity::installation;
use futures::FutureExt;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use super::context::Context;
use crate::config::Environment;
use crate::error::{Error, ErrorCode};
use crate::store::{ConnectError, Store};
use crate::vault::VaultError;

/// Why a database and this process do not belong together.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// It belongs to the other environment.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The operator's key does not open it.
    #[error("the vault key does not open this database: {0}")]
    Vault(#[from] VaultError),
    /// A key that every database has is not there.
    #[error("the database lacks one of its keys")]
    KeyMissing,
    /// The database failed.
    #[error("{0}")]
    Store(#[from] Error),
}

const ENVIRONMENT: &str = "environment";

/// Claim an empty database for `environment`, or refuse one of the other.
pub async fn claim(store: &Store, environment: Environment) -> Result<(), InstallationError> {
    let row = installation::Model { name: ENVIRONMENT.into(), value: environment.name().into() };
    let found = store
        .write(row, |tx, row| {
            async move {
                let found = installation::Entity::find_by_id(ENVIRONMENT).one(tx).await?;
                if found.is_none() {
                    tx.append(row);
                }
                Ok(found)
            }
            .boxed()
        })
        .await?;
    refuse_other(found.as_ref().map(|found| found.value.as_str()), environment)
}

/// Refuse a database of the other environment, before anything of it is touched. One that is nobody's yet stays so.
pub fn refuse_other(found: Option<&str>, environment: Environment) -> Result<(), InstallationError> {
    match found {
        Some(found) if found != environment.name() => Err(ConnectError::Environment(found.into()).into()),
        Some(_) | None => Ok(()),
    }
}

/// Whether the database answers, and writes: if it could not lately, it is tried with a write that changes nothing. And whether
/// the acquirer has been heard of since the process began: who has not would find out by a payment whether they know each
/// other.
pub async fn answers(ctx: &Context) -> Result<(), Error> {
    if !ctx.acquirer.is_known().await {
        return Err(ErrorCode::ServiceUnavailable.into());
    }
    installation::Entity::find_by_id(ENVIRONMENT).one(ctx.store.read()).await?;
    if !ctx.store.is_unwritable() {
        return Ok(());
    }
    let unit = ctx.store.write((), |tx, ()| {
        async move {
            let same = Expr::col(installation::Column::Value);
            let rewrite = installation::Entity::update_many().col_expr(installation::Column::Value, same);
            rewrite.filter(installation::Column::Name.eq(ENVIRONMENT)).exec(tx).await?;
            Ok(())
        }
        .boxed()
    });
    unit.await
}
