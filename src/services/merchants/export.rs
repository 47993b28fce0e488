//! `card-payments account export`: a document with a merchant's application and its keys of the other environment
//! (`docs/decisions.md`, 314).

use entity::audit_entry::Action;
use entity::{Listed, MerchantToken, account, merchant};
use sea_orm::EntityTrait;
use serde_json::json;

use super::transitions::partner_of;
use super::transport::{self, BankAccount, Document, FORMAT, KeyPair, VERSION};
use crate::error::{Error, ErrorCode};
use crate::services::accounts::wipe::deleted;
use crate::services::audit::{self, OperatorAction};
use crate::services::bank_accounts;
use crate::services::context::Context;

/// The reason why a merchant cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// No merchant has this token.
    #[error("there is no merchant {0}")]
    Unknown(MerchantToken),
    /// The merchant was imported from the other environment.
    #[error("{0} was imported from the other environment, which has its keys")]
    Imported(MerchantToken),
    /// The database failed.
    #[error("{0}")]
    Store(#[from] Error),
}

/// Returns the document of a merchant of this environment. The audit trail records the export before the document is
/// returned.
pub async fn export(ctx: &Context, id: MerchantToken) -> Result<Document, ExportError> {
    let store = &ctx.store;
    let partner = partner_of(store, id).await.map_err(|error| {
        if error.code() == ErrorCode::NotFound { ExportError::Unknown(id) } else { error.into() }
    })?;
    let row = merchant::Entity::at(partner.id, id);
    let row = row.one(store.read()).await.map_err(Error::from)?.ok_or(ExportError::Unknown(id))?;
    let keys = transport::unseal_keys(ctx, &row).await?.ok_or(ExportError::Imported(id))?;
    let own = account::Entity::find_by_id(row.own_account()).one(store.read()).await.map_err(Error::from)?;
    let bank_account = own.and_then(|own| own.bank_account_id).ok_or_else(deleted)?;
    let bank_account = bank_accounts::load(store.read(), row.own_account(), bank_account).await?;
    let bank_account = bank_account.ok_or_else(deleted)?;
    let number = bank_accounts::number(ctx, &bank_account).await?;
    let detail = json!({ "to": ctx.environment.other().name() });
    let act = OperatorAction::about(Action::MerchantExported, partner.id, id.to_string(), detail);
    audit::record_alone(store, act).await?;
    Ok(Document {
        format: FORMAT.into(),
        version: VERSION,
        environment: ctx.environment.other().name().into(),
        merchant: id,
        application: serde_json::from_str(row.application.as_str()).map_err(Error::from)?,
        password_hash: row.password_hash,
        bank_account: BankAccount {
            name: bank_account.name,
            bsb: bank_account.bsb,
            number: number.expose().into(),
        },
        keys: KeyPair { secret: keys.secret.expose().into(), publishable: keys.publishable.expose().into() },
    })
}
