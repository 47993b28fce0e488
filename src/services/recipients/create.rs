//! POST /recipients.

use entity::bank_account::{self, BankAccountState};
use entity::counter::Counted;
use entity::event::EventType;
use entity::{BankAccountToken, recipient};
use store::Tx;

use crate::error::Error;
use crate::params::values::{INVALID, USED};
use crate::params::{FieldErrors, Params, non_blank};
use crate::services::bank_accounts::params::NewBankAccount;
use crate::services::context::{Account, Caller, Context};
use crate::services::recipients::params::NewRecipient;
use crate::services::recipients::view::Recipient;
use crate::services::{bank_accounts, counts, events, idempotency, search_text};

pub(super) enum BankAccountToAttach {
    /// The request contains it.
    New(bank_account::Model),
    /// The request names its token.
    Stored(bank_account::Model),
}

/// The parameters that name a bank account.
pub(super) struct RecipientParams<'a> {
    pub inline: Option<&'a NewBankAccount>,
    pub token: Option<&'a str>,
}

impl RecipientParams<'_> {
    /// Finds the bank account that the parameters name, if any; that there are two is a fault already. `own` is the recipient's
    /// current one.
    pub async fn find(
        &self,
        ctx: &Context,
        account: &Account,
        own: Option<BankAccountToken>,
        faults: &mut FieldErrors,
    ) -> Result<Option<BankAccountToAttach>, Error> {
        match (self.inline, non_blank(self.token)) {
            // What else is wrong with a bank account beside a token is told as well.
            (Some(inline), _) => {
                let row = bank_accounts::validate(ctx, account, inline, "bank_account.", faults);
                Ok(row.map(|row| {
                    BankAccountToAttach::New(bank_account::Model { state: BankAccountState::Attached, ..row })
                }))
            }
            (None, Some(token)) => stored(ctx, account, token, own, faults).await,
            (None, None) => Ok(None),
        }
    }
}

async fn stored(
    ctx: &Context,
    account: &Account,
    token: &str,
    own: Option<BankAccountToken>,
    faults: &mut FieldErrors,
) -> Result<Option<BankAccountToAttach>, Error> {
    let found = match token.parse() {
        Ok(id) => bank_accounts::find(ctx, account, id).await?,
        Err(_) => None,
    };
    match found {
        Some(row) if row.state == BankAccountState::Unused || own == Some(row.id) => {
            return Ok(Some(BankAccountToAttach::Stored(row)));
        }
        Some(_) => faults.add("bank_account_token", USED),
        None => faults.add("bank_account_token", INVALID),
    }
    Ok(None)
}

impl BankAccountToAttach {
    pub fn row(&self) -> &bank_account::Model {
        match self {
            Self::New(row) | Self::Stored(row) => row,
        }
    }

    /// Attaches the bank account to a recipient. Fails if its token was used meanwhile.
    pub async fn attach(&self, tx: &Tx, account: &Account) -> Result<(), Error> {
        match self {
            // Insert immediately: a later unit of the same batch may replace it.
            Self::New(row) => Ok(tx.insert(row).await?),
            Self::Stored(row) if bank_accounts::attach(tx, account.id(), row.id, account.now).await? => {
                Ok(())
            }
            Self::Stored(row) => {
                let there = bank_accounts::load(tx, account.id(), row.id).await?.is_some();
                let predicate = if there { USED } else { INVALID };
                Err(FieldErrors::one("bank_account_token", predicate).into())
            }
        }
    }
}

/// Stores a recipient with its bank account.
///
/// Refusals: `invalid_resource`, also for a used or unknown bank account token.
pub async fn create(
    ctx: &Context,
    caller: &Caller,
    params: Params<NewRecipient>,
) -> Result<Recipient, Error> {
    let account = &caller.account;
    let Params { value: new_recipient, mut faults } = params;
    let named = RecipientParams {
        inline: new_recipient.bank_account.as_ref(),
        token: new_recipient.bank_account_token.as_deref(),
    };
    let coming = named.find(ctx, account, None, &mut faults).await?;
    let (Some(coming), true) = (coming, faults.is_empty()) else { return Err(faults.into()) };
    let row = recipient::Model {
        account_id: account.id(),
        id: ctx.ids.token(),
        search_text: search_text::stored_text(
            new_recipient.name.as_deref().into_iter().chain([new_recipient.email.as_str()]),
        ),
        name: new_recipient.name,
        email: new_recipient.email,
        bank_account_id: coming.row().id,
        bank_account: bank_accounts::to_json(coming.row().clone())?,
        created_at: account.now,
    };
    let new = (account.clone(), row, coming);
    idempotency::write(ctx, caller, new, async |tx, (account, row, coming)| {
        coming.attach(tx, account).await?;
        tx.append(row);
        counts::add(tx, row.account_id, Counted::Recipients, 1);
        let recipient = Recipient::from(row.clone());
        events::record(tx, row.account_id, account.now, EventType::RecipientCreated, &recipient)?;
        Ok(recipient)
    })
    .await
}
