//! Events (specification, Events; `docs/decisions.md`, 240 and 241).

mod sequence;

use serde_json::{Value, json};

use crate::customers::{charge_by, created, customer, path, stored_card};
use crate::harness::{Answer, App, Client, card, charge, fields, rules, token, with};

/// Tells which events happened since it last looked.
struct Watch {
    client: Client,
    seen: usize,
}

impl Watch {
    async fn on(app: &App) -> Self {
        let mut watch = Self { client: app.client(), seen: 0 };
        watch.new_events().await;
        watch
    }

    /// The types of the new events, oldest first.
    async fn new_events(&mut self) -> Vec<String> {
        let events = self.client.get("/1/events?per_page=500").await.ok(200);
        let events = events.as_array().unwrap();
        let new = &events[..events.len() - self.seen];
        self.seen = events.len();
        new.iter().rev().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    /// This one event and no other happened, and it shows this record.
    async fn sees(&mut self, what: &str, record: &str) {
        assert_eq!(self.new_events().await, [what]);
        let list = self.client.get("/1/events?per_page=1").await;
        let event = &list.ok(200)[0];
        let shown = self.client.get(&format!("/1/events/{}", token(event))).await;
        let at = event["created_at"].as_str().unwrap();
        let exact = format!(
            r#"{{"token":"{}","type":"{what}","data":{record},"created_at":"{at}","sequence":{}}}"#,
            token(event),
            event["sequence"]
        );
        assert_eq!(shown.record(), exact, "byte for byte");
        assert!(list.text.contains(&exact), "the list shows the same");
    }

    async fn sees_nothing(&mut self) {
        assert_eq!(self.new_events().await, [""; 0]);
    }
}

async fn record_at(client: &Client, path: &str) -> Answer {
    let answer = client.get(path).await;
    answer.ok(200);
    answer
}

/// An authorised charge's path.
async fn authorised(client: &Client) -> String {
    let made = client.post("/1/charges", &with(charge(400), &json!({ "capture": false }))).await.ok(201);
    format!("/1/charges/{}", token(&made))
}

rules! {
    async fn a_charge_captured_at_once_is_captured_only(app) {
        let mut watch = Watch::on(app).await;
        let made = app.client().post("/1/charges", &charge(400)).await;
        made.ok(201);
        watch.sees("charge.captured", made.record()).await;
    }

    async fn an_authorised_charge_is_authorised_then_captured_or_voided(app) {
        let client = app.client();
        let mut watch = Watch::on(app).await;
        for (verb, what) in [("capture", "charge.captured"), ("void", "charge.voided")] {
            let made = client.post("/1/charges", &with(charge(400), &json!({ "capture": false }))).await;
            watch.sees("charge.authorised", made.record()).await;
            app.clock.advance(entity::TimeSpan::seconds(1));
            let moved = client.put(&format!("/1/charges/{}/{verb}", token(&made.ok(201))), &json!({})).await;
            watch.sees(what, moved.record()).await;
        }
    }

    async fn a_decline_and_a_failure_are_failed_charges(app) {
        let client = app.client();
        let mut watch = Watch::on(app).await;
        for number in ["4100000000000001", "4000000000000002", "4300000000000009", "4200800000000011"] {
            let refused =
                client.post("/1/charges", &with(charge(400), &json!({ "card": card(number) }))).await;
            let failed = refused.json()["charge_token"].as_str().unwrap().to_owned();
            app.clock.advance(entity::TimeSpan::seconds(60));
            app.do_due_work().await;
            let failed = record_at(&client, &format!("/1/charges/{failed}")).await;
            watch.sees("charge.failed", failed.record()).await;
        }
    }

    async fn a_customer_is_created_updated_and_deleted(app) {
        let client = app.client();
        let mut watch = Watch::on(app).await;
        let made = client.post("/1/customers", &customer()).await;
        watch.sees("customer.created", made.record()).await;
        let path = path(&made.ok(201));
        let unused = stored_card(&client).await;
        watch.sees_nothing().await;
        for change in [
            json!({ "first_name": "Rolanda \"é\" \\ </script>" }),
            json!({ "card": card("372000000000000") }),
            json!({ "primary_card_token": unused }),
            json!({ "card_token": unused }),
        ] {
            app.clock.advance(entity::TimeSpan::seconds(1));
            let updated = client.put(&path, &change).await;
            updated.ok(200);
            watch.sees("customer.updated", updated.record()).await;
        }
        let last = record_at(&client, &path).await;
        client.delete(&path).await.ok(204);
        watch.sees("customer.deleted", last.record()).await;
    }

    async fn card_calls_and_reads_emit_nothing(app) {
        let client = app.client();
        let owner = created(&client).await;
        let mut watch = Watch::on(app).await;
        let unused = stored_card(&client).await;
        let cards = format!("{}/cards", path(&owner));
        let added = client.post(&cards, &card("4200000000000000")).await.ok(201);
        client.post(&cards, &json!({ "card_token": unused })).await.ok(201);
        client.delete(&format!("{cards}/{}", token(&added))).await.ok(204);
        stored_card(&client).await;
        app.clock.advance(entity::TimeSpan::days(31));
        app.do_due_work().await;
        for read in ["/1/customers", "/1/charges", "/1/events", &cards, &path(&owner)] {
            client.get(read).await.ok(200);
        }
        watch.sees_nothing().await;
    }

    async fn an_old_event_shows_the_record_as_it_was(app) {
        let client = app.client();
        let made = client.post("/1/customers", &customer()).await;
        let event = token(&client.get("/1/events").await.ok(200)[0]).to_owned();
        let before = client.get(&format!("/1/events/{event}")).await;
        client
            .put(
                &path(&made.ok(201)),
                &json!({ "email": "new@example.com", "card": card("4200000000000000") }),
            )
            .await
            .ok(200);
        client.delete(&path(&made.ok(201))).await.ok(204);
        app.clock.advance(entity::TimeSpan::days(29));
        app.do_due_work().await;
        assert_eq!(client.get(&format!("/1/events/{event}")).await.text, before.text);
    }

    async fn a_refusal_emits_nothing(app) {
        let client = app.client();
        let customer = created(&client).await;
        let path = path(&customer);
        let used = stored_card(&client).await;
        client.post("/1/charges", &charge_by("card_token", &used)).await.ok(201);
        let charge_path = authorised(&client).await;
        let mut watch = Watch::on(app).await;
        let primary = format!("{path}/cards/{}", token(&customer["card"]));
        for (answer, status) in [
            (client.post("/1/cards", &json!({})).await, 422),
            (client.post("/1/charges", &json!({})).await, 422),
            (client.post("/1/charges", &charge_by("card_token", &used)).await, 400),
            (client.put(&format!("{charge_path}/capture"), &json!({ "amount": 1 })).await, 400),
            (client.post("/1/customers", &json!({})).await, 422),
            (
                client.post("/1/customers", &json!({ "email": "a@example.com", "card_token": used })).await,
                422,
            ),
            (client.put(&path, &json!({ "email": "" })).await, 422),
            (client.put(&path, &json!({ "card_token": used, "primary_card_token": used })).await, 422),
            (client.put(&path, &json!({ "primary_card_token": used })).await, 422),
            (client.put("/1/customers/nobody", &json!({ "first_name": "x" })).await, 404),
            (client.delete("/1/customers/nobody").await, 404),
            (client.delete(&primary).await, 400),
            (app.anonymous().put(&path, &json!({ "first_name": "x" })).await, 401),
        ] {
            assert_eq!(answer.status, status, "{}", answer.text);
        }
        watch.sees_nothing().await;
    }

    async fn events_are_listed_newest_first_with_short_pagination(app) {
        let client = app.client();
        let empty = client.get("/1/events").await;
        assert_eq!(empty.text, r#"{"response":[],"pagination":{"count":0,"per_page":25,"current":1}}"#);
        let mut customers = Vec::new();
        for _ in 0..3 {
            app.clock.advance(entity::TimeSpan::seconds(1));
            customers.insert(0, created(&client).await);
        }
        let list = client.get("/1/events").await;
        assert_eq!(fields(&list.json()), ["response", "pagination"]);
        let events = list.ok(200);
        let shown: Vec<&Value> = events.as_array().unwrap().iter().map(|event| &event["data"]).collect();
        assert_eq!(shown, customers.iter().collect::<Vec<_>>());
        for event in events.as_array().unwrap() {
            assert_eq!(fields(event), ["token", "type", "data", "created_at", "sequence"]);
            assert!(token(event).starts_with("evt_"));
            assert_eq!(event["created_at"], event["data"]["created_at"]);
        }
        let page = client.get("/1/events?page=2&per_page=2").await.json();
        assert_eq!(page["response"], json!([events[2]]));
        assert_eq!(page["pagination"], json!({ "count": 3, "per_page": 2, "current": 2 }));
        let past = client.get("/1/events?page=3&per_page=2").await.json();
        assert_eq!(
            (&past["response"], &past["pagination"]),
            (&json!([]), &json!({ "count": 3, "per_page": 2, "current": 3 }))
        );
        client.get("/1/events?page=x").await.faulty(&[("page", "Page is not a number")]);
    }

    async fn an_unknown_event_is_not_found(app) {
        let client: Client = app.client();
        for unknown in ["evt_AZqYv3rVcBKUQ1mHn7tKRw", "evt_", "nonsense"] {
            let body = client.get(&format!("/1/events/{unknown}")).await.refused(404, "resource_not_found");
            assert_eq!(body["error_description"], "The requested resource could not be found.");
        }
    }

    async fn events_are_their_accounts_own(app) {
        created(&app.client()).await;
        let event = token(&app.client().get("/1/events").await.ok(200)[0]).to_owned();
        let stranger = app.stranger().await;
        assert_eq!(stranger.get("/1/events").await.json()["pagination"]["count"], 0);
        stranger.get(&format!("/1/events/{event}")).await.refused(404, "resource_not_found");
        created(&stranger).await;
        assert_eq!(app.client().get("/1/events").await.json()["pagination"]["count"], 1);
        app.anonymous().get("/1/events").await.refused(401, "unauthorized");
    }
}
