//! The grace period of a replaced key.

use entity::TimeSpan;

use super::{FieldErrors, non_blank};

pub const GRACE: &str = "24h";

/// The maximum: a hundred years.
const MINUTES_MAX: i64 = 100 * 365 * 24 * 60;

pub fn read_grace(text: Option<&str>, mut faults: FieldErrors) -> Result<TimeSpan, FieldErrors> {
    let grace = parse_grace_period(non_blank(text).unwrap_or(GRACE));
    if grace.is_none() {
        faults.add("grace", "is not formatted properly");
    }
    grace.filter(|_| faults.is_empty()).ok_or(faults)
}

/// Parses a whole number and m, h, d or w; at most a hundred years.
pub fn parse_grace_period(text: &str) -> Option<TimeSpan> {
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number: i64 = text.strip_suffix(unit)?.parse().ok()?;
    let minutes = match unit {
        "m" => 1,
        "h" => 60,
        "d" => 24 * 60,
        "w" => 7 * 24 * 60,
        _ => return None,
    };
    let minutes = number.checked_mul(minutes).filter(|minutes| *minutes <= MINUTES_MAX)?;
    Some(TimeSpan::seconds(60 * minutes))
}
