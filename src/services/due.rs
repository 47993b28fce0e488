//! The registry of all due work: what a worker picks up, whichever copy of the server it runs in. The look
//! takes no lock; each item is claimed by compare-and-set on its own row.

use futures::future::{join_all, try_join_all};
use sea_orm::{EntityTrait, PaginatorTrait, QuerySelect, Select};

use super::accounts::wipe;
use super::charges::settle;
use super::context::Context;
use super::{cards, idempotency, refunds, retention, webhooks};
use crate::error::Error;
use crate::limits::DUE_BATCH;

/// Kinds of due work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A call of a charge whose outcome nobody learnt.
    UnsettledCharge,
    /// A card whose unused token has expired.
    ExpiredCard,
    /// A refund that the acquirer has not answered.
    UnsubmittedRefund,
    /// A refund whose announced outcome comes about.
    SettlingRefund,
    /// A webhook that is to be delivered.
    Webhook,
    /// Events and webhooks that were kept long enough.
    Retention,
    /// An Idempotency-Key whose day is over.
    StaleIdempotencyKey,
    /// An account that was deleted, with rows that may be left.
    DeletedAccount,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::UnsettledCharge,
        Self::ExpiredCard,
        // In this order: what is submitted late may settle at once.
        Self::UnsubmittedRefund,
        Self::SettlingRefund,
        Self::Webhook,
        Self::Retention,
        Self::StaleIdempotencyKey,
        Self::DeletedAccount,
    ];

    /// For metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnsettledCharge => "unsettled_charge",
            Self::ExpiredCard => "expired_card",
            Self::UnsubmittedRefund => "unsubmitted_refund",
            Self::SettlingRefund => "settling_refund",
            Self::Webhook => "webhook",
            Self::Retention => "retention",
            Self::StaleIdempotencyKey => "stale_idempotency_key",
            Self::DeletedAccount => "deleted_account",
        }
    }
}

/// Do what is due of one kind, at most a batch. Says how many items there were.
pub async fn run(ctx: &Context, kind: Kind) -> Result<usize, Error> {
    let wall = ctx.clock.now();
    match kind {
        Kind::UnsettledCharge => each(ctx, [settle::due(wall)], |row| settle::settle(ctx, row)).await,
        Kind::ExpiredCard => each(ctx, cards::due(wall), |row| cards::expire(ctx, row)).await,
        Kind::UnsubmittedRefund => {
            each(ctx, [refunds::submit::due(wall)], |row| refunds::submit(ctx, row)).await
        }
        Kind::SettlingRefund => {
            each(ctx, refunds::settle::due(wall), |row| refunds::settle::as_announced(ctx, row)).await
        }
        Kind::Webhook => deliver(ctx).await,
        Kind::Retention => each(ctx, retention::due(wall), |row| retention::purge(ctx, row)).await,
        Kind::StaleIdempotencyKey => {
            each(ctx, [idempotency::due(wall)], |row| idempotency::forget(ctx, row)).await
        }
        Kind::DeletedAccount => each(ctx, [wipe::due(wall)], |row| wipe::wipe(ctx, row)).await,
    }
}

/// How many items of a kind are due.
pub async fn backlog(ctx: &Context, kind: Kind) -> Result<u64, Error> {
    let wall = ctx.clock.now();
    match kind {
        Kind::UnsettledCharge => count(ctx, [settle::due(wall)]).await,
        Kind::ExpiredCard => count(ctx, cards::due(wall)).await,
        Kind::UnsubmittedRefund => count(ctx, [refunds::submit::due(wall)]).await,
        Kind::SettlingRefund => count(ctx, refunds::settle::due(wall)).await,
        Kind::Webhook => webhooks::waiting(ctx).await,
        Kind::Retention => count(ctx, retention::due(wall)).await,
        Kind::StaleIdempotencyKey => count(ctx, [idempotency::due(wall)]).await,
        Kind::DeletedAccount => count(ctx, [wipe::due(wall)]).await,
    }
}

/// Do the work of what is due, together: one item that takes its time must not keep the others waiting, and one that
/// fails must not keep them from being done.
async fn each<E, W, T>(
    ctx: &Context,
    due: impl IntoIterator<Item = Select<E>>,
    work: impl Fn(E::Model) -> W,
) -> Result<usize, Error>
where
    E: EntityTrait,
    W: Future<Output = Result<T, Error>>,
{
    let mut found = 0;
    for due in due {
        let rows = due.limit(DUE_BATCH).all(ctx.store.read()).await?;
        found += rows.len();
        for done in join_all(rows.into_iter().map(&work)).await {
            match done {
                Err(error) if wipe::is_deleted(&error) => {}
                done => drop(done?),
            }
        }
    }
    Ok(found)
}

async fn count<E>(ctx: &Context, due: impl IntoIterator<Item = Select<E>>) -> Result<u64, Error>
where
    E: EntityTrait<Model: Sync>,
{
    let counts = due.into_iter().map(|due| due.count(ctx.store.read()));
    Ok(try_join_all(counts).await?.into_iter().sum())
}

/// Deliver what is due, all at once: for whoever has no courier.
async fn deliver(ctx: &Context) -> Result<usize, Error> {
    let parcels = webhooks::lease(ctx, webhooks::due(ctx, &[]).await?).await?;
    let found = parcels.len();
    let outcomes = try_join_all(parcels.into_iter().map(|parcel| webhooks::send(ctx, parcel))).await?;
    webhooks::record(ctx, outcomes.into_iter().flatten().collect()).await?;
    Ok(found)
}
