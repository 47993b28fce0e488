//! Whole requests through [`read`].

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::{rules, *};

#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
struct Name(String);

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Interval {
    Day,
    Month,
}

#[derive(Debug, PartialEq, Deserialize, Validate)]
struct Card {
    number: String,
    expiry_month: i64,
    name: Name,
    address_line2: Option<String>,
}

#[derive(Debug, Deserialize, Validate)]
#[serde(rename_all = "camelCase")]
struct Header {
    #[validate(length(max = 3))]
    public_key_hash: String,
}

#[derive(Debug, Deserialize, Validate)]
struct Sample {
    #[validate(custom(function = "rules::email"), length(max = 20))]
    email: String,
    #[validate(range(min = 100))]
    amount: i64,
    capture: Option<bool>,
    interval: Interval,
    fallback: Option<Interval>,
    #[validate(length(max = 3))]
    reference: Option<String>,
    #[validate(range(min = 1, max = 9))]
    count: Option<i64>,
    #[validate(nested)]
    card: Card,
    #[validate(nested)]
    spare: Option<Card>,
    #[validate(nested)]
    header: Option<Header>,
    permissions: Vec<String>,
    #[validate(length(max = 2))]
    tags: Option<Vec<String>>,
    #[validate(custom(function = "rules::metadata"))]
    metadata: Option<Map<String, Value>>,
    labels: Option<BTreeMap<String, String>>,
    card_token: Patch<String>,
    limit: Patch<i64>,
    #[validate(custom(function = "rules::http_url"))]
    r#type: Option<String>,
}

fn good() -> Value {
    json!({
        "email": "a@example.com", "amount": 100, "interval": "day", "permissions": ["x"],
        "card": { "number": "4200000000000000", "expiry_month": "05", "name": "A" },
    })
}

/// The good request with some parameters exchanged.
fn with(changes: &Value) -> Params<Sample> {
    let mut tree = good();
    for (name, value) in changes.as_object().unwrap() {
        tree[name] = value.clone();
    }
    read(&tree)
}

fn rendered(params: &Params<Sample>) -> Vec<String> {
    params.faults.iter().map(|(param, predicate)| format!("{param} {predicate}")).collect()
}

#[test]
fn numbers_and_booleans_may_be_text_and_text_may_be_a_number() {
    let sample = with(&json!({ "amount": "0100", "capture": "True", "reference": 12, "permissions": "one", "unknown": [1] })).valid().unwrap();
    assert_eq!((sample.amount, sample.capture, sample.reference.as_deref()), (100, Some(true), Some("12")));
    assert_eq!((sample.permissions, sample.interval), (vec!["one".to_owned()], Interval::Day));
    let card = Card {
        number: "4200000000000000".to_owned(),
        expiry_month: 5,
        name: Name("A".to_owned()),
        address_line2: None,
    };
    assert_eq!(sample.card, card);
}

#[test]
fn an_empty_request_names_everything_required_in_declared_order() {
    let wanted = [
        "email can't be blank",
        "email is not formatted properly",
        "amount can't be blank",
        "interval can't be blank",
        "card can't be blank",
        "permissions can't be blank",
    ];
    assert_eq!(rendered(&read(&json!({}))), wanted);
}

#[test]
fn an_all_wrong_request_names_everything_in_declared_order() {
    let params = with(&json!({
        "type": "ftp://x", "limit": "x", "card_token": {}, "labels": { "a": {} }, "metadata": 1, "tags": ["1", "2", "3"], "permissions": { "a": 1 },
        "header": { "publicKeyHash": "long" }, "spare": "text", "card": { "number": ["1"], "expiry_month": "1.5" }, "count": 0,
        "reference": "long", "fallback": "year", "interval": 1, "capture": "maybe", "amount": "ten", "email": "a".repeat(21),
    }));
    let wanted = [
        "email is too long (maximum is 20 characters)",
        "email is not formatted properly",
        "amount is not a number",
        "capture is not included in the list",
        "interval is not included in the list",
        "fallback is not included in the list",
        "reference is too long (maximum is 3 characters)",
        "count must be greater than or equal to 1",
        "card.number is not valid",
        "card.expiry_month must be an integer",
        "card.name can't be blank",
        "spare is not valid",
        "header.publicKeyHash is too long (maximum is 3 characters)",
        "permissions is not valid",
        "tags has too many items (maximum is 2)",
        "metadata is not valid",
        "labels is not valid",
        "limit is not a number",
        "type is not a valid URL",
    ];
    assert_eq!(rendered(&params), wanted);
    assert!(params.valid().is_err());
}

#[test]
fn a_fault_that_only_the_service_sees_finds_its_place() {
    let mut params = with(&json!({ "amount": 1, "count": 10 }));
    params.faults.add("card.number", "is expired");
    params.faults.add("spare.number", "is expired");
    assert_eq!(
        rendered(&params),
        [
            "amount must be greater than or equal to 100",
            "count must be at most 9",
            "card.number is expired",
            "spare.number is expired"
        ]
    );
}

#[test]
fn blank_is_absent_for_all_but_optional_text() {
    let blank = json!({ "capture": "", "fallback": " ", "count": " ", "spare": {}, "header": "", "metadata": {}, "labels": "", "reference": "  ", "tags": [""] });
    let sample = with(&blank).valid().unwrap();
    assert_eq!((sample.capture, sample.fallback, sample.count), (None, None, None));
    assert!(
        sample.spare.is_none()
            && sample.header.is_none()
            && sample.metadata.is_none()
            && sample.labels.is_none()
    );
    assert_eq!((sample.reference.as_deref(), sample.tags), (Some(""), Some(vec![])));
}

#[test]
fn null_is_absent_everywhere_but_in_a_patch() {
    let sample = with(&json!({ "reference": null, "count": null, "spare": null, "tags": null, "metadata": { "a": null }, "card_token": null })).valid().unwrap();
    assert!(
        sample.reference.is_none()
            && sample.count.is_none()
            && sample.spare.is_none()
            && sample.tags.is_none()
    );
    assert_eq!((sample.metadata, sample.card_token), (Some(Map::new()), Patch::Blank));
    assert_eq!(
        rendered(&with(&json!({ "amount": null, "permissions": null }))),
        ["amount can't be blank", "permissions can't be blank"]
    );
}

#[test]
fn a_patch_tells_absent_from_blank() {
    let wishes =
        |changes: Value| with(&changes).valid().map(|sample| (sample.card_token, sample.limit)).unwrap();
    assert_eq!(wishes(json!({})), (Patch::Absent, Patch::Absent));
    assert_eq!(wishes(json!({ "card_token": " ", "limit": "" })), (Patch::Blank, Patch::Blank));
    assert_eq!(
        wishes(json!({ "card_token": "card_x", "limit": "5" })),
        (Patch::Value("card_x".to_owned()), Patch::Value(5))
    );
}

#[test]
fn a_blank_inside_an_optional_object_does_not_lose_the_object() {
    let spare = json!({ "number": "", "expiry_month": "", "name": "A", "address_line2": "" });
    assert_eq!(
        rendered(&with(&json!({ "spare": spare }))),
        ["spare.number can't be blank", "spare.expiry_month can't be blank"]
    );
}

#[test]
fn nul_characters_are_refused_wherever_they_are_kept() {
    let params = with(
        &json!({ "reference": "\0", "metadata": { "a\0": "" }, "labels": { "a": "\0" }, "tags": ["\0"], "ignored": "\0" }),
    );
    assert_eq!(
        rendered(&params),
        ["reference is not valid", "tags is not valid", "metadata is not valid", "labels is not valid"]
    );
}

#[test]
fn lists_may_be_indexed() {
    let sample = with(&json!({ "permissions": { "1": "b", "0": "a" } })).valid().unwrap();
    assert_eq!(sample.permissions, ["a", "b"]);
}

/// Anything that a body can hold, under names that the sample knows.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[-+0-9.eE]{0,30}| |day|true|\0|NaN".prop_map(Value::from),
    ];
    let names = "email|amount|capture|interval|fallback|reference|count|card|spare|header|permissions|tags|metadata|labels|card_token|limit|type|number|name\
        |expiry_month|address_line2|publicKeyHash|0|1|\0|\\$serde_json::private::RawValue|[a-z]";
    leaf.prop_recursive(4, 40, 12, move |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from), fields(names, inner)]
    })
}

fn fields(names: &'static str, value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((names, value), 0..12)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..crate::properties() })]

    #[test]
    fn no_tree_makes_it_panic(tree in anything()) {
        let params = read::<Sample>(&tree);
        let _ = params.faults.messages().count();
        let _ = Search::read(&tree, &["created_at"], None);
    }
}
