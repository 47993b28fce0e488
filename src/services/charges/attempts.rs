//! Attempts to charge a card, in every state: also those that were declined or still wait, which the API's lists of charges leave
//! out (`docs/decisions.md`, 123 and 466).

use entity::charge::{self, COLUMN, ChargeState, Column, Origin};
use entity::{Owned, Timestamp};
use sea_orm::{ColumnTrait, Condition, QueryFilter};

use super::find::shown_columns;
use super::search::{ExactMatches, refunded_by};
use crate::error::Error;
use crate::params::Params;
use crate::services::charges::attempt_params::{AttemptSearch, AttemptState};
use crate::services::charges::view::Charge;
use crate::services::context::{Account, Context};
use crate::services::page::{Growth, List, ListPage, in_period};
use crate::services::search_text;

/// Searches the account's attempts. No index holds all of them, so this reads the account's charges: it is for the sandbox, whose
/// accounts are small.
///
/// Refusals: `invalid_resource`.
pub async fn attempts(
    ctx: &Context,
    account: &Account,
    params: Params<AttemptSearch>,
) -> Result<ListPage<Charge>, Error> {
    let AttemptSearch { search, state, reason } = params.valid()?;
    let mut found = in_period(&Column::CreatedAt.into_expr(), &search)
        .add(Column::Origin.ne(Origin::Authorisation))
        .add_option(state.map(|state| condition(state, account.now)))
        .add_option(reason.map(|reason| Column::Failure.eq(reason)));
    if let Some(query) = &search.query {
        let exactly = ExactMatches::new(query, refunded_by(ctx, account, query).await?);
        let words = search_text::contains(ctx.store.backend(), Column::SearchText.into_expr(), query);
        found = found.add(exactly.conditions().into_iter().fold(Condition::any().add(words), Condition::add));
    }
    let rows = charge::Entity::owned_by(account.id()).filter(found);
    let column = if search.sort == Some("amount") { Column::Amount } else { Column::CreatedAt };
    let list = List::sorted(account.id(), rows, (column, Growth::Changing), search.ascending);
    let page = shown_columns(list).ranged(ctx, search.paging).await?;
    Ok(page.map(|row| Charge::at(account.now, row)))
}

/// Returns the condition that an attempt is in the state at an instant of the account's clock.
fn condition(state: AttemptState, now: Timestamp) -> Condition {
    let is = |state: ChargeState| Column::State.eq(state);
    // One with a capture or void in flight does not expire meanwhile.
    let expired = || Condition::all().add(is(ChargeState::Authorised)).add(COLUMN.expires_at.lte(now));
    match state {
        AttemptState::Succeeded => Condition::all().add(charge::listed()),
        AttemptState::Declined => Condition::all().add(charge::failed()),
        AttemptState::Pending => {
            Condition::any().add(is(ChargeState::Pending)).add(is(ChargeState::Processing))
        }
        AttemptState::Authorised => {
            Condition::all().add(Column::State.is_in(ChargeState::RESERVED)).add(expired().not())
        }
        AttemptState::Expired => expired(),
        AttemptState::Captured => Condition::all().add(is(ChargeState::Captured)),
        AttemptState::Voided => Condition::all().add(is(ChargeState::Voided)),
        AttemptState::Refunded => Condition::all().add(Column::AmountRefunded.gt(0)),
        AttemptState::Disputed => Condition::all().add(Column::DisputesOpen.gt(0)),
    }
}
