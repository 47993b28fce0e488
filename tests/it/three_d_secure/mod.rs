//! 3-D Secure (specification, POST /charges and GET /charges/verify; `docs/decisions.md`, 142 to 151).

mod by_card;
pub mod challenge_page;
mod decisions;
mod page;

use axum::body::Body;
use entity::TimeSpan;
use http::{Method, header};
use serde_json::{Value, json};

use crate::harness::sending::post_with;
use crate::harness::{
    Answer, App, Client, Database, card, charge_with, fields, on_both, rules, token_of, with,
};

const CALLBACK: &str = "https://shop.example.com/done?order=1&x=%20#top";
const ENROLLED: &str = "4200000000000000";
const NOT_ENROLLED: &str = "5520000000000000";

/// Returns the parameters of a charge with 3-D Secure.
fn challenged(number: &str, changes: &Value) -> Value {
    let three_d_secure = with(json!({ "enabled": true, "callback_url": CALLBACK }), changes);
    charge_with(400, json!({ "card": card(number), "three_d_secure": three_d_secure }))
}

/// The same, paid by the token of an enrolled card.
fn challenged_by_token(token: &str) -> Value {
    with(challenged(ENROLLED, &json!({})), &json!({ "card": null, "card_token": token }))
}

/// A pending charge's token, and the path of its page.
pub async fn pending(client: &Client, parameters: &Value) -> (String, String) {
    let made = client.post("/1/charges", parameters).await.ok(201);
    assert_eq!(fields(&made), ["token", "status_message", "redirect_url"]);
    assert_eq!(made["status_message"], "Pending");
    let url = made["redirect_url"].as_str().unwrap();
    let at = url.find("/3d-secure/").unwrap();
    assert_eq!(url[at..].len(), "/3d-secure/".len() + 22);
    (token_of(&made), url[at..].to_owned())
}

async fn send(app: &App, method: Method, page: &str) -> Answer {
    let client = app.anonymous();
    client.send_unchecked(client.request(method, page).body(Body::empty()).unwrap()).await
}

async fn open(app: &App, page: &str) -> Answer {
    send(app, Method::GET, page).await
}

pub async fn press(client: &Client, page: &str, body: &str) -> Answer {
    let form = client
        .request(Method::POST, page)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(body.to_owned()));
    client.send_unchecked(form.unwrap()).await
}

/// The session token with which the cardholder comes back, and with nothing else.
#[track_caller]
fn session_of(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{}", answer.text);
    let location = answer.headers[header::LOCATION].to_str().unwrap();
    let rest = location.strip_prefix("https://shop.example.com/done?order=1&x=%20&session_token=");
    let session = rest.and_then(|rest| rest.strip_suffix("#top")).unwrap_or_else(|| panic!("{location}"));
    assert!(session.starts_with("se_") && session.len() == 25, "{session}");
    session.to_owned()
}

pub async fn approve(app: &App, page: &str) -> String {
    session_of(&press(&app.anonymous(), page, "decision=approve").await)
}

impl Client {
    async fn verify(&self, session: &str) -> Answer {
        self.get(&format!("/1/charges/verify?session_token={session}")).await
    }
}

/// A failed record, its card's token spent.
async fn is_failed(app: &App, charge: &str) {
    let sentence = json!("The 3-D Secure verification was not completed");
    let failed = app.client().charge(charge).await;
    for (field, value) in [
        ("success", json!(false)),
        ("status_message", sentence.clone()),
        ("error_message", sentence),
        ("captured", json!(false)),
        ("total_fees", Value::Null),
    ] {
        assert_eq!(failed[field], value, "{field}");
    }
    assert_eq!(app.client().listed().await, 0);
    assert_eq!(app.events().await, ["charge.failed"]);
    for verb in ["capture", "void"] {
        app.unchanged(app.client().put_charge(charge, verb)).await.refused(400, "bad_authorisation");
    }
}

rules! {
    async fn a_pending_charge_is_in_no_list_and_shows_as_pending(app) {
        let client = app.client();
        let money = client.balance().await;
        let (charge, _) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
        let shown = client.charge(&charge).await;
        for (field, value) in [
            ("token", json!(charge)), ("success", json!(false)), ("status_message", json!("Pending")),
            ("error_message", Value::Null), ("captured", json!(false)), ("captured_at", Value::Null),
            ("total_fees", Value::Null), ("merchant_entitlement", Value::Null), ("transfer", json!([])),
        ] {
            assert_eq!(shown[field], value, "{field}");
        }
        for verb in ["capture", "void"] {
            app.unchanged(client.put_charge(&charge, verb)).await.refused(400, "bad_authorisation");
        }
        app.unchanged(client.refund(&charge, 100)).await.refused(422, "invalid_resource");
        app.do_due_work().await;
        assert_eq!((client.listed().await, client.balance().await, app.events().await.len()), (0, money, 0));
        let stored = app.everything().await;
        let holds = |text: &str| stored.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!holds(ENROLLED), "the copy of the card is encrypted");
    }

    async fn an_approved_payment_is_charged_and_verified(app) {
        let client = app.client();
        let (available, pending_money) = client.balance().await;
        let (charge, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
        let session = approve(app, &page).await;
        let verified = client.verify(&session).await;
        let shown = verified.ok(200);
        let mut full = client.charge(&charge).await;
        assert_eq!(full.as_object_mut().unwrap().shift_remove("transfer"), Some(json!([])));
        assert_eq!((&shown, fields(&shown)), (&full, fields(&full)));
        assert_eq!((&shown["token"], &shown["success"], &shown["captured"]), (&json!(charge), &json!(true), &json!(true)));
        assert_eq!(client.balance().await, (available, pending_money + 363));
        assert_eq!((client.listed().await, app.events().await), (1, vec!["charge.captured"]));
        assert_eq!(app.number("SELECT COUNT(*) FROM cards WHERE number_sealed IS NOT NULL").await, 0);
        // It answers the same for ever, and is a charge like any other.
        app.clock.advance(TimeSpan::days(400));
        assert_eq!(client.verify(&session).await.ok(200), shown);
        assert_eq!(session_of(&open(app, &page).await), session);
        client.refund(&charge, 400).await.ok(201);
        for sent in [json!({ "session_token": session }).to_string(), format!("{{\"session_token\":\" {session} \"}}")] {
            let body = client.request(Method::GET, "/1/charges/verify").header(header::CONTENT_TYPE, "application/json");
            client.send(body.body(Body::from(sent)).unwrap()).await.ok(200);
        }
    }

    async fn an_approved_payment_may_be_authorised_only(app) {
        let client = app.client();
        let mut parameters = challenged(ENROLLED, &json!({}));
        parameters["capture"] = json!(false);
        let (charge, page) = pending(&client, &parameters).await;
        let session = approve(app, &page).await;
        assert_eq!(client.verify(&session).await.ok(200)["captured"], false);
        client.put_charge(&charge, "capture").await.ok(200);
        assert_eq!(client.verify(&session).await.ok(200)["captured"], true);
        assert_eq!(app.events().await, ["charge.authorised", "charge.captured"]);
    }

    async fn an_approved_payment_may_still_be_declined(app) {
        let client = app.client();
        let (charge, page) = pending(&client, &challenged("4000000000000002", &json!({}))).await;
        let session = approve(app, &page).await;
        let declined = client.verify(&session).await.ok(200);
        let sentence = "There are not enough funds available to process the requested amount";
        assert_eq!((&declined["success"], &declined["status_message"]), (&json!(false), &json!(sentence)));
        assert_eq!((client.listed().await, app.events().await), (0, vec!["charge.failed"]));
        assert_eq!(client.charge(&charge).await["error_message"], sentence);
    }

    async fn a_payment_that_the_cardholder_fails_is_forbidden_and_spends_the_token(app) {
        let client = app.client();
        let token = client.card_token(ENROLLED).await;
        let parameters = challenged_by_token(&token);
        let (charge, page) = pending(&client, &parameters).await;
        app.unchanged(client.charge_by(&token)).await.refused(400, "token_already_used");
        let session = session_of(&press(&app.anonymous(), &page, "decision=fail").await);
        let body = app.unchanged(client.verify(&session)).await.refused(403, "transaction_forbidden");
        assert_eq!(body["error_description"], "The 3-D Secure session was not completed successfully");
        is_failed(app, &charge).await;
        app.unchanged(client.charge_by(&token)).await.refused(400, "token_already_used");
        assert_eq!(app.number("SELECT COUNT(*) FROM cards WHERE number_sealed IS NOT NULL").await, 0);
        app.clock.advance(TimeSpan::days(400));
        client.verify(&session).await.refused(403, "transaction_forbidden");
        assert_eq!(session_of(&open(app, &page).await), session);
    }

    async fn a_single_use_token_is_spent_by_an_approved_payment(app) {
        let client = app.client();
        let token = client.card_token(ENROLLED).await;
        let parameters = challenged_by_token(&token);
        let (_, page) = pending(&client, &parameters).await;
        app.unchanged(client.post("/1/charges", &parameters)).await.refused(400, "token_already_used");
        client.verify(&approve(app, &page).await).await.ok(200);
        app.unchanged(client.charge_by(&token)).await.refused(400, "token_already_used");
    }

    async fn the_first_decision_stands_however_often_the_page_is_posted(app) {
        let client = app.client();
        for (first, then, status) in [("approve", "fail", 200), ("fail", "approve", 403)] {
            let (_, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
            let session = session_of(&press(&client, &page, &format!("decision={first}")).await);
            for body in [format!("decision={then}"), format!("decision={first}"), "decision=x".into(), String::new()] {
                let again = app.unchanged(press(&client, &page, &body)).await;
                assert_eq!(session_of(&again), session);
            }
            assert_eq!(session_of(&app.unchanged(open(app, &page)).await), session);
            assert_eq!(client.verify(&session).await.status, status);
        }
    }

    async fn nobody_decides_by_pressing_nothing(app) {
        let client = app.client();
        let (charge, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
        for body in ["", "decision=", "decision=Approve", "decision=expire", "decision=unavailable", "approve", "\u{0}", &"x".repeat(5_000)] {
            let answer = app.unchanged(press(&client, &page, body)).await;
            assert_eq!(answer.status, 422);
            assert!(answer.text.contains("role=\"alert\"") && answer.text.contains("value=\"approve\""));
        }
        assert_eq!(client.charge(&charge).await["status_message"], "Pending");
        approve(app, &page).await;
    }

    async fn an_uncompleted_session_lives_thirty_minutes(app) {
        let client = app.client();
        let (charge, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
        let session = app.number("SELECT COUNT(*) FROM three_d_secure_sessions").await;
        assert_eq!(session, 1);
        app.clock.advance(TimeSpan::seconds(30 * 60 - 1));
        assert_eq!(open(app, &page).await.status, 200);
        app.do_due_work().await;
        assert_eq!(client.charge(&charge).await["status_message"], "Pending");
        app.clock.advance(TimeSpan::seconds(1));
        // No worker has noticed yet, and it is over all the same.
        assert_eq!(app.unchanged(open(app, &page)).await.status, 404);
        assert_eq!(app.unchanged(press(&client, &page, "decision=approve")).await.status, 404);
        app.do_due_work().await;
        is_failed(app, &charge).await;
        assert_eq!(app.number("SELECT COUNT(*) FROM challenge_pages").await, 0);
        assert_eq!(app.unchanged(press(&client, &page, "decision=approve")).await.status, 404);
    }

    #[dated]
    async fn a_moved_clock_ends_sessions_at_their_instant(app) {
        let client = app.client();
        let (charge, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
        let moved = client.move_clock("1h").await;
        let ran = json!([{ "at": "2026-03-02T10:30:00Z", "what": "charge.failed", "token": charge }]);
        assert_eq!(moved["ran"], ran);
        assert_eq!(open(app, &page).await.status, 404);
        is_failed(app, &charge).await;
        assert_eq!(client.get("/1/events").await.ok(200)[0]["created_at"], "2026-03-02T10:30:00Z");
    }

    async fn a_session_is_verified_by_its_account_alone_and_only_under_its_token(app) {
        let client = app.client();
        let (charge, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
        let session = approve(app, &page).await;
        app.stranger().await.verify(&session).await.not_found();
        for other in ["", "se_x", "se_AZqYv3rVcBKUQ1mHn7tKRw", &charge, &session[..24], &page[11..]] {
            client.verify(other).await.not_found();
        }
        client.get("/1/charges/verify").await.not_found();
        app.anonymous().verify(&session).await.refused(401, "unauthorized");
        let public = [format!("/3d-secure/{session}"), format!("/3d-secure/{charge}"), "/3d-secure/x".into(), format!("{page}x"), "/3d-secure/%ff".into()];
        for unknown in public {
            let answer = open(app, &unknown).await;
            assert_eq!(answer.status, 404, "{unknown}");
            assert!(answer.text.starts_with("<!DOCTYPE html>") && !answer.headers.contains_key(header::LOCATION));
            assert_eq!(press(&client, &unknown, "decision=approve").await.text, answer.text);
        }
    }

    async fn verify_is_forbidden_while_the_cardholder_has_not_decided(app) {
        let client = app.client();
        pending(&client, &challenged(ENROLLED, &json!({}))).await;
        let sql = match app.database {
            crate::harness::Database::Sqlite => "SELECT lower(hex(id)) FROM three_d_secure_sessions",
            crate::harness::Database::Postgres => "SELECT replace(id::text, '-', '') FROM three_d_secure_sessions",
        };
        let id = uuid::Uuid::parse_str(&app.text(sql).await).unwrap();
        let session = entity::SessionToken::new(id).to_string();
        app.unchanged(client.verify(&session)).await.refused(403, "transaction_forbidden");
        app.clock.advance(TimeSpan::seconds(30 * 60));
        app.unchanged(client.verify(&session)).await.not_found();
        app.do_due_work().await;
        app.unchanged(client.verify(&session)).await.not_found();
        assert_eq!(id.get_version_num(), 4, "random, for a browser shows it");
    }

    async fn a_card_that_is_not_enrolled_may_fall_back(app) {
        let client = app.client();
        let charge = client.post("/1/charges", &challenged(NOT_ENROLLED, &json!({ "fallback_ok": "true" }))).await.ok(201);
        assert_eq!((&charge["success"], &charge["captured"]), (&json!(true), &json!(true)));
        assert_eq!((client.listed().await, app.events().await), (1, vec!["charge.captured"]));
        assert_eq!(app.number("SELECT COUNT(*) FROM three_d_secure_sessions").await, 0);
        // An enrolled one does not.
        pending(&client, &challenged(ENROLLED, &json!({ "fallback_ok": true }))).await;
        let declined = challenged("5560000000000001", &json!({ "fallback_ok": true }));
        client.post("/1/charges", &declined).await.refused(400, "card_declined");
    }

    async fn a_card_that_is_not_enrolled_returns_at_once_and_is_unavailable(app) {
        let client = app.client();
        let token = client.card_token(NOT_ENROLLED).await;
        for decides in ["open", "decision=approve", "decision=fail"] {
            let mut parameters = challenged(NOT_ENROLLED, &json!({ "fallback_ok": false }));
            if decides == "open" {
                parameters["card"] = Value::Null;
                parameters["card_token"] = json!(token);
            }
            let (charge, page) = pending(&client, &parameters).await;
            assert_eq!(client.charge(&charge).await["status_message"], "Pending");
            let answer = if decides == "open" { open(app, &page).await } else { press(&client, &page, decides).await };
            let session = session_of(&answer);
            let body = app.unchanged(client.verify(&session)).await.refused(422, "three_d_secure_unavailable");
            assert_eq!(body, json!({ "error": "three_d_secure_unavailable", "error_description": "3-D Secure is not available for this card" }));
            assert_eq!(session_of(&app.unchanged(open(app, &page)).await), session);
            assert_eq!(client.charge(&charge).await["status_message"], "The 3-D Secure verification was not completed");
        }
        assert_eq!(app.events().await, ["charge.failed"; 3]);
        app.unchanged(client.charge_by(&token)).await.refused(400, "token_already_used");
    }

    async fn a_page_that_is_only_looked_at_decides_nothing(app) {
        let client = app.client();
        for (number, status) in [(ENROLLED, 200), (NOT_ENROLLED, 303)] {
            let (charge, page) = pending(&client, &challenged(number, &json!({}))).await;
            let looked = app.unchanged(send(app, Method::HEAD, &page)).await;
            assert_eq!((looked.status, looked.text.as_str()), (status, ""));
            assert_eq!(client.charge(&charge).await["status_message"], "Pending");
            // The same headers as who opens it gets.
            let opened = open(app, &page).await;
            assert_eq!((opened.status, opened.headers.get(header::LOCATION)), (looked.status, looked.headers.get(header::LOCATION)));
        }
        assert_eq!(app.events().await, ["charge.failed"]);
        assert_eq!(send(app, Method::HEAD, "/3d-secure/x").await.status, 404);
    }

    async fn results_of_a_verification_made_elsewhere_change_nothing(app) {
        let client = app.client();
        let results = json!({ "version": "2.2.0", "eci": "05", "cavv": "AAAB", "transaction_id": "x" });
        for three_d_secure in [
            results.clone(), json!({}), json!({ "enabled": false }), json!({ "enabled": "false", "callback_url": CALLBACK }),
            json!({ "eci": "", "callback_url": "" }), Value::Null,
        ] {
            let made = client.post("/1/charges", &charge_with(400, json!({ "three_d_secure": three_d_secure }))).await.ok(201);
            assert_eq!(made["captured"], true, "{three_d_secure}");
        }
        assert_eq!(app.number("SELECT COUNT(*) FROM three_d_secure_sessions").await, 0);
        let kept = app.text("SELECT three_d_secure FROM charges WHERE three_d_secure IS NOT NULL ORDER BY id LIMIT 1").await;
        assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), results);
    }

    async fn whoever_asks_for_a_verification_says_where_it_ends(app) {
        for (three_d_secure, faults) in [
            (json!({ "enabled": true }), vec![("three_d_secure.callback_url", "Three d secure callback URL can't be blank")]),
            (json!({ "enabled": true, "callback_url": " " }), vec![("three_d_secure.callback_url", "Three d secure callback URL can't be blank")]),
            (json!({ "callback_url": CALLBACK }), vec![("three_d_secure.enabled", "Three d secure enabled can't be blank")]),
            (json!({ "fallback_ok": true }), vec![
                ("three_d_secure.enabled", "Three d secure enabled can't be blank"),
                ("three_d_secure.callback_url", "Three d secure callback URL can't be blank"),
            ]),
            (json!({ "enabled": "x", "callback_url": CALLBACK }), vec![("three_d_secure.enabled", "Three d secure enabled is not included in the list")]),
        ] {
            app.invalid("/1/charges", &charge_with(400, json!({ "three_d_secure": three_d_secure })), &faults).await;
        }
        let client = app.client();
        for url in ["javascript:alert(1)", "//evil.example", "shop.example.com", "ftp://shop.example.com/", "https://", "https://a b/", "data:text/html,x"] {
            let answer = app.unchanged(client.post("/1/charges", &challenged(ENROLLED, &json!({ "callback_url": url })))).await;
            assert_eq!(answer.faults()[0].0, "three_d_secure.callback_url", "{url}");
        }
        let long = format!("https://shop.example.com/{}", "x".repeat(255));
        app.unchanged(client.post("/1/charges", &challenged(ENROLLED, &json!({ "callback_url": long })))).await.refused(422, "invalid_resource");
        // All faults at once, in the order of the parameters.
        let wrong = charge_with(1, json!({ "three_d_secure": { "enabled": true }, "platform_adjustment": { "amount": 0 } }));
        let params: Vec<_> = client.post("/1/charges", &wrong).await.faults().into_iter().map(|(param, _)| param).collect();
        assert_eq!(params, ["amount", "three_d_secure.callback_url", "platform_adjustment.amount"]);
        let declines = challenged("4200000000000001", &json!({}));
        app.unchanged(client.post("/1/charges", &declines)).await.refused(422, "invalid_resource");
    }

    async fn the_cardholder_comes_back_to_no_other_address(app) {
        let client = app.client();
        for (callback, comes_back) in [
            ("http://127.0.0.1:9/", "http://127.0.0.1:9/?session_token="),
            ("https://shop.example.com", "https://shop.example.com/?session_token="),
            ("https://user@shop.example.com/a?session_token=se_x&", "https://user@shop.example.com/a?session_token=se_x&&session_token="),
            ("https://münchen.example/%C3%A9#a?b", "https://xn--mnchen-3ya.example/%C3%A9?session_token="),
        ] {
            let (_, page) = pending(&client, &challenged(ENROLLED, &json!({ "callback_url": callback }))).await;
            let page = format!("{page}?callback_url=https://evil.example/&session_token=x");
            let answer = press(&client, &page, "decision=approve&callback_url=https://evil.example/").await;
            let location = answer.headers[header::LOCATION].to_str().unwrap();
            assert!(location.starts_with(comes_back) && !location.contains("evil"), "{location}");
        }
    }

    async fn a_deleted_customer_does_not_stop_its_session(app) {
        let client = app.client();
        let customer = client.customer(ENROLLED).await;
        let mut parameters = challenged(ENROLLED, &json!({}));
        parameters["card"] = Value::Null;
        parameters["customer_token"] = customer["token"].clone();
        let (_, page) = pending(&client, &parameters).await;
        let (_, other) = pending(&client, &parameters).await;
        client.delete(&format!("/1/customers/{}", token_of(&customer))).await.ok(204);
        let verified = client.verify(&approve(app, &page).await).await.ok(200);
        assert_eq!((&verified["success"], &verified["card"]["customer_token"]), (&json!(true), &customer["token"]));
        press(&client, &other, "decision=fail").await;
        assert_eq!(app.number("SELECT COUNT(*) FROM cards").await, 0);
    }

    async fn an_idempotency_key_replays_the_pending_charge(app) {
        let client = app.client();
        let key = [("Idempotency-Key", "order-1")];
        let token = client.card_token(ENROLLED).await;
        let parameters = challenged_by_token(&token);
        let first = post_with(&client, "/1/charges", &key, &parameters).await;
        first.ok(201);
        let replay = async || {
            let again = app.unchanged(post_with(&client, "/1/charges", &key, &parameters)).await;
            assert_eq!((again.status, &again.text), (201, &first.text));
            assert_eq!(again.headers["idempotent-replayed"], "true");
        };
        replay().await;
        let url = first.ok(201)["redirect_url"].as_str().unwrap().to_owned();
        approve(app, &url[url.find("/3d-secure/").unwrap()..]).await;
        replay().await;
        let refused = post_with(&client, "/1/charges", &[("Idempotency-Key", "order-2")], &parameters).await;
        refused.refused(400, "token_already_used");
    }

    async fn a_forced_outcome_is_that_of_the_call_after_the_approval(app) {
        let client = app.client();
        for (word, success, sentence) in [
            ("lost_card", false, "The card was reported lost"),
            ("gateway_error", false, "An upstream error occurred while processing the transaction. Please try again."),
            // No client was told that it failed, so it stands.
            ("approved_but_lost", true, "Success"),
        ] {
            let made = post_with(&client, "/1/charges", &[("Sandbox-Outcome", word)], &challenged(ENROLLED, &json!({}))).await.ok(201);
            let url = made["redirect_url"].as_str().unwrap();
            let session = approve(app, &url[url.find("/3d-secure/").unwrap()..]).await;
            let verified = client.verify(&session).await.ok(200);
            assert_eq!((&verified["success"], &verified["status_message"]), (&json!(success), &json!(sentence)), "{word}");
        }
    }
}

async fn in_live_no_page_of_ours_stands_for_an_issuer(database: Database) {
    let Some(app) = App::live(database).await else { return };
    let client = app.client();
    let charge = client.post("/1/charges", &challenged(ENROLLED, &json!({ "fallback_ok": true }))).await;
    assert_eq!(charge.ok(201)["captured"], true, "as a card that is not enrolled");
    let (charge, page) = pending(&client, &challenged(ENROLLED, &json!({}))).await;
    let session = session_of(&press(&client, &page, "decision=approve").await);
    client.verify(&session).await.refused(422, "three_d_secure_unavailable");
    assert_eq!(client.charge(&charge).await["captured"], false);
    app.check_books().await;
}

on_both!(in_live_no_page_of_ours_stands_for_an_issuer);
