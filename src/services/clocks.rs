//! What is due by each account's own clock.

use entity::account::Column;
use entity::{Owned, Timestamp, account};
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, QueryFilter, QueryTrait, Select};

/// The rows whose time has come: two queries, for both databases to use an index. No account's clock is behind the
/// wall clock, so what is due by that is due for everybody; the few accounts whose clock runs ahead are looked at one
/// by one.
pub fn passed<E: Owned>(rows: &Select<E>, at: E::Column, wall: Timestamp) -> [Select<E>; 2] {
    let clock_offset = || Expr::col((account::Entity, Column::ClockOffset));
    let its_account = Expr::col((account::Entity, Column::Id)).eq(E::ACCOUNT.into_expr());
    let mut ahead = rows
        .clone()
        .filter(its_account)
        .filter(clock_offset().gt(0))
        .filter(at.gt(wall))
        .filter(at.into_expr().lte(Expr::value(wall.millis()).add(clock_offset())));
    // A cross join keeps SQLite to this order: it would rather walk what is due in the future, for everybody.
    QueryTrait::query(&mut ahead).from_clear().from(account::Entity).cross_join(E::default());
    [rows.clone().filter(at.lte(wall)), ahead]
}

/// The same, but what a clock comes by while it is moved is left to who moves it.
pub fn due<E: Owned>(rows: &Select<E>, at: E::Column, wall: Timestamp) -> [Select<E>; 2] {
    let [everybody, ahead] = passed(rows, at, wall);
    [everybody, ahead.filter(at_rest(wall))]
}

/// Nobody is moving the account's clock.
pub fn at_rest(wall: Timestamp) -> SimpleExpr {
    let moving_until = || Expr::col((account::Entity, Column::MovingUntil));
    moving_until().is_null().or(moving_until().lte(wall.millis()))
}
