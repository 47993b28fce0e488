//! What is due by each account's own clock.

use entity::account::Column;
use entity::{Owned, Timestamp, account};
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryTrait, Select};

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

/// The accounts whose own time has come, but for those whose clock is being moved: two queries, for the reason that
/// [`passed`] tells.
pub fn accounts(at: Column, wall: Timestamp) -> [Select<account::Entity>; 2] {
    let everybody = account::Entity::find().filter(at.lte(wall));
    // Nothing is added but the certainty that the few accounts ahead are not looked for among all that are not due.
    let later = at.into_expr().add(0).gt(wall.millis());
    let own_clock = Expr::value(wall.millis()).add(Column::ClockOffset.into_expr());
    let ahead = account::Entity::find()
        .filter(Column::ClockOffset.gt(0))
        .filter(later)
        .filter(at.into_expr().lte(own_clock))
        .filter(at_rest(wall));
    [everybody, ahead]
}

/// Nobody is moving the account's clock.
pub fn at_rest(wall: Timestamp) -> SimpleExpr {
    let moving_until = || Expr::col((account::Entity, Column::MovingUntil));
    moving_until().is_null().or(moving_until().lte(wall.millis()))
}
