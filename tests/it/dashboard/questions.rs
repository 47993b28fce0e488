//! Before something is lost, a page asks and says what will be gone. Asking changes nothing.

use serde_json::json;

use crate::harness::browser::{Browser, assert_sign_in, csrf_token, led, refused};
use crate::harness::{rules, token_of};

const CARD: &str = "4200000000000000";

rules! {
    async fn whatever_destroys_asks_first_and_says_what_will_be_gone(app) {
        let client = app.client();
        let (open, customer) = (client.authorised(400).await, token_of(&client.customer(CARD).await));
        let plan = client.plan(&json!({ "customer_permissions": ["cancel"] })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        let endpoint = token_of(&client.endpoint("http://127.0.0.1:9/").await);
        let inbox = token_of(&client.post("/1/sandbox/inboxes", &json!({})).await.ok(201));
        let snapshot = token_of(&client.post("/1/sandbox/snapshots", &json!({})).await.ok(201));
        let key = token_of(&client.restricted_key(&json!({})).await);
        let dispute = token_of(&client.disputed(500).await);
        let mut browser = Browser::with(app, app.secret_key()).await;
        let questions = [
            (format!("/charges/{open}"), "/void", "Void this charge?", "cannot be captured afterwards"),
            (format!("/subscriptions/{subscription}"), "/unsubscribe", "Unsubscribe as the customer?", "ends with the interval that is paid"),
            (format!("/webhook_endpoints/{endpoint}"), "/delete", "Delete this endpoint?", "Its webhooks go with it"),
            (format!("/inboxes/{inbox}"), "/delete", "Delete this inbox?", "What arrived there goes with it"),
            (format!("/sandbox/snapshots/{snapshot}"), "/delete", "Delete this snapshot?", "cannot go back to that time"),
            (format!("/sandbox/snapshots/{snapshot}"), "/restore", "Restore this snapshot?", "happened in it since is lost"),
            (format!("/keys/{key}"), "/revoke", "Revoke this key?", "stops working at once"),
            (format!("/disputes/{dispute}"), "/submit", "Submit this evidence?", "without any, and none can be added"),
        ];
        for (record, verb, title, gone) in &questions {
            let address = format!("{record}{verb}");
            let page = app.unchanged(browser.get(&format!("/dashboard{address}"))).await.text;
            for part in [format!("<h1>{title}</h1>"), (*gone).to_owned(), format!("action=\"/dashboard{address}\""), "No, go back".into()] {
                assert!(page.contains(&part), "{address}: {part}: {page}");
            }
            // Whatever leads there is a link, which needs no script.
            let from = match record.split('/').nth(1).unwrap() {
                "webhook_endpoints" => "/webhooks".to_owned(),
                "sandbox" => "/sandbox".to_owned(),
                "keys" => "/keys".to_owned(),
                _ => record.clone(),
            };
            assert!(browser.page(&from).await.contains(&format!("href=\"/dashboard{address}\"")), "{from} leads to {address}");
            let foreign = app.unchanged(browser.post(&format!("/dashboard{address}"), &[])).await;
            refused(&foreign, 403, "was not sent by a page of your session");
        }
        let stranger = crate::harness::app::another_account(app.ctx()).await;
        let mut other = Browser::with(app, stranger.secret.expose()).await;
        for (record, verb, ..) in &questions {
            refused(&other.get(&format!("/dashboard{record}{verb}")).await, 404, "could not be found");
        }
        assert_sign_in(&Browser::new(app).get(&format!("/dashboard/charges/{open}/void")).await);
        // The answer does it.
        let form = csrf_token(&browser.page(&format!("/charges/{open}/void")).await);
        led(&browser.post(&format!("/dashboard/charges/{open}/void"), &[("form", &form)]).await, &format!("/dashboard/charges/{open}"));
        assert_eq!(client.get(&format!("/1/charges/{open}")).await.ok(200)["authorisation_voided"], true);
        // What is done is not asked for again.
        client.post(&format!("/1/disputes/{dispute}/accept"), &json!({})).await.ok(200);
        for gone in [format!("/charges/{open}/void"), format!("/disputes/{dispute}/accept"), format!("/disputes/{dispute}/submit")] {
            let asked = app.unchanged(browser.get(&format!("/dashboard{gone}"))).await;
            assert_eq!(asked.status, 400, "{gone}: {}", asked.text);
        }
        app.do_due_work().await;
    }

    async fn the_end_of_an_account_is_asked_for(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        refused(&browser.get("/dashboard/sandbox/delete").await, 404, "could not be found");
        let made = app.client().post("/1/sandbox/accounts", &json!({})).await.ok(201);
        let mut browser = Browser::with(app, made["secret_key"].as_str().unwrap()).await;
        let page = browser.page("/sandbox/delete").await;
        assert!(page.contains(&token_of(&made)) && page.contains("Its keys stop working at once"), "{page}");
        let form = csrf_token(&page);
        led(&browser.post("/dashboard/sandbox/delete", &[("form", &form), ("sure", "true")]).await, "/dashboard/sign-in");
        app.do_due_work().await;
    }
}
