//! A request of the log is sent again, or its page says why it cannot be; its faults lead to the guides.

use http::Method;
use serde_json::json;

use crate::harness::browser::{Browser, refused};
use crate::harness::{Answer, App, charge_with, rules, token_of};

fn id_of(answer: &Answer) -> String {
    answer.headers["x-request-id"].to_str().unwrap().to_owned()
}

/// Presses the button of a request. Returns the page of the new one.
async fn sent_again(browser: &mut Browser, id: &str) -> String {
    assert!(browser.page(&format!("/requests/{id}")).await.contains(&format!("/requests/{id}/send\"")));
    let answer = browser.press(&format!("/requests/{id}/send"), &[]).await;
    let to = answer.headers["location"].to_str().unwrap().to_owned();
    assert_eq!(answer.status, 303, "{}", answer.text);
    assert_ne!(to, format!("/dashboard/requests/{id}"));
    browser.page(to.strip_prefix("/dashboard").unwrap()).await
}

/// The newest requests of the log.
async fn logged(app: &App, query: &str) -> serde_json::Value {
    app.client().get(&format!("/1/sandbox/requests?{query}")).await.ok(200)
}

rules! {
    async fn a_request_is_sent_again_with_another_idempotency_key(app) {
        let client = app.client();
        let charge = token_of(&client.captured(500).await);
        let path = format!("/1/charges/{charge}/refunds");
        let first = client.request(Method::POST, &path).header("content-type", "application/json").header("idempotency-key", "one");
        let first = client.send(first.body(json!({ "amount": 100 }).to_string().into()).unwrap()).await;
        first.ok(201);
        let id = id_of(&first);
        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = sent_again(&mut browser, &id).await;
        assert!(page.contains(">201<") && page.contains(&path) && page.contains("dashboard-"), "{page}");
        assert_eq!(client.get(&path).await.ok(200).as_array().unwrap().len(), 2, "it is another refund");
        let listed = logged(app, "method=POST&route=/1/charges/{charge_token}/refunds").await;
        assert_eq!(listed.as_array().unwrap().len(), 2);
        assert!(listed.as_array().unwrap().iter().all(|request| request["parameters"] == json!({ "amount": 100 })), "{listed}");
        assert_ne!(listed[0]["idempotency_key"], listed[1]["idempotency_key"]);

        let read = client.get("/1/events?type=charge.captured&per_page=1").await;
        let page = sent_again(&mut browser, &id_of(&read)).await;
        assert!(page.contains(">200<") && page.contains("charge.captured"), "{page}");
        let refusal = client.post(&path, &json!({ "amount": 1000 })).await;
        let page = sent_again(&mut browser, &id_of(&refusal)).await;
        assert!(page.contains(">422<") && page.contains("You have tried to refund more than the original charge"), "{page}");
    }

    async fn a_request_that_the_log_does_not_hold_is_not_sent_and_its_page_says_why(app) {
        let client = app.client();
        let paid = client.post("/1/charges", &charge_with(400, json!({}))).await;
        paid.ok(201);
        let lost = client.get("/1/charges/4200000000000000").await;
        let long = json!({ "description": "long ".repeat(50), "amount": 400, "currency": "AUD", "recipient": "self" });
        let long = client.post("/1/transfers", &long).await;
        long.ok(201);
        let file = client.upload("receipt.pdf", crate::harness::PDF).await;
        let mut browser = Browser::with(app, app.secret_key()).await;
        for (answer, why) in [
            (paid, "secrets and cards are not in the log"),
            (lost, "only what is a token"),
            (file, "the log does not keep files"),
            (long, "the log keeps 200 characters of a text"),
        ] {
            let id = id_of(&answer);
            let page = browser.page(&format!("/requests/{id}")).await;
            assert!(page.contains(why) && !page.contains(&format!("/requests/{id}/send\"")), "{why}: {page}");
            refused(&app.unchanged(browser.press(&format!("/requests/{id}/send"), &[])).await, 400, why);
        }
        refused(&app.unchanged(browser.press("/requests/never-sent/send", &[])).await, 404, "could not be found");
        assert_eq!(client.listed().await, 1);
    }

    async fn a_request_of_another_account_is_not_sent(app) {
        let made = app.client().post("/1/plans", &json!({ "name": "Tea", "amount": 400, "currency": "AUD", "interval": 1, "interval_unit": "month" })).await;
        let id = id_of(&made);
        let stranger = crate::harness::app::another_account(app.ctx()).await;
        let mut other = Browser::with(app, stranger.secret.expose()).await;
        refused(&app.unchanged(other.press(&format!("/requests/{id}/send"), &[])).await, 404, "could not be found");
    }

    async fn faults_lead_to_the_guides(app) {
        let answer = app.client().post("/1/charges", &charge_with(400, json!({ "email": "nobody" }))).await;
        answer.refused(422, "invalid_resource");
        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = browser.page(&format!("/requests/{}", id_of(&answer))).await;
        for link in ["/docs/errors/invalid_resource", "/docs/search?q=email"] {
            assert!(page.contains(&format!("href=\"{link}\"")), "{link}: {page}");
            assert_eq!(browser.get(link).await.status, 200, "{link}");
        }
    }
}
