//! PUT /recipients/{token}.

use entity::RecipientToken;
use entity::event::EventType;
use store::Tx;

use super::create::{BankAccountToAttach, RecipientParams};
use super::find::{by_token, lock_recipient};
use crate::error::Error;
use crate::params::Params;
use crate::services::context::{Account, Caller, Context};
use crate::services::recipients::params::RecipientChanges;
use crate::services::recipients::view::Recipient;
use crate::services::{bank_accounts, events, idempotency, search_text};

/// Changes a recipient. Earlier transfers keep the bank account that they were paid to.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn update(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    params: Params<RecipientChanges>,
) -> Result<Recipient, Error> {
    let account = &caller.account;
    let row = by_token(ctx.store.read(), account, token).await?;
    let Params { value: mut changes, mut faults } = params;
    let named = RecipientParams {
        inline: changes.bank_account.as_ref(),
        token: changes.bank_account_token.as_deref(),
    };
    let coming = named.find(ctx, account, Some(row.bank_account_id), &mut faults).await?;
    if !faults.is_empty() {
        return Err(faults.into());
    }
    // The number of an inline bank account is encrypted by now; the parameters need not keep it.
    changes.bank_account = None;
    let unit = UpdateRecipientUnit { account: account.clone(), id: row.id, changes, coming };
    idempotency::write(ctx, caller, unit, async |tx, unit| unit.record(tx).await).await
}

struct UpdateRecipientUnit {
    account: Account,
    id: RecipientToken,
    changes: RecipientChanges,
    coming: Option<BankAccountToAttach>,
}

impl UpdateRecipientUnit {
    async fn record(&self, tx: &Tx) -> Result<Recipient, Error> {
        let seen = lock_recipient(tx, &self.account, self.id).await?;
        let mut row = seen.clone();
        // The recipient's current bank account is no change.
        if let Some(coming) = self.coming.as_ref().filter(|coming| coming.row().id != row.bank_account_id) {
            coming.attach(tx, &self.account).await?;
            bank_accounts::delete(tx, row.account_id, row.bank_account_id).await?;
            row.bank_account_id = coming.row().id;
            row.bank_account = bank_accounts::to_json(coming.row().clone())?;
        }
        if let Some(email) = &self.changes.email {
            row.email.clone_from(email);
        }
        if self.changes.name.is_some() {
            row.name.clone_from(&self.changes.name);
        }
        row.search_text =
            search_text::stored_text(row.name.as_deref().into_iter().chain([row.email.as_str()]));
        tx.update(&seen, &row).await?;
        let recipient = Recipient::from(row);
        let now = self.account.now;
        events::record(tx, self.account.id(), now, EventType::RecipientUpdated, &recipient)?;
        Ok(recipient)
    }
}
