//! A customer's further cards.

use super::create::{CardToAttach, card_row, stored};
use super::find::by_token;
use super::update::locked;
use crate::error::{Error, ErrorCode};
use crate::params::{Params, non_blank};
use crate::services::cards::params::{NewCard, StoredCard};
use crate::services::cards::view::Card;
use crate::services::context::{Caller, Context};
use crate::services::{cards, idempotency};

/// The card to add: an unused token, or a card's parameters, read only if there is no token (`docs/decisions.md`, 165).
pub struct Addition<F> {
    /// A stored card's token.
    pub stored: Params<StoredCard>,
    /// Reads a card's parameters.
    pub new: F,
}

/// Adds a card without changing the primary card.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn add_card(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    addition: Addition<impl FnOnce() -> Params<NewCard>>,
) -> Result<Card, Error> {
    let account = &caller.account;
    let row = by_token(ctx.store.read(), account, token).await?;
    let Params { value, mut faults } = addition.stored;
    let coming = if let Some(token) = non_blank(value.card_token.as_deref()) {
        stored(ctx, account, token, None, "card_token", &mut faults).await?
    } else if faults.has("card_token") {
        // An invalid token is still a token: the card's parameters are not read.
        None
    } else {
        let Params { value, faults: of_card } = (addition.new)();
        faults.append(of_card);
        let presented = cards::validate(ctx, account, &value, "", &mut faults).await?;
        presented.map(|card| CardToAttach::New(Box::new(card_row(ctx, card, row.id))))
    };
    let (Some(coming), true) = (coming, faults.is_empty()) else { return Err(faults.into()) };
    let data = (account.clone(), row, coming);
    idempotency::write(ctx, caller, data, async |tx, (account, row, coming)| {
        let owner = locked(tx, row).await?;
        coming.attach(tx, &owner, account, "card_token").await?;
        let card = match coming {
            CardToAttach::New(card) => Some(card.as_ref().clone()),
            CardToAttach::Stored(id) => cards::load(tx, account.id(), *id).await?,
        };
        let card = card.ok_or_else(|| Error::internal("a card that was just attached is gone"))?;
        Ok(Card::new(card, Some(owner.primary_card_id)))
    })
    .await
}

/// Deletes a non-primary card permanently.
///
/// Refusals, first match wins: `not_found`, `cannot_delete_primary_card`.
pub async fn delete_card(ctx: &Context, caller: &Caller, token: &str, card: &str) -> Result<(), Error> {
    let row = by_token(ctx.store.read(), &caller.account, token).await?;
    let card = card.parse().map_err(|_| ErrorCode::NotFound)?;
    idempotency::write(ctx, caller, (row, card), async |tx, (row, card)| {
        let owner = locked(tx, row).await?;
        if owner.primary_card_id == *card {
            return Err(ErrorCode::CannotDeletePrimaryCard.into());
        }
        match cards::delete_of_customer(tx, owner.account_id, owner.id, Some(*card)).await? {
            0 => Err(ErrorCode::NotFound.into()),
            _ => Ok(()),
        }
    })
    .await
}
