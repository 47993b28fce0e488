//! The facts that a card number carries: whether it is possible, its scheme, and how it is shown.

use entity::Scheme;
use zeroize::Zeroizing;

use crate::secret::Secret;

const GROUP_DIGITS: usize = 4;

/// A possible number of a known scheme: prefix, length and check digit agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardNumber {
    digits: Secret,
    scheme: Scheme,
}

impl CardNumber {
    /// Parses a card number. White space and hyphens are ignored, because people write card numbers with them, and pages and files
    /// from which they are copied add tabs, line ends and spaces that do not break.
    pub fn parse(text: &Secret) -> Option<Self> {
        // The full capacity at once: a string that grows leaves copies behind that are never wiped.
        let mut digits = Zeroizing::new(String::with_capacity(text.expose().len()));
        digits.extend(
            text.expose().chars().filter(|character| !character.is_whitespace() && *character != '-'),
        );
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let scheme = scheme_of(&digits)?;
        let possible = has_length_of(scheme, digits.len()) && passes_luhn(&digits);
        possible.then(|| Self { digits: Secret::from(digits.as_str()), scheme })
    }

    /// Returns the digits alone: for the vault, the acquirer and the keyed hash.
    pub const fn digits(&self) -> &Secret {
        &self.digits
    }

    /// Returns the scheme of the prefix.
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the `display_number`: groups of four counted from the right, only the last one shown.
    pub fn masked(&self) -> String {
        masked(self.digits.expose())
    }
}

/// Returns the number of digits of the security code.
pub const fn cvc_length(scheme: Scheme) -> usize {
    match scheme {
        Scheme::AmericanExpress => 4,
        Scheme::Visa | Scheme::Master | Scheme::DinersClub | Scheme::Discover | Scheme::Jcb => 3,
    }
}

/// Returns the scheme by the first four digits, the longest prefix that distinguishes any two schemes.
fn scheme_of(digits: &str) -> Option<Scheme> {
    let prefix: u16 = digits.get(..4)?.parse().ok()?;
    match prefix {
        4000..=4999 => Some(Scheme::Visa),
        2221..=2720 | 5100..=5599 => Some(Scheme::Master),
        3400..=3499 | 3700..=3799 => Some(Scheme::AmericanExpress),
        3000..=3059 | 3095 | 3600..=3699 | 3800..=3999 => Some(Scheme::DinersClub),
        3528..=3589 => Some(Scheme::Jcb),
        6011 | 6440..=6599 => Some(Scheme::Discover),
        _ => None,
    }
}

fn has_length_of(scheme: Scheme, length: usize) -> bool {
    match scheme {
        Scheme::Visa => matches!(length, 13 | 16 | 19),
        Scheme::Master => length == 16,
        Scheme::AmericanExpress => length == 15,
        Scheme::DinersClub => (14..=19).contains(&length),
        Scheme::Discover | Scheme::Jcb => (16..=19).contains(&length),
    }
}

/// Returns whether the digits pass the check of ISO/IEC 7812: from the right, every second digit doubled, the digits' sum ends
/// in zero.
fn passes_luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .zip([false, true].into_iter().cycle())
        .map(|(byte, doubled)| match (u32::from(byte - b'0'), doubled) {
            (digit, false) => digit,
            (digit, true) => digit * 2 / 10 + digit * 2 % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

fn masked(digits: &str) -> String {
    let hidden = digits.len().saturating_sub(GROUP_DIGITS);
    let mut shown = String::with_capacity(digits.len() + digits.len() / GROUP_DIGITS);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(GROUP_DIGITS) {
            shown.push('-');
        }
        shown.push(if at < hidden { 'X' } else { digit });
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Option<CardNumber> {
        CardNumber::parse(&Secret::from(text))
    }

    fn scheme(text: &str) -> Option<Scheme> {
        parsed(text).map(|number| number.scheme())
    }

    /// Generates possible card numbers of any scheme and length, from random digits and the right check digit.
    fn card_numbers() -> impl Strategy<Value = String> {
        let shapes = proptest::sample::select(&[
            ("4", 13),
            ("4", 16),
            ("4", 19),
            ("51", 16),
            ("2221", 16),
            ("2720", 16),
            ("34", 15),
            ("37", 15),
            ("300", 14),
            ("3095", 14),
            ("36", 14),
            ("39", 19),
            ("3528", 16),
            ("3589", 19),
            ("6011", 16),
            ("644", 16),
            ("65", 19),
        ]);
        (shapes, "[0-9]{19}").prop_map(|((prefix, length), random): ((&str, usize), String)| {
            let payload = format!("{prefix}{}", &random[..length - 1 - prefix.len()]);
            (0..=9)
                .map(|check| format!("{payload}{check}"))
                .find(|number| passes_luhn(number))
                .expect("one of ten check digits fits")
        })
    }

    #[test]
    fn the_prefix_tells_the_scheme() {
        for (number, expected) in [
            ("4242424242424242", Scheme::Visa),
            ("5555555555554444", Scheme::Master),
            ("2223003122003222", Scheme::Master),
            ("378282246310005", Scheme::AmericanExpress),
            ("30569309025904", Scheme::DinersClub),
            ("6011111111111117", Scheme::Discover),
            ("3530111333300000", Scheme::Jcb),
        ] {
            assert_eq!(scheme(number), Some(expected), "{number}");
        }
    }

    #[test]
    fn white_space_and_hyphens_do_not_count() {
        assert_eq!(parsed(" 4242 4242-4242 4242 "), parsed("4242424242424242"));
        for text in [
            "4242424242424242\n",
            "\t4242424242424242\r\n",
            "4242\u{a0}4242\u{202f}4242\u{2009}4242",
            "4242\t4242\r\n4242\n4242",
        ] {
            assert!(
                parsed(text).is_some_and(|number| number.digits().expose() == "4242424242424242"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_text_that_cannot_be_a_card_number_is_none() {
        for text in [
            "",
            "4",
            "424",
            "4242424242424243",
            "424242424242424",
            "4242.4242.4242.4242",
            "４242424242424242",
            "1111111111111117",
            "6200000000000005",
            "-4242424242424242x",
            "42424242424242424242",
        ] {
            assert_eq!(parsed(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_last_group_is_shown_and_groups_count_from_the_right() {
        for (number, display) in [
            ("4200000000000000", "XXXX-XXXX-XXXX-0000"),
            ("378282246310005", "XXX-XXXX-XXXX-0005"),
            ("36300000000002", "XX-XXXX-XXXX-0002"),
        ] {
            assert_eq!(parsed(number).map(|number| number.masked()).as_deref(), Some(display));
        }
    }

    #[test]
    fn a_security_code_has_three_digits_but_four_on_american_express() {
        for &scheme in Scheme::ALL {
            assert_eq!(cvc_length(scheme), if scheme == Scheme::AmericanExpress { 4 } else { 3 });
        }
    }

    proptest! {
        #[test]
        fn a_masked_number_shows_nothing_but_its_last_four_digits(number in card_numbers()) {
            let display = parsed(&number).expect("a possible number").masked();
            let (hidden, shown) = display.split_at(display.len() - 4);
            prop_assert!(number.ends_with(shown));
            prop_assert!(hidden.ends_with('-') && hidden.chars().all(|character| matches!(character, 'X' | '-')));
            prop_assert_eq!(display.replace('-', "").len(), number.len());
        }

        #[test]
        fn a_mistyped_digit_fails_the_check(number in card_numbers(), at in 0_usize..13, by in 1_u8..10) {
            let mut mistyped = number.into_bytes();
            mistyped[at] = (mistyped[at] - b'0' + by) % 10 + b'0';
            prop_assert!(!passes_luhn(&String::from_utf8_lossy(&mistyped)));
        }

        #[test]
        fn a_debug_print_shows_no_digits(number in card_numbers()) {
            let printed = format!("{:?}", parsed(&number));
            prop_assert!(!printed.contains(|character: char| character.is_ascii_digit()), "{}", printed);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            let _ = parsed(&text);
        }
    }
}
