//! What texts may hold, and how long they may be (specification, Limits; `docs/decisions.md`, 10).

use http::Method;
use serde_json::{Map, Value, json};

use crate::harness::sending::{FORM, form, send};
use crate::harness::{App, card, charge, rules};

fn customer() -> Value {
    json!({ "email": "a@example.com", "card": card("4200000000000000") })
}

/// The request with a parameter exchanged: `card.name` is the card's name.
fn with(mut request: Value, name: &str, value: &Value) -> Value {
    let pointer = format!("/{}", name.replace('.', "/"));
    match request.pointer_mut(&pointer) {
        Some(slot) => *slot = value.clone(),
        None => request[name] = value.clone(),
    }
    request
}

fn humanised(name: &str) -> String {
    let text = name.replace(['.', '_'], " ");
    text[..1].to_uppercase() + &text[1..]
}

/// JSON and form are refused alike, with this fault alone.
async fn refused(app: &App, path: &str, request: &Value, name: &str, predicate: &str) {
    let before = app.rows().await;
    for answer in [app.client().post(path, request).await, app.client().post_form(path, request).await] {
        assert_eq!(
            answer.faults(),
            [(name.to_owned(), format!("{} {predicate}", humanised(name)))],
            "{path}"
        );
    }
    assert_eq!(app.rows().await, before);
}

/// An e-mail address of so many characters.
fn email(length: usize) -> String {
    // A label has at most 63 characters, the part before the @ at most 64.
    let labels = format!("{}.", "d".repeat(60)).repeat(4);
    let domain = labels.trim_end_matches('.');
    let local = "l".repeat(60);
    let address = format!("{local}@{domain}");
    address[address.len().saturating_sub(length)..].to_owned()
}

rules! {
    async fn a_text_that_is_too_long_is_refused(app) {
        for (path, request, name, max) in [
            ("/1/charges", charge(400), "description", 1000),
            ("/1/charges", charge(400), "reference", 40),
            ("/1/charges", charge(400), "card.name", 255),
            ("/1/charges", charge(400), "card.address_line1", 1000),
            ("/1/charges", charge(400), "card.address_country", 1000),
            ("/1/cards", card("4200000000000000"), "name", 255),
            ("/1/cards", card("4200000000000000"), "address_line2", 1000),
            ("/1/cards", card("4200000000000000"), "address_postcode", 1000),
            ("/1/customers", customer(), "first_name", 255),
            ("/1/customers", customer(), "last_name", 255),
            ("/1/customers", customer(), "company", 255),
            ("/1/customers", customer(), "phone_number", 1000),
            ("/1/customers", customer(), "notes", 10_000),
        ] {
            // Characters are counted, not bytes.
            let longest = with(request.clone(), name, &json!("é".repeat(max)));
            app.client().post(path, &longest).await.ok(201);
            let longer = with(request, name, &json!("é".repeat(max + 1)));
            refused(app, path, &longer, name, &format!("is too long (maximum is {max} characters)")).await;
        }
    }

    async fn an_email_that_is_too_long_is_refused(app) {
        let params = with(charge(400), "email", &json!(email(300)));
        let faults = app.client().post("/1/charges", &params).await.faults();
        assert!(
            faults
                .contains(&("email".to_owned(), "Email is too long (maximum is 255 characters)".to_owned())),
            "{faults:?}"
        );
    }

    async fn a_search_for_a_text_that_is_too_long_is_refused(app) {
        app.client().get(&format!("/1/charges/search?query={}", "a".repeat(1000))).await.ok(200);
        let faults =
            app.client().get(&format!("/1/charges/search?query={}", "a".repeat(1001))).await.faults();
        assert_eq!(
            faults,
            [("query".to_owned(), "Query is too long (maximum is 1000 characters)".to_owned())]
        );
    }

    async fn no_text_holds_u_0000(app) {
        for (path, request, name) in [
            ("/1/charges", charge(400), "description"),
            ("/1/charges", charge(400), "email"),
            ("/1/charges", charge(400), "ip_address"),
            ("/1/charges", charge(400), "reference"),
            ("/1/charges", charge(400), "card.name"),
            ("/1/charges", charge(400), "card.number"),
            ("/1/charges", charge(400), "card.cvc"),
            ("/1/cards", card("4200000000000000"), "address_city"),
            ("/1/cards", card("4200000000000000"), "address_state"),
            ("/1/customers", customer(), "notes"),
        ] {
            let request = with(request, name, &json!("a\0b"));
            refused(app, path, &request, name, "is not valid").await;
        }
        let before = app.rows().await;
        for (name, value) in
            [("currency", "A\0D"), ("capture", "\0"), ("card_token", "card_\0"), ("customer_token", "\0")]
        {
            let faults =
                app.client().post("/1/charges", &with(charge(400), name, &json!(value))).await.faults();
            assert!(!faults.is_empty(), "{name}");
        }
        for metadata in [json!({ "a": "\0" }), json!({ "\0": "a" })] {
            let faults =
                app.client().post("/1/charges", &with(charge(400), "metadata", &metadata)).await.faults();
            assert_eq!(faults, [("metadata".to_owned(), "Metadata is not valid".to_owned())]);
        }
        for name in ["query", "start_date", "end_date", "sort", "direction", "page", "per_page"] {
            let faults = app.client().get(&format!("/1/charges/search?{name}=%00")).await.faults();
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert_eq!(faults[0].0, name);
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_parameter_that_nobody_knows_may_be_named_anything(app) {
        let body = form(&charge(400), true) + "&%00=1&a%00b=%00&[]=1&=x&&]=2";
        send(&app.client(), Method::POST, "/1/charges", FORM, body).await.ok(201);
    }

    async fn every_other_character_is_kept_as_it_was_sent(app) {
        let text = " \u{1}<b>&amp;\"'\\ ;-- %00 é 漢字 🙂 \u{202e} \u{feff}";
        for made in [
            app.client().post("/1/charges", &with(charge(400), "description", &json!(text))).await.ok(201),
            app.client()
                .post_form("/1/charges", &with(charge(400), "description", &json!(text)))
                .await
                .ok(201),
        ] {
            assert_eq!(made["description"], text);
            let path = format!("/1/charges/{}", made["token"].as_str().unwrap());
            assert_eq!(app.client().get(&path).await.ok(200)["description"], text);
        }
    }

    async fn metadata_is_few_short_and_flat(app) {
        let items = |count: usize| {
            Value::from((0..count).map(|n| (n.to_string(), json!("v"))).collect::<Map<_, _>>())
        };
        let fine = json!({ "k".repeat(50): "é".repeat(500), "number": 1.5, "flag": true, "none": null, "blank": "" });
        let made = app.client().post("/1/charges", &with(charge(400), "metadata", &fine)).await.ok(201);
        let kept = json!({ "k".repeat(50): "é".repeat(500), "number": "1.5", "flag": "true", "blank": "" });
        assert_eq!(made["metadata"], kept);
        let made = app.client().post("/1/charges", &with(charge(400), "metadata", &items(25))).await.ok(201);
        assert_eq!(made["metadata"], items(25));
        for (metadata, predicate) in [
            (items(26), "has too many items (maximum is 25)"),
            (json!({ "k".repeat(51): "v" }), "is too long (maximum is 50 characters)"),
            (json!({ "k": "v".repeat(501) }), "is too long (maximum is 500 characters)"),
            (json!({ "k": { "deep": "v" } }), "is not valid"),
        ] {
            refused(app, "/1/charges", &with(charge(400), "metadata", &metadata), "metadata", predicate)
                .await;
        }
        let listed = with(charge(400), "metadata", &json!({ "k": ["v"] }));
        let faults = app.client().post("/1/charges", &listed).await.faults();
        assert_eq!(faults, [("metadata".to_owned(), "Metadata is not valid".to_owned())]);
    }
}
