//! Tokens in paths (`docs/decisions.md`, 15): a malformed one is an unknown one, whatever else the request holds.

use http::Method;
use serde_json::json;

use super::{operations, unknown};
use crate::harness::sending::{JSON, send};
use crate::harness::{Answer, App, card, charge, rules};

/// Texts that are no token, one for each way in which a text can be malformed.
fn malformed(prefix: &str) -> Vec<String> {
    vec![
        unknown(prefix),
        "x".into(),
        prefix.into(),
        format!("{prefix}AAAAAAAAAAAAAAAAAAAAA"),
        format!("{prefix}AAAAAAAAAAAAAAAAAAAAAAA"),
        // The last letter holds two bits of the id only; the others must be zero.
        format!("{prefix}AAAAAAAAAAAAAAAAAAAAAB"),
        format!("{prefix}AAAAAAAAAAAAAAAAAAAA%3D%3D"),
        format!("{prefix}AAAAAAAAAAAAAAAAAAAA%2B%2B"),
        format!("{prefix}AAAAAAAAAAAAAAAAAAAA%2F%2F"),
        format!("{prefix}AAAAAAAAAAAAAAAAAAAAA%20"),
        format!("%20{}", unknown(prefix)),
        format!("{}%0A", unknown(prefix)),
        format!("{prefix}%C3%A9"),
        unknown(&prefix.to_uppercase()),
        unknown("zz_"),
        "%00".into(),
        "%FF".into(),
        format!("{prefix}%C3"),
        "%25".into(),
        "-1".into(),
        "'%20OR%20''='".into(),
        "a".repeat(5000),
    ]
}

/// The prefix of the first token in a path.
fn prefix(path: &str) -> &'static str {
    match path.split(['{', '}']).nth(1).unwrap() {
        "account_token" => "acct_",
        "auth_token" => "auth_",
        "card_token" => "card_",
        "certificate_token" => "apdp_",
        "charge_token" => "ch_",
        "customer_token" => "cus_",
        "deposit_token" => "dpo_",
        "dispute_token" => "dis_",
        "domain_token" => "apmd_",
        "event_token" => "evt_",
        "file_token" => "file_",
        "inbox_token" => "inb_",
        "key_token" => "key_",
        "merchant_token" => "mrch_",
        "plan_token" => "plan_",
        "recipient_token" => "rp_",
        "refund_token" => "rf_",
        // A client may choose it.
        "request_id" => "req-",
        "snapshot_token" => "snap_",
        "sub_token" => "sub_",
        "transfer_token" => "tfer_",
        "webhook_endpoint_token" => "whe_",
        "webhook_token" => "whr_",
        other => panic!("{path}: name the prefix of {other} here"),
    }
}

/// 404 with the code that the document names for this operation.
fn is_unknown(answer: &Answer, described: &serde_json::Value, of: &str) {
    assert_eq!(answer.status, 404, "{of}: {}", answer.text);
    let body = answer.json();
    let codes = described["responses"]["404"]["description"].as_str().unwrap();
    assert!(codes.split(", ").any(|code| body["error"] == code), "{of}: {} is none of {codes}", answer.text);
    assert_eq!(body["error_description"], "The requested resource could not be found.", "{of}");
    assert!(body.get("messages").is_none(), "{of}");
}

/// A customer with two cards, and a charge that waits to be captured.
async fn records(app: &App) -> (String, String, String) {
    let client = app.client();
    let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
    let customer = client.post("/1/customers", &customer).await.ok(201);
    let customer = customer["token"].as_str().unwrap().to_owned();
    let second =
        client.post(&format!("/1/customers/{customer}/cards"), &card("5520000000000000")).await.ok(201);
    let mut authorised = charge(400);
    authorised["capture"] = json!(false);
    let authorised = client.post("/1/charges", &authorised).await.ok(201);
    (customer, second["token"].as_str().unwrap().into(), authorised["token"].as_str().unwrap().into())
}

rules! {
    async fn an_unknown_or_malformed_token_is_a_404_on_every_path(app) {
        records(app).await;
        let before = app.rows().await;
        for operation in operations()
            .into_iter()
            .filter(|operation| operation.takes_token() && operation.method != Method::HEAD)
        {
            for token in malformed(prefix(&operation.path)) {
                let path = operation.at(&token);
                let of = format!("{} {path}", operation.method);
                // The record in the path is looked for before the request's own shape.
                for body in ["", "{\"email\":\"\",\"amount\":\"x\",\"card\":1}"] {
                    let answer = send(&app.client(), operation.method.clone(), &path, JSON, body).await;
                    is_unknown(&answer, &operation.described, &of);
                }
                if operation.is_list() {
                    let answer = app.client().get(&format!("{path}?page=x&per_page=501")).await;
                    is_unknown(&answer, &operation.described, &of);
                }
                let without_key = send(&app.anonymous(), operation.method.clone(), &path, JSON, "").await;
                without_key.refused(401, "unauthorized");
            }
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_token_of_another_kind_of_record_is_unknown(app) {
        let (customer, card, charge) = records(app).await;
        let before = app.rows().await;
        for operation in operations()
            .into_iter()
            .filter(|operation| operation.takes_token() && operation.method != Method::HEAD)
        {
            let right = prefix(&operation.path);
            for token in [&customer, &card, &charge].into_iter().filter(|token| !token.starts_with(right)) {
                let path = operation.at(token);
                let answer = send(&app.client(), operation.method.clone(), &path, JSON, "").await;
                is_unknown(&answer, &operation.described, &format!("{} {path}", operation.method));
            }
        }
        assert_eq!(app.rows().await, before);
    }

    async fn a_token_with_the_prefix_of_another_kind_is_unknown(app) {
        let (customer, card, charge) = records(app).await;
        let id = |token: &str| token.split_once('_').unwrap().1.to_owned();
        for path in [
            format!("/1/customers/ch_{}", id(&customer)),
            format!("/1/charges/cus_{}", id(&charge)),
            format!("/1/cards/ch_{}", id(&card)),
            format!("/1/customers/{}", id(&customer)),
        ] {
            app.client().get(&path).await.refused(404, "not_found");
        }
    }

    async fn a_card_in_the_path_must_be_one_of_the_customer_in_the_path(app) {
        let (customer, second, _) = records(app).await;
        let (other, others_card, _) = records(app).await;
        let single = app.client().post("/1/cards", &card("4200000000000000")).await.ok(201)["token"].clone();
        let before = app.rows().await;
        let mut pairs = vec![
            (customer.clone(), others_card.clone()),
            (other.clone(), second.clone()),
            (customer.clone(), single.as_str().unwrap().to_owned()),
            (unknown("cus_"), second.clone()),
        ];
        pairs.extend(malformed("card_").into_iter().map(|card| (customer.clone(), card)));
        pairs.extend(malformed("cus_").into_iter().map(|customer| (customer, second.clone())));
        for (customer, card) in pairs {
            let path = format!("/1/customers/{customer}/cards/{card}");
            app.client().delete(&path).await.refused(404, "not_found");
        }
        assert_eq!(app.rows().await, before);
    }
}
