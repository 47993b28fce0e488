//! Verifications that a test card or the sandbox's header decides, without a browser (`docs/decisions.md`, 470 to 472).

use axum::body::Body;
use entity::TimeSpan;
use http::{Method, header};
use serde_json::{Value, json};

use super::{ENROLLED, challenged, is_failed, open, pending, press, send, session_of};
use crate::harness::sending::post_with;
use crate::harness::{Answer, App, rules};

const FRICTIONLESS: &str = "4200200000000014";
const APPROVED: &str = "4200600000000015";
const REFUSED: &str = "4200100000000016";
const ABANDONED: &str = "4200500000000017";
const NOT_OFFERED: &str = "5520000000000018";
const DIRECTORY_ERROR: &str = "5520900000000019";

/// Sends the page's form without a button: the test decides.
async fn proceed(app: &App, page: &str) -> Answer {
    press(&app.anonymous(), page, "").await
}

/// A charge with 3-D Secure on any card under a header; its token and the path of its page.
async fn ordered(app: &App, number: &str, word: &str) -> (String, String) {
    let body = challenged(number, &json!({}));
    let made = post_with(&app.client(), "/1/charges", &[("Sandbox-Challenge", word)], &body).await.ok(201);
    let url = made["redirect_url"].as_str().unwrap();
    (made["token"].as_str().unwrap().to_owned(), url[url.find("/3d-secure/").unwrap()..].to_owned())
}

async fn is_paid(app: &App, charge: &str, session: &str) {
    let verified = app.client().verify(session).await.ok(200);
    assert_eq!((&verified["token"], &verified["success"]), (&json!(charge), &json!(true)));
    assert_eq!(app.events().await, ["charge.captured"]);
}

rules! {
    async fn a_frictionless_card_is_charged_when_its_page_is_opened(app) {
        let (charge, page) = pending(&app.client(), &challenged(FRICTIONLESS, &json!({}))).await;
        // A program that checks the link opens nothing.
        app.unchanged(send(app, Method::HEAD, &page)).await;
        let session = session_of(&open(app, &page).await);
        is_paid(app, &charge, &session).await;
        assert_eq!(session_of(&proceed(app, &page).await), session);
    }

    async fn a_challenge_is_approved_by_its_card_whatever_button_is_pressed(app) {
        let (charge, page) = pending(&app.client(), &challenged(APPROVED, &json!({}))).await;
        let shown = app.unchanged(open(app, &page)).await;
        assert_eq!(shown.status, 200);
        assert!(shown.text.contains("Continue") && shown.text.contains("the cardholder approves"), "{}", shown.text);
        let session = session_of(&press(&app.anonymous(), &page, "decision=fail").await);
        is_paid(app, &charge, &session).await;
    }

    async fn a_challenge_is_refused_by_its_card(app) {
        let (charge, page) = pending(&app.client(), &challenged(REFUSED, &json!({}))).await;
        let session = session_of(&proceed(app, &page).await);
        app.unchanged(app.client().verify(&session)).await.refused(403, "transaction_forbidden");
        is_failed(app, &charge).await;
    }

    async fn a_challenge_that_is_given_up_stays_open_until_its_half_hour_is_over(app) {
        let client = app.client();
        let (charge, page) = pending(&client, &challenged(ABANDONED, &json!({}))).await;
        let session = app.unchanged(proceed(app, &page)).await;
        let session = session_of(&session);
        app.unchanged(client.verify(&session)).await.refused(403, "transaction_forbidden");
        assert_eq!(client.charge(&charge).await["status_message"], "Pending");
        app.clock.advance(TimeSpan::seconds(30 * 60));
        app.do_due_work().await;
        app.unchanged(client.verify(&session)).await.refused(404, "not_found");
        assert_eq!(proceed(app, &page).await.status, 404);
        is_failed(app, &charge).await;
    }

    async fn a_card_without_3_d_secure_and_an_error_of_the_directory_are_both_unavailable(app) {
        for number in [NOT_OFFERED, DIRECTORY_ERROR] {
            let (_, page) = pending(&app.client(), &challenged(number, &json!({}))).await;
            let session = session_of(&open(app, &page).await);
            app.unchanged(app.client().verify(&session)).await.refused(422, "three_d_secure_unavailable");
            let fallback = challenged(number, &json!({ "fallback_ok": true }));
            let charged = app.client().post("/1/charges", &fallback).await.ok(201);
            assert_eq!(charged["success"], true);
        }
    }

    async fn a_header_decides_on_any_card(app) {
        for (word, number, status, code) in [
            ("frictionless", "5520000000000000", 200, ""), ("challenge_approved", REFUSED, 200, ""),
            ("challenge_refused", ENROLLED, 403, "transaction_forbidden"),
            ("challenge_abandoned", ENROLLED, 403, "transaction_forbidden"),
            ("not_offered", ENROLLED, 422, "three_d_secure_unavailable"),
            ("directory_error", APPROVED, 422, "three_d_secure_unavailable"),
        ] {
            let (_, page) = ordered(app, number, word).await;
            let session = session_of(&proceed(app, &page).await);
            let answer = app.client().verify(&session).await;
            assert_eq!(answer.status, status, "{word}: {}", answer.text);
            if !code.is_empty() {
                answer.refused(status, code);
            }
        }
    }

    async fn an_approved_challenge_may_be_declined_after_it(app) {
        let headers = [("Sandbox-Challenge", "challenge_approved"), ("Sandbox-Outcome", "lost_card")];
        let made = post_with(&app.client(), "/1/charges", &headers, &challenged(ENROLLED, &json!({}))).await.ok(201);
        let url = made["redirect_url"].as_str().unwrap();
        let session = session_of(&proceed(app, &url[url.find("/3d-secure/").unwrap()..]).await);
        assert_eq!(app.client().verify(&session).await.ok(200)["success"], false);
    }

    async fn an_unknown_word_is_refused_whether_or_not_3_d_secure_is_asked_for(app) {
        let (client, plain) = (app.client(), crate::harness::charge(400));
        for body in [challenged(ENROLLED, &json!({})), plain] {
            let answer = post_with(&client, "/1/charges", &[("Sandbox-Challenge", "approve")], &body);
            let refused = app.unchanged(answer).await.refused(422, "invalid_resource");
            assert_eq!(refused["messages"], json!([{
                "param": "Sandbox-Challenge", "code": "sandbox_challenge_invalid",
                "message": "Sandbox-Challenge is not included in the list",
            }]));
        }
    }

    async fn without_3_d_secure_these_cards_pay_as_others(app) {
        for number in [FRICTIONLESS, APPROVED, REFUSED, ABANDONED, NOT_OFFERED, DIRECTORY_ERROR] {
            let body = crate::harness::charge_with(400, json!({ "card": crate::harness::card(number) }));
            assert_eq!(app.client().post("/1/charges", &body).await.ok(201)["success"], true, "{number}");
        }
    }

    async fn a_question_to_a_person_still_needs_a_button(app) {
        let (_, page) = pending(&app.client(), &challenged(ENROLLED, &json!({}))).await;
        let undecided = app.unchanged(proceed(app, &page)).await;
        assert_eq!(undecided.status, 422);
        let client = app.anonymous();
        let request = client.request(Method::POST, &page).header(header::CONTENT_TYPE, "application/json");
        let answer = client.send_unchecked(request.body(Body::from(Value::Null.to_string())).unwrap()).await;
        assert_eq!(answer.status, 422);
    }
}
