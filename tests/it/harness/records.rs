//! Any operation of the document, with records of one account: its path filled, and a body that it accepts.

use axum::body::Body;
use entity::TimeSpan;
use http::{Method, header};
use serde_json::{Value, json};

use super::app::App;
use super::client::{Answer, Client, card};
use super::fixtures::{PDF, charge_with, multipart, token_of};
use crate::answers::{Operation, operations};
use crate::three_d_secure::{pending, press};

/// A card that is accepted, and enrolled in 3-D Secure.
const ENROLLED: &str = "4200000000000000";

impl App {
    /// Fills each parameter of a path with a fresh record of the client's account, to which what the path says can be done.
    pub async fn path_of(&self, client: &Client, template: &str) -> String {
        let (mut filled, mut above) = (template.to_owned(), Vec::new());
        while let Some((before, rest)) = filled.split_once('{') {
            let (parameter, after) = rest.split_once('}').expect("a parameter's end");
            let token = self.record_at(client, template, parameter, &above).await;
            filled = format!("{before}{token}{after}");
            above.push(token);
        }
        filled
    }

    /// Makes a record for one parameter of a path: by the template of the path where it has a line here, or else by the name of
    /// the parameter. Below another record it must have a line. Returns its token.
    async fn record_at(&self, client: &Client, template: &str, parameter: &str, above: &[String]) -> String {
        match (template, parameter, above) {
            ("/1/charges/{charge_token}/refunds", "charge_token", _) => token_of(&client.captured(400).await),
            ("/1/customers/{customer_token}/cards/{card_token}", "card_token", [customer]) => token_of(
                &client.post(&format!("/1/customers/{customer}/cards"), &card(ENROLLED)).await.ok(201),
            ),
            ("/1/customers/{customer_token}/subscriptions/{sub_token}", "sub_token", [customer]) => {
                client.subscribed(&client.plan(&json!({})).await, customer).await
            }
            ("/1/subscriptions/{sub_token}/reactivate", "sub_token", _) => {
                let subscription = self.record_of(client, parameter).await;
                client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
                subscription
            }
            (_, _, []) => self.record_of(client, parameter).await,
            _ => panic!("{template}: say in tests/it/harness/records.rs how its {parameter} is made"),
        }
    }

    /// Makes a record of the client's account, for a parameter that is named after it. Returns its token.
    pub async fn record_of(&self, client: &Client, parameter: &str) -> String {
        match parameter {
            "account_token" => token_of(&client.post("/1/sandbox/accounts", &json!({})).await.ok(201)),
            "auth_token" => client.authorisation(400).await,
            "bank_account_token" => {
                let account = json!({ "name": "Pay Ee", "bsb": "736-032", "number": "987654321" });
                token_of(&client.post("/1/bank_accounts", &account).await.ok(201))
            }
            "card_token" => client.card_token(ENROLLED).await,
            "certificate_token" => token_of(&client.wallet_certificate().await),
            "charge_token" => client.authorised(400).await,
            "customer_token" => token_of(&client.customer(ENROLLED).await),
            "deposit_token" => {
                token_of(&client.post("/1/sandbox/deposits", &json!({ "amount": 100 })).await.ok(201))
            }
            "dispute_token" => token_of(&client.disputed(400).await),
            "domain_token" => {
                let domain = json!({ "domain_name": "gone.example.com" });
                token_of(&client.post("/1/walletA_pay/domains", &domain).await.ok(201))
            }
            "event_token" => {
                client.captured(400).await;
                token_of(&client.get("/1/events?per_page=1").await.ok(200)[0])
            }
            "file_token" => client.file().await,
            "inbox_token" => {
                for inbox in client.get("/1/sandbox/inboxes").await.ok(200).as_array().expect("a list") {
                    client.delete(&format!("/1/sandbox/inboxes/{}", token_of(inbox))).await.ok(204);
                }
                token_of(&client.post("/1/sandbox/inboxes", &json!({})).await.ok(201))
            }
            "key_token" => token_of(&client.restricted_key(&json!({})).await),
            "merchant_token" => client.merchant().await,
            "payment_source_token" => {
                let source = json!({ "type": "card", "source": card(ENROLLED) });
                token_of(&client.payment_source(&source).await)
            }
            "plan_token" => client.plan(&json!({})).await,
            "primary_card_token" => {
                client.customer(ENROLLED).await["card"]["token"].as_str().expect("a token").to_owned()
            }
            "request_id" => client.logged_request().await,
            "recipient" | "recipient_token" => token_of(&client.recipient("987654321").await),
            "refund_token" => {
                let charge = token_of(&client.captured(400).await);
                token_of(&client.refund(&charge, 100).await.ok(201))
            }
            "session_token" => self.session(client).await,
            "sub_token" => {
                let (plan, customer) = (client.plan(&json!({})).await, client.customer(ENROLLED).await);
                client.subscribed(&plan, &token_of(&customer)).await
            }
            "snapshot_token" => {
                for snapshot in client.get("/1/sandbox/snapshots").await.ok(200).as_array().expect("a list") {
                    client.delete(&format!("/1/sandbox/snapshots/{}", token_of(snapshot))).await.ok(204);
                }
                token_of(&client.post("/1/sandbox/snapshots", &json!({})).await.ok(201))
            }
            "transfer_token" => token_of(&client.transfer(100, "self").await.ok(201)),
            "webhook_endpoint_token" => self.only_endpoint(client).await,
            "webhook_token" => {
                self.only_endpoint(client).await;
                client.captured(400).await;
                self.do_due_work().await;
                token_of(&client.newest_webhook().await)
            }
            unknown => panic!("{unknown}: say in tests/it/harness/records.rs how a record for it is made"),
        }
    }

    /// Makes a session at whose page the cardholder has approved.
    async fn session(&self, client: &Client) -> String {
        let three_d_secure = json!({ "enabled": true, "callback_url": "https://shop.example.com/" });
        let mut params = super::client::charge(400);
        params["three_d_secure"] = three_d_secure;
        let (_, page) = pending(client, &params).await;
        let back = press(&self.anonymous(), &page, "decision=approve").await;
        let back = back.headers[header::LOCATION].to_str().expect("an address");
        back.rsplit_once("session_token=").expect("a session").1.to_owned()
    }

    /// Makes the client's only webhook endpoint; no server listens there.
    async fn only_endpoint(&self, client: &Client) -> String {
        for endpoint in client.get("/1/webhook_endpoints").await.ok(200).as_array().expect("a list") {
            client.delete(&format!("/1/webhook_endpoints/{}", token_of(endpoint))).await.ok(204);
        }
        token_of(&client.endpoint("http://127.0.0.1:1/").await)
    }
}

impl App {
    /// Performs every operation of the document once, then searches, then attempts of all kinds, and lets time pass until all of
    /// it has ended. Returns the answers with their requests.
    pub async fn whole_run(&self) -> Vec<(String, Answer)> {
        let (client, operations) = (self.client(), operations());
        let mut answers = Vec::new();
        for Operation { method, path: template, described } in &operations {
            let path = self.path_of(&client, template).await;
            let body = client.body_of(described).await;
            answers.push((format!("{method} {template}"), client.perform(method, &path, &body).await));
        }
        for search in operations
            .iter()
            .filter(|search| search.path.ends_with("/search") && search.method == Method::GET)
        {
            for query in ["query=roland", "query=400", "query=abc", "direction=1", "start_date=2026-01-01"] {
                let path = format!("{}?{query}", search.path);
                answers.push((path.clone(), client.get(&path).await));
            }
        }
        for number in [
            "4100000000000001",
            "4300000000000009",
            "4200800000000011",
            "4200300000000012",
            "4200700000000013",
        ] {
            let charge = charge_with(400, json!({ "card": card(number) }));
            answers.push((number.into(), client.post("/1/charges", &charge).await));
        }
        for wallet in ["walletApay", "walletGpay"] {
            let payload = client.wallet_payload(wallet, ENROLLED).await;
            answers.push((wallet.into(), client.post("/1/payment_sources", &payload).await));
        }
        client.set(json!({ "transfers_schedule": "daily" })).await;
        let made = client.post("/1/sandbox/accounts", &json!({})).await;
        let (account, key) = (token_of(&made.ok(201)), made.ok(201)["secret_key"].clone());
        answers.push(("an account".into(), made));
        let other = self.with_key(key.as_str().expect("a key"));
        other.captured(400).await;
        other.move_clock("40d").await;
        for days in [1, 1, 5, 30, 60] {
            self.clock.advance(TimeSpan::days(days));
            self.do_due_work().await;
        }
        other.delete(&format!("/1/sandbox/accounts/{account}")).await.ok(204);
        self.do_due_work().await;
        self.clock.advance(TimeSpan::days(1));
        self.do_due_work().await;
        answers
    }
}

impl Client {
    /// Makes a request that is in the account's log. Returns its id.
    async fn logged_request(&self) -> String {
        let answer = self.get("/1/balance").await;
        answer.headers["x-request-id"].to_str().expect("an id").to_owned()
    }

    /// Returns a body that the operation accepts from this account: the document's example, with records of the account where
    /// it names some.
    pub async fn body_of(&self, described: &Value) -> Value {
        let examples = &described["requestBody"]["content"]["application/json"]["examples"];
        let example = &examples["success"]["value"];
        if example.is_null() { json!({}) } else { self.named_in(example).await }
    }

    /// Performs any operation: with JSON, but for an upload.
    pub async fn perform(&self, method: &Method, path: &str, body: &Value) -> Answer {
        if (method, path) == (&Method::POST, "/1/files") {
            return self
                .send(self.uploading().body(multipart("receipt.pdf", PDF).into()).expect("a request"))
                .await;
        }
        let request = self.request(method.clone(), path);
        let request = if matches!(*method, Method::GET | Method::HEAD) {
            request.body(Body::empty())
        } else {
            request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body.to_string()))
        };
        self.send(request.expect("a request")).await
    }
}
