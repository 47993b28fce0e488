//! The document that takes a merchant from one environment to the other, with the keys that work there
//! (`docs/decisions.md`, 314).

use base::secret::Secret;
use entity::{AccountToken, MerchantToken, merchant};
use serde::{Deserialize, Serialize};
use vault::{SealedBytes, Vault};

use crate::error::Error;
use crate::services::accounts::ApiKeyPair;
use crate::services::bank_accounts::params::NewBankAccount;
use crate::services::context::Context;
use crate::services::data_keys::{reencrypt, unseal};
use crate::services::merchants::params::Application;

/// The document's `format`.
pub(super) const FORMAT: &str = "card-payments merchant";
/// The document's `version`.
pub(super) const VERSION: i64 = 1;

/// An exported merchant. The document holds the keys: it is for the operators of both servers only.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub(super) format: String,
    pub(super) version: i64,
    /// The environment that imports it.
    pub(super) environment: String,
    pub(super) merchant: MerchantToken,
    pub(super) application: Application,
    pub(super) password_hash: String,
    pub(super) bank_account: BankAccount,
    pub(super) keys: KeyPair,
}

impl Document {
    /// Returns the merchant's token, the same in both environments.
    pub fn merchant(&self) -> MerchantToken {
        self.merchant
    }
}

/// The bank account to which the merchant is paid.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BankAccount {
    pub(super) name: String,
    pub(super) bsb: String,
    pub(super) number: String,
}

/// The keys of its account in the other environment.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyPair {
    pub(super) secret: String,
    pub(super) publishable: String,
}

impl From<&BankAccount> for NewBankAccount {
    fn from(BankAccount { name, bsb, number }: &BankAccount) -> Self {
        Self { name: name.clone(), bsb: bsb.clone(), number: number.as_str().into() }
    }
}

/// Seals the keys of the other environment for the merchant's row.
pub(super) fn seal(vault: &Vault, own: AccountToken, keys: &ApiKeyPair) -> SealedBytes {
    // A key holds no white space.
    let pair = Secret::from(format!("{} {}", keys.secret.expose(), keys.publishable.expose()));
    vault.seal(&context(own), pair.expose().as_bytes())
}

/// Unseals those keys. `None` for an imported merchant, whose keys were minted elsewhere.
pub(super) async fn unseal_keys(ctx: &Context, row: &merchant::Model) -> Result<Option<ApiKeyPair>, Error> {
    let (Some(sealed), Some(key)) = (&row.other_keys_sealed, row.sealed_by) else { return Ok(None) };
    let plain = unseal(ctx, &context(row.own_account()), key, sealed).await?;
    let pair = std::str::from_utf8(&plain).ok().and_then(|pair| pair.split_once(' '));
    let (secret, publishable) = pair.ok_or_else(|| Error::internal("keys of a merchant that are none"))?;
    Ok(Some(ApiKeyPair { secret: secret.into(), publishable: publishable.into() }))
}

impl reencrypt::SealedTable for merchant::Entity {
    const SEALED_BY: merchant::Column = merchant::Column::SealedBy;
    const SEALED: &'static [merchant::Column] = &[merchant::Column::OtherKeysSealed];

    fn context(row: &merchant::Model, _: merchant::Column) -> Vec<u8> {
        context(row.own_account())
    }
}

/// Returns the associated data that binds a sealed pair to its merchant.
fn context(own: AccountToken) -> Vec<u8> {
    format!("API keys of {own} in the other environment").into_bytes()
}
