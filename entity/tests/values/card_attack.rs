//! Rules about card testing.

use std::collections::BTreeMap;

use entity::card_attack::{CardTestingAction, CardTestingRule, CardTestingSettings, CardTestingSubject};

#[test]
fn a_rule_about_all_payments_of_an_account_refuses_none() {
    for rule in CardTestingRule::ALL {
        let terms = rule.terms();
        assert_eq!(terms.may_refuse, terms.subject != CardTestingSubject::Account, "{rule:?}");
    }
}

#[test]
fn settings_are_read_as_they_are_stored() {
    let thresholds = BTreeMap::from([(CardTestingRule::NetworkCards, 3)]);
    let settings = CardTestingSettings { action: Some(CardTestingAction::Report), thresholds };
    let text = serde_json::to_string(&settings).unwrap();
    assert_eq!(text, r#"{"action":"report","thresholds":{"network_cards":3}}"#);
    let read: CardTestingSettings = serde_json::from_str(&text).unwrap();
    assert_eq!((read.threshold(CardTestingRule::NetworkCards), &read), (3, &settings));
    assert_eq!(read.threshold(CardTestingRule::CardDeclines), 10);
}
