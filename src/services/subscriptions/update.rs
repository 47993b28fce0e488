//! PUT /subscriptions/{token}.

use entity::{CardToken, subscription};
use store::Tx;

use super::create::{card_of, check_card};
use super::find::by_token;
use super::rows::{lock_customer, lock_subscription};
use crate::error::{Error, ErrorCode};
use crate::params::{Params, Patch};
use crate::services::context::{Caller, Context};
use crate::services::subscriptions::params::SubscriptionChanges;
use crate::services::subscriptions::view::Subscription;
use crate::services::{customers, idempotency};

/// Changes the card that pays.
///
/// Refusals, first match wins: `resource_not_found`, `invalid_resource` (400), `invalid_request`.
pub async fn update(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    params: Params<SubscriptionChanges>,
) -> Result<Subscription, Error> {
    let account = &caller.account;
    let row = by_token(ctx.store.read(), account, token).await?.ok_or(ErrorCode::RecordNotFound)?;
    let Params { value, mut faults } = params;
    if value.card_token == Patch::Absent && !faults.has("card_token") {
        faults.add("card_token", "must be present");
    }
    if !faults.is_empty() {
        return Err(Error::subscription(faults));
    }
    let card = match value.card_token.value() {
        None => None,
        Some(token) => {
            let customer = customers::find::with_primary(ctx, account, row.customer_id).await?;
            // The cards of a deleted customer are gone.
            let (customer, _) = customer.ok_or_else(Error::not_the_customers_card)?;
            Some(card_of(ctx, account, &customer, &token).await?.id)
        }
    };
    idempotency::write(ctx, caller, (row, card), async |tx, (row, card)| record(tx, row, *card).await).await
}

async fn record(tx: &Tx, seen: &subscription::Model, card: Option<CardToken>) -> Result<Subscription, Error> {
    if let Some(card) = card {
        if !lock_customer(tx, seen.account_id, seen.customer_id).await? {
            return Err(Error::not_the_customers_card());
        }
        check_card(tx, seen, card).await?;
    }
    let held = lock_subscription(tx, seen).await?.ok_or(ErrorCode::RecordNotFound)?;
    let row = subscription::Model { card_id: card, ..held.clone() };
    tx.update(&held, &row).await?;
    Ok(row.into())
}
