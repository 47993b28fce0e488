//! POST /customers.

use entity::card::{self, CardState};
use entity::counter::Counted;
use entity::event::EventType;
use entity::{CardToken, CustomerToken, customer};
use store::Tx;

use super::find::view;
use crate::error::{Error, ErrorCode};
use crate::params::values::{INVALID, USED};
use crate::params::{FieldErrors, Params, non_blank};
use crate::services::cards::params::NewCard;
use crate::services::context::{Account, Caller, Context};
use crate::services::customers::params::NewCustomer;
use crate::services::customers::view::Customer;
use crate::services::{cards, counts, events, idempotency};

pub(super) enum CardToAttach {
    New(Box<card::Model>),
    /// A stored card's token from the request.
    Stored(CardToken),
}

impl CardToAttach {
    pub(super) fn id(&self) -> CardToken {
        match self {
            Self::New(row) => row.id,
            Self::Stored(id) => *id,
        }
    }

    /// Attaches the card to an existing customer. If its token was used meanwhile, refuses the parameter that named it.
    pub(super) async fn attach(
        &self,
        tx: &Tx,
        owner: &customer::Model,
        account: &Account,
        param: &str,
    ) -> Result<(), Error> {
        match self {
            // Inserted at once: a later unit in the same batch may remove it, or the customer with all its cards.
            Self::New(row) => Ok(tx.insert(row.as_ref()).await?),
            Self::Stored(id) if cards::attach(tx, account.id(), *id, owner.id, account.now).await? => Ok(()),
            Self::Stored(id) => {
                let there = cards::load(tx, account.id(), *id).await?.is_some();
                Err(FieldErrors::one(param, if there { USED } else { INVALID }).into())
            }
        }
    }
}

/// Stores a customer with its first card, which is primary.
///
/// Refusals: `invalid_resource`, also for a used or unknown card token.
pub async fn create(
    ctx: &Context,
    caller: &Caller,
    ip_address: String,
    params: Params<NewCustomer>,
) -> Result<Customer, Error> {
    let account = &caller.account;
    let Params { value: new_customer, mut faults } = params;
    let id: CustomerToken = ctx.ids.token();
    let token = non_blank(new_customer.card_token.as_deref());
    let card = match (&new_customer.card, token) {
        // What else is wrong with a card beside a token is told as well.
        (Some(card), _) => validate_card(ctx, account, card, id, &mut faults).await?,
        (None, Some(token)) => stored(ctx, account, token, None, "card_token", &mut faults).await?,
        (None, None) => None,
    };
    let (Some(card), true) = (card, faults.is_empty()) else { return Err(faults.into()) };
    let row = customer::Model {
        account_id: account.id(),
        id,
        email: new_customer.email,
        first_name: new_customer.first_name,
        last_name: new_customer.last_name,
        phone_number: new_customer.phone_number,
        company: new_customer.company,
        notes: new_customer.notes,
        primary_card_id: card.id(),
        ip_address,
        created_at: account.now,
    };
    let unit =
        idempotency::write(ctx, caller, (account.clone(), row, card), async |tx, (account, row, card)| {
            record(tx, account, row, card).await
        });
    unit.await
}

async fn record(
    tx: &Tx,
    account: &Account,
    row: &customer::Model,
    card: &CardToAttach,
) -> Result<Customer, Error> {
    match card {
        // The customer's token is not known before the commit, so no other unit reads its card.
        CardToAttach::New(card) => tx.append(card.as_ref()),
        CardToAttach::Stored(_) => card.attach(tx, row, account, "card_token").await?,
    }
    tx.append(row);
    counts::add(tx, row.account_id, Counted::Customers, 1);
    let view = match card {
        CardToAttach::New(card) => Customer::new(row.clone(), card.as_ref().clone()),
        CardToAttach::Stored(_) => view(tx, row.clone()).await?,
    };
    events::record(tx, row.account_id, account.now, EventType::CustomerCreated, &view)?;
    Ok(view)
}

/// Makes a customer's card from the request, sealed: it keeps its number for later charges; its cvc never reaches the
/// database.
pub(super) async fn validate_card(
    ctx: &Context,
    account: &Account,
    card: &NewCard,
    owner: CustomerToken,
    faults: &mut FieldErrors,
) -> Result<Option<CardToAttach>, Error> {
    let presented = cards::validate(ctx, account, card, "card.", faults).await?;
    Ok(presented.map(|card| CardToAttach::New(Box::new(card_row(ctx, card, owner)))))
}

pub(super) fn card_row(ctx: &Context, presented: cards::ValidatedCard, owner: CustomerToken) -> card::Model {
    let mut row = cards::seal(ctx, presented);
    row.cvc_sealed = None;
    row.state = CardState::Attached;
    row.customer_id = Some(owner);
    row
}

/// Finds a stored card that this customer can have: unused, or already the customer's. A new customer has none.
pub(super) async fn stored(
    ctx: &Context,
    account: &Account,
    token: &str,
    owner: Option<CustomerToken>,
    param: &str,
    faults: &mut FieldErrors,
) -> Result<Option<CardToAttach>, Error> {
    let found = match token.parse() {
        Ok(id) => cards::find(ctx, account, id).await?,
        Err(_) => None,
    };
    let Some(card) = found else {
        faults.add(param, INVALID);
        return Ok(None);
    };
    let own = owner.is_some() && card.customer_id == owner;
    if card.state == CardState::Unused || own {
        return Ok(Some(CardToAttach::Stored(card.id)));
    }
    // Or attached to another customer (`docs/decisions.md`, 162).
    faults.add(param, USED);
    Ok(None)
}

pub(super) fn deleted_meanwhile() -> Error {
    ErrorCode::NotFound.into()
}
