//! PUT /customers/{token}.

use entity::Listed;
use entity::customer;
use entity::event::EventType;
use sea_orm::sea_query::LockType;
use sea_orm::{DbBackend, QuerySelect};
use store::Tx;

use super::create::{CardToAttach, deleted_meanwhile, stored, validate_card};
use super::find::{by_token, view};
use crate::error::{Error, ErrorCode};
use crate::params::{FieldErrors, Params, is_sent, non_blank};
use crate::services::context::{Account, Caller, Context};
use crate::services::customers::params::CustomerChanges;
use crate::services::customers::view::Customer;
use crate::services::{cards, events, idempotency};

enum CardChange {
    /// No change.
    Keep,
    /// Another card becomes primary; the old one is deleted or stays.
    Switch {
        /// The new primary card, which may already be the customer's.
        to: CardToAttach,
        /// The parameter that named it.
        param: &'static str,
        /// Whether to delete the old one permanently.
        replace: bool,
    },
}

/// Changes a customer. Without any of the three card parameters its cards stay as they are.
///
/// Refusals, first match wins: `not_found`, `too_many_card_parameters`, `invalid_resource`.
pub async fn update(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    params: Params<CustomerChanges>,
) -> Result<Customer, Error> {
    let account = &caller.account;
    let row = by_token(ctx.store.read(), account, token).await?;
    let Params { value: mut changes, mut faults } = params;
    let change = card_change(ctx, account, &row, &changes, &mut faults).await?;
    if !faults.is_empty() {
        return Err(faults.into());
    }
    // `change` holds the sealed digits of an inline card; the parameters need not keep them.
    changes.card = None;
    let unit = UpdateCustomerUnit { account: account.clone(), row, changes, change };
    idempotency::write(ctx, caller, unit, record).await
}

async fn card_change(
    ctx: &Context,
    account: &Account,
    row: &customer::Model,
    changes: &CustomerChanges,
    faults: &mut FieldErrors,
) -> Result<CardChange, Error> {
    let card_token = non_blank(changes.card_token.as_deref());
    let primary_token = non_blank(changes.primary_card_token.as_deref());
    let named = [
        changes.card.is_some(),
        is_sent(changes.card_token.as_deref()),
        is_sent(changes.primary_card_token.as_deref()),
    ];
    if named.iter().filter(|named| **named).count() > 1 {
        return Err(ErrorCode::TooManyCardParameters.into());
    }
    let (to, param, replace) = if let Some(card) = &changes.card {
        (validate_card(ctx, account, card, row.id, faults).await?, "card", true)
    } else if let Some(token) = card_token {
        (stored(ctx, account, token, Some(row.id), "card_token", faults).await?, "card_token", true)
    } else if let Some(token) = primary_token {
        (
            stored(ctx, account, token, Some(row.id), "primary_card_token", faults).await?,
            "primary_card_token",
            false,
        )
    } else {
        (None, "card", false)
    };
    Ok(to.map_or(CardChange::Keep, |to| CardChange::Switch { to, param, replace }))
}

struct UpdateCustomerUnit {
    account: Account,
    row: customer::Model,
    changes: CustomerChanges,
    change: CardChange,
}

async fn record(tx: &Tx, unit: &UpdateCustomerUnit) -> Result<Customer, Error> {
    let UpdateCustomerUnit { account, changes, change, .. } = unit;
    // Concurrent changes of this customer's cards wait here, so each change replaces a different primary card.
    let seen = locked(tx, &unit.row).await?;
    let (mut row, old) = (seen.clone(), seen.primary_card_id);
    if let CardChange::Switch { to, param, replace } = change {
        // A stored card may have become the customer's since it was read, or ceased to be.
        if !owns(tx, &row, to).await? {
            to.attach(tx, &row, account, param).await?;
        }
        row.primary_card_id = to.id();
        if *replace && row.primary_card_id != old {
            cards::delete_of_customer(tx, row.account_id, row.id, Some(old)).await?;
        }
    }
    apply(&mut row, changes);
    tx.update(&seen, &row).await?;
    let view = view(tx, row).await?;
    events::record(tx, account.id(), account.now, EventType::CustomerUpdated, &view)?;
    Ok(view)
}

async fn owns(tx: &Tx, row: &customer::Model, card: &CardToAttach) -> Result<bool, Error> {
    let CardToAttach::Stored(id) = card else { return Ok(false) };
    let card = cards::load(tx, row.account_id, *id).await?;
    Ok(card.is_some_and(|card| card.customer_id == Some(row.id)))
}

/// Reads and locks the customer's row. SQLite has only one writer and needs no lock.
pub(super) async fn locked(tx: &Tx, seen: &customer::Model) -> Result<customer::Model, Error> {
    let mut rows = customer::Entity::at(seen.account_id, seen.id);
    if sea_orm::ConnectionTrait::get_database_backend(tx) == DbBackend::Postgres {
        rows = rows.lock(LockType::Update);
    }
    rows.one(tx).await?.ok_or_else(deleted_meanwhile)
}

/// Applies the fields that were sent; a blank text clears.
fn apply(row: &mut customer::Model, changes: &CustomerChanges) {
    if let Some(email) = &changes.email {
        row.email.clone_from(email);
    }
    let texts = [
        (&mut row.first_name, &changes.first_name),
        (&mut row.last_name, &changes.last_name),
        (&mut row.phone_number, &changes.phone_number),
        (&mut row.company, &changes.company),
        (&mut row.notes, &changes.notes),
    ];
    for (kept, sent) in texts {
        if sent.is_some() {
            kept.clone_from(sent);
        }
    }
}
