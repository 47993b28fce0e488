//! What people write into one field: card numbers, e-mail addresses, times, numbers of banks and businesses, tokens.

use base::card_number::CardNumber;
use base::http_address::{is_http_url, parse_base_url};
use base::plain_text::OneLine;
use base::secret::Secret;
use base::time_text::parse_time;
use card_payments::params::{parse_grace_period, rules};
use card_payments::services::search_text::{folded, stored_text};
use entity::pricing::Percentage;
use entity::token::is_token;
use entity::{ChargeToken, Probability, TimeSpan};
use url::Url;

use super::{Target, inputs};

pub const TARGET: Target = Target {
    name: "texts",
    hold,
    samples,
    words: &[
        "4200 0000 0000 0000",
        "378282246310005",
        "@example.com",
        "2011-03-25",
        "T10:11:12.5+10:00",
        "Mar 25, 2011",
        "806-015",
        "51 824 753 556",
        "https://",
        "http://[::1]:8443/",
        "xn--bcher-kva",
        "ch_AZqYv3rVcBKUQ1mHn7tKRw",
        "99.9999",
        "24h",
        "\u{202e}",
        "\u{1b}[2J",
        "ß",
        "Σ",
        "İ",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    inputs([
        " 4242 4242-4242 4242 ",
        "36300000000002",
        "roland@example.com",
        "a.b+c@[127.0.0.1]",
        "a.b+c@4200 0000[127.0.0.1]",
        "a.b+c@4200 0000\u{ff3b}127.0.0.1\u{ff3d}",
        "2011-03-25T10:11:12.123456789+10:00",
        " 002020-01-01T00:00:00.000000000Z",
        "Mar 5, 0999",
        "0001/01/01",
        "1980-02-29",
        "806-015",
        "51 824 753 556",
        "shop.EXAMPLE.com",
        "HTTPS://api.example.com:8443/payments//",
        "http://127.0.0.1",
        "ch_AZqYv3rVcBKUQ1mHn7tKRw",
        "99.75",
        "0.000001",
        "100w",
        "k\u{1b}[1A\u{202e}\n",
        "Zoë ΑΣ İ ß ﬁ",
    ])
}

fn hold(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    hold_card_number(&text);
    hold_times(&text);
    hold_addresses(&text);
    hold_numbers(&text);
    hold_shown(&text);
}

fn hold_card_number(text: &str) {
    let Some(number) = CardNumber::parse(&Secret::from(text)) else { return };
    let digits = number.digits().expose().to_owned();
    assert!((13..=19).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit()));
    let masked = number.masked();
    assert_eq!(masked.bytes().filter(u8::is_ascii_digit).count(), 4, "only the last group is shown");
    assert!(digits.ends_with(&masked[masked.len() - 4..]) && !masked.contains(&digits[..6]), "{masked}");
    assert_eq!(CardNumber::parse(number.digits()), Some(number), "a number is read as it is written");
}

fn hold_times(text: &str) {
    if let Some(time) = parse_time(text) {
        let written = time.to_rfc3339();
        assert_eq!(parse_time(&written), Some(time), "a time is read as it is written: {written}");
    }
    if let Some(date) = rules::calendar_date(text) {
        assert_eq!(rules::calendar_date(&date.to_string()), Some(date));
        assert_eq!(date.to_string(), text.trim());
    }
    if let Some(grace) = parse_grace_period(text) {
        assert!((TimeSpan::ZERO..=TimeSpan::days(100 * 365)).contains(&grace), "{grace:?}");
    }
}

fn hold_addresses(text: &str) {
    if rules::email(text).is_ok() {
        let (mailbox, domain) = text.rsplit_once('@').expect("an address has an @");
        assert!(mailbox.is_ascii() && !mailbox.is_empty() && !domain.is_empty(), "{text}");
        assert!(!text.contains(|letter: char| letter.is_whitespace() || letter.is_control()), "{text:?}");
    }
    if is_http_url(text) {
        let url = Url::parse(text).expect("an address");
        assert!(url.has_host() && ["http", "https"].contains(&url.scheme()), "{url}");
        assert!(is_http_url(url.as_str()), "an address is read as it is written: {url}");
    }
    if let Ok(base) = parse_base_url(text) {
        assert_eq!(parse_base_url(&base).as_deref(), Ok(base.as_str()), "it has no slash at its end");
        assert!(!base.ends_with('/') && !base.contains(['?', '#']), "{base}");
    }
    if !text.is_empty() && rules::domain_name(text).is_ok() {
        assert!(text.is_ascii() && text.contains('.'), "{text}");
    }
}

fn hold_numbers(text: &str) {
    if let Some(digits) = rules::bsb_digits(text) {
        assert!(digits.len() == 6 && rules::bsb_digits(&digits).as_ref() == Some(&digits), "{digits}");
    }
    if rules::is_abn(text) {
        assert_eq!(text.bytes().filter(u8::is_ascii_digit).count(), 11, "{text}");
    }
    if let Ok(percentage) = text.parse::<Percentage>() {
        assert_eq!(percentage.to_string().parse(), Ok(percentage), "a percentage is read as it is written");
        assert!((0..=1_000_000).contains(&percentage.share_rounded_half_up(1_000_000)));
    }
    if let Ok(probability) = text.parse::<Probability>() {
        assert_eq!(
            probability.to_string().parse(),
            Ok(probability),
            "a probability is read as it is written"
        );
    }
    assert_eq!(text.parse::<ChargeToken>().map(|token| token.to_string()).unwrap_or(text.into()), text);
    if is_token(text) {
        assert!(text.is_ascii() && text.len() <= 32, "{text}");
    }
}

fn hold_shown(text: &str) {
    let line = OneLine(text).to_string();
    assert!(!line.contains(|letter: char| letter.is_control()), "a terminal obeys nothing of it: {line:?}");
    assert_eq!(OneLine(&line).to_string(), line);
    let words = folded(text);
    assert_eq!(folded(&words), words, "words are folded once");
    assert!(!words.contains('\n') && stored_text([text]) == words);
    for (at, _) in text.char_indices() {
        assert!(words.contains(&folded(&text[at..])), "a part of a text is folded as within it");
        if at > 64 {
            break;
        }
    }
}
