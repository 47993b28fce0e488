//! Rules for single values, for `#[validate(custom(function = "rules::email"))]`. Each says whether it refuses blank text.

use std::fmt::Display;
use std::net::IpAddr;
use std::str::FromStr;

use base::http_address::{is_http_url, is_label};
use base::time_text::parse_time;
use chrono::NaiveDate;
use entity::Probability;
use entity::pricing::Percentage;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use validator::{ValidateEmail, ValidationError};

use crate::limits::{METADATA_ITEMS_MAX, METADATA_KEY_CHARACTERS_MAX, METADATA_VALUE_CHARACTERS_MAX};

/// Refuses blank text in a change, if the text is required at creation.
pub fn not_blank(text: &str) -> Result<(), ValidationError> {
    check(!text.trim().is_empty(), super::values::BLANK)
}

/// Reads an email or IP address without surrounding white space, which form fields and pasting add.
pub fn trimmed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|text| text.trim().to_owned())
}

/// Reads an optional email address in the same way.
pub fn optional_trimmed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| text.trim().to_owned()))
}

/// Checks an email address and its lengths, also of the part before the @. Refuses blank text, too: a blank email has both
/// faults.
pub fn email(text: &str) -> Result<(), ValidationError> {
    let is_well_formed = text.rsplit_once('@').is_some_and(|(mailbox, domain)| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
        let is_domain = match domain.strip_prefix('[').and_then(|address| address.strip_suffix(']')) {
            Some(address) => address.parse::<IpAddr>().is_ok(),
            // The validator would pass over whatever stands before brackets at the end, so here another label stands there.
            None => format!("a@{domain}.a").validate_email(),
        };
        !mailbox.is_empty() && mailbox.bytes().all(is_allowed) && is_domain
    });
    check(is_well_formed, "is not formatted properly")
}

/// Checks a BSB: six digits, with or without a hyphen after three. Refuses blank text, too.
pub fn bsb(text: &str) -> Result<(), ValidationError> {
    check(bsb_digits(text).is_some(), "must be 6 numbers")
}

/// Returns the six digits of a BSB.
pub fn bsb_digits(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = match text.split_once('-') {
        Some((bank, branch)) if bank.len() == 3 => format!("{bank}{branch}"),
        Some(_) => return None,
        None => text.to_owned(),
    };
    (digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_digit())).then_some(digits)
}

/// Checks a calendar date, YYYY-MM-DD. Accepts blank text.
pub fn date(text: &str) -> Result<(), ValidationError> {
    check(text.is_empty() || calendar_date(text).is_some(), "is not formatted properly")
}

/// Parses a date, YYYY-MM-DD.
pub fn calendar_date(text: &str) -> Option<NaiveDate> {
    let text = text.trim();
    // The parser accepts missing zeros, and years with a sign.
    let is_whole = |date: &NaiveDate| date.to_string() == text && text.len() == "YYYY-MM-DD".len();
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().filter(is_whole)
}

/// Returns whether a text is an Australian business number: 11 digits, however grouped, whose weighted sum is a multiple of 89.
pub fn is_abn(text: &str) -> bool {
    const WEIGHTS: [u32; 11] = [10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19];

    let digits: Option<Vec<u32>> =
        text.chars().filter(|letter| *letter != ' ').map(|letter| letter.to_digit(10)).collect();
    let Some(mut digits) = digits.filter(|digits| digits.len() == WEIGHTS.len() && digits[0] > 0) else {
        return false;
    };
    digits[0] -= 1;
    let sum: u32 = digits.iter().zip(WEIGHTS).map(|(digit, weight)| digit * weight).sum();
    sum.is_multiple_of(89)
}

/// Checks an http or https URL with a host. Accepts blank text.
pub fn http_url(text: &str) -> Result<(), ValidationError> {
    check(text.is_empty() || is_http_url(text), "is not a valid URL")
}

/// Checks an IPv4 or IPv6 address. Accepts blank text.
pub fn ip_address(text: &str) -> Result<(), ValidationError> {
    check(text.is_empty() || text.parse::<IpAddr>().is_ok(), "is not formatted properly")
}

/// Checks a fully qualified domain name, as its records spell it. Accepts blank text.
pub fn domain_name(text: &str) -> Result<(), ValidationError> {
    let labels: Vec<_> = text.split('.').collect();
    // An address is no name: the last label of a name is not a number.
    let named = labels.last().is_some_and(|last| last.bytes().any(|byte| !byte.is_ascii_digit()));
    let qualified = labels.len() > 1
        && named
        && text.len() <= 253
        && labels.into_iter().all(|label| is_label(label, "-"));
    check(text.is_empty() || qualified, "is not a fully qualified domain name")
}

/// Checks a decimal from 0 to 1. Accepts blank text.
pub fn probability(text: &str) -> Result<(), ValidationError> {
    if text.trim().is_empty() { Ok(()) } else { parses::<Probability>(text.trim()) }
}

/// Checks a percentage with at most four decimals. Refuses blank text, too.
pub fn percentage(text: &str) -> Result<(), ValidationError> {
    parses::<Percentage>(text.trim())
}

/// Checks metadata: few and short items, none nested. Returns the first fault.
pub fn metadata(metadata: &Map<String, Value>) -> Result<(), ValidationError> {
    let fits = |text: &str, max: usize| text.chars().nth(max).is_none();
    let texts: Vec<_> = metadata_text(metadata).collect();
    let no_nul = |(key, text): &(String, String)| !key.contains('\0') && !text.contains('\0');
    check(texts.len() == metadata.len() && texts.iter().all(no_nul), "is not valid")?;
    check(texts.len() <= METADATA_ITEMS_MAX, "has too many items (maximum is 25)")?;
    check(
        texts.iter().all(|(key, _)| fits(key, METADATA_KEY_CHARACTERS_MAX)),
        "is too long (maximum is 50 characters)",
    )?;
    check(
        texts.iter().all(|(_, text)| fits(text, METADATA_VALUE_CHARACTERS_MAX)),
        "is too long (maximum is 500 characters)",
    )
}

/// Returns metadata as it is stored: numbers and booleans become text.
pub fn metadata_text(metadata: &Map<String, Value>) -> impl Iterator<Item = (String, String)> {
    metadata.iter().filter_map(|(key, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((key.clone(), text))
    })
}

/// Checks a moment: ISO 8601, or a date for its first moment. Accepts blank text.
pub fn time(text: &str) -> Result<(), ValidationError> {
    check(text.is_empty() || parse_time(text.trim()).is_some(), "is not formatted properly")
}

/// Refuses a parameter with this predicate unless a rule over several parameters is kept:
/// `#[validate(schema(function = "...", skip_on_field_errors = false))]`. The rule does not count if one of the decisive parameters
/// cannot be read.
pub fn check_all(
    kept: bool,
    param: &'static str,
    predicate: &'static str,
    decisive: &[&'static str],
) -> Result<(), ValidationError> {
    if kept {
        return Ok(());
    }
    let mut error = ValidationError::new(param).with_message(predicate.into());
    for param in decisive {
        error.add_param((*param).into(), &());
    }
    Err(error)
}

/// Refuses with this predicate unless the rule is kept.
pub fn check(kept: bool, predicate: &'static str) -> Result<(), ValidationError> {
    if kept { Ok(()) } else { Err(ValidationError::new("rule").with_message(predicate.into())) }
}

fn parses<T: FromStr<Err: Display>>(text: &str) -> Result<(), ValidationError> {
    let parsed = text.parse::<T>().map(drop);
    parsed.map_err(|why| ValidationError::new("rule").with_message(why.to_string().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_email_rule_speaks_on_blank_text() {
        assert!(email("").is_err() && http_url("").is_ok() && ip_address("").is_ok());
    }

    #[test]
    fn an_email_address_ends_in_a_domain_or_an_ip_address_and_in_nothing_else() {
        for good in
            ["a@example.com", "a@bücher.example", "a@localhost", "a.b+c@[127.0.0.1]", "a@[2001:db8::1]"]
        {
            assert!(email(good).is_ok(), "{good}");
        }
        for bad in [
            "a@4200 0000 8000 0000[127.0.0.1]",
            "a@4200 0000 8000 0000\u{ff3b}127.0.0.1\u{ff3d}",
            "a@example.com\r\nBcc: b\u{ff3b}::1\u{ff3d}",
            "a@example.com[127.0.0.1]",
            "a@example.com.",
            "a@",
            "a@[[127.0.0.1]",
            "a@[::1][127.0.0.1]",
            "a@[127.0.0.1",
            "a@[example.com]",
            "a@[]",
        ] {
            assert!(email(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_bsb_is_six_digits_and_may_have_its_hyphen() {
        for good in ["806015", "806-015", " 806015 "] {
            assert_eq!(bsb_digits(good).as_deref(), Some("806015"), "{good}");
        }
        for bad in [
            "",
            "80601",
            "8060155",
            "80601a",
            "80-6015",
            "806--15",
            "806-015-",
            "806 015",
            "-806015",
            "٨٠٦٠١٥",
            "80é6-1",
        ] {
            assert!(bsb(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_url_is_http_and_right_as_it_is() {
        for good in
            ["http://example.com", "HTTPS://example.com:8443/a?b=c", "http://[::1]/", "http://127.0.0.1"]
        {
            assert!(http_url(good).is_ok(), "{good}");
        }
        for bad in [
            "example.com",
            "ftp://example.com",
            "http:example.com",
            "http://",
            "http://a b",
            " http://a",
            "https://a\n",
            "javascript:alert(1)",
        ] {
            assert!(http_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_ip_address_is_of_version_four_or_six() {
        assert!(ip_address("203.0.113.7").is_ok() && ip_address("2001:db8::1").is_ok());
        assert!(ip_address("203.0.113").is_err() && ip_address("localhost").is_err());
    }

    #[test]
    fn a_date_is_one_of_the_calendar_and_has_all_its_digits() {
        for good in ["1980-02-29", "2000-12-31", " 1970-01-01 "] {
            assert!(date(good).is_ok(), "{good}");
        }
        for bad in [
            "1981-02-29",
            "1980-2-29",
            "1980/02/29",
            "29-02-1980",
            "1980-02-29T00:00:00Z",
            "80-02-29",
            "+1980-02-28",
            "-0044-03-15",
            "+12345-01-01",
        ] {
            assert!(date(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_abn_has_eleven_digits_and_the_right_sum() {
        // The first is that of the register itself.
        for good in ["51824753556", "51 824 753 556", "53 004 085 616", "48123123124"] {
            assert!(is_abn(good), "{good}");
        }
        for bad in [
            "",
            "51824753557",
            "5182475355",
            "518247535560",
            "51824753A56",
            "00000000089",
            "01824753556",
            "51-824-753-556",
        ] {
            assert!(!is_abn(bad), "{bad}");
        }
    }

    #[test]
    fn a_domain_name_is_fully_qualified() {
        let long = format!("{}.example", "a".repeat(63));
        for good in
            ["example.com", "Shop.EXAMPLE.com", "xn--bcher-kva.example", "1.a-b.example", "a.invalid", &long]
        {
            assert!(domain_name(good).is_ok(), "{good}");
        }
        let (label, name) = (format!("{}.example", "a".repeat(64)), format!("{}example", "a.".repeat(130)));
        for bad in [
            "localhost",
            "example.com.",
            ".example.com",
            "a..b",
            "-a.example",
            "a-.example",
            "a_b.example",
            "bücher.example",
            "https://example.com",
            "example.com:443",
            "example.com/",
            "a b.example",
            "127.0.0.1",
            "[::1]",
            "*.example.com",
            &label,
            &name,
        ] {
            assert!(domain_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn metadata_is_few_short_and_flat() {
        let many: Map<_, _> = (0..26).map(|key| (key.to_string(), json!(1))).collect();
        for (sent, message) in [
            (json!({ "a": 1, "b": true, "c": "é".repeat(500), "é".repeat(50): "" }), None),
            (json!({ "a": {} }), Some("is not valid")),
            (json!({ "a\0": "" }), Some("is not valid")),
            (many.into(), Some("has too many items (maximum is 25)")),
            (json!({ "é".repeat(51): "" }), Some("is too long (maximum is 50 characters)")),
            (json!({ "a": "é".repeat(501) }), Some("is too long (maximum is 500 characters)")),
        ] {
            let error = metadata(sent.as_object().unwrap()).err();
            assert_eq!(error.and_then(|error| error.message).as_deref(), message);
        }
    }

    #[test]
    fn numbers_and_booleans_in_metadata_become_text() {
        let kept: Vec<_> = metadata_text(json!({ "b": 1, "a": true }).as_object().unwrap()).collect();
        assert_eq!(kept, [("b".to_owned(), "1".to_owned()), ("a".to_owned(), "true".to_owned())]);
    }
}
