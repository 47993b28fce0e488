//! Subscriptions end when what is paid has run out: after the last interval, or because the customer unsubscribed.

use entity::subscription::{self, Column};
use entity::{Owned, Timestamp};
use futures::FutureExt;
use sea_orm::{EntityTrait, Select};

use super::course::closed;
use super::rows::{held, put};
use super::state::{Action, next};
use crate::error::Error;
use crate::services::clocks;
use crate::services::context::Context;
use crate::services::due_work::{DueWork, Ran, Reach, Subject};
use crate::services::moment::{Mark, Moment};
use crate::store::Tx;

/// Subscriptions whose last interval is over.
pub struct Ending;

impl DueWork for Ending {
    type Entity = subscription::Entity;
    const NAME: &'static str = "ending_subscription";
    const AT: Column = Column::EndsAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<subscription::Entity>> {
        clocks::due(&subscription::Entity::find(), Column::EndsAt, wall).into()
    }

    fn of_account(reach: &Reach) -> Select<subscription::Entity> {
        // The column is null where nothing ends.
        subscription::Entity::owned_by(reach.account)
    }

    fn subject(row: &subscription::Model) -> Subject {
        let at = row.ends_at.unwrap_or(row.created_at);
        Subject { account: row.account_id, at, token: row.id.to_string(), held_until: None }
    }

    async fn work(ctx: &Context, moment: &Moment, row: subscription::Model) -> Result<Ran, Error> {
        let data = (row, moment.now(ctx), moment.mark());
        ctx.store.write(data, |tx, (seen, now, mark)| end(tx, seen, *now, *mark).boxed()).await
    }
}

async fn end(tx: &Tx, seen: &subscription::Model, now: Timestamp, mark: Mark) -> Result<Ran, Error> {
    let Some(row) = held(tx, seen).await?.filter(|row| row.ends_at == seen.ends_at) else {
        // Reactivated, or ended by somebody else.
        return Ok(Ran::Nothing);
    };
    let step = next(row.state, Action::Finish)?;
    put(tx, &row, closed(&row, step, now), step.emits, now).await?;
    mark.set(tx).await?;
    Ok(step.emits.map_or(Ran::Quietly, Ran::Event))
}
