//! Settling calls whose outcome nobody learnt: no answer came, or the process died (decisions 5, "Unknown
//! outcome"). A creation is reversed, because its caller was told that nothing was charged; a capture or void
//! that was done is completed, one that was not goes back.

use entity::charge::{self, ChargeState};
use entity::{FailureCode, Owned, Span, Timestamp, account};
use futures::FutureExt;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, Select};

use super::call::{creation_key, key, within_time};
use super::outcome::{self, Verdict, held};
use super::state::{Action, Standing, next};
use crate::acquirer::{CallKey, Settled};
use crate::error::Error;
use crate::limits::{SETTLE_AFTER, SETTLE_PAUSE_DOUBLINGS_MAX};
use crate::services::accounts::wipe::deleted;
use crate::services::context::{Account, Context};
use crate::services::payment::TokenUse;

/// The verdict on a creation of which it is certain that no money moved: the token is free again.
pub(super) fn nothing_charged() -> Verdict {
    Verdict::Failed { failure: FailureCode::GatewayError, spent: false }
}

/// Close a creation's key and undo what was done under it. `None` where the acquirer does not answer.
pub(super) async fn reversed(ctx: &Context, key: &CallKey) -> Option<Verdict> {
    let settled = within_time(ctx, ctx.acquirer.reverse(key)).await;
    settled.ok().map(|_| nothing_charged())
}

/// The calls in flight that nobody can be making any more. By the wall clock: they have nothing to do with the
/// account's.
pub fn due(wall: Timestamp) -> Select<charge::Entity> {
    charge::Entity::find()
        .filter(charge::Column::SettleAfter.lte(wall))
        .order_by_asc(charge::Column::SettleAfter)
}

/// Let every call in flight be settled now: for a server that knows to be the only one.
pub async fn hasten(ctx: &Context) -> Result<u64, Error> {
    let now = ctx.clock.now();
    ctx.store
        .write(now, |tx, now| {
            async move {
                let in_flight = charge::Entity::update_many()
                    .filter(charge::Column::SettleAfter.gt(*now))
                    .col_expr(charge::Column::SettleAfter, Expr::value(now.millis()));
                Ok(in_flight.exec(tx).await?.rows_affected)
            }
            .boxed()
        })
        .await
}

/// Settle the call in flight of a charge that is due for it. Says whether it is settled.
pub async fn settle(ctx: &Context, seen: charge::Model) -> Result<bool, Error> {
    let wall = ctx.clock.now();
    let claim = Claim { settle_after: wall + pause(&seen), seen };
    // The attempt number fences off whoever made the call: from here on only this worker records its outcome.
    let Some(row) = ctx.store.write(claim, |tx, claim| claim.record(tx).boxed()).await? else {
        return Ok(false);
    };
    let verdict = match row.state {
        ChargeState::Processing => reversed(ctx, &creation_key(row.id)).await,
        ChargeState::Capturing => followed(ctx, &row, Action::Capture).await?,
        ChargeState::Voiding => followed(ctx, &row, Action::Void).await?,
        ChargeState::Authorised | ChargeState::Captured | ChargeState::Voided | ChargeState::Failed => {
            return Ok(false);
        }
    };
    let Some(verdict) = verdict else { return Ok(false) };
    let account = account::Entity::find_by_id(row.account_id).one(ctx.store.read()).await?;
    let account = account.ok_or_else(deleted)?;
    let token = single_use(ctx, &row).await?;
    outcome::write(ctx, &Account::new(account, wall), row, token, verdict).await?;
    Ok(true)
}

struct Claim {
    seen: charge::Model,
    settle_after: Timestamp,
}

impl Claim {
    async fn record(&self, tx: &crate::store::Tx) -> Result<Option<charge::Model>, Error> {
        let mut row = self.seen.clone();
        row.attempt += 1;
        row.settle_after = Some(self.settle_after);
        let update = held(&self.seen)
            .col_expr(charge::Column::Attempt, Expr::value(row.attempt))
            .col_expr(charge::Column::SettleAfter, Expr::value(self.settle_after.millis()));
        Ok((update.exec(tx).await?.rows_affected > 0).then_some(row))
    }
}

/// Each pause is twice the one before: every try adds one to the attempts since the call.
fn pause(row: &charge::Model) -> Span {
    let tries = u32::try_from(row.attempt - row.call).unwrap_or_default();
    Span::from_millis(SETTLE_AFTER.millis() << tries.min(SETTLE_PAUSE_DOUBLINGS_MAX))
}

async fn followed(ctx: &Context, row: &charge::Model, action: Action) -> Result<Option<Verdict>, Error> {
    let Ok(settled) = within_time(ctx, ctx.acquirer.settle(&key(row, action))).await else {
        return Ok(None);
    };
    Ok(Some(match settled {
        Settled::NotDone => Verdict::Back,
        Settled::Done { .. } => {
            let step = next(Standing::Stored(ChargeState::Authorised), action);
            Verdict::Moved(step.map_err(|_| Error::internal("the table does not know a move in flight"))?)
        }
    }))
}

/// Whether the attempt holds a single-use token: an inline card's was born spent, a customer's is never held.
async fn single_use(ctx: &Context, row: &charge::Model) -> Result<TokenUse, Error> {
    let card = entity::card::Entity::owned_by(row.account_id)
        .filter(entity::card::Column::Id.eq(row.card_id))
        .one(ctx.store.read())
        .await?;
    Ok(match card {
        Some(card) if card.state == entity::card::CardState::Reserved => TokenUse::Single(card.id),
        _ => TokenUse::Inline,
    })
}
