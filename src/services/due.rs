//! The registry of all due work: what a worker picks up, whichever copy of the server it runs in. The look
//! takes no lock; each item is claimed by compare-and-set on its own row.

use entity::card::{self, CardState};
use entity::{Timestamp, charge};
use futures::FutureExt;
use futures::future::try_join_all;
use sea_orm::{ColumnTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect, Select};

use super::charges::settle;
use super::context::Context;
use super::{cards, clocks, retention, webhooks};
use crate::error::Error;
use crate::limits::DUE_BATCH;

/// Kinds of due work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A call of a charge whose outcome nobody learnt.
    UnsettledCharge,
    /// A card whose unused token has expired.
    ExpiredCard,
    /// A webhook that is to be delivered.
    Webhook,
    /// Events and webhooks that were kept long enough.
    Retention,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Self] = &[Self::UnsettledCharge, Self::ExpiredCard, Self::Webhook, Self::Retention];

    /// For metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnsettledCharge => "unsettled_charge",
            Self::ExpiredCard => "expired_card",
            Self::Webhook => "webhook",
            Self::Retention => "retention",
        }
    }
}

/// Do what is due of one kind, at most a batch. Says how many items there were.
pub async fn run(ctx: &Context, kind: Kind) -> Result<usize, Error> {
    let wall = ctx.clock.now();
    match kind {
        Kind::UnsettledCharge => {
            let due = unsettled(wall)
                .order_by_asc(charge::Column::SettleAfter)
                .limit(DUE_BATCH)
                .all(ctx.store.read())
                .await?;
            let found = due.len();
            for row in due {
                settle::settle(ctx, row).await?;
            }
            Ok(found)
        }
        Kind::ExpiredCard => {
            let mut found = 0;
            for due in expired(wall) {
                for card in due.limit(DUE_BATCH).all(ctx.store.read()).await? {
                    found += 1;
                    ctx.store.write(card, |tx, card| cards::expire(tx, card).boxed()).await?;
                }
            }
            Ok(found)
        }
        Kind::Webhook => deliver(ctx).await,
        Kind::Retention => {
            let mut found = 0;
            for due in retention::due(wall) {
                for account in due.limit(DUE_BATCH).all(ctx.store.read()).await? {
                    found += 1;
                    retention::purge(ctx, account).await?;
                }
            }
            Ok(found)
        }
    }
}

/// How many items of a kind are due.
pub async fn backlog(ctx: &Context, kind: Kind) -> Result<u64, Error> {
    let wall = ctx.clock.now();
    let reader = ctx.store.read();
    Ok(match kind {
        Kind::UnsettledCharge => unsettled(wall).count(reader).await?,
        Kind::ExpiredCard => {
            let [everybody, ahead] = expired(wall);
            everybody.count(reader).await? + ahead.count(reader).await?
        }
        Kind::Webhook => webhooks::waiting(ctx).await?,
        Kind::Retention => {
            let [everybody, ahead] = retention::due(wall);
            everybody.count(reader).await? + ahead.count(reader).await?
        }
    })
}

/// By the wall clock: a call in flight has nothing to do with the account's.
fn unsettled(wall: Timestamp) -> Select<charge::Entity> {
    charge::Entity::find().filter(charge::Column::SettleAfter.lte(wall))
}

/// By each account's clock.
fn expired(wall: Timestamp) -> [Select<card::Entity>; 2] {
    let unused = card::Entity::find().filter(card::Column::State.eq(CardState::Unused));
    clocks::due(&unused, card::Column::ExpiresAt, wall)
}

/// Deliver what is due, all at once: for whoever has no courier.
async fn deliver(ctx: &Context) -> Result<usize, Error> {
    let parcels = webhooks::lease(ctx, webhooks::due(ctx, &[]).await?).await?;
    let found = parcels.len();
    let outcomes = try_join_all(parcels.into_iter().map(|parcel| webhooks::send(ctx, parcel))).await?;
    webhooks::record(ctx, outcomes.into_iter().flatten().collect()).await?;
    Ok(found)
}
