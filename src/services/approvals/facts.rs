//! The facts of a request for approval: what its operation depends on besides its parameters, and others may change. Two persons
//! approve what both have seen (`docs/decisions.md`, 406).

use base::hexadecimal;
use entity::approval::{ApprovalKind, Model};
use entity::dispute::DisputeStatus;
use entity::{
    AccountToken, BankAccountToken, DisputeToken, JsonText, Listed, MerchantToken, RecipientToken, account,
    dispute, merchant, recipient,
};
use sea_orm::sea_query::LockType;
use sea_orm::{ConnectionTrait, EntityTrait, QuerySelect, QueryTrait, Select};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::ApprovalRequest;
use crate::error::Error;
use crate::params;
use crate::services::bank_accounts;
use crate::services::bank_accounts::view::BankAccount;
use crate::services::context::Account;
use crate::services::disputes::state::effective_status;
use crate::services::disputes::transitions::left_after_winning;
use crate::services::transfers::create::SELF;
use crate::services::transfers::params::NewTransfer;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// As they are now.
    Shown,
    /// As they stay until the commit.
    Locked,
}

impl Reading {
    fn lock_type(self) -> Option<LockType> {
        match self {
            Self::Shown => None,
            Self::Locked => Some(LockType::NoKeyUpdate),
        }
    }

    fn lock<E: EntityTrait>(self, row: Select<E>) -> Select<E> {
        row.apply_if(self.lock_type(), QuerySelect::lock)
    }
}

/// Returns the facts of a request, or `None` if something of them is gone.
pub(super) async fn read(
    db: &impl ConnectionTrait,
    account: &Account,
    request: &ApprovalRequest,
    reading: Reading,
) -> Result<Option<Value>, Error> {
    let ApprovalRequest { kind, subject, parameters } = request;
    match kind {
        ApprovalKind::Transfer => {
            let NewTransfer { recipient, .. } = params::read::<NewTransfer>(parameters).value;
            payout(db, account, recipient.trim(), reading).await
        }
        ApprovalKind::Dispute => dispute(db, account, subject, reading).await,
        ApprovalKind::Merchant => merchant(db, account, subject, reading).await,
        // The parameters say all of a new key.
        ApprovalKind::Key => Ok(Some(json!({}))),
    }
}

/// Returns whether the facts of a stored request are other ones by now.
pub(super) async fn have_changed(
    db: &impl ConnectionTrait,
    account: &Account,
    row: &Model,
    reading: Reading,
) -> Result<bool, Error> {
    let present = read(db, account, &ApprovalRequest::from_row(row)?, reading).await?;
    let present = present.map(|facts| JsonText::encode(&facts)).transpose()?;
    // A request of a former release has shown none.
    Ok(present.is_none() || present != row.facts)
}

/// Returns the digest of all that a request shows.
pub fn digest(row: &Model) -> String {
    let Model { account, kind, subject, parameters, facts, .. } = row;
    let facts = facts.as_ref().map(JsonText::as_str).unwrap_or_default();
    let mut digest = Sha256::new();
    for part in [account.to_string().as_str(), kind.code(), subject, parameters.as_str(), facts] {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    hexadecimal::encode(&digest.finalize())
}

async fn payout(
    db: &impl ConnectionTrait,
    account: &Account,
    payee: &str,
    reading: Reading,
) -> Result<Option<Value>, Error> {
    let own = reading.lock(account::Entity::find_by_id(account.id())).one(db).await?;
    let Some(own) = own else { return Ok(None) };
    let (seen, fee) = (account.settings(), own.third_party_transfer_fee);
    // A payout takes them as the request has read them.
    if (seen.status, seen.bank_account_id, seen.third_party_transfer_fee)
        != (own.status, own.bank_account_id, fee)
    {
        return Ok(None);
    }
    let (recipient, bank_account, fee) = match payee.parse::<RecipientToken>() {
        _ if payee == SELF => (None, own.bank_account_id, 0),
        Ok(id) => {
            let recipient = reading.lock(recipient::Entity::at(account.id(), id)).one(db).await?;
            let bank_account = recipient.as_ref().map(|recipient| recipient.bank_account_id);
            let shown =
                |row: recipient::Model| json!({ "token": row.id, "name": row.name, "email": row.email });
            (recipient.map(shown), bank_account, fee)
        }
        // The payout itself is refused.
        Err(_) => (None, None, fee),
    };
    let bank_account = bank_account_of(db, account.id(), bank_account).await?;
    Ok(Some(json!({ "recipient": recipient, "bank_account": bank_account, "fee": fee })))
}

async fn dispute(
    db: &impl ConnectionTrait,
    account: &Account,
    token: &str,
    reading: Reading,
) -> Result<Option<Value>, Error> {
    let Ok(id) = token.parse::<DisputeToken>() else { return Ok(None) };
    let row = reading.lock(dispute::Entity::at(account.id(), id)).one(db).await?;
    let Some(row) = row else { return Ok(None) };
    let mut facts = json!({
        "status": effective_status(account.now, &row), "charge": row.charge_id, "amount": row.amount, "currency": row.currency,
        "settlement_amount": row.settlement_amount, "evidence_required_by": row.evidence_required_by,
        "submitted_at": row.submitted_at,
    });
    if row.status == DisputeStatus::Won {
        // Arbitration takes no more, and refunds and other disputes change it.
        let left = left_after_winning(db, &row, reading.lock_type()).await?;
        facts["left_of_charge"] = json!(left.amount);
        facts["settlement_left_of_charge"] = json!(left.settlement_amount);
    }
    Ok(Some(facts))
}

async fn merchant(
    db: &impl ConnectionTrait,
    account: &Account,
    token: &str,
    reading: Reading,
) -> Result<Option<Value>, Error> {
    let Ok(id) = token.parse::<MerchantToken>() else { return Ok(None) };
    let Some(row) = reading.lock(merchant::Entity::at(account.id(), id)).one(db).await? else {
        return Ok(None);
    };
    let own = reading.lock(account::Entity::find_by_id(row.own_account())).one(db).await?;
    let Some(own) = own else { return Ok(None) };
    let bank_account = bank_account_of(db, own.id, own.bank_account_id).await?;
    Ok(Some(json!({
        "status": row.status, "business_name": row.business_name, "first_name": row.first_name, "last_name": row.last_name,
        "email": row.email, "country": row.country, "application": row.application,
        "account": { "business_name": own.business_name, "email": own.email }, "bank_account": bank_account,
    })))
}

/// Returns a bank account by its token, which never names another one: it is replaced, not changed.
async fn bank_account_of(
    db: &impl ConnectionTrait,
    account: AccountToken,
    id: Option<BankAccountToken>,
) -> Result<Option<BankAccount>, Error> {
    let Some(id) = id else { return Ok(None) };
    Ok(bank_accounts::load(db, account, id).await?.map(BankAccount::from))
}
