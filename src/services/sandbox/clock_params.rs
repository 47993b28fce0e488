//! Parameters of the account's clock.

use base::limits::CLOCK_AHEAD_MAX_MONTHS;
use base::time_text::parse_time;
use entity::{TimeSpan, Timestamp};
use macros::params;
use validator::ValidationError;

use crate::params::{FieldErrors, Params, is_sent, non_blank, rules};

/// How far to move the account's clock. Exactly one of `advance` and `to` is required.
#[params]
#[validate(schema(function = "one_move", skip_on_field_errors = false))]
pub struct MoveClock {
    /// How far: a whole number and m, h, d, w, month or year, the last two by the calendar; at most to a hundred years ahead; required if `to` is absent.
    #[schema(pattern = "^ *0*[1-9][0-9]*(m|h|d|w|month|year) *$", example = "7d")]
    pub advance: Option<String>,
    /// The time to move to: ISO 8601, or a date for its first moment; required if `advance` is absent.
    #[schema(example = "2031-05-01T00:00:00Z")]
    pub to: Option<String>,
}

fn one_move(requested: &MoveClock) -> Result<(), ValidationError> {
    let sent = [&requested.advance, &requested.to].map(|text| is_sent(text.as_deref()));
    rules::check_all(
        sent[0] != sent[1],
        "advance",
        "Exactly one of advance and to is required",
        &["advance", "to"],
    )
}

/// A move with valid syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedMove {
    /// By a number of minutes of the wall clock.
    Minutes(i64),
    /// By calendar months: to the same day, or the last one where that month is shorter.
    Months(i64),
    /// To an instant.
    To(Timestamp),
}

impl Params<MoveClock> {
    pub fn parse(self) -> Result<RequestedMove, FieldErrors> {
        let Self { value, mut faults } = self;
        let given = (non_blank(value.advance.as_deref()), non_blank(value.to.as_deref()));
        let (param, parsed) = match given {
            (Some(span), None) => ("advance", RequestedMove::by(span)),
            (None, Some(time)) => ("to", parse_time(time).map(|time| RequestedMove::To(time.into()))),
            // A fault already.
            (None, None) | (Some(_), Some(_)) => return Err(faults),
        };
        if parsed.is_none() {
            faults.add(param, "is not formatted properly");
        }
        parsed.filter(|_| faults.is_empty()).ok_or(faults)
    }
}

impl RequestedMove {
    fn by(span: &str) -> Option<Self> {
        let digits = span.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = span.split_at(digits);
        // Further than any clock can go: reported as too far, not as malformed.
        let number = if digits > 18 { i64::MAX } else { number.parse().ok()? };
        if number == 0 {
            return None;
        }
        Some(match unit {
            "m" => Self::Minutes(number),
            "h" => Self::Minutes(number.saturating_mul(60)),
            "d" => Self::Minutes(number.saturating_mul(24 * 60)),
            "w" => Self::Minutes(number.saturating_mul(7 * 24 * 60)),
            "month" => Self::Months(number),
            "year" => Self::Months(number.saturating_mul(12)),
            _ => return None,
        })
    }

    /// Returns the target of a clock that is at `now`; `wall` is the wall clock's now. Work is due at whole seconds, so the returned
    /// second, sent again, leads to the same target. A requested time with a fraction means the next second.
    pub fn target(self, now: Timestamp, wall: Timestamp) -> Result<Timestamp, FieldErrors> {
        let (param, target) = match self {
            Self::Minutes(minutes) => ("advance", Some(now + TimeSpan::seconds(minutes.saturating_mul(60)))),
            // The sum ends with the calendar.
            Self::Months(months) => {
                let months = u32::try_from(months).ok().filter(|months| *months <= CLOCK_AHEAD_MAX_MONTHS);
                ("advance", months.map(|months| now.plus_months(months)))
            }
            Self::To(time) => ("to", Some(time.next_second())),
        };
        let latest = wall.plus_months(CLOCK_AHEAD_MAX_MONTHS);
        let mut faults = FieldErrors::default();
        match target.filter(|target| *target <= latest.next_second()) {
            Some(target) if target >= now.last_second() => return Ok(target),
            Some(_) => faults.add(param, "must not be before the clock of the account"),
            None => faults.add(param, "must be at most 100 years ahead of the wall clock"),
        }
        Err(faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::read;
    use serde_json::json;

    /// 2026-01-31T10:00:00.250Z.
    const NOW: Timestamp = Timestamp::from_millis(1_769_853_600_250);

    fn target(sent: &serde_json::Value) -> Result<String, Vec<(String, String)>> {
        let parsed = read::<MoveClock>(sent).parse();
        let target = parsed.and_then(|requested| requested.target(NOW, NOW));
        target.map(|target| target.to_string()).map_err(|faults| {
            faults.iter().map(|(param, predicate)| (param.to_owned(), predicate.to_owned())).collect()
        })
    }

    #[test]
    fn spans_go_by_the_clock_and_months_by_the_calendar() {
        for (span, to) in [
            ("90m", "2026-01-31T11:30:00Z"),
            ("1h", "2026-01-31T11:00:00Z"),
            (" 7d ", "2026-02-07T10:00:00Z"),
            ("2w", "2026-02-14T10:00:00Z"),
            ("1month", "2026-02-28T10:00:00Z"),
            ("2month", "2026-03-31T10:00:00Z"),
            ("001year", "2027-01-31T10:00:00Z"),
            ("100year", "2126-01-31T10:00:00Z"),
        ] {
            assert_eq!(target(&json!({ "advance": span })).unwrap(), to, "{span}");
        }
    }

    #[test]
    fn a_time_is_reached_exactly_or_at_the_next_second() {
        for (to, reached) in [
            ("2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z"),
            ("2026-01-31T10:00:01Z", "2026-01-31T10:00:01Z"),
            ("2026-01-31T21:00:00+10:00", "2026-01-31T11:00:00Z"),
            ("2026-02-01T00:00:00.001Z", "2026-02-01T00:00:01Z"),
            ("2026-02-01", "2026-02-01T00:00:00Z"),
            ("2026-01-31T10:00:00.250Z", "2026-01-31T10:00:01Z"),
            ("2026-01-31T10:00:01.0000001Z", "2026-01-31T10:00:02Z"),
        ] {
            assert_eq!(target(&json!({ "to": to, "advance": "" })).unwrap(), reached, "{to}");
        }
    }

    #[test]
    fn a_text_that_is_no_move_is_told_on_its_parameter() {
        let (one, form) = ("Exactly one of advance and to is required", "is not formatted properly");
        let far = "must be at most 100 years ahead of the wall clock";
        let past = "must not be before the clock of the account";
        let huge = format!("{}d", "9".repeat(900));
        for (sent, param, predicate) in [
            (json!({}), "advance", one),
            (json!({ "advance": " ", "to": "" }), "advance", one),
            (json!({ "advance": "1d", "to": "2027-01-01" }), "advance", one),
            (json!({ "advance": "soon", "to": "later" }), "advance", one),
            (json!({ "advance": "7" }), "advance", form),
            (json!({ "advance": 7 }), "advance", form),
            (json!({ "advance": "d" }), "advance", form),
            (json!({ "advance": "0d" }), "advance", form),
            (json!({ "advance": "-1d" }), "advance", form),
            (json!({ "advance": "+1d" }), "advance", form),
            (json!({ "advance": "1.5h" }), "advance", form),
            (json!({ "advance": "7D" }), "advance", form),
            (json!({ "advance": "7 d" }), "advance", form),
            (json!({ "advance": "2months" }), "advance", form),
            (json!({ "advance": "１d" }), "advance", form),
            (json!({ "advance": "52596001m" }), "advance", far),
            (json!({ "advance": "1201month" }), "advance", far),
            (json!({ "advance": "99999999999year" }), "advance", far),
            (json!({ "advance": huge }), "advance", far),
            (json!({ "to": "2126-01-31T10:00:02Z" }), "to", far),
            (json!({ "to": "9999-12-31" }), "to", far),
            (json!({ "to": "2026-01-31T09:59:59Z" }), "to", past),
            (json!({ "to": "2026-01-30" }), "to", past),
            (json!({ "to": "tomorrow" }), "to", form),
            (json!({ "to": { "a": 1 } }), "to", "is not valid"),
        ] {
            assert_eq!(target(&sent).unwrap_err(), [(param.to_owned(), predicate.to_owned())], "{sent}");
        }
    }
}
