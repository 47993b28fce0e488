//! What the document says of values: words, tokens, numbers, and what is meant where nothing is sent.

use std::collections::BTreeMap;

use entity::event::EventType;
use entity::subscription::SubscriptionState;
use serde_json::{Value, json};

use super::resolved;
use crate::harness::app::DOCUMENT;

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Each property of a named schema, with its place.
fn properties() -> impl Iterator<Item = (String, &'static Value)> {
    fields(&DOCUMENT["components"]["schemas"]).flat_map(|(name, schema)| {
        fields(&schema["properties"]).map(move |(field, property)| (format!("{name}.{field}"), property))
    })
}

fn is_of(schema: &Value, kind: &str) -> bool {
    schema["type"] == kind || schema["type"].as_array().is_some_and(|kinds| kinds.contains(&json!(kind)))
}

/// The words of a sentence in backticks.
fn words(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Texts that stand for people beside words, or whose words belong to two sets.
const TEXTS: &[&str] = &[
    "Activity.status",
    "Authorisation.status_message",
    "Charge.status_message",
    "ChargeMade.status_message",
    "ChargeOrAuthorisation.status_message",
    "ChargeOrAuthorisation.token",
    "Refund.status_message",
    "ThreeDSecureInput.callback_url",
    "TransferInput.recipient",
    "VerifiedCharge.status_message",
    "PaymentSourceSource.protocolVersion",
    "WalletSessionInput.initiative_context",
];

#[test]
fn words_are_listed_by_schemas_and_not_by_sentences() {
    for (place, property) in properties().filter(|(_, property)| is_of(property, "string")) {
        let place = place.replace("Form.", ".");
        let count = words(property["description"].as_str().unwrap_or_default()).len();
        let is_text =
            TEXTS.contains(&&*place) || property.get("pattern").is_some() || property.get("enum").is_some();
        assert!(count < 2 || is_text, "{place}: {property}");
    }
}

#[test]
fn a_closed_set_lists_all_words_that_the_api_shows() {
    let state = &DOCUMENT["components"]["schemas"]["SubscriptionState"];
    let shown = SubscriptionState::ALL.iter().filter(|state| **state != SubscriptionState::Starting);
    assert_eq!(state["enum"], json!(shown.map(|state| state.code()).collect::<Vec<_>>()));
    assert!(state["description"].as_str().unwrap().contains("- `trial`: "), "{state}");
}

/// A word that joins an open set is none that clients must know.
#[test]
fn an_open_set_tells_each_word_with_a_sentence_and_allows_others() {
    let open = [
        "ActivityType",
        "CardScheme",
        "DeclineCode",
        "ErrorCode",
        "EventType",
        "LedgerAnnotation",
        "LineItemType",
        "SubscriptionAnnotation",
        "WebhookErrorCode",
    ];
    for name in open {
        let set = &DOCUMENT["components"]["schemas"][name];
        assert_eq!((&set["type"], set.get("enum")), (&json!("string"), None), "{name}");
        let about = set["description"].as_str().unwrap();
        for word in set["examples"].as_array().unwrap() {
            let line = format!("- `{}`: ", word.as_str().unwrap());
            assert!(about.split(&line).nth(1).is_some_and(|sentence| sentence.len() > 3), "{name}: {line}");
        }
    }
    let types: Vec<_> = EventType::ALL.iter().map(|what| what.code()).collect();
    assert_eq!(DOCUMENT["components"]["schemas"]["EventType"]["examples"], json!(types));
}

#[test]
fn an_optional_parameter_is_not_null_unless_null_says_something() {
    let mut nullable = Vec::new();
    for (place, property) in properties() {
        let schema = place.split('.').next().unwrap();
        let is_input = ["Input", "Changes", "Form"].iter().any(|end| schema.ends_with(end));
        if is_input && (is_of(property, "null") || property["oneOf"].to_string().contains("\"null\"")) {
            assert!(property["description"].as_str().unwrap().contains("null"), "{place}");
            nullable.push(place);
        }
    }
    assert_eq!(nullable, ["SubscriptionChanges.card_token"]);
}

#[test]
fn every_optional_field_of_a_request_says_what_its_absence_means() {
    for (name, schema) in fields(&DOCUMENT["components"]["schemas"]) {
        let noun = name.strip_suffix("Form").unwrap_or(name);
        if !noun.ends_with("Input") && !noun.ends_with("Changes") {
            continue;
        }
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (field, property) in fields(&schema["properties"]) {
            // Of a card beside a card token, which says so.
            let is_said = name.starts_with("CustomerCardInput") && field != "card_token"
                || property["description"].as_str().is_some_and(|text| {
                    ["absent", "as does no number", "required if"].iter().any(|words| text.contains(words))
                });
            assert!(required.contains(&json!(field)) || is_said, "{name}.{field}: {property}");
        }
    }
}

#[test]
fn every_query_parameter_says_what_its_absence_means() {
    for methods in DOCUMENT["paths"].as_object().unwrap().values() {
        for (_, operation) in fields(methods) {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let parameter = resolved(&DOCUMENT, parameter);
                let text = parameter["description"].as_str().unwrap();
                let is_said = text.contains("absent") || parameter["schema"].get("default").is_some();
                let is_needed = parameter["required"] == true || parameter["name"] == "Idempotency-Key";
                assert!(is_needed || is_said, "{}: {parameter}", operation["operationId"]);
            }
        }
    }
}

/// What a client reads, it can send again.
#[test]
fn every_integer_is_as_wide_in_requests_as_in_responses() {
    let mut formats: BTreeMap<String, Vec<(String, &Value)>> = BTreeMap::new();
    for (place, property) in properties().filter(|(_, property)| is_of(property, "integer")) {
        let field = place.split('.').nth(1).unwrap().to_owned();
        formats.entry(field).or_default().push((place, &property["format"]));
    }
    for (field, formats) in formats {
        assert!(formats.iter().all(|(_, format)| *format == formats[0].1), "{field}: {formats:?}");
    }
}

#[test]
fn every_token_of_a_record_has_a_pattern() {
    let mut seen = 0;
    for (place, property) in properties().filter(|(place, _)| place.split('.').next_back() == Some("token")) {
        // An activity is of a dispute or a charge, a due record of any kind.
        if !["Activity.token", "RanItem.token"].contains(&&*place) {
            let pattern = property["pattern"].as_str().unwrap_or_else(|| panic!("{place}: {property}"));
            assert!(pattern.ends_with("_[A-Za-z0-9_-]{22}$"), "{place}: {pattern}");
            seen += 1;
        }
    }
    assert!(seen > 25, "{seen}");
}

#[test]
fn every_description_is_a_sentence() {
    let starts = |text: &str| text.chars().next().is_some_and(|first| first.is_uppercase() || first == '`');
    for (place, property) in properties() {
        let Some(text) = property["description"].as_str().or(property["oneOf"][0]["description"].as_str())
        else {
            assert!(place.contains("Page") || place.contains("Response"), "{place} has no description");
            continue;
        };
        assert!(starts(text) && text.ends_with('.') && text.split(' ').count() > 2, "{place}: {text}");
    }
    for tag in DOCUMENT["tags"].as_array().unwrap() {
        let text = tag["description"].as_str().unwrap();
        assert!(text.matches(". ").count() > 0 && tag["externalDocs"]["url"].is_string(), "{tag}");
    }
}

#[test]
fn a_page_is_asked_for_as_it_is_answered() {
    let parameters = &DOCUMENT["components"]["parameters"];
    let bounds =
        |name: &str| ["minimum", "maximum", "default"].map(|bound| parameters[name]["schema"][bound].clone());
    assert_eq!(bounds("Page"), [json!(0), json!(9_007_199_254_740_991_i64), json!(1)]);
    assert_eq!(bounds("PerPage"), [json!(1), json!(500), json!(25)]);
}
