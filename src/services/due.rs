//! The registry of all due work: what a worker picks up, whichever copy of the server it runs in. The look
//! takes no lock; each item is claimed by compare-and-set on its own row.

use entity::card::{self, CardState};
use entity::refund::{self, RefundState};
use entity::{Owned, Timestamp, account, charge, idempotency_answer, idempotency_key};
use futures::FutureExt;
use futures::future::join_all;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SimpleExpr};
use sea_orm::{
    ColumnTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select,
};

use super::cards;
use super::charges::settle;
use super::context::Context;
use super::idempotency;
use super::refunds;
use crate::error::Error;
use crate::limits::{DUE_BATCH, IDEMPOTENCY_KEPT};

/// Kinds of due work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A call of a charge whose outcome nobody learnt.
    UnsettledCharge,
    /// A card whose unused token has expired.
    ExpiredCard,
    /// An Idempotency-Key whose day is over.
    StaleIdempotencyKey,
    /// A refund that the acquirer has not answered.
    UnsubmittedRefund,
    /// A refund whose announced outcome comes about.
    SettlingRefund,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::UnsettledCharge,
        Self::ExpiredCard,
        Self::StaleIdempotencyKey,
        // In this order: what is submitted late may settle at once.
        Self::UnsubmittedRefund,
        Self::SettlingRefund,
    ];

    /// For metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnsettledCharge => "unsettled_charge",
            Self::ExpiredCard => "expired_card",
            Self::StaleIdempotencyKey => "stale_idempotency_key",
            Self::UnsubmittedRefund => "unsubmitted_refund",
            Self::SettlingRefund => "settling_refund",
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
        Kind::StaleIdempotencyKey => {
            let stale = stale(wall).limit(DUE_BATCH).all(ctx.store.read()).await?;
            let found = stale.len();
            for key in stale {
                idempotency::forget(ctx, key).await?;
            }
            Ok(found)
        }
        Kind::UnsubmittedRefund => {
            let due = unsubmitted(wall)
                .order_by_asc(refund::Column::SubmitAfter)
                .limit(DUE_BATCH)
                .all(ctx.store.read())
                .await?;
            // Together: one call that takes its time must not keep the others waiting.
            let submitted = join_all(due.into_iter().map(|row| refunds::submit(ctx, row))).await;
            let found = submitted.len();
            submitted.into_iter().collect::<Result<Vec<_>, _>>().map(|_| found)
        }
        Kind::SettlingRefund => {
            let mut found = 0;
            for due in settling(wall) {
                for row in due.limit(DUE_BATCH).all(ctx.store.read()).await? {
                    found += 1;
                    if let Some(outcome) = row.announced {
                        refunds::settle(ctx, row, outcome).await?;
                    }
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
        Kind::StaleIdempotencyKey => stale(wall).count(reader).await?,
        Kind::UnsubmittedRefund => unsubmitted(wall).count(reader).await?,
        Kind::SettlingRefund => {
            let [everybody, ahead] = settling(wall);
            everybody.count(reader).await? + ahead.count(reader).await?
        }
    })
}

/// By the wall clock: a call in flight has nothing to do with the account's.
fn unsettled(wall: Timestamp) -> Select<charge::Entity> {
    charge::Entity::find().filter(charge::Column::SettleAfter.lte(wall))
}

/// By the wall clock. One without an answer is in flight, however old.
fn stale(wall: Timestamp) -> Select<idempotency_key::Entity> {
    let old = idempotency_key::Column::CreatedAt.lte(wall - IDEMPOTENCY_KEPT);
    idempotency_key::Entity::find().filter(old).filter(Expr::exists(
        Query::select()
            .expr(Expr::value(1))
            .from(idempotency_answer::Entity)
            .and_where(answered(idempotency_answer::Column::AccountId, idempotency_key::Column::AccountId))
            .and_where(answered(idempotency_answer::Column::Hash, idempotency_key::Column::Hash))
            .take(),
    ))
}

fn answered(answer: idempotency_answer::Column, key: idempotency_key::Column) -> SimpleExpr {
    Expr::col((idempotency_answer::Entity, answer)).equals((idempotency_key::Entity, key))
}

/// By the wall clock, as all calls of the acquirer.
fn unsubmitted(wall: Timestamp) -> Select<refund::Entity> {
    refund::Entity::find()
        .filter(refund::Column::State.eq(RefundState::Submitting))
        .filter(refund::Column::SubmitAfter.lte(wall))
}

fn expired(wall: Timestamp) -> [Select<card::Entity>; 2] {
    let unused = card::Entity::find().filter(card::Column::State.eq(CardState::Unused));
    by_accounts_clock(&unused, card::Column::ExpiresAt, wall)
}

fn settling(wall: Timestamp) -> [Select<refund::Entity>; 2] {
    let accepted = refund::Entity::find().filter(refund::Column::State.eq(RefundState::Accepted));
    by_accounts_clock(&accepted, refund::Column::SettlesAt, wall)
}

/// By each account's clock, which is never behind the wall clock: what is due by that is due for everybody, and
/// the few accounts whose clock runs ahead are looked at one by one.
fn by_accounts_clock<E: Owned>(waiting: &Select<E>, due: E::Column, wall: Timestamp) -> [Select<E>; 2] {
    let due = || Expr::col(due.as_column_ref());
    let clock_offset = || Expr::col(account::Column::ClockOffset.as_column_ref());
    let mut ahead = waiting
        .clone()
        .filter(clock_offset().gt(0))
        .filter(due().gt(wall.millis()))
        .filter(due().lte(Expr::value(wall.millis()).add(clock_offset())));
    let its_account = Expr::col(account::Column::Id.as_column_ref()).equals(E::ACCOUNT.as_column_ref());
    QueryTrait::query(&mut ahead).inner_join(account::Entity, its_account);
    [waiting.clone().filter(due().lte(wall.millis())), ahead]
}
