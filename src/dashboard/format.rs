//! The form of amounts, times and statuses on pages. No other module writes them.

use base::time_text::parse_time;
use entity::{Currency, Timestamp};
use maud::{Markup, html};

/// Returns an amount of base units with the currency's sign: `A$1,234.50`.
pub fn amount(currency: Currency, amount: i64) -> String {
    let words = currency.in_words(amount);
    let figures = words.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let (whole, cents) = figures.find('.').map_or((figures, ""), |point| figures.split_at(point));
    let minus = if amount < 0 { "-" } else { "" };
    format!("{minus}{}{}{cents}", currency.sign(), separated(whole))
}

/// Returns a number with separators: `1,234`.
pub fn count(number: u64) -> String {
    separated(&number.to_string())
}

/// Returns a number and what it counts: `1 charge`, `2 charges`.
pub fn counted(number: i64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {one}{ending}", count(number.unsigned_abs()))
}

fn separated(digits: &str) -> String {
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// Renders an amount, with the currency's code as a hint.
pub fn money(currency: Currency, base_units: i64) -> Markup {
    html! { span.money title=(currency.in_words(base_units)) { (amount(currency, base_units)) } }
}

/// Renders a time such as `2026-03-02T10:00:00Z`, with its distance from now as a hint.
pub fn time(text: &str, now: Timestamp) -> Markup {
    html! { time datetime=(text) title=[parsed(text).map(|at| distance(at, now))] { (exact(text)) } }
}

/// Renders the distance of a time from now, with the time as a hint.
pub fn ago(text: &str, now: Timestamp) -> Markup {
    let words = parsed(text).map_or_else(|| exact(text), |at| distance(at, now));
    html! { time datetime=(text) title={ (exact(text)) " UTC" } { (words) } }
}

/// Returns a time for people, in UTC.
pub fn exact(text: &str) -> String {
    text.trim_end_matches('Z').replace('T', " ")
}

/// Parses a time as the API shows it.
pub fn parsed(text: &str) -> Option<Timestamp> {
    parse_time(text).map(Timestamp::from)
}

/// Returns how far a time is from now, in the largest unit that counts at least two, or one minute, hour or day.
fn distance(at: Timestamp, now: Timestamp) -> String {
    const UNITS: [(i64, i64, &str); 5] = [
        (730 * 86_400, 365 * 86_400, "years"),
        (60 * 86_400, 30 * 86_400, "months"),
        (86_400, 86_400, "days"),
        (3_600, 3_600, "h"),
        (60, 60, "min"),
    ];
    let seconds = (at - now).whole_seconds();
    let unit = UNITS.iter().find(|(from, _, _)| seconds.abs() >= *from);
    let Some((_, length, name)) = unit else { return "now".to_owned() };
    let number = seconds.abs() / length;
    let name = if number == 1 { name.trim_end_matches('s') } else { name };
    if seconds < 0 { format!("{number} {name} ago") } else { format!("in {number} {name}") }
}

/// The tone of a status: how good it is for the merchant, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Waiting,
    Bad,
    Plain,
}

impl Tone {
    /// Returns the tone of a status, as the API or a page words it.
    pub fn for_status(status: &str) -> Self {
        const GOOD: &str =
            "active captured completed paid succeeded success won resolved arbitration_won paid_out";
        const WAITING: &str = "pending retrying authorised trial cancelling refund_pending partly_refunded \
                               evidence_required evidence_under_review arbitration_under_review";
        const BAD: &str =
            "failed disputed lost expired authorisation_expired arbitration_lost past_due unpaid accepted";
        let status = status.to_ascii_lowercase().replace(' ', "_");
        let names = |known: &str| known.split(' ').any(|known| known == status);
        if names(GOOD) {
            Self::Good
        } else if names(WAITING) {
            Self::Waiting
        } else if names(BAD) {
            Self::Bad
        } else {
            Self::Plain
        }
    }

    pub fn of_http(status: i64) -> Self {
        match status {
            ..400 => Self::Good,
            400..500 => Self::Waiting,
            500.. => Self::Bad,
        }
    }

    /// Returns its class in the style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Waiting => "waiting",
            Self::Bad => "bad",
            Self::Plain => "plain",
        }
    }
}

pub fn status(text: &str) -> Markup {
    toned(Tone::for_status(text), &text.replace('_', " "))
}

/// Renders a status of this tone.
pub fn toned(tone: Tone, text: &str) -> Markup {
    html! { span class={ "state " (tone.class()) } { (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_has_its_currencys_sign_and_separators() {
        for (currency, base_units, words) in [
            (Currency::Aud, 400, "A$4.00"),
            (Currency::Aud, -5, "-A$0.05"),
            (Currency::Aud, 100_000_000, "A$1,000,000.00"),
            (Currency::Usd, -123_456, "-US$1,234.56"),
            (Currency::Jpy, 123_456, "¥123,456"),
            (Currency::Aud, i64::MIN, "-A$92,233,720,368,547,758.08"),
        ] {
            assert_eq!(amount(currency, base_units), words);
        }
        assert_eq!((count(0), count(999), count(1_000)), ("0".into(), "999".into(), "1,000".into()));
        assert_eq!([0, 1, 1_000].map(|number| counted(number, "day")), ["0 days", "1 day", "1,000 days"]);
    }

    #[test]
    fn a_distance_is_in_its_largest_unit() {
        let now = Timestamp::from_millis(1_772_445_600_000);
        for (seconds, words) in [
            (0, "now"),
            (-59, "now"),
            (-60, "1 min ago"),
            (-3 * 3_600, "3 h ago"),
            (-86_400, "1 day ago"),
            (59 * 86_400, "in 59 days"),
            (-60 * 86_400, "2 months ago"),
            (36_500 * 86_400, "in 100 years"),
        ] {
            let at = Timestamp::from_millis(now.millis() + seconds * 1_000);
            assert_eq!(distance(at, now), words);
        }
    }
}
