//! Charges (specification, Charges; `docs/decisions.md`, 117 to 122 and 131): what is made of their parameters.

mod authorisations;
mod authorised;
pub mod lost_answers;
mod payers;
mod races;
mod search;
mod unknown_outcomes;

use serde_json::{Map, Value, json};

use crate::harness::sending::{JSON, send};
use crate::harness::{as_of, charge, charge_with, rules, token_of};

/// Specification, Charge: the fields, in the order of its table.
pub const FIELDS: [&str; 24] = [
    "token",
    "success",
    "amount",
    "currency",
    "description",
    "email",
    "ip_address",
    "created_at",
    "status_message",
    "error_message",
    "card",
    "transfer",
    "amount_refunded",
    "total_fees",
    "merchant_entitlement",
    "refund_pending",
    "authorisation_token",
    "authorisation_expired",
    "authorisation_voided",
    "captured",
    "captured_at",
    "settlement_currency",
    "active_chargebacks",
    "metadata",
];

/// The currencies (`docs/decisions.md`, 117), and the least that can be charged in each.
const MINIMUMS: [(&str, i64); 15] = [
    ("AUD", 100),
    ("USD", 100),
    ("NZD", 100),
    ("SGD", 100),
    ("EUR", 100),
    ("GBP", 50),
    ("CAD", 100),
    ("HKD", 1_000),
    ("JPY", 100),
    ("MYR", 300),
    ("THB", 2_000),
    ("PHP", 3_000),
    ("ZAR", 1_000),
    ("IDR", 1_000_000),
    ("TWD", 2_500),
];

fn keys(record: &Value) -> Vec<&str> {
    record.as_object().unwrap().keys().map(String::as_str).collect()
}

rules! {
    async fn a_charge_is_captured_at_once_with_its_fees(app) {
        let charged = app.client().captured(400).await;
        assert_eq!(keys(&charged), FIELDS);
        let mut shown = charged.clone();
        for (field, prefix) in [("token", "ch_"), ("card", "")] {
            let value = shown.as_object_mut().unwrap().shift_remove(field).unwrap();
            assert!(value.as_str().is_none_or(|text| text.starts_with(prefix)), "{value}");
        }
        assert_eq!(shown, json!({
            "success": true, "amount": 400, "currency": "AUD", "description": "test charge",
            "email": "roland@example.com", "ip_address": "203.192.1.172", "created_at": as_of(),
            "status_message": "Success", "error_message": null, "transfer": [], "amount_refunded": 0,
            "total_fees": 37, "merchant_entitlement": 363, "refund_pending": false, "authorisation_token": null,
            "authorisation_expired": false, "authorisation_voided": false, "captured": true,
            "captured_at": as_of(), "settlement_currency": "AUD", "active_chargebacks": false,
            "metadata": {},
        }));
        assert_eq!(charged["card"]["display_number"], "XXXX-XXXX-XXXX-0000");
        assert_eq!(charged["card"]["customer_token"], Value::Null);
        assert_eq!(app.events().await, ["charge.captured"]);
    }

    async fn a_charge_comes_back_byte_for_byte_while_nothing_changes(app) {
        let client = app.client();
        let parameters = charge_with(400, json!({ "metadata": { "b": "1", "a": "2" }, "description": "é\"\\\n" }));
        let made = client.post("/1/charges", &parameters).await;
        let path = format!("/1/charges/{}", token_of(&made.ok(201)));
        assert_eq!(client.get(&path).await.text, made.text);
        let record = made.text.strip_prefix("{\"response\":").unwrap().strip_suffix('}').unwrap();
        assert!(client.get("/1/charges").await.text.contains(record));
        assert!(client.get("/1/events").await.text.contains(record));
    }

    async fn a_form_makes_the_same_charge_as_json(app) {
        let client = app.client();
        let parameters = charge_with(400, json!({ "capture": false, "metadata": { "order": "7" }, "currency": "usd" }));
        let strip = |mut record: Value| {
            record.as_object_mut().unwrap().shift_remove("token");
            record["card"].as_object_mut().unwrap().shift_remove("token");
            record
        };
        let by_json = strip(client.post("/1/charges", &parameters).await.ok(201));
        let by_form = strip(client.post_form("/1/charges", &parameters).await.ok(201));
        assert_eq!(by_json, by_form);
        assert_eq!(by_form["currency"], "USD");
        assert_eq!(by_form["captured"], false);
    }

    async fn every_missing_parameter_is_told_in_the_order_of_the_specification(app) {
        app.invalid("/1/charges", &json!({}), &[
            ("email", "Email can't be blank"),
            ("email", "Email is not formatted properly"),
            ("description", "Description can't be blank"),
            ("amount", "Amount can't be blank"),
            ("ip_address", "Ip address can't be blank"),
            ("card", "Exactly one of card, card_token, payment_source_token or customer_token is required"),
        ]).await;
    }

    async fn all_wrong_parameters_are_told_at_once(app) {
        let wrong = charge_with(99, json!({
            "email": "roland", "ip_address": "localhost", "card": { "number": "4242424242424241" }, "capture": "perhaps",
            "reference": "r".repeat(41), "metadata": { "a": {} }, "platform_adjustment": { "amount": 0, "currency": "NZD" },
        }));
        app.invalid("/1/charges", &wrong, &[
            ("email", "Email is not formatted properly"),
            ("amount", "Amount must be at least 100"),
            ("ip_address", "Ip address is not formatted properly"),
            ("card.number", "Card number is not valid"),
            ("card.expiry_month", "Card expiry month can't be blank"),
            ("card.expiry_year", "Card expiry year can't be blank"),
            ("card.cvc", "Card cvc can't be blank"),
            ("card.name", "Card name can't be blank"),
            ("card.address_line1", "Card address line1 can't be blank"),
            ("card.address_city", "Card address city can't be blank"),
            ("card.address_country", "Card address country can't be blank"),
            ("capture", "Capture is not included in the list"),
            ("reference", "Reference is too long (maximum is 40 characters)"),
            ("metadata", "Metadata is not valid"),
            ("platform_adjustment.amount", "Platform adjustment amount must be greater than or equal to 1"),
            ("platform_adjustment.currency", "Platform adjustment currency must be the currency of the charge"),
        ]).await;
    }

    async fn each_parameter_has_its_rule(app) {
        for (param, value, message) in [
            ("email", json!("roland@"), "Email is not formatted properly"),
            ("description", json!(" "), "Description can't be blank"),
            ("description", json!("d".repeat(1001)), "Description is too long (maximum is 1000 characters)"),
            ("description", json!("a\0b"), "Description is not valid"),
            ("amount", json!(null), "Amount can't be blank"),
            ("amount", json!("ten"), "Amount is not a number"),
            ("amount", json!(10.1), "Amount must be an integer"),
            ("amount", json!("400.00"), "Amount must be an integer"),
            ("amount", json!(-400), "Amount must be at least 100"),
            ("amount", json!(0), "Amount must be at least 100"),
            ("amount", json!(2_500_001), "Amount must be at most 2500000"),
            ("amount", json!(9_007_199_254_740_992_i64), "Amount must be at most 9007199254740991"),
            ("ip_address", json!("203.192.1"), "Ip address is not formatted properly"),
            ("currency", json!("XYZ"), "Currency is not a supported currency"),
            ("currency", json!("KRW"), "Currency is not a supported currency"),
            ("capture", json!("maybe"), "Capture is not included in the list"),
            ("reference", json!("r".repeat(41)), "Reference is too long (maximum is 40 characters)"),
        ] {
            app.invalid("/1/charges", &charge_with(400, json!({ param: value })), &[(param, message)]).await;
        }
    }

    async fn numbers_and_booleans_may_be_text_and_blank_options_are_absent(app) {
        let parameters = charge_with(400, json!({
            "amount": "0400", "capture": "False", "currency": " ", "reference": null, "metadata": null,
            "card_token": "", "customer_token": " ", "platform_adjustment": {}, "unknown": { "a": [1] },
            "ip_address": "2001:db8::1",
        }));
        let charged = app.client().post("/1/charges", &parameters).await.ok(201);
        assert_eq!(keys(&charged), FIELDS);
        assert_eq!((&charged["amount"], &charged["captured"], &charged["currency"]), (&json!(400), &json!(false), &json!("AUD")));
        assert_eq!(charged["ip_address"], "2001:db8::1");
    }

    async fn white_space_around_an_address_of_the_purchaser_is_not_part_of_it(app) {
        for (sent, kept) in [(" 203.192.1.172", "203.192.1.172"), ("\t2001:db8::1\r\n", "2001:db8::1")] {
            for path in ["/1/charges", "/1/authorisations"] {
                let made = app.client().post(path, &charge_with(400, json!({ "ip_address": sent }))).await.ok(201);
                assert_eq!(made["ip_address"], kept, "{path} {sent:?}");
            }
        }
        app.invalid("/1/charges", &charge_with(400, json!({ "ip_address": "203. 192.1.172" })), &[
            ("ip_address", "Ip address is not formatted properly"),
        ])
        .await;
    }

    async fn metadata_keeps_twenty_five_short_items_as_text(app) {
        let client = app.client();
        let many = |items: usize| -> Map<String, Value> { (0..items).map(|n| (format!("key {n}"), json!("v"))).collect() };
        for (sent, kept) in [
            (json!({ "b": "1", "a": 2, "c": true, "d": -1.5 }), json!({ "b": "1", "a": "2", "c": "true", "d": "-1.5" })),
            (json!({ "é".repeat(50): "é".repeat(500) }), json!({ "é".repeat(50): "é".repeat(500) })),
            (Value::Object(many(25)), Value::Object(many(25))),
            (json!({ "a": "" }), json!({ "a": "" })),
        ] {
            let charged = client.post("/1/charges", &charge_with(400, json!({ "metadata": sent }))).await.ok(201);
            assert_eq!(charged["metadata"], kept);
            assert_eq!(keys(&charged["metadata"]), keys(&kept), "in the order they were sent");
        }
        for (sent, message) in [
            (Value::Object(many(26)), "Metadata has too many items (maximum is 25)"),
            (json!({ "k".repeat(51): "" }), "Metadata is too long (maximum is 50 characters)"),
            (json!({ "a": "v".repeat(501) }), "Metadata is too long (maximum is 500 characters)"),
            (json!({ "a": { "b": "c" } }), "Metadata is not valid"),
            (json!({ "a": ["b"] }), "Metadata is not valid"),
            (json!("text"), "Metadata is not valid"),
        ] {
            app.invalid("/1/charges", &charge_with(400, json!({ "metadata": sent })), &[("metadata", message)]).await;
        }
    }

    async fn numbers_in_metadata_are_kept_as_they_were_sent(app) {
        let client = app.client();
        let spelled = ["1e2", "100.0", "1E+2", "-0", "0.10", "1.5", "7", "12345678901234567890123", "1e308", "9007199254740993"];
        let items: Vec<_> = spelled.iter().enumerate().map(|(n, number)| format!("\"k{n}\": {number}")).collect();
        let body = charge_with(400, json!({ "metadata": {} })).to_string();
        let body = body.replace("\"metadata\":{}", &format!("\"metadata\":{{{}}}", items.join(",")));
        let charged = send(&client, http::Method::POST, "/1/charges", JSON, body).await.ok(201);
        for (n, number) in spelled.iter().enumerate() {
            assert_eq!(charged["metadata"][format!("k{n}")], *number);
        }
        assert_eq!(client.charge(&token_of(&charged)).await, charged);
        let found = client.get("/1/charges/search?query=12345678901234567890123").await.ok(200);
        assert_eq!(found, json!([charged]));
        // A number is a number nowhere else either, only because it is spelled like one.
        for (amount, message) in [("4e2", "must be an integer"), ("400.0", "must be an integer"), ("1e300", "must be at most 9007199254740991")] {
            let body = charge(400).to_string().replace("\"amount\":400", &format!("\"amount\":{amount}"));
            let answer = app.unchanged(send(&client, http::Method::POST, "/1/charges", JSON, body)).await;
            answer.faulty(&[("amount", &format!("Amount {message}"))]);
        }
    }

    async fn a_reference_is_stored_and_shown_nowhere(app) {
        let client = app.client();
        let reference = "Zephyr ".repeat(5) + "shops"; // 40 characters
        let made = client.post("/1/charges", &charge_with(400, json!({ "reference": reference }))).await;
        let charge = token_of(&made.ok(201));
        assert_eq!(app.number("SELECT COUNT(*) FROM charges WHERE reference LIKE 'Zephyr%shops'").await, 1);
        let mut shown = made.text;
        for path in [format!("/1/charges/{charge}"), "/1/charges".into(), "/1/events".into()] {
            shown += &client.get(&path).await.text;
        }
        assert!(!shown.contains("Zephyr") && !shown.contains("reference"), "{shown}");
        assert_eq!(client.get("/1/charges/search?query=Zephyr").await.ok(200), json!([]));
    }

    async fn each_currency_has_its_minimum(app) {
        let client = app.client();
        for (currency, minimum) in MINIMUMS {
            let least = charge_with(minimum, json!({ "currency": currency.to_lowercase() }));
            assert_eq!(client.post("/1/charges", &least).await.ok(201)["currency"], currency);
            let less = charge_with(minimum - 1, json!({ "currency": currency }));
            let message = format!("Amount must be at least {minimum}");
            app.invalid("/1/charges", &less, &[("amount", &message)]).await;
        }
    }

    async fn the_merchants_maximum_is_in_aud(app) {
        let client = app.client();
        // By the simulator's rates: 1.50 and, for whole yen, 1 cent each.
        for (currency, most) in [("AUD", 2_500_000), ("USD", 1_666_666), ("JPY", 2_500_000)] {
            client.post("/1/charges", &charge_with(most, json!({ "currency": currency }))).await.ok(201);
            let more = charge_with(most + 1, json!({ "currency": currency }));
            app.invalid("/1/charges", &more, &[("amount", &format!("Amount must be at most {most}"))]).await;
        }
        app.execute("UPDATE accounts SET maximum_charge_cents = 5000").await;
        client.post("/1/charges", &charge(5_000)).await.ok(201);
        app.invalid("/1/charges", &charge(5_001), &[("amount", "Amount must be at most 5000")]).await;
    }

    async fn a_platform_adjustment_is_withheld_and_shown_only_where_it_was_sent(app) {
        let client = app.client();
        let parameters = charge_with(400, json!({ "platform_adjustment": { "amount": 10, "currency": "aud" } }));
        let charged = client.post("/1/charges", &parameters).await.ok(201);
        assert_eq!(keys(&charged), [&FIELDS[..], &["platform_adjustment", "platform_fees"]].concat());
        assert_eq!(charged["platform_adjustment"], json!({ "amount": 10, "currency": "AUD" }));
        assert_eq!((&charged["platform_fees"], &charged["total_fees"]), (&json!(10), &json!(37)));
        assert_eq!(charged["merchant_entitlement"], 353);
        // In another currency it is converted at the charge's rate: 10 US cents are 15 cents.
        let parameters = charge_with(400, json!({ "currency": "USD", "platform_adjustment": { "amount": 10 } }));
        let charged = client.post("/1/charges", &parameters).await.ok(201);
        assert_eq!(charged["platform_adjustment"], json!({ "amount": 10, "currency": "USD" }));
        assert_eq!(charged["platform_fees"], 15);
        assert_eq!(charged["merchant_entitlement"], 600 - 47 - 15);
    }

    async fn platform_fees_are_nothing_until_captured(app) {
        let client = app.client();
        let parameters = charge_with(400, json!({ "capture": false, "platform_adjustment": { "amount": 363 } }));
        let authorised = client.post("/1/charges", &parameters).await.ok(201);
        assert_eq!((&authorised["platform_fees"], &authorised["merchant_entitlement"]), (&json!(0), &Value::Null));
        let captured = client.put_charge(&token_of(&authorised), "capture").await.ok(200);
        assert_eq!((&captured["platform_fees"], &captured["merchant_entitlement"]), (&json!(363), &json!(0)));
    }

    async fn a_platform_adjustment_leaves_the_merchant_nothing_less_than_nothing(app) {
        let param = "platform_adjustment.amount";
        for (sent, param, message) in [
            (json!({ "amount": 364 }), param, "Platform adjustment amount must be at most 363"),
            (json!({ "amount": 0 }), param, "Platform adjustment amount must be greater than or equal to 1"),
            (json!({ "amount": "ten" }), param, "Platform adjustment amount is not a number"),
            (json!({ "currency": "AUD" }), param, "Platform adjustment amount can't be blank"),
            (
                json!({ "amount": 10, "currency": "NZD" }),
                "platform_adjustment.currency",
                "Platform adjustment currency must be the currency of the charge",
            ),
            (json!("10"), "platform_adjustment", "Platform adjustment is not valid"),
        ] {
            app.invalid("/1/charges", &charge_with(400, json!({ "platform_adjustment": sent })), &[(param, message)]).await;
        }
        // Of 600 - 47 AUD cents: 368 US cents are 552, and 369 are 554.
        let of = |amount: i64| charge_with(400, json!({ "currency": "USD", "platform_adjustment": { "amount": amount } }));
        app.invalid("/1/charges", &of(369), &[(param, "Platform adjustment amount must be at most 368")]).await;
        let charged = app.client().post("/1/charges", &of(368)).await.ok(201);
        assert_eq!((&charged["platform_fees"], &charged["merchant_entitlement"]), (&json!(552), &json!(1)));
    }

    async fn a_charge_of_nobody_or_of_somebody_else_is_not_found(app) {
        let client = app.client();
        let theirs = token_of(&app.stranger().await.captured(400).await);
        let mine = token_of(&client.captured(400).await);
        let other_kind = mine.replace("ch_", "card_");
        for name in [theirs.as_str(), &other_kind, "ch_AZqYv3rVcBKUQ1mHn7tKRw", "ch_", &format!("{mine}A"), "search1"] {
            let body = client.get(&format!("/1/charges/{name}")).await.refused(404, "not_found");
            assert_eq!(body["error_description"], "The requested resource could not be found.");
        }
        assert_eq!(client.listed().await, 1);
    }

    async fn lists_show_the_newest_first(app) {
        let client = app.client();
        let mut made = Vec::new();
        for amount in 400..427 {
            made.insert(0, token_of(&client.captured(amount).await));
        }
        let page = |answer: Value| -> Vec<String> { answer["response"].as_array().unwrap().iter().map(token_of).collect() };
        let first = client.get("/1/charges").await.json();
        assert_eq!(first["count"], 25);
        assert_eq!(first["pagination"], json!({ "current": 1, "previous": null, "next": 2, "per_page": 25, "pages": 2, "count": 27 }));
        let second = client.get("/1/charges?page=2").await.json();
        assert_eq!(second["pagination"], json!({ "current": 2, "previous": 1, "next": null, "per_page": 25, "pages": 2, "count": 27 }));
        assert_eq!([page(first), page(second)].concat(), made);
        let past = client.get("/1/charges?page=9&per_page=10").await.json();
        assert_eq!(past["response"], json!([]));
        assert_eq!(past["pagination"], json!({ "current": 9, "previous": 8, "next": null, "per_page": 10, "pages": 3, "count": 27 }));
    }
}
