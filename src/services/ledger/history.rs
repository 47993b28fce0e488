//! The available balance day by day: past days, and days on which pending money becomes available.

use entity::{Day, Owned, balance};
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, QueryOrder, QuerySelect};

use super::sum_of;
use crate::error::Error;
use crate::limits::BALANCE_PLOT_DAYS;
use crate::services::context::{Account, Context};
use crate::services::ledger::view::DayBalance;

/// Returns the available balance at the end of each day on which it changed or will change, oldest first: at least two
/// days. The first day, [`BALANCE_PLOT_DAYS`] ago, stands for all before it; today is always included.
pub async fn history(ctx: &Context, account: &Account) -> Result<Vec<DayBalance>, Error> {
    let today = account.now.day();
    let first = today.plus(-BALANCE_PLOT_DAYS);
    let day = balance::Column::AvailableOn.into_expr();
    let before = balance::Column::AvailableOn.into_expr().lt(first.number());
    let day: SimpleExpr = Expr::case(before, first.number()).finally(day).into();
    let moved: Vec<(i64, i64)> = balance::Entity::owned_by(account.id())
        .select_only()
        .expr_as(day.cast_as("BIGINT"), DAY)
        .column_as(sum_of(balance::Column::Amount.into_expr()), "moved")
        .group_by(Expr::col(DAY))
        .order_by_asc(Expr::col(DAY))
        .into_tuple()
        .all(ctx.store.read())
        .await?;
    Ok(summed_up(today, first, moved))
}

const DAY: &str = "plotted_day";

fn summed_up(today: Day, first: Day, moved: Vec<(i64, i64)>) -> Vec<DayBalance> {
    let (mut days, mut available) = (Vec::new(), 0);
    for (number, amount) in moved {
        let day = first.plus(i32::try_from(number - i64::from(first.number())).unwrap_or(i32::MAX));
        if day > today {
            set_balance(&mut days, today, available);
        }
        available += amount;
        set_balance(&mut days, day, available);
    }
    set_balance(&mut days, today, available);
    if days.len() == 1 {
        days.insert(0, DayBalance { day: first, available: 0 });
    }
    days
}

/// Sets the available balance of a day, unless the list already has a later day.
fn set_balance(days: &mut Vec<DayBalance>, day: Day, available: i64) {
    match days.last_mut() {
        Some(last) if last.day == day => last.available = available,
        Some(last) if last.day > day => {}
        Some(_) | None => days.push(DayBalance { day, available }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(today: i32, moved: &[(i64, i64)]) -> Vec<(i32, i64)> {
        let today = entity::Timestamp::from_millis(i64::from(today) * 86_400_000).day();
        let days = summed_up(today, today.plus(-90), moved.to_vec());
        days.into_iter().map(|day| (day.day.number(), day.available)).collect()
    }

    #[test]
    fn days_add_up_and_today_is_always_among_them() {
        assert_eq!(days(100, &[]), [(10, 0), (100, 0)]);
        assert_eq!(days(100, &[(100, 7)]), [(10, 0), (100, 7)], "there was nothing before");
        assert_eq!(days(100, &[(10, 7)]), [(10, 7), (100, 7)], "what was before the first day");
        assert_eq!(days(100, &[(10, 7), (100, -2)]), [(10, 7), (100, 5)]);
        assert_eq!(
            days(100, &[(40, 5), (102, 3), (103, -1)]),
            [(40, 5), (100, 5), (102, 8), (103, 7)],
            "what becomes available later stands behind today"
        );
    }
}
