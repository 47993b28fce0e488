//! The balance over time as a drawing and as a table. Integers throughout: amounts are placed on a grid.

use std::fmt::Write;

use entity::{Currency, Day};
use maud::{Markup, html};

use super::draw::{Drawing, Figure, WIDTH};
use super::format;
use crate::services::ledger::view::DayBalance;

const HEIGHT: i64 = 260;
/// Margins: above for the highest amount, at the foot for the lowest one and the days.
const ABOVE: i64 = 30;
const FOOT: i64 = 60;

/// Renders the balance available at the end of each day, future days included. `days` are in order.
pub fn of_balance(today: Day, days: &[DayBalance]) -> Markup {
    let (Some(grid), [first, .., last]) = (PlotScale::over(days), days) else { return html! {} };
    let aud = |amount| format::amount(Currency::Aud, amount);
    let summary = format!(
        "What was available went from {} on {} to {} on {}.",
        aud(first.available),
        first.day.date(),
        aud(last.available),
        last.day.date()
    );
    let shapes = html! {
        path.line d=(grid.line(days)) {}
        line.today x1=(grid.x(today)) x2=(grid.x(today)) y1=(ABOVE) y2=(HEIGHT - FOOT) {}
        @for day in days {
            circle.key cx=(grid.x(day.day)) cy=(grid.y(day.available)) r="3" {
                title { (day.day.date().to_string()) ": " (aud(day.available)) }
            }
        }
        text x="0" y=(ABOVE - 8) { (aud(grid.highest)) }
        text x="0" y=(HEIGHT - FOOT + 26) { (aud(grid.lowest)) }
        text x="0" y=(HEIGHT - 6) { (first.day.date().to_string()) }
        text.end x=(WIDTH) y=(HEIGHT - 6) { (last.day.date().to_string()) }
    };
    Figure {
        id: "balance",
        title: "What is available, by day",
        summary: format!("{summary} The dashed line is today, by the account's clock."),
        drawing: Drawing { height: HEIGHT, shapes },
        headings: &["Day", "Available"],
        rows: days.iter().map(|day| vec![day.day.date().to_string(), aud(day.available)]).collect(),
    }
    .render()
}

/// Maps days and amounts to coordinates.
struct PlotScale {
    from: i64,
    days: i64,
    lowest: i64,
    highest: i64,
}

impl PlotScale {
    fn over(days: &[DayBalance]) -> Option<Self> {
        let number = |day: &DayBalance| i64::from(day.day.number());
        let from = number(days.first()?);
        let amounts = || days.iter().map(|day| day.available);
        Some(Self {
            from,
            days: (number(days.last()?) - from).max(1),
            lowest: amounts().min()?,
            highest: amounts().max()?,
        })
    }

    fn x(&self, day: Day) -> i64 {
        (i64::from(day.number()) - self.from) * WIDTH / self.days
    }

    fn y(&self, amount: i64) -> i64 {
        let height = i128::from(HEIGHT - ABOVE - FOOT);
        let (amount, lowest, highest) =
            (i128::from(amount), i128::from(self.lowest), i128::from(self.highest));
        let above = (amount - lowest) * height / (highest - lowest).max(1);
        HEIGHT - FOOT - i64::try_from(above).unwrap_or_default()
    }

    /// Returns the path of the line. A balance stays the same until the day of the next change.
    fn line(&self, days: &[DayBalance]) -> String {
        let mut line = String::new();
        for day in days {
            let (x, y) = (self.x(day.day), self.y(day.available));
            // Writing to a String cannot fail.
            let _ = if line.is_empty() { write!(line, "M{x} {y}") } else { write!(line, "H{x}V{y}") };
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(balances: &[(i32, i64)]) -> Vec<DayBalance> {
        let epoch = entity::Timestamp::from_millis(0).day();
        balances.iter().map(|&(day, available)| DayBalance { day: epoch.plus(day), available }).collect()
    }

    #[test]
    fn the_line_steps_from_change_to_change_within_the_drawing() {
        let days = days(&[(0, 0), (50, 200), (100, 100)]);
        let grid = PlotScale::over(&days).unwrap();
        assert_eq!(grid.line(&days), "M0 200H360V30H720V115");
    }

    #[test]
    fn nothing_overflows_and_nothing_is_divided_by_zero() {
        for balances in [vec![(0, 0)], vec![(0, i64::MIN), (1, i64::MAX)], vec![(0, -5), (0, -5)]] {
            let days = days(&balances);
            let grid = PlotScale::over(&days).unwrap();
            for day in &days {
                assert!((ABOVE..=HEIGHT - FOOT).contains(&grid.y(day.available)));
                assert!((0..=WIDTH).contains(&grid.x(day.day)));
            }
        }
    }
}
