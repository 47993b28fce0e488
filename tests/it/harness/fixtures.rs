//! Records and requests that many tests begin with.

use std::time::Duration;

use futures::future::join_all;
use http::{Method, header};
use serde_json::{Value, json};

use super::app::App;
use super::client::{Answer, Client, card, charge, with};

/// The smallest content that is taken for a PDF.
pub const PDF: &[u8] = b"%PDF-1.7\n";

/// Returns the body of an upload.
pub fn multipart(filename: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\ndispute_evidence\r\n--x\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"{filename}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    [head.as_bytes(), content, b"\r\n--x--\r\n"].concat()
}

/// Returns the parameters of a charge, some of them changed; null is absent.
pub fn charge_with(amount: i64, changes: Value) -> Value {
    let mut parameters = charge(amount);
    let Value::Object(changes) = changes else { panic!("changes are an object") };
    parameters.as_object_mut().unwrap().extend(changes);
    parameters
}

/// Returns the parameters of a bank account.
pub fn bank_account(number: &str) -> Value {
    json!({ "name": "Pay Ee", "bsb": "736-032", "number": number })
}

/// Returns the parameters of a merchant.
pub fn application() -> Value {
    json!({
        "contact": {
            "first_name": "Roland", "last_name": "Robot", "phone_number": "0491 570 156",
            "email": "roland@example.com", "password": PASSWORD,
        },
        "entity": {
            "business_registration_number": "51 824 753 556", "full_legal_name": "Roland's Robots Pty Ltd",
            "address_line_1": "42 Sevenoaks St", "address_line_2": "", "address_locality": "Lathlain",
            "address_region": "WA", "address_postal_code": "6454", "address_country_code": "AU",
        },
        "business": {
            "trading_name": "Roland's Robots", "description": "Robots for the home", "typical_product_price": "100",
            "transactions_per_month": "20", "annual_transaction_volume": "20000", "sells_physical_goods": "true",
            "average_delivery_days": "7", "url": "https://robots.example.com",
        },
        "bank_account": bank_account("987654321"),
        "director": { "full_name": "Roland Robot", "contact_number": "0491 570 156", "date_of_birth": "1980-02-29" },
    })
}

/// The password of a merchant's contact.
pub const PASSWORD: &str = "correct horse battery staple";

impl Client {
    /// Refers a merchant. Returns its token.
    pub async fn merchant(&self) -> String {
        token_of(&self.post("/1/merchants", &application()).await.ok(201))
    }

    /// Returns a merchant as its partner sees it.
    pub async fn merchant_of(&self, merchant: &str) -> Value {
        self.get(&format!("/1/merchants/{merchant}")).await.ok(200)
    }

    /// Decides about a merchant, as an operator does.
    pub async fn decide_merchant(&self, merchant: &str, status: &str) -> Answer {
        self.put(&format!("/1/sandbox/merchants/{merchant}"), &json!({ "status": status })).await
    }

    /// Stores a card. Returns its unused token.
    pub async fn card_token(&self, number: &str) -> String {
        token_of(&self.post("/1/cards", &card(number)).await.ok(201))
    }

    /// Makes a customer with one card.
    pub async fn customer(&self, number: &str) -> Value {
        let parameters = json!({ "email": "roland@example.com", "card": card(number) });
        self.post("/1/customers", &parameters).await.ok(201)
    }

    /// Makes a charge by a stored card's token.
    pub async fn charge_by(&self, card_token: &str) -> Answer {
        let parameters = charge_with(400, json!({ "card": null, "card_token": card_token }));
        self.post("/1/charges", &parameters).await
    }

    /// Makes a charge that is captured at once.
    pub async fn captured(&self, amount: i64) -> Value {
        self.post("/1/charges", &charge(amount)).await.ok(201)
    }

    /// Makes a charge that is only authorised. Returns its token.
    pub async fn authorised(&self, amount: i64) -> String {
        token_of(&self.post("/1/charges", &charge_with(amount, json!({ "capture": false }))).await.ok(201))
    }

    /// Sends a verb on a charge, without parameters.
    pub async fn put_charge(&self, charge: &str, verb: &str) -> Answer {
        self.put(&format!("/1/charges/{charge}/{verb}"), &json!({})).await
    }

    /// Refunds a part of a charge.
    pub async fn refund(&self, charge: &str, amount: i64) -> Answer {
        self.post(&format!("/1/charges/{charge}/refunds"), &json!({ "amount": amount })).await
    }

    /// Makes a recipient with a bank account of this number.
    pub async fn recipient(&self, number: &str) -> Value {
        let parameters =
            json!({ "email": "payee@example.com", "name": "Pay Ee", "bank_account": bank_account(number) });
        self.post("/1/recipients", &parameters).await.ok(201)
    }

    /// Makes a transfer to a recipient, or to self.
    pub async fn transfer(&self, amount: i64, recipient: &str) -> Answer {
        let parameters = json!({ "description": "test transfer", "amount": amount, "currency": "AUD", "recipient": recipient });
        self.post("/1/transfers", &parameters).await
    }

    /// Changes settings of the account.
    pub async fn set(&self, settings: Value) {
        self.put("/1/sandbox/account", &settings).await.ok(200);
    }

    /// Returns a charge as it stands.
    pub async fn charge(&self, charge: &str) -> Value {
        self.get(&format!("/1/charges/{charge}")).await.ok(200)
    }

    /// Opens a dispute of all that is left of a charge.
    pub async fn dispute(&self, charge: &str) -> Value {
        self.post("/1/sandbox/disputes", &json!({ "charge_token": charge })).await.ok(201)
    }

    /// Makes a charge and disputes it. Returns the dispute.
    pub async fn disputed(&self, amount: i64) -> Value {
        let charge = token_of(&self.captured(amount).await);
        self.dispute(&charge).await
    }

    /// Decides a dispute, as the network does.
    pub async fn decide(&self, dispute: &str, status: &str) -> Answer {
        self.put(&format!("/1/sandbox/disputes/{dispute}"), &json!({ "status": status })).await
    }

    /// Uploads a file.
    pub async fn upload(&self, filename: &str, content: &[u8]) -> Answer {
        self.send(self.uploading().body(multipart(filename, content).into()).unwrap()).await
    }

    /// Begins the request of an upload.
    pub fn uploading(&self) -> http::request::Builder {
        self.request(Method::POST, "/1/files").header(header::CONTENT_TYPE, "multipart/form-data; boundary=x")
    }

    /// Uploads a file. Returns its token.
    pub async fn file(&self) -> String {
        token_of(&self.upload("receipt.pdf", PDF).await.ok(200))
    }

    /// Registers a webhook endpoint.
    pub async fn endpoint(&self, url: &str) -> Value {
        self.post("/1/webhook_endpoints", &json!({ "url": url })).await.ok(201)
    }

    /// Pings a webhook endpoint.
    pub async fn ping(&self, endpoint: &str) -> Answer {
        self.post(&format!("/1/sandbox/webhook_endpoints/{endpoint}/ping"), &json!({})).await
    }

    /// Gives a webhook endpoint a new key.
    pub async fn rotate_key(&self, endpoint: &str, grace: &str) -> Answer {
        self.put(&format!("/1/sandbox/webhook_endpoints/{endpoint}/key"), &json!({ "grace": grace })).await
    }

    /// Returns the newest webhook.
    pub async fn newest_webhook(&self) -> Value {
        self.get("/1/webhooks?per_page=1").await.ok(200)[0].clone()
    }

    /// Returns how many charges are listed.
    pub async fn listed(&self) -> u64 {
        self.get("/1/charges").await.json()["pagination"]["count"].as_u64().unwrap()
    }

    /// Makes a restricted key, which may read charges, with changes. Returns it.
    pub async fn restricted_key(&self, changes: &Value) -> Value {
        let key = json!({ "name": "Accounting", "rights": { "charges": "read" } });
        self.post("/1/sandbox/keys", &with(key, changes)).await.ok(201)
    }

    /// Makes a monthly plan of 1,000 cents, with changes. Returns its token.
    pub async fn plan(&self, changes: &Value) -> String {
        let monthly =
            json!({ "name": "Coffee plan", "amount": 1000, "interval": 1, "interval_unit": "month" });
        token_of(&self.post("/1/plans", &with(monthly, changes)).await.ok(201))
    }

    /// Returns a plan as it stands.
    pub async fn plan_of(&self, plan: &str) -> Value {
        self.get(&format!("/1/plans/{plan}")).await.ok(200)
    }

    /// Returns how many subscriptions a plan has: trial, active, cancelling, cancelled.
    pub async fn counts(&self, plan: &str) -> [i64; 4] {
        let counts = self.plan_of(plan).await["subscription_counts"].clone();
        ["trial", "active", "cancelling", "cancelled"].map(|state| counts[state].as_i64().unwrap())
    }

    /// Sends a request to subscribe.
    pub async fn subscribing(&self, plan: &str, customer: &str, changes: &Value) -> Answer {
        let parameters = json!({ "plan_token": plan, "customer_token": customer });
        self.post("/1/subscriptions", &with(parameters, changes)).await
    }

    /// Subscribes a customer to a plan. Returns the subscription's token.
    pub async fn subscribed(&self, plan: &str, customer: &str) -> String {
        token_of(&self.subscribing(plan, customer, &json!({})).await.ok(201))
    }

    /// Returns a subscription as it stands.
    pub async fn subscription(&self, subscription: &str) -> Value {
        self.get(&format!("/1/subscriptions/{subscription}")).await.ok(200)
    }

    /// Sends a verb on a subscription, without parameters.
    pub async fn put_subscription(&self, subscription: &str, verb: &str) -> Answer {
        self.put(&format!("/1/subscriptions/{subscription}/{verb}"), &json!({})).await
    }

    /// Ends a subscription as its customer does.
    pub async fn unsubscribes(&self, subscription: &str) -> Answer {
        self.put(&format!("/1/sandbox/subscriptions/{subscription}/unsubscribe"), &json!({})).await
    }

    /// Returns a subscription's ledger, oldest first: annotation and amount.
    pub async fn entries(&self, subscription: &str) -> Vec<(String, i64)> {
        let path = format!("/1/subscriptions/{subscription}/ledger?per_page=500");
        let entries = self.get(&path).await.ok(200);
        let row = |entry: &Value| {
            (entry["annotation"].as_str().unwrap().to_owned(), entry["amount"].as_i64().unwrap())
        };
        entries.as_array().unwrap().iter().rev().map(row).collect()
    }

    /// Returns times and amounts of a customer's charges, oldest first.
    pub async fn charged(&self, customer: &str) -> Vec<(String, i64)> {
        let path = format!("/1/customers/{customer}/charges?per_page=500");
        let charges = self.get(&path).await.ok(200);
        let row = |charge: &Value| {
            (charge["created_at"].as_str().unwrap().to_owned(), charge["amount"].as_i64().unwrap())
        };
        charges.as_array().unwrap().iter().rev().map(row).collect()
    }

    /// Returns an example of the document, with records of this account where it names some.
    pub async fn named_in(&self, example: &Value) -> Value {
        let mut example = example.clone();
        if example.get("plan_token").is_some() {
            example["plan_token"] = self.plan(&json!({})).await.into();
        }
        if example.get("customer_token").is_some() {
            example["customer_token"] = self.customer("4200000000000000").await["token"].clone();
        }
        if example.get("charge_token").is_some() {
            example["charge_token"] = token_of(&self.captured(400).await).into();
        }
        if example.get("pem").is_some() {
            example["pem"] = self.issued_certificate().await.into();
        }
        example
    }
}

impl App {
    /// Sends a POST that is refused with exactly these (param, message), in this order, and changes nothing.
    #[track_caller]
    pub fn invalid<'a>(
        &'a self,
        path: &'a str,
        parameters: &'a Value,
        faults: &'a [(&str, &str)],
    ) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let before = self.rows().await;
            let answer = self.client().post(path, parameters).await;
            let messages: Vec<_> = answer.faults();
            let messages: Vec<_> =
                messages.iter().map(|(param, message)| (param.as_str(), message.as_str())).collect();
            assert_eq!(messages, faults, "{caller}: {parameters}");
            let sentence = "One or more parameters were missing or invalid";
            assert_eq!(answer.json()["error_description"], sentence);
            assert_eq!(self.rows().await, before, "{caller}: {parameters}");
        }
    }

    /// Gives the first account these AUD cents in place of its opening balance.
    pub async fn opens_with(&self, cents: i64) {
        for sql in [
            format!("UPDATE deposits SET amount = {cents}"),
            format!("UPDATE postings SET amount = CASE WHEN amount > 0 THEN {cents} ELSE -{cents} END"),
            format!("UPDATE balances SET amount = {cents}"),
        ] {
            self.execute(sql.leak()).await;
        }
    }

    /// Expects a refusal with this status and code, which changes nothing.
    pub async fn unchanged_by(
        &self,
        refused: impl Future<Output = Answer>,
        status: u16,
        code: &str,
    ) -> Value {
        let before = self.rows().await;
        let body = refused.await.refused(status, code);
        assert_eq!(self.rows().await, before, "{body}");
        body
    }
}

/// Sends requests in tasks of their own, all in flight together.
pub async fn at_once<F>(requests: impl IntoIterator<Item = F>) -> Vec<Answer>
where
    F: Future<Output = Answer> + Send + 'static,
{
    let tasks: Vec<_> = requests.into_iter().map(tokio::spawn).collect();
    join_all(tasks).await.into_iter().map(|answer| answer.expect("an answer")).collect()
}

/// Returns how often a race is run: CARD_PAYMENTS_RACE_ROUNDS.
pub fn rounds() -> usize {
    std::env::var("CARD_PAYMENTS_RACE_ROUNDS").map_or(4, |rounds| rounds.parse().unwrap())
}

/// Waits until a condition holds that another task or process brings about.
pub async fn eventually(mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came about");
}

/// Returns the token of a record.
pub fn token_of(record: &Value) -> String {
    record["token"].as_str().unwrap().to_owned()
}
