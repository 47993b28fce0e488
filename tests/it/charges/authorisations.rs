//! Authorisations (specification, Authorisation and its states; `docs/decisions.md`, 173 to 176).

use entity::TimeSpan;
use serde_json::{Value, json};

use crate::harness::flaky_acquirer::CallFault;
use crate::harness::sending::post_with;
use crate::harness::{
    Answer, App, Client, as_of, at_once, card, charge, charge_with, fields, rounds, rules, token_of, with,
};

const ALREADY_CAPTURED: &str = "The authorisation has already been captured";
const ALREADY_VOIDED: &str = "The authorisation has already been voided";
const EXPIRED: &str = "The authorisation has expired and can not be captured.";
const BAD: &str = "The authorisation was not successful and can not be captured or voided";
const FIELDS: [&str; 19] = [
    "token",
    "success",
    "amount",
    "amount_captured",
    "amount_remaining",
    "currency",
    "description",
    "email",
    "ip_address",
    "created_at",
    "error_message",
    "card",
    "settlement_currency",
    "metadata",
    "status_message",
    "expired",
    "voided",
    "voided_at",
    "capturable",
];

impl Client {
    /// The token of a fresh authorisation.
    pub async fn authorisation(&self, amount: i64) -> String {
        token_of(&self.post("/1/authorisations", &charge(amount)).await.ok(201))
    }

    async fn authorisation_at(&self, token: &str) -> Value {
        self.get(&format!("/1/authorisations/{token}")).await.ok(200)
    }

    async fn void_of(&self, token: &str) -> Answer {
        self.put(&format!("/1/authorisations/{token}/void"), &json!({})).await
    }

    async fn capture_of(&self, token: &str, amount: impl Into<Value>) -> Answer {
        let amount = json!({ "amount": amount.into() });
        self.post(&format!("/1/authorisations/{token}/charges"), &amount).await
    }

    async fn count_of(&self, list: &str) -> u64 {
        self.get(&format!("/1/{list}")).await.json()["pagination"]["count"].as_u64().unwrap()
    }
}

/// Both verbs are refused, name the authorisation and change nothing.
async fn refused(app: &App, authorisation: &str, code: &str, description: &str) {
    let client = app.client();
    for answer in [
        app.unchanged(client.void_of(authorisation)).await,
        app.unchanged(client.capture_of(authorisation, 100)).await,
    ] {
        let messages =
            json!({ "error": code, "error_description": description, "authorisation_token": authorisation });
        assert_eq!(answer.refused(400, code), messages);
    }
}

rules! {
    async fn an_authorisation_reserves_money_and_is_no_charge(app) {
        let client = app.client();
        let money = client.balance().await;
        let answer = client.post("/1/authorisations", &charge_with(400, json!({ "metadata": { "a": 1 } }))).await;
        let made = answer.ok(201);
        assert_eq!(fields(&made), FIELDS);
        assert!(token_of(&made).starts_with("auth_"));
        for (field, value) in [
            ("success", json!(true)), ("amount", json!(400)), ("amount_captured", json!(0)),
            ("amount_remaining", json!(400)), ("currency", json!("AUD")), ("error_message", Value::Null),
            ("settlement_currency", json!("AUD")), ("metadata", json!({ "a": "1" })), ("status_message", json!("Success")),
            ("expired", json!(false)), ("voided", json!(false)), ("voided_at", Value::Null), ("capturable", json!(true)),
            ("created_at", json!(as_of())),
        ] {
            assert_eq!(made[field], value, "{field}");
        }
        assert_eq!(client.get(&format!("/1/authorisations/{}", token_of(&made))).await.text, answer.text);
        assert_eq!((client.listed().await, client.balance().await), (0, money));
        assert_eq!(client.get("/1/charges/search?query=roland").await.json()["pagination"]["count"], 0);
        let as_charge = token_of(&made).replace("auth_", "ch_");
        client.get(&format!("/1/charges/{as_charge}")).await.refused(404, "not_found");
        for verb in ["void", "capture"] {
            app.unchanged(client.put_charge(&as_charge, verb)).await.refused(404, "not_found");
        }
        app.unchanged(client.refund(&as_charge, 100)).await.refused(404, "not_found");
        let event = client.get("/1/events").await.ok(200)[0].clone();
        assert_eq!(event["type"], "charge.authorised");
        let event = client.get(&format!("/1/events/{}", token_of(&event))).await;
        assert!(event.text.contains(answer.record()), "{}", event.text);
    }

    async fn each_way_to_pay_is_taken_and_a_customers_card_again_and_again(app) {
        let client = app.client();
        let customer = client.customer("4200000000000000").await;
        let token = client.card_token("4200000000000000").await;
        let by = |way: &str, value: &Value| charge_with(400, json!({ "card": null, way: value }));
        let once = by("card_token", &json!(token));
        client.post("/1/authorisations", &once).await.ok(201);
        app.unchanged(client.post("/1/authorisations", &once)).await.refused(400, "token_already_used");
        app.unchanged(client.charge_by(&token)).await.refused(400, "token_already_used");
        for _ in 0..2 {
            client.post("/1/authorisations", &by("card_token", &customer["card"]["token"])).await.ok(201);
            client.post("/1/authorisations", &by("customer_token", &customer["token"])).await.ok(201);
        }
        assert_eq!(client.count_of("authorisations").await, 5);
        for ways in [json!({ "card": null }), json!({ "card_token": token })] {
            let sentence = "Exactly one of card, card_token, payment_source_token or customer_token is required";
            app.invalid("/1/authorisations", &charge_with(400, ways), &[("card", sentence)]).await;
        }
        app.invalid("/1/authorisations", &by("payment_source_token", &json!("ps_x")), &[("payment_source_token", "Payment source token is not valid")]).await;
    }

    async fn parameters_are_checked_as_those_of_a_charge(app) {
        let client = app.client();
        for wrong in [
            json!({}),
            charge_with(99, json!({ "email": "x", "ip_address": "x", "currency": "XXX" })),
            charge_with(2_500_001, json!({ "metadata": { "a": {} }, "reference": "x".repeat(41) })),
            charge_with(400, json!({ "card": card("4200000000000001") })),
        ] {
            let messages = client.post("/1/charges", &wrong).await.faults();
            let answer = app.unchanged(client.post("/1/authorisations", &wrong)).await;
            assert_eq!(answer.faults(), messages);
        }
        // Not parameters of an authorisation: ignored.
        let more = charge_with(400, json!({ "capture": true, "platform_adjustment": { "amount": 0 }, "three_d_secure": { "enabled": true } }));
        assert_eq!(client.post("/1/authorisations", &more).await.ok(201)["capturable"], true);
        let yen = charge_with(500, json!({ "currency": "jpy" }));
        assert_eq!(client.post("/1/authorisations", &yen).await.ok(201)["currency"], "JPY");
    }

    #[dated]
    async fn the_whole_amount_is_captured_as_a_charge(app) {
        let client = app.client();
        let (available, pending) = client.balance().await;
        let authorised = client.post("/1/authorisations", &charge_with(400, json!({ "metadata": { "a": "b" } }))).await.ok(201);
        let token = token_of(&authorised);
        app.clock.advance(TimeSpan::seconds(3_600));
        let answer = client.capture_of(&token, 400).await;
        let charge = answer.ok(200);
        for (field, value) in [
            ("success", json!(true)), ("amount", json!(400)), ("captured", json!(true)), ("total_fees", json!(37)),
            ("merchant_entitlement", json!(363)), ("authorisation_token", json!(token)), ("metadata", json!({ "a": "b" })),
            ("created_at", json!("2026-03-02T11:00:00Z")), ("captured_at", json!("2026-03-02T11:00:00Z")),
            ("authorisation_voided", json!(false)), ("authorisation_expired", json!(false)),
        ] {
            assert_eq!(charge[field], value, "{field}");
        }
        for field in ["description", "email", "ip_address", "card", "currency"] {
            assert_eq!(charge[field], authorised[field], "{field}");
        }
        assert_eq!(client.get(&format!("/1/charges/{}", token_of(&charge))).await.text, answer.text);
        assert_eq!(client.balance().await, (available, pending + 363));
        let after = json!({ "amount_captured": 400, "amount_remaining": 0, "capturable": false });
        assert_eq!(client.authorisation_at(&token).await, with(authorised.clone(), &after));
        assert_eq!(app.events().await, ["charge.authorised", "charge.captured"]);
        assert!(client.get("/1/events").await.text.contains(answer.record()), "the event shows the charge");
        assert_eq!((client.listed().await, client.count_of("authorisations").await), (1, 1));
        refused(app, &token, "already_captured", ALREADY_CAPTURED).await;
        app.clock.advance(TimeSpan::days(7));
        refused(app, &token, "already_captured", ALREADY_CAPTURED).await;
        assert_eq!(client.authorisation_at(&token).await["expired"], false);
    }

    async fn a_part_is_captured_once_with_fees_on_that_part_and_the_rest_released(app) {
        let client = app.client();
        let (available, pending) = client.balance().await;
        let token = client.authorisation(50_000).await;
        let charge = client.capture_of(&token, "2000").await.ok(200);
        assert_eq!((&charge["amount"], &charge["total_fees"], &charge["merchant_entitlement"]), (&json!(2000), &json!(65), &json!(1935)));
        assert_eq!(client.balance().await, (available, pending + 1935));
        let after = client.authorisation_at(&token).await;
        assert_eq!((&after["amount"], &after["amount_captured"], &after["amount_remaining"]), (&json!(50_000), &json!(2000), &json!(0)));
        refused(app, &token, "already_captured", ALREADY_CAPTURED).await;
    }

    async fn a_captured_part_in_another_currency_is_settled_at_its_rate(app) {
        let client = app.client();
        let token = token_of(&client.post("/1/authorisations", &charge_with(9_999, json!({ "currency": "USD" }))).await.ok(201));
        let charge = client.capture_of(&token, 1_001).await.ok(200);
        // 1001 US cents are 1502 AUD cents; 2.9 % of them and 30 are 74.
        assert_eq!((&charge["total_fees"], &charge["merchant_entitlement"]), (&json!(74), &json!(1_428)));
        assert_eq!(charge["currency"], "USD");
    }

    async fn a_capture_is_at_least_the_minimum_and_at_most_the_authorised_amount(app) {
        let client = app.client();
        let token = client.authorisation(400).await;
        for (amount, message) in [
            (json!(99), "Amount must be at least 100"), (json!(0), "Amount must be at least 100"),
            (json!(-100), "Amount must be at least 100"), (json!(401), "Amount must be at most 400"),
            (json!("abc"), "Amount is not a number"), (json!(100.5), "Amount must be an integer"),
            (json!("1e2"), "Amount must be an integer"), (json!([1, 2]), "Amount is not a number"), (json!({ "a": 1 }), "Amount is not a number"),
        ] {
            app.unchanged(client.capture_of(&token, amount)).await.faulty(&[("amount", message)]);
        }
        for blank in [Value::Null, json!(""), json!(" ")] {
            let messages = app.unchanged(client.capture_of(&token, blank)).await.faults();
            assert_eq!(messages[0], ("amount".into(), "Amount can't be blank".into()));
        }
        // Wrong parameters are reported before a state that forbids the request.
        client.capture_of(&token, 100).await.ok(200);
        app.unchanged(client.capture_of(&token, 99)).await.refused(422, "invalid_resource");
        let pounds = token_of(&client.post("/1/authorisations", &charge_with(400, json!({ "currency": "GBP" }))).await.ok(201));
        app.unchanged(client.capture_of(&pounds, 49)).await.faulty(&[("amount", "Amount must be at least 50")]);
        client.capture_of(&pounds, 50).await.ok(200);
    }

    #[dated]
    async fn a_void_returns_the_reserved_funds_and_says_when(app) {
        let client = app.client();
        let money = client.balance().await;
        let authorised = client.post("/1/authorisations", &charge(400)).await.ok(201);
        let token = token_of(&authorised);
        app.clock.advance(TimeSpan::seconds(60));
        let answer = client.void_of(&token).await;
        let voided = json!({
            "voided": true, "voided_at": "2026-03-02T10:01:00Z", "capturable": false, "amount_remaining": 0,
            "status_message": "Authorisation Voided",
        });
        assert_eq!(answer.ok(200), with(authorised.clone(), &voided));
        assert_eq!(client.get(&format!("/1/authorisations/{token}")).await.text, answer.text);
        assert_eq!((app.events().await, client.balance().await), (vec!["charge.authorised", "charge.voided"], money));
        assert!(client.get("/1/events").await.text.contains(answer.record()));
        refused(app, &token, "already_voided", ALREADY_VOIDED).await;
        app.clock.advance(TimeSpan::days(8));
        refused(app, &token, "already_voided", ALREADY_VOIDED).await;
    }

    async fn an_authorisation_expires_after_seven_days(app) {
        let client = app.client();
        let (one, other) = (client.authorisation(400).await, client.authorisation(400).await);
        app.clock.advance(TimeSpan::days(7));
        app.clock.advance(TimeSpan::seconds(-1));
        client.capture_of(&one, 400).await.ok(200);
        let before = client.authorisation_at(&other).await;
        app.clock.advance(TimeSpan::seconds(1));
        let expired = json!({ "expired": true, "capturable": false, "amount_remaining": 0 });
        assert_eq!(client.authorisation_at(&other).await, with(before.clone(), &expired), "its status_message stays Success");
        refused(app, &other, "authorisation_expired", EXPIRED).await;
        app.do_due_work().await;
        assert_eq!(app.events().await, ["charge.authorised", "charge.authorised", "charge.captured"]);
    }

    async fn a_failed_authorisation_is_kept_and_listed_and_its_error_names_it(app) {
        let client = app.client();
        for (number, status, code) in [
            ("4100000000000001", 400, "card_declined"), ("4300000000000009", 502, "gateway_error"), ("4400000000000099", 400, "unknown"),
        ] {
            let parameters = charge_with(400, json!({ "card": card(number) }));
            let body = client.post("/1/authorisations", &parameters).await.refused(status, code);
            let names: Vec<_> = body.as_object().unwrap().keys().collect();
            assert_eq!(names, ["error", "error_description", "authorisation_token"]);
            let token = body["authorisation_token"].as_str().unwrap();
            let failed = client.authorisation_at(token).await;
            for (field, value) in [
                ("success", json!(false)), ("status_message", body["error_description"].clone()),
                ("error_message", body["error_description"].clone()), ("amount_remaining", json!(0)),
                ("amount_captured", json!(0)), ("capturable", json!(false)), ("expired", json!(false)), ("voided", json!(false)),
            ] {
                assert_eq!(failed[field], value, "{field}");
            }
            assert_eq!(client.get("/1/authorisations").await.ok(200)[0], failed);
            refused(app, token, "bad_authorisation", BAD).await;
        }
        assert_eq!((client.count_of("authorisations").await, client.listed().await), (3, 0));
        assert_eq!(app.events().await, ["charge.failed"; 3]);
    }

    async fn outcomes_can_be_forced_as_those_of_charges(app) {
        let client = app.client();
        let forced = |word: &'static str| {
            let client = client.clone();
            async move { post_with(&client, "/1/authorisations", &[("Sandbox-Outcome", word)], &charge(400)).await }
        };
        let body = forced("lost_card").await.refused(400, "lost_card");
        assert!(body["authorisation_token"].is_string() && body["charge_token"].is_null());
        forced("approved_but_lost").await.refused(502, "gateway_error");
        let error = app.unchanged(forced("nonsense")).await.refused(422, "invalid_resource");
        assert_eq!(error["messages"][0]["code"], "sandbox_outcome_invalid");
    }

    async fn authorisations_are_listed_newest_first(app) {
        let client = app.client();
        let mut made = Vec::new();
        for amount in 400..405 {
            made.push(client.authorisation(amount).await);
        }
        client.captured(400).await;
        client.capture_of(&made[2], 100).await.ok(200);
        made.reverse();
        let page = client.get("/1/authorisations?per_page=2&page=2").await.json();
        let tokens: Vec<_> = page["response"].as_array().unwrap().iter().map(token_of).collect();
        assert_eq!(tokens, made[2..4]);
        assert_eq!(page["pagination"], json!({ "current": 2, "previous": 1, "next": 3, "per_page": 2, "pages": 3, "count": 5 }));
        client.get("/1/authorisations?page=x").await.refused(422, "invalid_resource");
    }

    async fn an_authorisation_of_nobody_or_of_somebody_else_is_not_found(app) {
        let client = app.client();
        let theirs = app.stranger().await.authorisation(400).await;
        let charge = client.authorised(400).await.replace("ch_", "auth_");
        for token in [theirs.as_str(), &charge, "auth_AZqYv3rVcBKUQ1mHn7tKRw", "auth_x"] {
            client.get(&format!("/1/authorisations/{token}")).await.not_found();
            app.unchanged(client.void_of(token)).await.not_found();
            app.unchanged(client.capture_of(token, 100)).await.not_found();
        }
        assert_eq!(client.count_of("authorisations").await, 0);
    }

    async fn the_charge_of_an_authorisation_is_a_charge_like_any_other(app) {
        let client = app.client();
        let customer = client.customer("4200000000000000").await;
        let parameters = charge_with(400, json!({ "card": null, "customer_token": customer["token"], "description": "wooden spoon" }));
        let authorisation = token_of(&client.post("/1/authorisations", &parameters).await.ok(201));
        let charge = client.capture_of(&authorisation, 300).await.ok(200);
        let token = token_of(&charge);
        for verb in ["void", "capture"] {
            let body = app.unchanged(client.put_charge(&token, verb)).await.refused(400, "already_captured");
            assert_eq!(body["charge_token"], token.as_str());
        }
        assert_eq!(client.get("/1/charges/search?query=wooden").await.ok(200), json!([charge]));
        assert_eq!(client.get(&format!("/1/customers/{}/charges", token_of(&customer))).await.ok(200), json!([charge]));
        client.refund(&token, 301).await.refused(422, "invalid_resource");
        client.refund(&token, 300).await.ok(201);
        client.move_clock("1m").await;
        let refunded = client.charge(&token).await;
        assert_eq!((&refunded["amount_refunded"], &refunded["refund_pending"]), (&json!(300), &json!(false)));
        assert_eq!(client.authorisation_at(&authorisation).await["amount_captured"], 300);
    }

    async fn a_deleted_customer_does_not_stop_the_capture(app) {
        let client = app.client();
        let customer = token_of(&client.customer("4200000000000000").await);
        let by = charge_with(400, json!({ "card": null, "customer_token": customer }));
        let authorisation = token_of(&client.post("/1/authorisations", &by).await.ok(201));
        client.delete(&format!("/1/customers/{customer}")).await.ok(204);
        assert_eq!(client.capture_of(&authorisation, 400).await.ok(200)["total_fees"], 37);
    }

    async fn repeated_requests_have_one_effect_and_one_answer(app) {
        let client = app.client();
        let key = [("Idempotency-Key", "auth-1")];
        let first = post_with(&client, "/1/authorisations", &key, &charge(400)).await;
        let path = format!("/1/authorisations/{}/charges", token_of(&first.ok(201)));
        let key_of_capture = [("Idempotency-Key", "capture-1")];
        let captured = post_with(&client, &path, &key_of_capture, &json!({ "amount": 300 })).await;
        captured.ok(200);
        let again = app.unchanged(post_with(&client, "/1/authorisations", &key, &charge(400))).await;
        assert_eq!((again.status, &again.text), (201, &first.text));
        let again = app.unchanged(post_with(&client, &path, &key_of_capture, &json!({ "amount": "300" }))).await;
        assert_eq!((again.status, &again.text), (200, &captured.text));
        let other = post_with(&client, &path, &key_of_capture, &json!({ "amount": 200 })).await;
        other.refused(422, "idempotency_key_reused");
    }

    async fn of_many_captures_at_once_one_makes_a_charge(app) {
        let client = app.client().patient();
        for round in 1..=rounds() {
            let token = client.authorisation(400).await;
            let captures = (0..64_i64).map(|n| {
                let (client, token) = (client.clone(), token.clone());
                async move { client.capture_of(&token, 100 + n).await }
            });
            let answers = at_once(captures).await;
            let won: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
            assert_eq!(won.len(), 1);
            for lost in answers.iter().filter(|answer| answer.status != 200) {
                lost.refused(400, "already_captured");
            }
            assert_eq!(client.authorisation_at(&token).await["amount_captured"], won[0].ok(200)["amount"]);
            assert_eq!(client.listed().await, round as u64);
        }
    }

    async fn of_captures_and_voids_at_once_one_wins(app) {
        let client = app.client().patient();
        for _ in 0..rounds() {
            let token = client.authorisation(400).await;
            let answers = at_once((0..16).map(|n| {
                let (client, token) = (client.clone(), token.clone());
                async move {
                    if n % 2 == 0 { client.capture_of(&token, 400).await } else { client.void_of(&token).await }
                }
            }))
            .await;
            assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
            let voided = client.authorisation_at(&token).await["voided"] == true;
            let code = if voided { "already_voided" } else { "already_captured" };
            for lost in answers.iter().filter(|answer| answer.status != 200) {
                assert_eq!(lost.refused(400, code)["authorisation_token"], token.as_str());
            }
        }
    }
}

rules! {
    async fn a_creation_of_which_nobody_knows_is_reversed(app, acquirer) {
        let client = app.client();
        let card = client.card_token("4200000000000000").await;
        let parameters = charge_with(400, json!({ "card": null, "card_token": card }));
        acquirer.settle(false);
        acquirer.carry(CallFault::Call);
        let body = client.post("/1/authorisations", &parameters).await.refused(502, "gateway_error");
        let token = body["authorisation_token"].as_str().unwrap();
        let pending = client.authorisation_at(token).await;
        assert_eq!((&pending["success"], &pending["status_message"], &pending["capturable"]), (&json!(false), &json!("Pending"), &json!(false)));
        assert_eq!(client.count_of("authorisations").await, 0);
        refused(app, token, "bad_authorisation", BAD).await;
        acquirer.settle(true);
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        assert_eq!(client.authorisation_at(token).await["error_message"], body["error_description"]);
        assert_eq!((client.count_of("authorisations").await, app.events().await), (1, vec!["charge.failed"]));
        acquirer.carry(CallFault::Both);
        client.post("/1/authorisations", &parameters).await.ok(201);
    }

    async fn a_capture_of_which_nobody_knows_is_completed_or_goes_back(app, acquirer) {
        let client = app.client();
        let (available, pending) = client.balance().await;
        let token = client.authorisation(400).await;
        let before = client.authorisation_at(&token).await;
        acquirer.carry(CallFault::Nothing);
        let body = client.capture_of(&token, 200).await.refused(502, "gateway_error");
        assert_eq!(body["authorisation_token"], token.as_str());
        assert_eq!(client.authorisation_at(&token).await, before, "in flight shows as before");
        refused(app, &token, "already_captured", ALREADY_CAPTURED).await;
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        assert_eq!((client.authorisation_at(&token).await, client.listed().await), (before, 0));
        acquirer.carry(CallFault::Call);
        client.capture_of(&token, 300).await.refused(502, "gateway_error");
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        assert_eq!(client.authorisation_at(&token).await["amount_captured"], 300);
        let charge = client.get("/1/charges").await.ok(200)[0].clone();
        assert_eq!((&charge["amount"], &charge["authorisation_token"]), (&json!(300), &json!(token)));
        assert_eq!(client.balance().await, (available, pending + charge["merchant_entitlement"].as_i64().unwrap()));
        assert_eq!(app.events().await, ["charge.authorised", "charge.captured"]);
    }

    async fn a_void_of_which_nobody_knows_is_completed_or_goes_back(app, acquirer) {
        let client = app.client();
        let token = client.authorisation(400).await;
        acquirer.carry(CallFault::Nothing);
        client.capture_of(&token, 200).await.refused(502, "gateway_error");
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        acquirer.carry(CallFault::Call);
        let body = client.void_of(&token).await.refused(502, "gateway_error");
        assert_eq!(body["authorisation_token"], token.as_str());
        refused(app, &token, "already_voided", ALREADY_VOIDED).await;
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        let voided = client.authorisation_at(&token).await;
        assert_eq!((&voided["voided"], &voided["amount_captured"]), (&json!(true), &json!(0)));
    }
}
