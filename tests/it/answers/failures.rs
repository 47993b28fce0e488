//! Internal errors (`docs/decisions.md`, 82): a 500 has the request's id and nothing else.

use http::Method;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use crate::harness::sending::{post_with, request};
use crate::harness::{App, card, charge, rules};

/// From here on no statement about cards succeeds.
async fn lose_the_cards(app: &App) {
    let lost = app.ctx().store.write((), async |tx, ()| {
        Ok(tx.execute_unprepared("ALTER TABLE cards RENAME TO lost").await.map(drop)?)
    });
    lost.await.unwrap();
}

fn discloses_its_id_only(body: &Value, id: &str) {
    let description = format!("Something went wrong on our side. Request id: {id}");
    assert_eq!(body, &json!({ "error": "internal_error", "error_description": description }));
}

rules! {
    async fn a_fault_of_ours_tells_the_requests_id_and_nothing_else(app) {
        let token = app.client().post("/1/cards", &card("4200000000000000")).await.ok(201)["token"].clone();
        let path = format!("/1/cards/{}", token.as_str().unwrap());
        lose_the_cards(app).await;
        let id = [("x-request-id", "my-id")];
        let mut charge = charge(400);
        charge["card"] = Value::Null;
        charge["card_token"] = token;
        for answer in [
            request(&app.client(), Method::GET, &path, &id).await,
            post_with(&app.client(), "/1/charges", &id, &charge).await,
        ] {
            assert_eq!(answer.status, 500, "{}", answer.text);
            discloses_its_id_only(&answer.json(), "my-id");
            assert_eq!(answer.headers["x-request-id"], "my-id");
            assert_eq!(answer.headers["cache-control"], "no-store");
        }
        let head = request(&app.client(), Method::HEAD, &path, &id).await;
        assert_eq!((head.status, head.text.as_str()), (500, ""));
        // For the books that are checked at the end.
        app.execute("ALTER TABLE lost RENAME TO cards").await;
    }

    async fn a_script_tag_is_told_of_a_fault_of_ours_too(app) {
        let customer = json!({ "email": "a@example.com", "card": card("4200000000000000") });
        let customer = app.client().post("/1/customers", &customer).await.ok(201)["token"].clone();
        let card = app.client().post("/1/cards", &card("4200000000000000")).await.ok(201)["token"].clone();
        lose_the_cards(app).await;
        let path = format!(
            "/1/customers/{}/cards?callback=F&_method=POST&publishable_api_key={}&card_token={}",
            customer.as_str().unwrap(),
            app.publishable_key(),
            card.as_str().unwrap()
        );
        let answer = request(&app.anonymous(), Method::GET, &path, &[("x-request-id", "my-id")]).await;
        assert_eq!(answer.status, 200);
        let json = answer.text.strip_prefix("/**/F(").and_then(|rest| rest.strip_suffix(");")).unwrap();
        discloses_its_id_only(&serde_json::from_str(json).unwrap(), "my-id");
        app.execute("ALTER TABLE lost RENAME TO cards").await;
    }
}
