//! `card-payments account import`: makes an account of this environment from a merchant of the other one. The partner's
//! account in this environment would be another one, so the merchant's row belongs to its own account; it waits for
//! this environment's operator to decide (`docs/decisions.md`, 315).

use entity::audit_entry::Action;
use entity::{AccountToken, account, merchant};
use sea_orm::EntityTrait;
use serde_json::json;
use store::Tx;
use validator::Validate;

use super::create::{append, pending_row};
use super::transport::{Document, FORMAT, VERSION};
use crate::config::{self, Environment};
use crate::error::Error;
use crate::params::{self, FieldErrors};
use crate::services::accounts::{self, ApiKeyPair, NewAccount};
use crate::services::audit::{self, OperatorAction};
use crate::services::bank_accounts;
use crate::services::bank_accounts::params::NewBankAccount;
use crate::services::context::{Account, Context};
use crate::services::merchants::params::Application;

/// The reason why a document is refused. No message repeats the document's content.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The document is not JSON of this shape.
    #[error("the document is incomplete or not JSON: line {line}, column {column}")]
    Broken {
        /// The line where parsing stopped, from 1.
        line: usize,
        /// The column where parsing stopped, from 1.
        column: usize,
    },
    /// The document is of another program or another release.
    #[error("the document is not a merchant that this release can read")]
    Unreadable,
    /// The document is for the other environment.
    #[error("the document is for the {0} environment")]
    Environment(&'static str),
    /// A value is not one that an application can have.
    #[error("the document's {0} is invalid")]
    Wrong(&'static str),
    /// The merchant was imported before.
    #[error("{0} already exists")]
    Known(AccountToken),
    /// The keys belong to another account.
    #[error("the document's keys belong to another account")]
    TakenKeys,
    /// The database failed.
    #[error("{0}")]
    Store(#[from] Error),
}

/// Parses and validates a document.
///
///
/// Refusals: all but those that depend on the database's accounts.
pub fn read(text: &str, environment: Environment) -> Result<Document, ImportError> {
    let broken =
        |error: serde_json::Error| ImportError::Broken { line: error.line(), column: error.column() };
    let head: serde_json::Value = serde_json::from_str(text).map_err(broken)?;
    if head["format"] != FORMAT || head["version"] != VERSION {
        return Err(ImportError::Unreadable);
    }
    let document: Document = serde_json::from_str(text).map_err(broken)?;
    if document.environment != environment.name() {
        return Err(ImportError::Environment(environment.other().name()));
    }
    // As the request reads it that makes a merchant: which also finds what is blank.
    if params::read::<Application>(&head["application"]).valid().is_err() {
        return Err(ImportError::Wrong("application"));
    }
    let paid_to = &document.bank_account;
    if paid_to.name.trim().is_empty() || paid_to.number.trim().is_empty() {
        return Err(ImportError::Wrong("bank_account"));
    }
    if NewBankAccount::from(&document.bank_account).validate().is_err() {
        return Err(ImportError::Wrong("bank_account"));
    }
    if !document.password_hash.starts_with("$argon2id$") {
        return Err(ImportError::Wrong("password_hash"));
    }
    let (secret, publishable) = (document.keys.secret.as_str(), document.keys.publishable.as_str());
    if !config::is_key(secret) || !config::is_key(publishable) || secret == publishable {
        return Err(ImportError::Wrong("keys"));
    }
    Ok(document)
}

/// Makes the account and returns its token.
pub async fn import(ctx: &Context, document: Document) -> Result<AccountToken, ImportError> {
    let wall = ctx.clock.now();
    let Document { application, bank_account, keys, .. } = &document;
    let id = AccountToken::new(document.merchant.id());
    let (name, email) = (&application.business.trading_name, &application.contact.email);
    let mut row = accounts::merchant(id, name, email, wall);
    row.referred_by = Some(id);
    let mut faults = FieldErrors::default();
    let given = NewBankAccount::from(bank_account);
    let own = Account::new(row.clone(), wall);
    let bank_account = bank_accounts::validate(ctx, &own, &given, "bank_account.", &mut faults);
    let (Some(bank_account), true) = (bank_account, faults.is_empty()) else {
        return Err(ImportError::Wrong("bank_account"));
    };
    let keys =
        ApiKeyPair { secret: keys.secret.as_str().into(), publishable: keys.publishable.as_str().into() };
    let merchant = pending_row(id, &row, application, document.password_hash.clone())?;
    let coming = ImportMerchantUnit { account: NewAccount::with(ctx, row, &keys, bank_account), merchant };
    match ctx.store.write(coming, async |tx, coming| coming.record(tx).await).await? {
        ImportResult::Imported => Ok(id),
        ImportResult::Known => Err(ImportError::Known(id)),
        ImportResult::TakenKeys => Err(ImportError::TakenKeys),
    }
}

struct ImportMerchantUnit {
    account: NewAccount,
    merchant: merchant::Model,
}

enum ImportResult {
    Imported,
    Known,
    TakenKeys,
}

impl ImportMerchantUnit {
    async fn record(&self, tx: &Tx) -> Result<ImportResult, Error> {
        if account::Entity::find_by_id(self.merchant.own_account()).one(tx).await?.is_some() {
            return Ok(ImportResult::Known);
        }
        if !self.account.taken_keys(tx).await?.is_empty() {
            return Ok(ImportResult::TakenKeys);
        }
        self.account.record(tx).await?;
        append(tx, &self.merchant);
        let merchant = self.merchant.id.to_string();
        let act =
            OperatorAction::about(Action::MerchantImported, self.merchant.own_account(), merchant, json!({}));
        audit::record(tx, &act)?;
        Ok(ImportResult::Imported)
    }
}
