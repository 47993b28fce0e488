//! The account's clock, and the forms that move it: a slider, spans, a date.

use axum::extract::State;
use maud::{Markup, html};
use serde_json::json;

use super::auth::{AccountSession, VerifiedForm};
use super::layout::{self, PageContent, PageResult};
use super::list::{Column, column, table};
use super::record::{Record, facts, words};
use super::state::DashboardState;
use super::{CLOCK, format};
use crate::params;
use crate::services::due_work::DueWork;
use crate::services::retention::RetentionWork;
use crate::services::sandbox::clock;

/// The maximum of the slider.
const SLIDER_DAYS: u32 = 366;

const RAN: [Column; 3] = [
    column("Time", |item| item.time("/at")),
    column("What", |item| words(&item.text("/what").replace('_', " "))),
    column("Record", |item| item.token("/token")),
];

pub async fn show(user: AccountSession) -> PageResult {
    let clock = Record::new(user.account.now, &clock::show(&user.account))?;
    let content = html! { (shown(&clock)) (ways(&user, clock.text("/now"))) };
    Ok(PageContent::new("/1/sandbox/clock", "Clock", content))
}

fn shown(clock: &Record) -> Markup {
    let ahead = clock.number("/offset_seconds").unwrap_or_default();
    let (days, hours, minutes) = (ahead / 86_400, ahead / 3_600 % 24, ahead / 60 % 60);
    facts(&[
        ("The account's clock shows", html! { (clock.time("/now")) " UTC" }),
        ("Ahead of the wall clock", html! { (days) " days, " (hours) " hours, " (minutes) " minutes" }),
    ])
}

/// Renders the forms that move the clock.
fn ways(user: &AccountSession, now: &str) -> Markup {
    let hidden_fields = layout::hidden_fields(&user.session);
    html! {
        p { "On the way everything happens that is due: renewals, refunds, settlements, disputes that expire." }
        section.actions aria-label="Move the clock ahead" {
            form.slider method="post" action=(CLOCK) {
                (hidden_fields)
                label for="days" { "Days" }
                input #days type="range" name="days" min="1" max=(SLIDER_DAYS) value="7" data-now=(now);
                output for="days" hidden {}
                button { "Move by these days" }
            }
            form method="post" action=(CLOCK) {
                (hidden_fields)
                @for (span, words) in [("1h", "An hour"), ("1d", "A day"), ("1w", "A week"), ("1month", "A month"), ("1year", "A year")] {
                    button.other name="advance" value=(span) { (words) }
                }
            }
            form method="post" action=(CLOCK) {
                (hidden_fields)
                label {
                    span { "To the first moment of a day (UTC)" }
                    input type="date" name="to" required min=(now.get(..10).unwrap_or_default());
                }
                button { "Move to this day" }
            }
        }
    }
}

/// Moves the clock and shows what ran on the way.
pub async fn advance(State(app): State<DashboardState>, form: VerifiedForm) -> PageResult {
    let sent = form.input.tree();
    let advance = match sent["days"].as_str().map(str::trim) {
        Some(days) => json!(format!("{days}d")),
        None => sent["advance"].clone(),
    };
    let params = params::read(&json!({ "advance": advance, "to": sent["to"] }));
    let now = form.caller.account.now;
    let moved = Record::new(now, &clock::advance(&app.ctx, &form.caller, params).await?)?;
    let mut ran = moved.all("/ran");
    let is_whole = moved.number("/ran_count") == i64::try_from(ran.len()).ok();
    // What the server tidies up for itself is of no interest to a tester.
    ran.retain(|item| item.text("/what") != RetentionWork::NAME);
    let count = i64::try_from(ran.len()).unwrap_or(i64::MAX);
    let content = html! {
        p role="status" {
            @if moved.is("/complete") { "The clock has been moved." }
            @else { "The clock is on its way to " (moved.time("/to")) "." }
            @if is_whole { " " } @else { " More than " }
            (format::counted(count, "thing")) @if count == 1 { " was" } @else { " were" } " due on the way"
            @if is_whole { "." } @else { "; these are the first." }
        }
        @if !moved.is("/complete") {
            form method="post" action=(CLOCK) {
                (layout::hidden_fields(&form.user.session))
                button name="to" value=(moved.text("/to")) { "Go on" }
            }
        }
        (shown(&moved))
        (ways(&form.user, moved.text("/now")))
        (table("What was due on the way", &RAN, &ran))
    };
    Ok(PageContent::new("/1/sandbox/clock", "Clock", content))
}
