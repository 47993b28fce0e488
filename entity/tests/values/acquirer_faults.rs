//! Chances and faults of the simulated acquirer.

use entity::failure::Decline;
use entity::{AcquirerFaults, InvalidProbability, Probability};

#[test]
fn a_chance_is_a_decimal_from_0_to_1_in_any_spelling() {
    for (text, shown) in [
        ("0", "0"),
        ("-0.0", "0"),
        ("0e9", "0"),
        ("1", "1"),
        ("1.000000000", "1"),
        ("0.25", "0.25"),
        ("+0.250", "0.25"),
        ("00.5", "0.5"),
        ("0.000001", "0.000001"),
        ("1e-6", "0.000001"),
        ("1E-5", "0.00001"),
        ("2.5e-1", "0.25"),
        ("10e-1", "1"),
        ("0.01e2", "1"),
    ] {
        assert_eq!(
            text.parse::<Probability>().map(|random| random.to_string()),
            Ok(shown.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn a_text_that_is_no_probability_is_told_why() {
    for (text, why) in [
        ("", InvalidProbability::NoNumber),
        ("half", InvalidProbability::NoNumber),
        (".5", InvalidProbability::NoNumber),
        ("1.", InvalidProbability::NoNumber),
        ("0,5", InvalidProbability::NoNumber),
        ("--1", InvalidProbability::NoNumber),
        ("1e", InvalidProbability::NoNumber),
        ("1e99999999999", InvalidProbability::NoNumber),
        ("-0.1", InvalidProbability::Negative),
        ("-1e300", InvalidProbability::Negative),
        ("1.000001", InvalidProbability::TooLarge),
        ("2", InvalidProbability::TooLarge),
        ("9e300", InvalidProbability::TooLarge),
        ("1e2147483647", InvalidProbability::TooLarge),
        ("0.0000001", InvalidProbability::TooFine),
        ("1e-7", InvalidProbability::TooFine),
        ("1e-2147483648", InvalidProbability::TooFine),
    ] {
        assert_eq!(text.parse::<Probability>(), Err(why), "{text}");
    }
}

#[test]
fn faults_are_kept_as_they_are() {
    let faults = AcquirerFaults {
        latency_ms: 5,
        decline: Some(Decline::LostCard),
        gateway_error_rate: "0.25".parse().unwrap(),
        drop_rate: "1".parse().unwrap(),
        seed: 42,
    };
    let json = r#"{"latency_ms":5,"decline":"lost_card","gateway_error_rate":0.25,"drop_rate":1,"seed":42}"#;
    assert_eq!(serde_json::to_string(&faults).ok().as_deref(), Some(json));
    assert_eq!(serde_json::from_str::<AcquirerFaults>(json).ok(), Some(faults));
}
