//! How a merchant gets from one environment into the other: as a document, with the keys that work there.

use entity::{AccountToken, MerchantToken, merchant};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::params::bank_account::NewBankAccount;
use crate::params::merchant::Application;
use crate::sensitive::secret::Secret;
use crate::services::accounts::ApiKeyPair;
use crate::services::context::Context;
use crate::services::data_keys::{reencrypt, unseal};
use crate::vault::{SealedBytes, Vault};

/// What the document calls itself.
pub(super) const FORMAT: &str = "card-payments merchant";
/// Which shape it has.
pub(super) const VERSION: i64 = 1;

/// A merchant on its way. Whoever has the document has the keys: it is for the operators of both servers only.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub(super) format: String,
    pub(super) version: i64,
    /// Where it is to go.
    pub(super) environment: String,
    pub(super) merchant: MerchantToken,
    pub(super) application: Application,
    pub(super) password_hash: String,
    pub(super) bank_account: BankAccount,
    pub(super) keys: KeyPair,
}

impl Document {
    /// The merchant's token, here as there.
    pub fn merchant(&self) -> MerchantToken {
        self.merchant
    }
}

/// Where the merchant is paid.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BankAccount {
    pub(super) name: String,
    pub(super) bsb: String,
    pub(super) number: String,
}

/// What opens its account there.
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

/// The keys of the other environment, encrypted for the merchant's row.
pub(super) fn seal(vault: &Vault, own: AccountToken, keys: &ApiKeyPair) -> SealedBytes {
    // No key holds white space.
    let pair = Secret::from(format!("{} {}", keys.secret.expose(), keys.publishable.expose()));
    vault.seal(&context(own), pair.expose().as_bytes())
}

/// The same, opened; none where they were minted elsewhere.
pub(super) async fn opened(ctx: &Context, row: &merchant::Model) -> Result<Option<ApiKeyPair>, Error> {
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

/// A sealed pair opens only as this merchant's.
fn context(own: AccountToken) -> Vec<u8> {
    format!("API keys of {own} in the other environment").into_bytes()
}
