//! POST /transfers: records the transfer, its postings and its event in one commit.

use base::crash_points;
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::transfer::{self, TransferKind, TransferStatus};
use entity::{Currency, RecipientToken, TransferToken, bank_account};
use store::Tx;

use super::record;
use crate::config::Environment;
use crate::error::{Error, ErrorCode};
use crate::limits::TRANSFER_RETURNS_AFTER;
use crate::params::values::INVALID;
use crate::params::{FieldErrors, Params};
use crate::services::context::{Account, Caller, Context};
use crate::services::ledger::{self, BalanceTooLow, Debit, Entry, FundsSource};
use crate::services::transfers::params::NewTransfer;
use crate::services::transfers::view::Transfer;
use crate::services::{bank_accounts, idempotency, recipients, search_text};

/// Names the account's own bank account as the recipient.
pub const SELF: &str = "self";

/// The error message if the balance does not cover a transfer.
pub const NOT_COVERED: &str = "There are not enough funds available to process this transfer";

/// Pays money out.
///
/// Refusals, first match wins: `invalid_resource` (first for the parameters, then for the recipient;
/// `docs/decisions.md`, 202), `insufficient_service_balance`.
pub async fn create(ctx: &Context, caller: &Caller, params: Params<NewTransfer>) -> Result<Transfer, Error> {
    let account = &caller.account;
    let Params { value: new_transfer, mut faults } = params;
    if !new_transfer.currency.trim().is_empty()
        && Currency::parse(new_transfer.currency.trim()) != Some(Currency::Aud)
    {
        faults.add("currency", "is not a supported currency");
    }
    let recipient = match new_transfer.recipient.trim() {
        "" => None,
        SELF => Some(Payee::Own),
        token => find_payee(ctx, account, token, &mut faults).await?,
    };
    if !account.settings().transfers_enabled {
        faults.add("recipient", "Transfers are not enabled for this account");
    } else if recipient == Some(Payee::Own) && account.settings().bank_account_id.is_none() {
        faults.add("recipient", "has no bank account");
    }
    let (Some(payee), true) = (recipient, faults.is_empty()) else { return Err(faults.into()) };
    let order = TransferOrder {
        environment: ctx.environment,
        account: account.clone(),
        id: ctx.ids.token(),
        payee,
        description: new_transfer.description,
        amount: new_transfer.amount,
    };
    let transfer = idempotency::write(ctx, caller, order, async |tx, order| order.record(tx).await).await;
    crash_points::point("transfer", "outcome.after");
    transfer
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Payee {
    Own,
    Recipient(RecipientToken),
}

async fn find_payee(
    ctx: &Context,
    account: &Account,
    token: &str,
    faults: &mut FieldErrors,
) -> Result<Option<Payee>, Error> {
    match recipients::find::by_token(ctx.store.read(), account, token).await {
        Ok(recipient) => Ok(Some(Payee::Recipient(recipient.id))),
        Err(error) if error.code() == ErrorCode::NotFound => {
            faults.add("recipient", INVALID);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

struct TransferOrder {
    environment: Environment,
    account: Account,
    id: TransferToken,
    payee: Payee,
    description: String,
    amount: i64,
}

impl TransferOrder {
    async fn record(&self, tx: &Tx) -> Result<Transfer, Error> {
        let settings = self.account.settings();
        let (recipient, bank_account, fee) = match self.payee {
            Payee::Own => (None, settings.bank_account_id, 0),
            Payee::Recipient(id) => {
                // The lock excludes a concurrent change of its bank account.
                let recipient = recipients::find::lock_recipient(tx, &self.account, id).await?;
                (Some(id), Some(recipient.bank_account_id), settings.third_party_transfer_fee)
            }
        };
        let bank_account = match bank_account {
            Some(id) => bank_accounts::load(tx, self.account.id(), id).await?,
            None => None,
        };
        let bank_account = bank_account.ok_or_else(|| Error::internal("a payee without its bank account"))?;
        let row = transfer::Model {
            recipient_id: recipient,
            fee,
            search_text: search_text::stored_text([self.description.as_str()]),
            description: self.description.clone(),
            ..transfer_row(
                self.environment,
                &self.account,
                self.id,
                (TransferKind::Manual, self.amount),
                bank_account,
            )?
        };
        if debit(tx, &row).await? == Err(BalanceTooLow) {
            return Err(Error::explained(ErrorCode::InsufficientServiceBalance, NOT_COVERED));
        }
        let transfer = record(tx, row);
        crash_points::point("transfer", "outcome.before");
        transfer
    }
}

/// Returns a transfer of an amount in AUD cents to a bank account, with one line. By default it goes to the account
/// itself and is free.
pub fn transfer_row(
    environment: Environment,
    account: &Account,
    id: TransferToken,
    (kind, amount): (TransferKind, i64),
    bank_account: bank_account::Model,
) -> Result<transfer::Model, Error> {
    let returns = bank_accounts::sends_back(environment, &bank_account);
    Ok(transfer::Model {
        account_id: account.id(),
        id,
        kind,
        status: TransferStatus::Succeeded,
        recipient_id: None,
        description: String::new(),
        amount,
        fee: 0,
        total_debits: 0,
        total_credits: amount,
        line_items_count: 1,
        reference: account.settings().business_name.clone(),
        bank_account: bank_accounts::to_json(bank_account)?,
        returns_at: returns.then_some(account.now + TRANSFER_RETURNS_AFTER),
        search_text: String::new(),
        created_at: account.now,
    })
}

/// Debits amount and fee as two entries, or neither.
async fn debit(tx: &Tx, row: &transfer::Model) -> Result<Result<(), BalanceTooLow>, Error> {
    let entry = |kind| Entry { account: row.account_id, kind, source: row.id.into(), now: row.created_at };
    let (transfer, fee) = (entry(EntryKind::Transfer), entry(EntryKind::TransferFee));
    let mut debits = vec![Debit { entry: &transfer, amount: row.amount, to: Book::Transfers }];
    if row.fee > 0 {
        debits.push(Debit { entry: &fee, amount: row.fee, to: Book::Fees });
    }
    ledger::debit_all(tx, FundsSource::Available, &debits).await
}
