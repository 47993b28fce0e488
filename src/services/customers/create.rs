//! POST /customers.

use entity::card::{self, CardState};
use entity::counter::Counted;
use entity::event::EventType;
use entity::{CardToken, CustomerToken, customer};
use futures::FutureExt;

use crate::error::{Error, ErrorCode};
use crate::params::customer::NewCustomer;
use crate::params::{Faults, Params, filled};
use crate::services::context::{Account, Context};
use crate::services::{cards, events};
use crate::store::Tx;
use crate::views::customer::Customer;

/// A card that becomes a customer's.
pub(super) enum Coming {
    /// It came with the request.
    New(Box<card::Model>),
    /// Its unused token did.
    Unused(CardToken),
}

impl Coming {
    pub(super) fn id(&self) -> CardToken {
        match self {
            Self::New(row) => row.id,
            Self::Unused(id) => *id,
        }
    }

    /// Give it to the customer. The parameter that named it is refused where its token was used meanwhile.
    pub(super) async fn attach(
        &self,
        tx: &Tx,
        owner: &customer::Model,
        account: &Account,
        param: &str,
    ) -> Result<(), Error> {
        match self {
            // Inserted at once: a later unit of the same batch may remove the customer with all its cards.
            Self::New(row) => tx.insert(row.as_ref()).await?,
            Self::Unused(id) => {
                if !cards::attach(tx, account.id(), *id, owner.id, account.now).await? {
                    return Err(refused(param, USED));
                }
            }
        }
        Ok(())
    }
}

pub(super) const USED: &str = "has already been used";
pub(super) const UNKNOWN: &str = "is not valid";
const ONE_CARD: &str = "Exactly one of card or card_token is required";

/// Store a customer with its first card, which is primary.
///
/// Refusals: `invalid_resource`; a used or unknown card token is one.
pub async fn create(
    ctx: &Context,
    account: &Account,
    ip_address: String,
    params: Params<NewCustomer>,
) -> Result<Customer, Error> {
    let Params { value: asked, mut faults } = params;
    let id: CustomerToken = ctx.ids.token();
    let token = filled(asked.card_token.as_deref());
    let card = match (&asked.card, token) {
        (Some(card), None) => presented(ctx, account, card, id, &mut faults),
        (None, Some(token)) => unused(ctx, account, token, "card_token", &mut faults).await?,
        (None, None) if faults.has("card") => None,
        (None, None) => {
            faults.add("card", "can't be blank");
            None
        }
        (Some(_), Some(_)) => {
            faults.add("card", ONE_CARD);
            None
        }
    };
    let (Some(card), true) = (card, faults.is_empty()) else { return Err(faults.into()) };
    let row = customer::Model {
        account_id: account.id(),
        id,
        email: asked.email,
        first_name: asked.first_name,
        last_name: asked.last_name,
        phone_number: asked.phone_number,
        company: asked.company,
        notes: asked.notes,
        primary_card_id: card.id(),
        ip_address,
        created_at: account.now,
    };
    ctx.store
        .write((account.clone(), row, card), |tx, (account, row, card)| {
            record(tx, account, row, card).boxed()
        })
        .await
}

async fn record(tx: &Tx, account: &Account, row: &customer::Model, card: &Coming) -> Result<Customer, Error> {
    card.attach(tx, row, account, "card_token").await?;
    tx.append(row);
    tx.count(row.account_id, Counted::Customers, 1);
    let view = shown(tx, row.clone(), Some(card)).await?;
    events::record(tx, row.account_id, account.now, EventType::CustomerCreated, &view)?;
    Ok(view)
}

/// The customer as it will stand: a card that came with the request is appended, so it is not found yet.
pub(super) async fn shown(tx: &Tx, row: customer::Model, came: Option<&Coming>) -> Result<Customer, Error> {
    match came {
        Some(Coming::New(card)) if card.id == row.primary_card_id => {
            Ok(Customer::new(row, card.as_ref().clone()))
        }
        _ => super::find::view(tx, row).await,
    }
}

/// A card that came with the request, sealed and made out to its customer: it keeps its number for charges
/// to come, its cvc never reaches the database.
pub(super) fn presented(
    ctx: &Context,
    account: &Account,
    card: &crate::params::card::NewCard,
    owner: CustomerToken,
    faults: &mut Faults,
) -> Option<Coming> {
    let presented = cards::present(ctx, account, card, "card.", faults)?;
    Some(Coming::New(Box::new(made_out(ctx, presented, owner))))
}

/// The row of a new card of a customer.
pub(super) fn made_out(ctx: &Context, presented: cards::Presented, owner: CustomerToken) -> card::Model {
    let mut row = cards::seal(ctx, presented);
    row.cvc_sealed = None;
    row.state = CardState::Attached;
    row.customer_id = Some(owner);
    row
}

/// An unused card token.
pub(super) async fn unused(
    ctx: &Context,
    account: &Account,
    token: &str,
    param: &str,
    faults: &mut Faults,
) -> Result<Option<Coming>, Error> {
    let found = match token.parse() {
        Ok(id) => cards::find(ctx, account, id).await?,
        Err(_) => None,
    };
    match found.map(|card| (card.state, card.id)) {
        Some((CardState::Unused, id)) => return Ok(Some(Coming::Unused(id))),
        Some((CardState::Reserved | CardState::Used | CardState::Attached, _)) => faults.add(param, USED),
        None => faults.add(param, UNKNOWN),
    }
    Ok(None)
}

/// One fault that only the unit of work could see.
pub(super) fn refused(param: &str, predicate: &'static str) -> Error {
    let mut faults = Faults::default();
    faults.add(param, predicate);
    Error::Invalid(faults)
}

/// The customer is gone by now.
pub(super) fn gone() -> Error {
    ErrorCode::NotFound.into()
}
