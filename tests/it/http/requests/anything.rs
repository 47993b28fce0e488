//! Whatever is sent, the server says what is wrong with it: no 5xx, no panic, no answer beside the document.

use http::{HeaderValue, Method, Uri};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::harness::sending::form;
use crate::harness::{App, application, card, charge, rules};

#[derive(Debug, Clone)]
struct RandomRequest {
    query: String,
    content_type: Option<Vec<u8>>,
    body: Vec<u8>,
}

/// Names that mean something, and others.
fn name() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "email",
        "description",
        "amount",
        "ip_address",
        "card",
        "card_token",
        "customer_token",
        "currency",
        "capture",
        "reference",
        "metadata",
        "platform_adjustment",
        "number",
        "expiry_month",
        "expiry_year",
        "cvc",
        "name",
        "address_country",
        "address_line2",
        "first_name",
        "contact",
        "entity",
        "business",
        "bank_account",
        "director",
        "password",
        "date_of_birth",
        "address_country_code",
        "business_registration_number",
        "notes",
        "primary_card_token",
        "publishable_api_key",
        "query",
        "start_date",
        "end_date",
        "sort",
        "direction",
        "page",
        "per_page",
        "callback",
        "_method",
        "0",
        "$serde_json::private::Number",
        "$serde_json::private::RawValue",
        "$card_payments::Patch",
    ];
    prop_oneof![6 => prop::sample::select(KNOWN).prop_map(str::to_owned), 1 => any::<String>()]
}

/// Texts at the edges of what some reader takes for something.
fn text() -> impl Strategy<Value = String> {
    const EDGES: &[&str] = &[
        "",
        " ",
        "\0",
        "4200000000000000",
        "4100000000000001",
        "123",
        "True",
        "-1",
        "1e400",
        "NaN",
        "9007199254740992",
        "-9223372036854775808",
        "99999999999999999999",
        "2026/02/30",
        "+002020-01-01T00:00:00.000000000Z",
        "+999999999-12-31",
        "-262144-01-01",
        "Mar 25, 2011",
        "card_AAAAAAAAAAAAAAAAAAAAAA",
        "cus_",
        "a@example.com",
        "::1",
        "%",
        "%%_\\",
        "AUD",
        "jpy",
        "created_at",
        "\u{feff}",
        "\u{10ffff}",
    ];
    prop_oneof![
        4 => prop::sample::select(EDGES).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => any::<i64>().prop_map(|n| n.to_string()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name(), inner), 0..6).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A good request with some parameters exchanged.
fn nearly_good() -> impl Strategy<Value = Value> {
    let good = prop::sample::select(vec![
        charge(400),
        card("4200000000000000"),
        application(),
        json!({ "email": "a@example.com" }),
    ]);
    (good, vec((name(), value()), 0..3), vec((name(), value()), 0..3)).prop_map(|(mut good, outer, inner)| {
        if let Some(card) = good.get_mut("card") {
            for (name, value) in inner {
                card[name] = value;
            }
        }
        for (name, value) in outer {
            good[name] = value;
        }
        good
    })
}

fn hex(digit: u8) -> char {
    char::from_digit(digit.into(), 16).unwrap()
}

/// Pairs of names and texts, each encoded as it should be.
fn encoded_pairs() -> impl Strategy<Value = String> {
    let nested = prop_oneof![4 => name(), 1 => name().prop_map(|name| format!("card[{name}]"))];
    vec((nested, text()), 0..4).prop_map(|pairs| {
        let pair = |(name, text): (String, String)| form(&json!({ name: text }), false);
        pairs.into_iter().map(pair).collect::<Vec<_>>().join("&")
    })
}

/// Pairs of anything.
fn pairs() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        name(),
        Just("card[number]".to_owned()),
        Just("metadata[]".to_owned()),
        "[\\[\\]a-c&=%+0-9]{0,20}",
    ];
    vec((part, text(), any::<bool>()), 0..8).prop_map(|pairs| {
        let encode = |text: &str| {
            text.bytes().flat_map(|byte| ['%', hex(byte >> 4), hex(byte & 15)]).collect::<String>()
        };
        let pair = |(name, text, encoded): (String, String, bool)| {
            if encoded { format!("{}={}", encode(&name), encode(&text)) } else { format!("{name}={text}") }
        };
        pairs.into_iter().map(pair).collect::<Vec<_>>().join("&")
    })
}

/// What can be read, so that the rules behind the door are reached too.
fn readable() -> impl Strategy<Value = RandomRequest> {
    let query = prop_oneof![2 => Just(String::new()), 1 => encoded_pairs()];
    let json = nearly_good().prop_map(|value| ("application/json", value.to_string()));
    let form = nearly_good().prop_map(|value| ("application/x-www-form-urlencoded", form(&value, true)));
    let pairs = encoded_pairs().prop_map(|pairs| ("application/x-www-form-urlencoded", pairs));
    (query, prop_oneof![3 => json, 1 => form, 1 => pairs]).prop_map(|(query, (content_type, body))| {
        RandomRequest { query, content_type: Some(content_type.into()), body: body.into_bytes() }
    })
}

fn sent() -> impl Strategy<Value = RandomRequest> {
    prop_oneof![2 => readable(), 1 => unreadable()]
}

/// A multipart body of one part, whose name and text may hold anything.
fn part(text: &str) -> Vec<u8> {
    let header = format!("Content-Disposition: form-data; name=\"{text}\"");
    ["--x\r\n", &header, "\r\n\r\n", text, "\r\n--x--"].concat().into_bytes()
}

/// What mostly cannot be read.
fn unreadable() -> impl Strategy<Value = RandomRequest> {
    const TYPES: &[&str] = &[
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
        "application/json; charset=utf-16",
        "text/plain",
    ];
    let content_type = prop_oneof![
        8 => prop::sample::select(TYPES).prop_map(|name| Some(name.as_bytes().to_vec())),
        1 => Just(None),
        1 => vec(any::<u8>(), 0..30).prop_map(Some),
    ];
    let body = prop_oneof![
        2 => vec(any::<u8>(), 0..200),
        4 => nearly_good().prop_map(|value| value.to_string().into_bytes()),
        2 => value().prop_map(|value| value.to_string().into_bytes()),
        3 => pairs().prop_map(String::into_bytes),
        1 => pairs().prop_map(|text| part(&text)),
    ];
    let query = prop_oneof![2 => Just(String::new()), 2 => pairs(), 1 => any::<String>(), 1 => "[!-~]{0,40}"];
    (query, content_type, body).prop_map(|(query, content_type, body)| RandomRequest {
        query,
        content_type,
        body,
    })
}

async fn answered(app: &App, method: &Method, path: &str, sent: &RandomRequest) {
    // What HTTP itself cannot carry never reaches us.
    let query = sent.query.replace('#', "%23");
    let uri = Uri::try_from(format!("{path}?{query}")).unwrap_or_else(|_| path.parse().unwrap());
    let mut request = app.client().request(method.clone(), &uri.to_string());
    if let Some(Ok(content_type)) = sent.content_type.as_deref().map(HeaderValue::from_bytes) {
        request = request.header("content-type", content_type);
    }
    let answer = app.client().send(request.body(sent.body.clone().into()).unwrap()).await;
    assert!(answer.status < 500, "{method} {uri} {}: {}", answer.status, answer.text);
    assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8");
    let shown = if answer.status < 300 { "response" } else { "error" };
    assert!(answer.json().get(shown).is_some(), "{}", answer.text);
}

/// As many cases as `PROPTEST_CASES` says.
fn never_breaks(app: &App, method: &Method, path: &str) {
    let config = Config { failure_persistence: None, ..Config::default() };
    let here = tokio::runtime::Handle::current();
    let run = || {
        TestRunner::new(config).run(&sent(), |sent| {
            here.block_on(answered(app, method, path, &sent));
            Ok(())
        })
    };
    tokio::task::block_in_place(run).unwrap();
}

rules! {
    async fn no_bytes_break_the_making_of_a_charge(app) {
        never_breaks(app, &Method::POST, "/1/charges");
    }

    async fn no_bytes_break_the_referring_of_a_merchant(app) {
        never_breaks(app, &Method::POST, "/1/merchants");
    }

    async fn no_bytes_break_the_storing_of_a_card(app) {
        never_breaks(app, &Method::POST, "/1/cards");
    }

    async fn no_bytes_break_the_change_of_a_customer(app) {
        never_breaks(app, &Method::PUT, "/1/customers/x");
        let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
        let token = app.client().post("/1/customers", &customer).await.ok(201)["token"].clone();
        never_breaks(app, &Method::PUT, &format!("/1/customers/{}", token.as_str().unwrap()));
    }

    async fn no_bytes_break_a_search(app) {
        app.client().post("/1/charges", &charge(400)).await.ok(201);
        never_breaks(app, &Method::GET, "/1/charges/search");
    }
}
