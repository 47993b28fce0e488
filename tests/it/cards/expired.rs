//! Cards that were good when they were stored and have expired since, by the account's clock (`docs/decisions.md`, 99).

use serde_json::{Value, json};

use crate::harness::sending::post_with;
use crate::harness::wallets::network_token;
use crate::harness::{App, Client, card, charge_with, rules, token, token_of, with};
use crate::three_d_secure::{approve, pending};

const PATH: &str = "/1/charges";
/// The first instant after the last month of [`expiring`] cards.
const APRIL: &str = "2026-04-01T00:00:00Z";
const MARCH: &str = "2026-03-31T23:59:59Z";

/// A card that is good until the end of the month in which accounts begin.
fn expiring(number: &str) -> Value {
    with(card(number), &json!({ "expiry_month": 3, "expiry_year": 2026 }))
}

async fn stored(client: &Client) -> String {
    token_of(&client.post("/1/cards", &expiring("4200000000000000")).await.ok(201))
}

async fn customer(client: &Client) -> String {
    let parameters = json!({ "email": "roland@example.com", "card": expiring("4200000000000000") });
    token_of(&client.post("/1/customers", &parameters).await.ok(201))
}

async fn moves_to(client: &Client, to: &str) {
    assert_eq!(client.put("/1/sandbox/clock", &json!({ "to": to })).await.ok(200)["complete"], true);
}

fn paid_by(parameter: &str, token: &str) -> Value {
    charge_with(400, json!({ "card": null, (parameter): token }))
}

/// Nothing was charged, and the failed record says why.
async fn is_recorded(app: &App, charge: &str) {
    let record = app.client().charge(charge).await;
    assert_eq!((&record["success"], &record["captured"]), (&json!(false), &json!(false)));
    assert_eq!(
        (&record["error_message"], &record["status_message"]),
        (&json!("The card has expired"), &json!("The card has expired"))
    );
    assert_eq!(
        app.client().put_charge(charge, "capture").await.refused(400, "bad_authorisation")["charge_token"],
        charge
    );
}

rules! {
    #[dated]
    async fn a_card_is_good_for_all_of_its_last_month_and_declined_after_it(app, acquirer) {
        let client = app.client();
        let (good, late) = (stored(&client).await, stored(&client).await);
        let customer = customer(&client).await;
        moves_to(&client, MARCH).await;
        client.charge_by(&good).await.ok(201);
        client.post(PATH, &paid_by("customer_token", &customer)).await.ok(201);
        moves_to(&client, APRIL).await;
        let (balance, calls, listed) = (client.balance().await, acquirer.calls().len(), client.listed().await);
        let declined = client.charge_by(&late).await.refused(400, "expired_card");
        assert_eq!(declined["error_description"], "The card has expired");
        is_recorded(app, declined["charge_token"].as_str().unwrap()).await;
        // As any decline spends it.
        app.unchanged(client.charge_by(&late)).await.refused(400, "token_already_used");
        for _ in 0..2 {
            let declined = client.post(PATH, &paid_by("customer_token", &customer)).await.refused(400, "expired_card");
            is_recorded(app, declined["charge_token"].as_str().unwrap()).await;
        }
        assert_eq!((client.balance().await, client.listed().await), (balance, listed));
        assert_eq!(acquirer.calls().len(), calls, "the acquirer is not asked");
        let events = app.events().await;
        assert_eq!(&events[events.len() - 3..], ["charge.failed"; 3]);
        // Another card pays.
        client.put(&format!("/1/customers/{customer}"), &json!({ "card": card("4200000000000000") })).await.ok(200);
        client.post(PATH, &paid_by("customer_token", &customer)).await.ok(201);
    }
}

rules! {
    #[dated]
    async fn authorisations_and_orders_of_the_sandbox_make_no_difference(app) {
        let client = app.client();
        let (one, other, customer) = (stored(&client).await, stored(&client).await, customer(&client).await);
        moves_to(&client, APRIL).await;
        let declined = client.post(PATH, &with(paid_by("card_token", &one), &json!({ "capture": false }))).await;
        is_recorded(app, declined.refused(400, "expired_card")["charge_token"].as_str().unwrap()).await;
        let declined = client.post("/1/authorisations", &paid_by("card_token", &other)).await.refused(400, "expired_card");
        let path = format!("/1/authorisations/{}", declined["authorisation_token"].as_str().unwrap());
        let record = client.get(&path).await.ok(200);
        assert_eq!((&record["success"], &record["status_message"], &record["amount_remaining"]), (&json!(false), &json!("The card has expired"), &json!(0)));
        for outcome in ["gateway_error", "lost_card", "approved_but_lost"] {
            let answer = post_with(&client, PATH, &[("sandbox-outcome", outcome)], &paid_by("customer_token", &customer)).await;
            answer.refused(400, "expired_card");
        }
        client.put("/1/sandbox/acquirer", &json!({ "gateway_error_rate": 1 })).await.ok(200);
        client.post(PATH, &paid_by("customer_token", &customer)).await.refused(400, "expired_card");
    }

    #[dated]
    async fn numbers_of_networks_expire_as_well(app) {
        let client = app.client();
        let mut source = network_token("4200000000000000");
        source["source"] = with(source["source"].clone(), &json!({ "expiry_month": 3, "expiry_year": 2026 }));
        let source = client.post("/1/payment_sources", &source).await.ok(201);
        moves_to(&client, APRIL).await;
        let by_source = paid_by("payment_source_token", token(&source));
        client.post(PATH, &by_source).await.refused(400, "expired_card");
        app.unchanged(client.post(PATH, &by_source)).await.refused(400, "token_already_used");
    }

    #[dated]
    async fn the_decline_is_repeated_under_its_idempotency_key(app) {
        let client = app.client();
        let card = stored(&client).await;
        moves_to(&client, APRIL).await;
        let params = paid_by("card_token", &card);
        let first = post_with(&client, PATH, &[("idempotency-key", "once")], &params).await;
        first.refused(400, "expired_card");
        let again = app.unchanged(post_with(&client, PATH, &[("idempotency-key", "once")], &params)).await;
        assert_eq!((again.status, &again.text), (400, &first.text));
        assert_eq!(again.headers["idempotent-replayed"], "true");
    }

    #[dated]
    async fn a_cardholder_who_approves_too_late_is_declined(app) {
        let client = app.client();
        let three_d_secure = json!({ "enabled": true, "callback_url": "https://shop.example.com/done?order=1&x=%20#top" });
        moves_to(&client, "2026-03-31T23:50:00Z").await;
        let params = charge_with(400, json!({ "card": expiring("4200000000000000"), "three_d_secure": three_d_secure }));
        let (charge, page) = pending(&client, &params).await;
        moves_to(&client, APRIL).await;
        let session = approve(app, &page).await;
        let verified = client.get(&format!("/1/charges/verify?session_token={session}")).await.ok(200);
        assert_eq!((&verified["success"], &verified["status_message"]), (&json!(false), &json!("The card has expired")));
        is_recorded(app, &charge).await;
        assert_eq!(app.events().await.last(), Some(&"charge.failed"));
    }

    #[dated]
    async fn a_subscription_begins_with_no_expired_card_and_its_renewal_fails_as_any_other(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({})).await;
        let subscription = client.subscribed(&plan, &customer).await;
        let from = app.events().await.len();
        let moved = client.put("/1/sandbox/clock", &json!({ "to": "2026-04-03T10:00:00Z" })).await.ok(200);
        let ran: Vec<_> = moved["ran"].as_array().unwrap().iter().map(|ran| (ran["at"].as_str().unwrap(), ran["what"].as_str().unwrap())).collect();
        let failed = "subscription.renewal_failed";
        assert_eq!(ran, [("2026-04-02T10:00:00Z", failed), ("2026-04-03T10:00:00Z", failed)]);
        assert_eq!(app.events().await[from..], ["charge.failed", failed, "charge.failed", failed]);
        let record = client.subscription(&subscription).await;
        assert_eq!((&record["state"], &record["next_billing_date"]), (&json!("active"), &json!("2026-04-05T10:00:00Z")));
        // Neither does a new one begin, nor does it leave anything behind.
        client.subscribing(&plan, &customer, &json!({})).await.refused(400, "expired_card");
        assert_eq!(client.counts(&plan).await, [0, 1, 0, 0]);
        // What costs nothing asks for no card.
        let free = client.plan(&json!({ "amount": 0 })).await;
        client.subscribed(&free, &customer).await;
        client.put(&format!("/1/customers/{customer}"), &json!({ "card": card("4200000000000000") })).await.ok(200);
        moves_to(&client, "2026-04-05T10:00:00Z").await;
        assert_eq!(client.charged(&customer).await.len(), 2);
        assert_eq!(client.subscription(&subscription).await["next_billing_date"], "2026-05-02T10:00:00Z");
    }

    #[dated]
    async fn a_subscription_whose_card_has_expired_is_not_reactivated(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({})).await;
        let subscription = client.subscribed(&plan, &customer).await;
        client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        moves_to(&client, "2026-04-03T10:00:00Z").await;
        client.put_subscription(&subscription, "reactivate").await.refused(400, "expired_card");
        assert_eq!(client.subscription(&subscription).await["state"], "cancelled");
    }
}
