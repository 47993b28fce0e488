//! Times as people and programs write them.

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Utc};

/// 9999-12-31T23:59:59Z, in seconds since 1970.
const LAST_SECOND: i64 = 253_402_300_799;

/// Parses a day, which means its first moment in UTC, or a time, which is UTC without an offset.
pub fn parse_time(text: &str) -> Option<DateTime<Utc>> {
    // chrono also reads years of fewer than four digits, and drops decimals beyond the ninth.
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit());
    if !has_year(text) || text.contains('.') && numbers.any(|digits| digits.len() > 9) {
        return None;
    }
    let day = |format: &str| {
        let day = NaiveDate::parse_from_str(text, format).ok()?;
        // In numbers the parser takes single digits, spaces and signs.
        let is_exact = format.starts_with("%b") || day.format(format).to_string() == text;
        is_exact.then(|| day.and_time(NaiveTime::MIN).and_utc())
    };
    let day = || ["%Y/%m/%d", "%Y-%m-%d", "%b %d, %Y"].into_iter().find_map(day);
    // Seconds, and the minutes of an offset, may be absent.
    let short = |text: &str| {
        let read = |format| DateTime::parse_from_str(text, format).ok();
        ["%Y-%m-%dT%H:%M%#z", "%Y-%m-%dT%H:%M:%S%.f%#z"].into_iter().find_map(read)
    };
    let time = || {
        let text = with_plus(text);
        text.parse::<DateTime<FixedOffset>>().ok().or_else(|| short(&text)).map(|time| time.to_utc())
    };
    let no_seconds = || NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M").ok();
    let local = || text.parse().ok().or_else(no_seconds).map(|time: NaiveDateTime| time.and_utc());
    // Other years do not fit a timestamp everywhere, and no clock here reaches them. Nor may the next whole second be of one.
    let last = (LAST_SECOND, 0);
    let moment = day().or_else(time).or_else(local)?;
    (moment.year() >= 0 && (moment.timestamp(), moment.timestamp_subsec_nanos()) <= last).then_some(moment)
}

/// Returns whether a text has a year of at least four digits where a year stands: at its beginning, or behind the name of a month, at
/// its end.
fn has_year(text: &str) -> bool {
    let text = text.trim_start_matches(['+', ' ']);
    let is_named = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit());
    let year = if is_named { numbers.next_back() } else { numbers.next() };
    year.is_some_and(|digits| digits.len() >= 4)
}

/// Restores the plus signs of a text. An expanded year and an offset begin with one, and a query that does not escape it turns it
/// into a space: before the year it was trimmed, before the offset it is between digits.
fn with_plus(text: &str) -> String {
    let expanded = text.find('-') == Some(6) && text.starts_with(|first: char| first.is_ascii_digit());
    let offset = text.contains('T').then(|| text.replace(' ', "+"));
    format!("{}{}", if expanded { "+" } else { "" }, offset.as_deref().unwrap_or(text))
}
