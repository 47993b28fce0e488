//! The pictures of a whole account: its charges by day, its requests, its disputes.

use std::collections::BTreeMap;

use entity::dispute::DisputeStatus;
use entity::{Currency, Day};
use maud::{Markup, html};

use super::address::Address;
use super::draw::{self, Bar, Figure, Row};
use super::format::{self, Tone};
use super::state::DashboardState;
use crate::error::{Error, failure_message};
use crate::limits::{CHARGES_PLOT_DAYS, DISPUTES_PLOT_DAYS};
use crate::services::Account;
use crate::services::sandbox::statistics::{self, ApprovedDay, ChargesByDay, FailedDay, RequestTiming};

/// The number of the latest requests that are drawn.
const REQUESTS_DRAWN: usize = 120;

/// Renders the charges of the last days: their volume, how many succeeded, and why others failed.
pub async fn charges(app: &DashboardState, account: &Account) -> Result<Markup, Error> {
    let ChargesByDay { first, approved, failed } = statistics::charges(app, account).await?;
    let last = account.now.day();
    let days: Vec<_> =
        (0..CHARGES_PLOT_DAYS).map(|day| first.plus(day)).take_while(|day| *day <= last).collect();
    let drawn = [volume(&days, &approved), attempts(&days, &approved, &failed), declines(&days, &failed)];
    Ok(html! { div.plots { @for figure in &drawn { (figure) } } (counts(first, &approved, &failed)) })
}

/// Renders how many attempts succeeded and how many were declined since a day, as links to the lists of them.
fn counts(first: Day, approved: &[ApprovedDay], failed: &[FailedDay]) -> Markup {
    let list = |state: &str| {
        Address::new("/dashboard/charges").with("state", state).with("start_date", &word(first))
    };
    let good: i64 = approved.iter().map(|day| day.count).sum();
    let bad: i64 = failed.iter().map(|day| day.count).sum();
    html! {
        @if good + bad > 0 {
            p {
                "Since " (word(first)) ": "
                a href=(list("succeeded")) { (format::counted(good, "succeeded attempt")) } ", "
                a href=(list("declined")) { (format::counted(bad, "declined attempt")) }
            }
        }
    }
}

fn word(day: Day) -> String {
    day.date().to_string()
}

/// Returns the first and the last day in words.
fn ends(days: &[Day]) -> [String; 2] {
    [days.first(), days.last()].map(|day| day.copied().map(word).unwrap_or_default())
}

/// Returns a number, never a negative one, in words.
fn number(count: i64) -> String {
    format::count(count.unsigned_abs())
}

/// Draws the volume of the currency with the most charges; the table has all of them.
fn volume(days: &[Day], approved: &[ApprovedDay]) -> Markup {
    let mut counts = BTreeMap::<&str, (i64, Currency)>::new();
    for day in approved {
        counts.entry(day.currency.code()).or_insert((0, day.currency)).0 += day.count;
    }
    let Some(&(_, currency)) = counts.values().max_by_key(|(count, _)| *count) else { return html! {} };
    let sum = |day: Option<Day>| {
        let of_day =
            approved.iter().filter(|row| row.currency == currency && day.is_none_or(|day| row.day == day));
        of_day.fold((0_i64, 0_i64), |(amount, count), row| {
            (amount.saturating_add(row.amount), count + row.count)
        })
    };
    let in_words = |amount| format::amount(currency, amount);
    let bar = |&day: &Day| {
        let (amount, count) = sum(Some(day));
        Bar {
            hint: format!("{}: {} by {}", word(day), in_words(amount), format::counted(count, "charge")),
            parts: vec![(Tone::Good, amount)],
        }
    };
    let bars: Vec<_> = days.iter().map(bar).collect();
    let most = days.iter().map(|day| sum(Some(*day)).0).max().unwrap_or_default();
    let (total, count) = sum(None);
    let others = if counts.len() > 1 { " Other currencies are in the table." } else { "" };
    let [first, last] = ends(days);
    let mut table: Vec<_> = approved.iter().collect();
    table.sort_by_key(|row| (std::cmp::Reverse(row.day), row.currency.code()));
    let row =
        |row: &&ApprovedDay| vec![word(row.day), number(row.count), format::amount(row.currency, row.amount)];
    Figure {
        id: "volume",
        title: "Approved charges, by day",
        summary: format!(
            "{} by {} in {}.{others}",
            in_words(total),
            format::counted(count, "approved charge"),
            length(days)
        ),
        drawing: draw::bars(&bars, &in_words(most), &first, &last),
        headings: &["Day", "Charges", "Amount"],
        rows: table.iter().map(row).collect(),
    }
    .render()
}

/// Draws how many attempts of each day succeeded and failed.
fn attempts(days: &[Day], approved: &[ApprovedDay], failed: &[FailedDay]) -> Markup {
    let of_day = |day: Day| {
        let good: i64 = approved.iter().filter(|row| row.day == day).map(|row| row.count).sum();
        let bad: i64 = failed.iter().filter(|row| row.day == day).map(|row| row.count).sum();
        (good, bad)
    };
    let counts: Vec<_> =
        days.iter().map(|day| (*day, of_day(*day))).filter(|(_, (good, bad))| good + bad > 0).collect();
    let (good, bad) =
        counts.iter().fold((0, 0), |(good, bad), (_, counts)| (good + counts.0, bad + counts.1));
    if good + bad == 0 {
        return html! {};
    }
    let bar = |&day: &Day| {
        let (good, bad) = of_day(day);
        let hint = format!("{}: {} succeeded, {} failed", word(day), number(good), number(bad));
        Bar { hint, parts: vec![(Tone::Good, good), (Tone::Bad, bad)] }
    };
    let bars: Vec<_> = days.iter().map(bar).collect();
    let most = counts.iter().map(|(_, (good, bad))| good + bad).max().unwrap_or_default();
    let [first, last] = ends(days);
    let row = |(day, (good, bad)): &(Day, (i64, i64))| {
        vec![word(*day), number(*good), number(*bad), share(*good, good + bad)]
    };
    Figure {
        id: "attempts",
        title: "Attempts, by day",
        summary: format!(
            "{} of {} succeeded: {}. The upper part of a bar failed.",
            number(good),
            format::counted(good + bad, "attempt"),
            share(good, good + bad)
        ),
        drawing: draw::bars(&bars, &number(most), &first, &last),
        headings: &["Day", "Succeeded", "Failed", "Success rate"],
        rows: counts.iter().rev().map(row).collect(),
    }
    .render()
}

/// Returns how many days are shown, in words.
fn length(days: &[Day]) -> String {
    format::counted(i64::try_from(days.len()).unwrap_or_default(), "day")
}

/// Returns a share in percent, rounded to one decimal place.
fn share(part: i64, whole: i64) -> String {
    let whole = whole.max(1);
    let tenths = part.saturating_mul(1_000).saturating_add(whole / 2) / whole;
    format!("{}.{}%", tenths / 10, tenths % 10)
}

/// Draws the reasons of failures, the most frequent one first.
fn declines(days: &[Day], failed: &[FailedDay]) -> Markup {
    let mut reasons = BTreeMap::<&str, (i64, &'static str)>::new();
    for row in failed {
        reasons.entry(row.failure.code()).or_insert((0, failure_message(row.failure))).0 += row.count;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let total: i64 = reasons.iter().map(|(_, (count, _))| count).sum();
    if total == 0 {
        return html! {};
    }
    let row = |(code, (count, _)): &(&str, (i64, &str))| {
        Row::new(code.replace('_', " "), number(*count), *count, Tone::Bad)
    };
    Figure {
        id: "declines",
        title: "Declines, by reason",
        summary: format!("{} failed in {}.", format::counted(total, "attempt"), length(days)),
        drawing: draw::rows(&reasons.iter().map(row).collect::<Vec<_>>(), false),
        headings: &["Error", "Message", "Attempts", "Share"],
        rows: reasons
            .iter()
            .map(|(code, (count, message))| {
                vec![(*code).to_owned(), (*message).to_owned(), number(*count), share(*count, total)]
            })
            .collect(),
    }
    .render()
}

/// Renders the disputes of the last days as a funnel.
pub async fn disputes(app: &DashboardState, account: &Account) -> Result<Markup, Error> {
    let counted = statistics::disputes(app, account).await?;
    let sum = |is_counted: fn(DisputeStatus) -> bool| -> i64 {
        counted.iter().filter(|row| is_counted(row.status)).map(|row| row.count).sum()
    };
    let answered = counted.iter().map(|row| row.answered).sum();
    let steps: [(&str, i64, Tone); 4] = [
        ("Received", sum(|_| true), Tone::Plain),
        ("Evidence submitted", answered, Tone::Waiting),
        ("Decided", sum(|status| !status.is_open()), Tone::Plain),
        ("Decided for the merchant", sum(|status| !status.is_open() && !status.is_standing()), Tone::Good),
    ];
    let [(_, all, _), ..] = steps;
    if all == 0 {
        return Ok(html! {});
    }
    let row = |&(label, count, tone): &(&str, i64, Tone)| {
        Row::new(label, format!("{} ({})", number(count), share(count, all)), count, tone)
    };
    let figure = Figure {
        id: "disputes",
        title: "From receipt to decision",
        summary: format!("Disputes received in the last {DISPUTES_PLOT_DAYS} days: {}.", number(all)),
        drawing: draw::rows(&steps.iter().map(row).collect::<Vec<_>>(), false),
        headings: &["Status", "Disputes"],
        rows: counted
            .iter()
            .map(|row| vec![row.status.code().replace('_', " "), number(row.count)])
            .collect(),
    };
    Ok(figure.render())
}

/// Renders the latency and the errors of the account's latest requests.
pub async fn requests(app: &DashboardState, account: &Account) -> Result<Markup, Error> {
    let timings = statistics::timings(app, account).await?;
    let latest: Vec<_> = timings.iter().take(REQUESTS_DRAWN).rev().collect();
    if latest.is_empty() {
        return Ok(html! {});
    }
    let bar = |timing: &&RequestTiming| {
        let RequestTiming { method, route, status, duration } = *timing;
        let tone = Tone::of_http(i64::from(*status));
        // A request of less than a millisecond is drawn as well.
        Bar {
            hint: format!("{method} {route}: {status} in {duration} ms"),
            parts: vec![(tone, (*duration).max(1))],
        }
    };
    let bars: Vec<_> = latest.iter().map(bar).collect();
    let slowest = latest.iter().map(|timing| timing.duration).max().unwrap_or_default();
    let errors = timings.iter().filter(|timing| timing.status >= 400).count();
    let mut durations: Vec<_> = timings.iter().map(|timing| timing.duration).collect();
    let figure = Figure {
        id: "latency",
        title: "Latency and errors",
        summary: format!(
            "Of the last {} requests {} failed ({}). Half of them took at most {} ms, 95% at most {} ms. Drawn are the latest {}, \
             the newest at the right; failed ones have another colour.",
            timings.len(),
            errors,
            share(
                i64::try_from(errors).unwrap_or_default(),
                i64::try_from(timings.len()).unwrap_or_default()
            ),
            percentile(&mut durations, 50),
            percentile(&mut durations, 95),
            latest.len()
        ),
        drawing: draw::bars(&bars, &format!("{slowest} ms"), "older", "newest"),
        headings: &["Operation", "Requests", "Failed", "Median", "95%"],
        rows: operations(&timings),
    };
    Ok(figure.render())
}

/// Returns a row for each operation, the most frequent one first.
fn operations(timings: &[RequestTiming]) -> Vec<Vec<String>> {
    let mut operations = BTreeMap::<(&str, &str), (Vec<i64>, usize)>::new();
    for timing in timings {
        let (durations, errors) = operations.entry((&timing.route, &timing.method)).or_default();
        durations.push(timing.duration);
        *errors += usize::from(timing.status >= 400);
    }
    let mut operations: Vec<_> = operations.into_iter().collect();
    operations.sort_by_key(|(_, (durations, _))| std::cmp::Reverse(durations.len()));
    let row = |((route, method), (mut durations, errors)): ((&str, &str), (Vec<i64>, usize))| {
        let count = durations.len();
        let [median, most] = [50, 95].map(|percent| format!("{} ms", percentile(&mut durations, percent)));
        vec![format!("{method} {route}"), count.to_string(), errors.to_string(), median, most]
    };
    operations.into_iter().map(row).collect()
}

/// Returns the smallest value that so many percent of the values do not exceed.
fn percentile(values: &mut [i64], percent: usize) -> i64 {
    values.sort_unstable();
    let rank = (values.len() * percent).div_ceil(100).max(1);
    values.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_percentiles_are_whole_and_defined_for_nothing() {
        assert_eq!(
            [share(1, 3), share(2, 3), share(3, 3), share(0, 0)],
            ["33.3%", "66.7%", "100.0%", "0.0%"]
        );
        assert_eq!(percentile(&mut [], 50), 0);
        assert_eq!(percentile(&mut [9, 1, 5], 50), 5);
        assert_eq!(percentile(&mut (1..=100).collect::<Vec<_>>(), 95), 95);
    }
}
