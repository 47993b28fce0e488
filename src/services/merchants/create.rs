//! POST /merchants: makes an application and the merchant's own account.

use entity::counter::Counted;
use entity::event::EventType;
use entity::merchant::{self, MerchantStatus};
use entity::{AccountToken, JsonText, MerchantToken, account};
use store::Tx;

use super::transport;
use crate::error::Error;
use crate::params::Params;
use crate::services::accounts::{self, ApiKeyPair, NewAccount};
use crate::services::context::{Account, Caller, Context};
use crate::services::merchants::params::{Application, NewMerchant};
use crate::services::merchants::password;
use crate::services::merchants::view::MerchantSummary;
use crate::services::{bank_accounts, counts, events, idempotency, search_text};

/// Refers a merchant. Its account begins with its bank account and nothing else, at the time of its partner's clock
/// (`docs/decisions.md`, 231). Of its two pairs of keys one works in this environment.
///
///
/// Refusals: `invalid_resource`, `service_unavailable` if its password has waited too long for its hash.
pub async fn create(
    ctx: &Context,
    caller: &Caller,
    params: Params<NewMerchant>,
) -> Result<MerchantSummary, Error> {
    let account = &caller.account;
    let (new_merchant, mut faults) = params.check_at(account.now);
    let mut row = accounts::merchant(
        ctx.ids.token(),
        &new_merchant.business.trading_name,
        &new_merchant.contact.email,
        account.now,
    );
    row.referred_by = Some(account.id());
    row.clock_offset = account.offset();
    let own = Account::new(row.clone(), ctx.clock.now());
    let bank_account =
        bank_accounts::validate(ctx, &own, &new_merchant.bank_account, "bank_account.", &mut faults);
    let (Some(bank_account), true) = (bank_account, faults.is_empty()) else { return Err(faults.into()) };
    let permit = ctx.memory.passwords.acquire(account.id()).await?;
    let password_hash = password::hash(new_merchant.contact.password.clone(), permit).await?;
    let [keys, other] = [(); 2].map(|()| ApiKeyPair::mint(&ctx.random));
    let other = transport::seal(&ctx.vault, row.id, &other);
    let merchant = merchant::Model {
        other_keys_sealed: Some(other.bytes),
        sealed_by: Some(other.key),
        ..pending_row(account.id(), &row, &new_merchant.application(), password_hash)?
    };
    let unit = CreateMerchantUnit { merchant, account: NewAccount::with(ctx, row, &keys, bank_account) };
    idempotency::write(ctx, caller, unit, async |tx, unit| unit.record(tx).await).await
}

/// A merchant and its account, to record.
struct CreateMerchantUnit {
    merchant: merchant::Model,
    account: NewAccount,
}

impl CreateMerchantUnit {
    async fn record(&self, tx: &Tx) -> Result<MerchantSummary, Error> {
        self.account.record(tx).await?;
        append(tx, &self.merchant);
        let summary = MerchantSummary::new(&self.merchant, None);
        let (partner, now) = (self.merchant.account_id, self.merchant.created_at);
        events::record(tx, partner, now, EventType::SubMerchantApplicationSubmitted, &summary)?;
        Ok(summary)
    }
}

/// Appends a merchant and counts it for its partner.
pub(super) fn append(tx: &Tx, row: &merchant::Model) {
    tx.append(row);
    counts::add(tx, row.account_id, Counted::Merchants, 1);
}

/// Returns the row of a merchant that waits for a decision, without keys of the other environment.
pub(super) fn pending_row(
    partner: AccountToken,
    account: &account::Model,
    application: &Application,
    password_hash: String,
) -> Result<merchant::Model, Error> {
    let contact = &application.contact;
    let now = account.created_at;
    let names = [&contact.email, &contact.first_name, &contact.last_name, &account.business_name];
    Ok(merchant::Model {
        account_id: partner,
        id: MerchantToken::new(account.id.id()),
        status: MerchantStatus::PendingApproval,
        email: contact.email.clone(),
        first_name: contact.first_name.clone(),
        last_name: contact.last_name.clone(),
        business_name: account.business_name.clone(),
        country: application.entity.country(),
        application: JsonText::encode(application)?,
        password_hash,
        other_keys_sealed: None,
        sealed_by: None,
        search_text: search_text::stored_text(names.map(String::as_str)),
        created_at: now,
        updated_at: now,
        activated_at: None,
    })
}
