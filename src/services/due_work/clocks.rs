//! Selects rows that are due by each account's own clock.

use std::sync::atomic::Ordering;

use entity::account::Column;
use entity::{AccountToken, Owned, Timestamp, account};
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect, QueryTrait, Select};

use crate::config::Environment;
use crate::error::Error;
use crate::services::context::Context;

/// Returns the queries by which due rows are found: without the second one where no clock runs ahead, as in live
/// (`docs/decisions.md`, 394).
pub fn visible_clocks<E: EntityTrait>(
    ctx: &Context,
    due: impl IntoIterator<Item = Select<E>>,
) -> impl Iterator<Item = Select<E>> {
    let clocks = match ctx.environment {
        Environment::Test if ctx.memory.clocks_ahead.load(Ordering::Relaxed) => 2,
        Environment::Test | Environment::Live => 1,
    };
    due.into_iter().take(clocks)
}

/// Notes whether any clock runs ahead: one statement, so that not each poll for due work asks for those.
pub async fn note_ahead(ctx: &Context) -> Result<(), Error> {
    let ahead = account::Entity::find().select_only().column(Column::Id).filter(Column::ClockOffset.gt(0));
    let ahead = ahead.into_tuple::<AccountToken>().one(ctx.store.read()).await?;
    ctx.memory.clocks_ahead.store(ahead.is_some(), Ordering::Relaxed);
    Ok(())
}

/// Selects the due rows, in two queries so that both databases use an index. No account's clock is behind the wall
/// clock, so a row due by the wall clock is due in every account; the few accounts whose clock runs ahead are checked
/// one by one.
pub fn select_due<E: Owned>(rows: &Select<E>, at: E::Column, wall: Timestamp) -> [Select<E>; 2] {
    let clock_offset = || Expr::col((account::Entity, Column::ClockOffset));
    let its_account = Expr::col((account::Entity, Column::Id)).eq(E::ACCOUNT.into_expr());
    let mut ahead = rows
        .clone()
        .filter(its_account)
        .filter(clock_offset().gt(0))
        .filter(at.gt(wall))
        .filter(at.into_expr().lte(Expr::value(wall.millis()).add(clock_offset())));
    // A cross join keeps SQLite to this order: otherwise it scans the future rows of all accounts.
    QueryTrait::query(&mut ahead).from_clear().from(account::Entity).cross_join(E::default());
    [rows.clone().filter(at.lte(wall)), ahead]
}

/// Selects the same, without the rows of a moving clock that runs ahead: its mover does these (`docs/decisions.md`,
/// 296).
pub fn due<E: Owned>(rows: &Select<E>, at: E::Column, wall: Timestamp) -> [Select<E>; 2] {
    let [everybody, ahead] = select_due(rows, at, wall);
    [everybody, ahead.filter(at_rest(wall))]
}

/// Selects the accounts that are due by their own clock and whose clock is not moving: two queries, for the same reason
/// as in [`select_due`].
pub fn accounts(at: Column, wall: Timestamp) -> [Select<account::Entity>; 2] {
    let everybody = account::Entity::find().filter(at.lte(wall));
    // Adding zero keeps the database from finding the few accounts ahead through the index of all that are not due.
    let later = at.into_expr().add(0).gt(wall.millis());
    let own_clock = Expr::value(wall.millis()).add(Column::ClockOffset.into_expr());
    let ahead = account::Entity::find()
        .filter(Column::ClockOffset.gt(0))
        .filter(later)
        .filter(at.into_expr().lte(own_clock))
        .filter(at_rest(wall));
    [everybody, ahead]
}

/// Returns the condition that the account's clock is not moving.
pub fn at_rest(wall: Timestamp) -> SimpleExpr {
    let moving_until = || Expr::col((account::Entity, Column::MovingUntil));
    moving_until().is_null().or(moving_until().lte(wall.millis()))
}
