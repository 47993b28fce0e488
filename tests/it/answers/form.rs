//! The shape of success bodies: order of fields, times, and the same bytes again (`docs/decisions.md`, 13).

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use http::Method;
use serde_json::{Value, json};

use crate::harness::{as_of, card, charge, fields, rules};
use crate::{cards, charges};

fn is_time(value: &Value) -> bool {
    let shape: String =
        value.as_str().unwrap_or_default().replace(|letter: char| letter.is_ascii_digit(), "9");
    shape == "9999-99-99T99:99:99Z"
}

/// Every `..._at` of a body, wherever it stands.
fn times<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name.ends_with("_at") && !value.is_null() {
                    found.push(value);
                }
                times(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| times(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

rules! {
    async fn fields_stand_in_the_order_of_the_specification(app) {
        let client = app.client();
        let made = client.post("/1/charges", &charge(400)).await;
        assert_eq!(fields(&made.json()), ["response"]);
        assert_eq!(fields(&made.ok(201)), charges::FIELDS);
        assert_eq!(fields(&made.ok(201)["card"]), cards::FIELDS);
        let stored = client.post("/1/cards", &card("4200000000000000")).await;
        assert_eq!(fields(&stored.json()), ["response", "ip_address"]);
        assert_eq!(fields(&stored.ok(201)), cards::FIELDS);
        let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
        let customer = client.post("/1/customers", &customer).await.ok(201);
        assert_eq!(fields(&customer["card"]), cards::FIELDS);
        let event = client.get("/1/events").await.ok(200)[0].clone();
        assert_eq!(fields(&event), ["token", "type", "data", "created_at", "sequence"]);
        let list = client.get("/1/charges").await.json();
        assert_eq!(fields(&list), ["response", "count", "pagination"]);
        assert_eq!(
            fields(&list["pagination"]),
            ["current", "previous", "next", "per_page", "pages", "count"]
        );
        let list = client.get("/1/events").await.json();
        assert_eq!(fields(&list), ["response", "pagination"]);
        assert_eq!(fields(&list["pagination"]), ["count", "per_page", "current"]);
    }

    async fn a_get_repeats_the_bytes_of_the_create_answer(app) {
        let client = app.client();
        let mut params = charge(400);
        params["metadata"] = json!({ "z": "1", "a": "é\"\\/ \u{1}", "m": "🙂" });
        params["card"]["address_line2"] = Value::Null;
        let mut authorised = params.clone();
        authorised["capture"] = json!(false);
        let mut customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
        customer["notes"] = json!("é\"\\/ \u{1}\n");
        for (path, parameters) in [
            ("/1/charges", params),
            ("/1/charges", authorised),
            ("/1/cards", card("372000000000000")),
            ("/1/customers", customer),
        ] {
            let created = client.post(path, &parameters).await;
            let token = created.ok(201)["token"].as_str().unwrap().to_owned();
            let shown = client.get(&format!("{path}/{token}")).await;
            assert_eq!(shown.record(), created.record(), "{path}");
            if path != "/1/cards" {
                let list = client.get(&format!("{path}?per_page=1")).await;
                assert!(
                    list.text.starts_with(&format!("{{\"response\":[{}]", created.record())),
                    "{path}: {}",
                    list.text
                );
            }
        }
    }

    async fn an_event_shows_the_bytes_of_the_record(app) {
        let created = app.client().post("/1/charges", &charge(400)).await;
        let list = app.client().get("/1/events?per_page=1").await;
        let token = list.ok(200)[0]["token"].as_str().unwrap().to_owned();
        let event = app.client().get(&format!("/1/events/{token}")).await;
        assert!(event.text.contains(&format!("\"data\":{}", created.record())), "{}", event.text);
        assert!(list.text.contains(event.record()));
    }

    async fn times_are_utc_in_whole_seconds(app) {
        let client = app.client();
        app.clock.advance(entity::TimeSpan::from_millis(1));
        client.post("/1/charges", &charge(400)).await.ok(201);
        let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
        client.post("/1/customers", &customer).await.ok(201);
        let bodies = [
            client.get("/1/charges").await.json(),
            client.get("/1/customers").await.json(),
            client.get("/1/events").await.json(),
        ];
        for body in &bodies {
            let mut found = Vec::new();
            times(body, &mut found);
            assert!(!found.is_empty());
            assert!(found.iter().all(|time| is_time(time)), "{found:?}");
        }
        assert_eq!(bodies[0]["response"][0]["created_at"], json!(as_of()));
        assert_eq!(bodies[0]["response"][0]["captured_at"], json!(as_of()));
    }

    async fn a_list_without_records_is_an_empty_list(app) {
        for path in ["/1/charges", "/1/customers", "/1/charges/search?query=nothing"] {
            let body = app.client().get(path).await.json();
            let pagination = json!({ "current": 1, "previous": null, "next": null, "per_page": 25, "pages": 0, "count": 0 });
            assert_eq!(body, json!({ "response": [], "count": 0, "pagination": pagination }), "{path}");
        }
        let body = app.client().get("/1/events").await.json();
        assert_eq!(
            body,
            json!({ "response": [], "pagination": { "count": 0, "per_page": 25, "current": 1 } })
        );
    }

    async fn who_stores_a_card_is_told_the_address_it_came_from(app) {
        for (peer, shown) in [
            ("203.0.113.7:80", "203.0.113.7"),
            ("[2001:db8::1]:80", "2001:db8::1"),
            ("[::ffff:203.0.113.7]:80", "203.0.113.7"),
        ] {
            // Only a trusted proxy may name another address.
            let request = app
                .client()
                .request(Method::POST, "/1/cards")
                .header("content-type", "application/json")
                .header("x-forwarded-for", "198.51.100.1")
                .extension(ConnectInfo(peer.parse::<SocketAddr>().unwrap()));
            let answer =
                app.client().send(request.body(card("4200000000000000").to_string().into()).unwrap()).await;
            answer.ok(201);
            assert_eq!(answer.json()["ip_address"], shown, "{peer}");
        }
    }
}
