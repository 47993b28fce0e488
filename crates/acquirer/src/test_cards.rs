//! The card numbers of the test environment. None of them is anybody's card.

use base::card_number::CardNumber;
use base::secret::Secret;
use entity::Scheme;
use entity::failure::Decline;
use entity::three_d_secure::SimulatedChallenge;

use super::{Aftermath, Fault, SimulatedOutcome};

/// Numbers with the same outcome and issuing country.
pub struct TestCards {
    /// The outcome of every attempt.
    pub outcome: SimulatedOutcome,
    /// ISO 3166-1, two letters.
    pub issuing_country: &'static str,
    /// The course of a verification with 3-D Secure, if the card decides it.
    pub challenge: Option<SimulatedChallenge>,
    numbers: &'static str,
}

impl TestCards {
    /// Returns the row of a number.
    pub fn find(number: &str) -> Option<&'static Self> {
        TABLE.iter().find(|row| row.numbers().any(|known| known == number))
    }

    /// Returns the test number that the API shows so. Of several, which differ in nothing but their digits, the first one.
    pub fn shown_as(scheme: Scheme, display_number: &str, issuing_country: &str) -> Option<&'static str> {
        let is_shown_so = |number: &&str| {
            let number = CardNumber::parse(&Secret::from(*number));
            number.is_some_and(|number| number.scheme() == scheme && number.masked() == display_number)
        };
        let rows = TABLE.iter().filter(|row| row.issuing_country == issuing_country);
        rows.flat_map(Self::numbers).find(is_shown_so)
    }

    /// The numbers, digits only.
    pub fn numbers(&self) -> impl Iterator<Item = &'static str> {
        self.numbers.split_whitespace()
    }
}

const fn row(outcome: SimulatedOutcome, issuing_country: &'static str, numbers: &'static str) -> TestCards {
    TestCards { outcome, issuing_country, challenge: None, numbers }
}

/// Builds the row of a card that is accepted, and decides how a verification with 3-D Secure goes.
const fn verified(challenge: SimulatedChallenge, number: &'static str) -> TestCards {
    TestCards { challenge: Some(challenge), ..row(SUCCESS, "AU", number) }
}

const SUCCESS: SimulatedOutcome = SimulatedOutcome::Approved(Aftermath::Ordinary);
const DISPUTED: SimulatedOutcome = SimulatedOutcome::Approved(Aftermath::Disputed);
const REFUNDS_FAIL: SimulatedOutcome = SimulatedOutcome::Approved(Aftermath::RefundsFail);
const NO_ANSWER: SimulatedOutcome = SimulatedOutcome::Fault(Fault::NoAnswer);
const GATEWAY_ERROR: SimulatedOutcome = SimulatedOutcome::Fault(Fault::GatewayError);
const CARD_DECLINED: SimulatedOutcome = SimulatedOutcome::Declined(Decline::CardDeclined);
const INSUFFICIENT_FUNDS: SimulatedOutcome = SimulatedOutcome::Declined(Decline::InsufficientFunds);
const INVALID_CVV: SimulatedOutcome = SimulatedOutcome::Declined(Decline::InvalidCvv);
const INVALID_CARD: SimulatedOutcome = SimulatedOutcome::Declined(Decline::InvalidCard);
const PROCESSING_ERROR: SimulatedOutcome = SimulatedOutcome::Declined(Decline::ProcessingError);
const SUSPECTED_FRAUD: SimulatedOutcome = SimulatedOutcome::Declined(Decline::SuspectedFraud);
const UNKNOWN: SimulatedOutcome = SimulatedOutcome::Declined(Decline::Unknown);
const EXPIRED_CARD: SimulatedOutcome = SimulatedOutcome::Declined(Decline::ExpiredCard);
const LOST_CARD: SimulatedOutcome = SimulatedOutcome::Declined(Decline::LostCard);
const STOLEN_CARD: SimulatedOutcome = SimulatedOutcome::Declined(Decline::StolenCard);

/// One row for each outcome. The last two rows are numbers that the industry has published for tests.
#[rustfmt::skip]
pub const TABLE: &[TestCards] = &[
    //                             visa             master           american_express jcb              discover                          diners_club
    row(SUCCESS,            "AU", "4200000000000000 5520000000000000 372000000000000  3528800000000000 6011200000000000 6510000000000000 36400000000000"),
    row(SUCCESS,            "NZ", "4200000190000000 5520000190000000 372001800000000  3528800190000000 6011200190000000 6510000190000000 36400190000000"),
    row(CARD_DECLINED,      "AU", "4100000000000001 5560000000000001 371000000000001  3528300000000001 6011600000000001 6550000000000001 36800000000001"),
    row(INSUFFICIENT_FUNDS, "AU", "4000000000000002 5510000000000002 370000000000002  3528700000000002 6011100000000002 6500000000000002 36300000000002"),
    row(INVALID_CVV,        "AU", "4900000000000003 5550000000000003 379000000000003  3528200000000003 6011500000000003 6590000000000003 36700000000003"),
    row(INVALID_CARD,       "AU", "4800000000000004 5500000000000004 378000000000004  3528600000000004 6011000000000004 6540000000000004 36200000000004"),
    row(PROCESSING_ERROR,   "AU", "4700000000000005 5590000000000005 377000000000005"),
    row(SUSPECTED_FRAUD,    "AU", "4600000000000006 5540000000000006 376000000000006"),
    row(GATEWAY_ERROR,      "AU", "4300000000000009 5570000000000009 373000000000009"),
    row(UNKNOWN,            "AU", "4400000000000099 5530000000000099 374000000000099"),
    row(EXPIRED_CARD,       "AU", "4200600000000007 5500800000000007"),
    row(LOST_CARD,          "AU", "4200100000000008 5500300000000008"),
    row(STOLEN_CARD,        "AU", "4200400000000010 5500100000000010"),
    row(NO_ANSWER,          "AU", "4200800000000011 5500500000000011"),
    row(DISPUTED,           "AU", "4200300000000012"),
    row(REFUNDS_FAIL,       "AU", "4200700000000013"),
    verified(SimulatedChallenge::Frictionless, "4200200000000014"),
    verified(SimulatedChallenge::Approved,     "4200600000000015"),
    verified(SimulatedChallenge::Refused,      "4200100000000016"),
    verified(SimulatedChallenge::Abandoned,    "4200500000000017"),
    // Of the scheme that is not enrolled.
    verified(SimulatedChallenge::NotOffered,     "5520000000000018"),
    verified(SimulatedChallenge::DirectoryError, "5520900000000019"),
    row(SUCCESS,            "US", "4242424242424242 5555555555554444 378282246310005  3530111333300000 6011111111111117 30569309025904"),
    row(SUCCESS,            "US", "4111111111111111 5105105105105100"),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_test_number_is_a_possible_card_number_and_stands_in_one_row() {
        let numbers: Vec<_> = TABLE.iter().flat_map(TestCards::numbers).collect();
        for number in &numbers {
            assert!(CardNumber::parse(&Secret::from(*number)).is_some(), "{number}");
        }
        let distinct: HashSet<_> = numbers.iter().collect();
        assert_eq!((numbers.len(), distinct.len()), (78, 78));
    }

    #[test]
    fn a_table_number_has_its_outcome_and_country() {
        let of = |number| TestCards::find(number).map(|row| (row.outcome, row.issuing_country));
        assert_eq!(of("36700000000003"), Some((INVALID_CVV, "AU")));
        assert_eq!(of("6510000190000000"), Some((SUCCESS, "NZ")));
        assert_eq!(of("30569309025904"), Some((SUCCESS, "US")));
        assert_eq!(of("4000056655665556"), None);
    }

    #[test]
    fn the_description_of_a_test_number_says_its_outcome() {
        for row in TABLE {
            for number in row.numbers() {
                let shown = CardNumber::parse(&Secret::from(number)).unwrap();
                let found =
                    TestCards::shown_as(shown.scheme(), &shown.masked(), row.issuing_country).unwrap();
                assert_eq!(TestCards::find(found).unwrap().outcome, row.outcome, "{number}");
            }
        }
        assert_eq!(TestCards::shown_as(Scheme::Visa, "XXXX-XXXX-XXXX-4242", "AU"), None);
    }

    #[test]
    fn every_end_of_a_verification_has_a_test_card_and_only_the_scheme_that_is_not_enrolled_offers_none() {
        for &challenge in SimulatedChallenge::ALL {
            let row = TABLE.iter().find(|row| row.challenge == Some(challenge)).expect("a row");
            for number in row.numbers() {
                let scheme = CardNumber::parse(&Secret::from(number)).unwrap().scheme();
                assert_eq!(challenge.is_offered(), scheme != Scheme::Master, "{number}");
            }
        }
    }

    #[test]
    fn every_decline_has_a_test_card() {
        for &decline in Decline::ALL {
            assert!(
                TABLE.iter().any(|row| row.outcome == SimulatedOutcome::Declined(decline)),
                "{decline:?}"
            );
        }
    }
}
