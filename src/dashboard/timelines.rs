//! Past and coming events along time: of a subscription, of a webhook.

use entity::Timestamp;
use maud::{Markup, html};

use super::draw::{self, Figure, Point};
use super::format::{self, Tone};
use super::record::Record;

/// An instant in the life of a record.
struct Instant {
    at: Timestamp,
    tone: Tone,
    what: String,
}

impl Instant {
    fn new(at: &str, tone: Tone, what: impl Into<String>) -> Option<Self> {
        Some(Self { at: format::parsed(at)?, tone, what: what.into() })
    }
}

/// Renders a subscription's bills so far, or the latest ones if the entries are not its whole ledger, and when it will be billed.
pub fn of_subscription(
    now: Timestamp,
    subscription: &Record,
    entries: &[Record],
    is_whole: bool,
    coming: &[Timestamp],
) -> Markup {
    let paid = entries.iter().filter(|entry| entry.text("/annotation") == "charge_credit");
    let paid = paid.filter_map(|entry| {
        let (currency, amount) =
            (entity::Currency::parse(entry.text("/currency"))?, entry.number("/amount")?);
        Instant::new(
            entry.text("/created_at"),
            Tone::Good,
            format!("Billed {}", format::amount(currency, amount)),
        )
    });
    let coming =
        coming.iter().map(|at| Instant { at: *at, tone: Tone::Waiting, what: "Will be billed".into() });
    let ends = subscription.text("/state") == "cancelling";
    let others = [
        Instant::new(subscription.text("/created_at"), Tone::Plain, "Created"),
        Instant::new(subscription.text("/cancelled_at"), Tone::Bad, "Cancelled"),
        Instant::new(subscription.text("/active_interval_finishes_at"), Tone::Waiting, "Will end")
            .filter(|_| ends),
    ];
    along_time(
        "bills",
        "Bills along the clock",
        now,
        is_whole,
        others.into_iter().flatten().chain(paid).chain(coming).collect(),
    )
}

/// Renders the attempts of a webhook's delivery, and the next one.
pub fn of_webhook(now: Timestamp, webhook: &Record) -> Markup {
    // By time: `<date> <time> UTC`.
    let failed = webhook.entries("/errors").into_iter().filter_map(|(at, error)| {
        let at = at.trim_end_matches(" UTC").replace(' ', "T");
        Instant::new(&at, Tone::Bad, format!("Failed: {}", error.text("/error_description")))
    });
    let others = [
        Instant::new(webhook.text("/created_at"), Tone::Plain, "Its event"),
        Instant::new(webhook.text("/accepted_at"), Tone::Good, "The endpoint accepted it"),
        Instant::new(webhook.text("/next_run"), Tone::Waiting, "The next attempt"),
    ];
    along_time(
        "tries",
        "Attempts along time",
        now,
        true,
        others.into_iter().flatten().chain(failed).collect(),
    )
}

fn along_time(
    id: &'static str,
    title: &str,
    now: Timestamp,
    is_whole: bool,
    mut instants: Vec<Instant>,
) -> Markup {
    if instants.is_empty() {
        return html! {};
    }
    instants.sort_by_key(|instant| instant.at);
    let exact = |at: Timestamp| format::exact(&at.to_string());
    let point = |instant: &Instant| Point {
        at: instant.at,
        tone: instant.tone,
        hint: format!("{}: {}", exact(instant.at), instant.what),
    };
    let coming = instants.iter().filter(|instant| instant.at > now).count();
    let [past, coming] =
        [instants.len() - coming, coming].map(|number| i64::try_from(number).unwrap_or_default());
    let rings = if coming > 0 {
        format!(", and {} to come (rings)", format::count(coming.unsigned_abs()))
    } else {
        String::new()
    };
    let has_failed = instants.iter().any(|instant| instant.tone == Tone::Bad);
    let squares = if has_failed { " A square is a failure or an end." } else { "" };
    let past = format::counted(past, "event");
    let past = if is_whole { format!("{past} so far") } else { format!("The latest {past}") };
    Figure {
        id,
        title,
        summary: format!("{past}{rings}.{squares} The dashed line is now, by the account's clock."),
        drawing: draw::timeline(&instants.iter().map(point).collect::<Vec<_>>(), now),
        headings: &["Time", "What"],
        rows: instants.iter().map(|instant| vec![exact(instant.at), instant.what.clone()]).collect(),
    }
    .render()
}
