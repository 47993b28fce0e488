//! Subscriptions: their endpoints (specification, Subscriptions; `docs/decisions.md`, 89 to 91, 178 and 190).

use serde_json::{Value, json};

use crate::harness::{App, Client, as_of, card, fields, rules, token_of, with};

const CARD: &str = "4200000000000000";
const DECLINED: &str = "4100000000000001";

async fn customer(client: &Client) -> String {
    token_of(&client.customer(CARD).await)
}

async fn further_card(client: &Client, customer: &str, number: &str) -> String {
    token_of(&client.post(&format!("/1/customers/{customer}/cards"), &card(number)).await.ok(201))
}

/// Refused as the parameters of subscriptions are, and nothing changes.
async fn faulty(app: &App, request: impl Future<Output = crate::harness::Answer>, messages: Value) {
    let body = app.unchanged(request).await.refused(400, "invalid_resource");
    assert_eq!(
        body,
        json!({
            "error": "invalid_resource", "error_description": "One or more parameters were missing or invalid", "messages": messages,
        })
    );
}

/// Refused because the card is not the customer's, and nothing changes.
async fn wrong_card(app: &App, request: impl Future<Output = crate::harness::Answer>) {
    let body = app.unchanged(request).await.refused(400, "invalid_request");
    assert_eq!(
        body,
        json!({
            "error": "invalid_request", "error_description": "Invalid card token",
            "messages": [{ "param": "card_token", "message": "Invalid card token" }],
        })
    );
}

rules! {
    #[dated]
    async fn a_subscription_has_the_documented_fields_and_is_charged_at_once(app) {
        let client = app.client();
        let (plan, customer) = (client.plan(&json!({ "setup_amount": 150 })).await, customer(&client).await);
        let answer = client.subscribing(&plan, &customer, &json!({})).await;
        let subscription = answer.ok(201);
        assert_eq!(
            fields(&subscription),
            ["token", "state", "next_billing_date", "active_interval_started_at", "active_interval_finishes_at", "cancelled_at",
             "created_at", "plan_token", "customer_token", "card_token"]
        );
        let token = token_of(&subscription);
        assert_eq!(subscription, json!({
            "token": token, "state": "active", "next_billing_date": "2026-04-02T10:00:00Z",
            "active_interval_started_at": "2026-03-02T10:00:00Z", "active_interval_finishes_at": "2026-04-02T10:00:00Z",
            "cancelled_at": null, "created_at": "2026-03-02T10:00:00Z", "plan_token": plan, "customer_token": customer,
            "card_token": null,
        }));
        assert_eq!(client.get(&format!("/1/subscriptions/{token}")).await.record(), answer.record());
        assert_eq!(app.events().await, ["plan.created", "customer.created", "charge.captured", "subscription.created"]);
        assert_eq!(client.counts(&plan).await, [0, 1, 0, 0]);
        let charge = client.get("/1/charges").await.ok(200)[0].clone();
        assert_eq!(charge["amount"], 1150);
        assert_eq!(charge["description"], "Coffee plan");
        assert_eq!(charge["email"], "roland@example.com");
        assert_eq!(charge["captured"], true);
        assert_eq!(charge["card"]["customer_token"], customer.as_str());
        assert_eq!(charge["merchant_entitlement"], 1150 - charge["total_fees"].as_i64().unwrap());
    }

    async fn the_setup_fee_is_left_out_on_request(app) {
        let client = app.client();
        let (plan, customer) = (client.plan(&json!({ "setup_amount": 150 })).await, customer(&client).await);
        for (sent, amount) in [(json!(false), 1000), (json!("false"), 1000), (json!(true), 1150), (json!(""), 1150)] {
            client.subscribing(&plan, &customer, &json!({ "include_setup_fee": sent })).await.ok(201);
            assert_eq!(client.get("/1/charges").await.ok(200)[0]["amount"], amount);
        }
    }

    async fn the_plans_own_path_subscribes_too_and_answers_200(app) {
        let client = app.client();
        let (plan, customer) = (client.plan(&json!({})).await, customer(&client).await);
        let card = further_card(&client, &customer, "5520000000000000").await;
        let path = format!("/1/plans/{plan}/subscriptions");
        let sent = json!({ "customer_token": customer, "card_token": card, "include_setup_fee": false });
        let subscription = client.post(&path, &sent).await.ok(200);
        assert_eq!((&subscription["state"], &subscription["card_token"]), (&json!("active"), &json!(card)));
        assert_eq!(client.get("/1/charges").await.ok(200)[0]["card"]["token"], card.as_str());
        let list = client.get(&path).await;
        assert_eq!(list.ok(200), json!([subscription]));
        assert_eq!(list.json()["count"], 1);
        assert_eq!(list.json()["pagination"], json!({ "count": 1, "per_page": 25, "current": 1 }));
    }

    async fn lists_are_short_and_newest_first(app) {
        let client = app.client();
        let (plan, customer) = (client.plan(&json!({})).await, customer(&client).await);
        let mut made = Vec::new();
        for _ in 0..3 {
            made.insert(0, client.subscribed(&plan, &customer).await);
        }
        for path in ["/1/subscriptions".to_owned(), format!("/1/customers/{customer}/subscriptions"), format!("/1/plans/{plan}/subscriptions")] {
            let list = client.get(&format!("{path}?per_page=2")).await;
            assert_eq!(list.ok(200).as_array().unwrap().iter().map(token_of).collect::<Vec<_>>(), made[..2]);
            assert_eq!(list.json()["pagination"], json!({ "count": 3, "per_page": 2, "current": 1 }));
            client.get(&format!("{path}?page=x")).await.faulty(&[("page", "Page is not a number")]);
        }
        app.stranger().await.get(&format!("/1/customers/{customer}/subscriptions")).await.not_found();
    }

    async fn missing_parameters_are_told_as_subscriptions_tell_them(app) {
        let client = app.client();
        let (plan, customer) = (client.plan(&json!({})).await, customer(&client).await);
        let missing = |param: &str| json!({ "param": param, "message": "must be present" });
        faulty(app, client.post("/1/subscriptions", &json!({})), json!([missing("plan_token"), missing("customer_token")])).await;
        faulty(app, client.subscribing(" ", &customer, &json!({})), json!([missing("plan_token")])).await;
        faulty(app, client.post(&format!("/1/plans/{plan}/subscriptions"), &json!({})), json!([missing("customer_token")])).await;
        let word = json!({ "include_setup_fee": "perhaps" });
        let unlisted = json!([{ "param": "include_setup_fee", "message": "is not included in the list" }]);
        faulty(app, client.subscribing(&plan, &customer, &word), unlisted).await;
    }

    async fn unknown_plans_and_customers_are_not_found(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let (plan, customer) = (client.plan(&json!({})).await, customer(&client).await);
        let (others_plan, others) = (stranger.plan(&json!({})).await, token_of(&stranger.customer(CARD).await));
        for (plan, customer) in [
            (others_plan.as_str(), customer.as_str()), (&plan, &others), ("x", &customer), (&plan, "x"), (&customer, &plan),
        ] {
            let body = app.unchanged(client.subscribing(plan, customer, &json!({}))).await.refused(404, "resource_not_found");
            assert_eq!(body["error_description"], "The requested resource could not be found.");
        }
        let path = format!("/1/plans/{plan}/subscriptions");
        for customer in [others.as_str(), "x", &plan] {
            app.unchanged(client.post(&path, &json!({ "customer_token": customer }))).await.not_found();
        }
    }

    async fn a_card_must_be_the_customers(app) {
        let client = app.client();
        let (plan, customer) = (client.plan(&json!({})).await, customer(&client).await);
        let others = client.customer(CARD).await["card"]["token"].as_str().unwrap().to_owned();
        let unused = client.card_token(CARD).await;
        let subscription = client.subscribed(&plan, &customer).await;
        for card in [others.as_str(), &unused, "card_AZqYv3rVcBKUQ1mHn7tKRw", "x", &customer] {
            let named = json!({ "card_token": card });
            wrong_card(app, client.subscribing(&plan, &customer, &named)).await;
            let of_plan = with(named.clone(), &json!({ "customer_token": customer }));
            wrong_card(app, client.post(&format!("/1/plans/{plan}/subscriptions"), &of_plan)).await;
            wrong_card(app, client.put(&format!("/1/subscriptions/{subscription}"), &named)).await;
        }
    }

    async fn a_declined_first_charge_leaves_no_subscription(app) {
        let client = app.client();
        let plan = client.plan(&json!({})).await;
        for (number, status, code) in [(DECLINED, 400, "card_declined"), ("4000000000000002", 400, "insufficient_funds"), ("4300000000000009", 502, "gateway_error")] {
            let customer = token_of(&client.customer(number).await);
            let body = client.subscribing(&plan, &customer, &json!({})).await.refused(status, code);
            let failed = client.charge(body["charge_token"].as_str().unwrap()).await;
            assert_eq!((&failed["success"], &failed["amount"]), (&json!(false), &json!(1000)));
            assert_eq!(client.get(&format!("/1/customers/{customer}/subscriptions")).await.ok(200), json!([]));
        }
        assert_eq!(app.number("SELECT COUNT(*) FROM subscriptions").await, 0);
        assert_eq!(client.counts(&plan).await, [0; 4]);
        assert!(!app.events().await.contains(&"subscription.created"));
        client.delete(&format!("/1/plans/{plan}")).await.ok(204);
    }

    async fn a_plan_that_costs_nothing_charges_nothing(app) {
        let client = app.client();
        // A card that is not charged is not checked.
        let (plan, customer) = (client.plan(&json!({ "amount": 0 })).await, token_of(&client.customer(DECLINED).await));
        let subscription = client.subscribing(&plan, &customer, &json!({})).await.ok(201);
        assert_eq!(subscription["state"], "active");
        assert_eq!(client.listed().await, 0);
        assert_eq!(app.events().await, ["plan.created", "customer.created", "subscription.created"]);
        assert_eq!(client.entries(&token_of(&subscription)).await, []);
    }

    #[dated]
    async fn a_trial_is_charged_its_own_amount_or_nothing(app) {
        let client = app.client();
        let customer = customer(&client).await;
        for (amount, entries) in [(0, vec![]), (200, vec![("charge_credit".to_owned(), 200), ("interval_debit".to_owned(), 200)])] {
            let plan = client.plan(&json!({
                "setup_amount": 150, "trial_amount": amount, "trial_interval": 2, "trial_interval_unit": "week",
            })).await;
            let subscription = client.subscribing(&plan, &customer, &json!({})).await.ok(201);
            assert_eq!(subscription["state"], "trial");
            assert_eq!(subscription["active_interval_started_at"], "2026-03-02T10:00:00Z");
            for end in ["next_billing_date", "active_interval_finishes_at"] {
                assert_eq!(subscription[end], "2026-03-16T10:00:00Z");
            }
            assert_eq!(client.counts(&plan).await, [1, 0, 0, 0]);
            assert_eq!(client.entries(&token_of(&subscription)).await, entries);
        }
        assert_eq!(client.listed().await, 1);
    }

    async fn the_card_is_changed_and_taken_back(app) {
        let client = app.client();
        let (plan, customer) = (client.plan(&json!({})).await, customer(&client).await);
        let subscription = client.subscribed(&plan, &customer).await;
        let path = format!("/1/subscriptions/{subscription}");
        let card = further_card(&client, &customer, "5520000000000000").await;
        let events = app.events().await;
        assert_eq!(client.put(&path, &json!({ "card_token": card })).await.ok(200)["card_token"], card.as_str());
        for none in [json!({ "card_token": null }), json!({ "card_token": "" }), json!({ "card_token": " " })] {
            client.put(&path, &json!({ "card_token": card })).await.ok(200);
            assert_eq!(client.put(&path, &none).await.ok(200)["card_token"], Value::Null);
        }
        assert_eq!(app.events().await, events);
        let missing = json!([{ "param": "card_token", "message": "must be present" }]);
        faulty(app, client.put(&path, &json!({})), missing).await;
        app.unchanged(client.put("/1/subscriptions/sub_AZqYv3rVcBKUQ1mHn7tKRw", &json!({}))).await.refused(404, "resource_not_found");
        app.unchanged(app.stranger().await.put(&path, &json!({ "card_token": null }))).await.refused(404, "resource_not_found");
    }

    async fn a_named_card_that_goes_leaves_the_primary_one(app) {
        let client = app.client();
        let (plan, customer) = (client.plan(&json!({})).await, customer(&client).await);
        let path = format!("/1/customers/{customer}");
        let named = async |card: &str| {
            let subscription = client.subscribing(&plan, &customer, &json!({ "card_token": card })).await.ok(201);
            assert_eq!(subscription["card_token"], card);
            token_of(&subscription)
        };
        let further = further_card(&client, &customer, CARD).await;
        let other = further_card(&client, &customer, CARD).await;
        let (first, second) = (named(&further).await, named(&other).await);
        client.delete(&format!("{path}/cards/{further}")).await.ok(204);
        assert_eq!(client.subscription(&first).await["card_token"], Value::Null);
        assert_eq!(client.subscription(&second).await["card_token"], other.as_str());
        // The primary card, replaced by a new one and by a stored one.
        for change in [json!({ "card": card(CARD) }), json!({ "card_token": client.card_token(CARD).await })] {
            let primary = client.get(&path).await.ok(200)["card"]["token"].as_str().unwrap().to_owned();
            let third = named(&primary).await;
            client.put(&path, &change).await.ok(200);
            assert_eq!(client.subscription(&third).await["card_token"], Value::Null);
        }
        // One that only ceases to be primary stays.
        let primary = client.get(&path).await.ok(200)["card"]["token"].as_str().unwrap().to_owned();
        let fourth = named(&primary).await;
        client.put(&path, &json!({ "primary_card_token": other })).await.ok(200);
        assert_eq!(client.subscription(&fourth).await["card_token"], primary.as_str());
    }

    async fn a_subscription_is_cancelled_at_once(app) {
        let client = app.client();
        let customer = customer(&client).await;
        for (changes, counted) in [(json!({}), [0, 0, 0, 1]), (json!({ "trial_interval": 1, "trial_interval_unit": "day" }), [0, 0, 0, 1])] {
            let plan = client.plan(&changes).await;
            let subscription = client.subscribed(&plan, &customer).await;
            let path = format!("/1/subscriptions/{subscription}");
            let cancelled = client.delete(&path).await;
            let record = cancelled.ok(200);
            assert_eq!(record["state"], "cancelled");
            assert_eq!(record["next_billing_date"], Value::Null);
            assert_eq!(record["cancelled_at"], json!(as_of()));
            assert_eq!(client.get(&path).await.record(), cancelled.record());
            assert_eq!(app.events().await.last(), Some(&"subscription.cancelled"));
            assert_eq!(client.counts(&plan).await, counted);
            app.unchanged(client.delete(&path)).await.refused(400, "invalid_state");
        }
        client.move_clock("1year").await;
        assert_eq!(client.charged(&customer).await.len(), 1);
        for unknown in ["sub_AZqYv3rVcBKUQ1mHn7tKRw", "x"] {
            let path = format!("/1/subscriptions/{unknown}");
            app.unchanged(client.delete(&path)).await.not_found();
            client.get(&path).await.not_found();
            client.get(&format!("{path}/ledger")).await.not_found();
            app.unchanged(client.put_subscription(unknown, "reactivate")).await.not_found();
            app.unchanged(client.unsubscribes(unknown)).await.not_found();
        }
    }

    async fn a_subscription_is_cancelled_by_its_customers_path_and_by_no_others(app) {
        let client = app.client();
        let (payer, other) = (customer(&client).await, customer(&client).await);
        let subscription = client.subscribed(&client.plan(&json!({})).await, &payer).await;
        let path = |customer: &str, token: &str| format!("/1/customers/{customer}/subscriptions/{token}");
        for unknown in [other.as_str(), "cus_AZqYv3rVcBKUQ1mHn7tKRw", "x"] {
            app.unchanged(client.delete(&path(unknown, &subscription))).await.not_found();
        }
        app.unchanged(client.delete(&path(&payer, "sub_AZqYv3rVcBKUQ1mHn7tKRw"))).await.not_found();
        let cancelled = client.delete(&path(&payer, &subscription)).await;
        assert_eq!(cancelled.ok(200)["state"], "cancelled");
        assert_eq!(client.get(&format!("/1/subscriptions/{subscription}")).await.record(), cancelled.record());
        assert_eq!(app.events().await.last(), Some(&"subscription.cancelled"));
        app.unchanged(client.delete(&path(&payer, &subscription))).await.refused(400, "invalid_state");
    }

    #[dated]
    async fn a_customer_unsubscribes_where_the_plan_allows_it(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let (free, bound) = (client.plan(&json!({})).await, client.plan(&json!({ "customer_permissions": [] })).await);
        let (going, staying) = (client.subscribed(&free, &customer).await, client.subscribed(&bound, &customer).await);
        app.unchanged(client.unsubscribes(&staying)).await.refused(400, "invalid_state");
        let record = client.unsubscribes(&going).await.ok(200);
        assert_eq!((&record["state"], &record["cancelled_at"], &record["next_billing_date"]), (&json!("cancelling"), &Value::Null, &Value::Null));
        assert_eq!(record["active_interval_finishes_at"], "2026-04-02T10:00:00Z");
        assert_eq!(app.events().await.last(), Some(&"subscription.unsubscribed"));
        assert_eq!(client.counts(&free).await, [0, 0, 1, 0]);
        app.unchanged(client.unsubscribes(&going)).await.refused(400, "invalid_state");
        app.unchanged(client.delete(&format!("/1/subscriptions/{going}"))).await.refused(400, "invalid_state");
        client.move_clock("1month").await;
        let record = client.subscription(&going).await;
        assert_eq!((&record["state"], &record["cancelled_at"]), (&json!("cancelled"), &json!("2026-04-02T10:00:00Z")));
        assert_eq!(client.counts(&free).await, [0, 0, 0, 1]);
        app.unchanged(client.unsubscribes(&going)).await.refused(400, "invalid_state");
        // Two first charges, and one renewal.
        assert_eq!(client.charged(&customer).await.len(), 3);
    }

    async fn with_its_customer_each_subscription_ends(app) {
        let client = app.client();
        let (one, other) = (customer(&client).await, customer(&client).await);
        let plan = client.plan(&json!({})).await;
        let card = further_card(&client, &one, CARD).await;
        let active = token_of(&client.subscribing(&plan, &one, &json!({ "card_token": card })).await.ok(201));
        let (going, gone) = (client.subscribed(&plan, &one).await, client.subscribed(&plan, &one).await);
        client.unsubscribes(&going).await.ok(200);
        client.delete(&format!("/1/subscriptions/{gone}")).await.ok(200);
        let kept = client.subscribed(&plan, &other).await;
        let before = app.events().await.len();
        client.delete(&format!("/1/customers/{one}")).await.ok(204);
        assert_eq!(app.events().await[before..], ["customer.deleted", "subscription.cancelled", "subscription.cancelled"]);
        for subscription in [&active, &going, &gone] {
            let record = client.subscription(subscription).await;
            assert_eq!((&record["state"], &record["card_token"]), (&json!("cancelled"), &Value::Null));
            app.unchanged(client.put_subscription(subscription, "reactivate")).await.refused(400, "invalid_state");
            wrong_card(app, client.put(&format!("/1/subscriptions/{subscription}"), &json!({ "card_token": card }))).await;
        }
        assert_eq!(client.subscription(&kept).await["state"], "active");
        assert_eq!(client.counts(&plan).await, [0, 1, 0, 3]);
        client.move_clock("1month").await;
        assert_eq!(client.get(&format!("/1/customers/{other}/charges")).await.ok(200).as_array().unwrap().len(), 2);
    }

    #[dated]
    async fn the_ledger_has_the_documented_fields_newest_first(app) {
        let client = app.client();
        let (plan, customer) = (client.plan(&json!({ "setup_amount": 150, "currency": "USD" })).await, customer(&client).await);
        let subscription = client.subscribed(&plan, &customer).await;
        client.move_clock("1month").await;
        let answer = client.get(&format!("/1/subscriptions/{subscription}/ledger")).await;
        let entry = |at: &str, kind: &str, amount: i64, annotation: &str| {
            json!({ "created_at": at, "type": kind, "amount": amount, "currency": "USD", "annotation": annotation })
        };
        assert_eq!(answer.ok(200), json!([
            entry("2026-04-02T10:00:00Z", "debit", 1000, "interval_debit"),
            entry("2026-04-02T10:00:00Z", "credit", 1000, "charge_credit"),
            entry("2026-03-02T10:00:00Z", "debit", 150, "setup_debit"),
            entry("2026-03-02T10:00:00Z", "debit", 1000, "interval_debit"),
            entry("2026-03-02T10:00:00Z", "credit", 1150, "charge_credit"),
        ]));
        assert_eq!(fields(&answer.ok(200)[0]), ["created_at", "type", "amount", "currency", "annotation"]);
        assert_eq!(answer.json()["pagination"], json!({ "count": 5, "per_page": 25, "current": 1 }));
    }
}

rules! {
    async fn within_what_is_paid_a_reactivation_charges_nothing(app) {
        let client = app.client();
        let customer = customer(&client).await;
        for (changes, state) in [
            (json!({ "setup_amount": 150 }), "active"),
            (json!({ "setup_amount": 150, "trial_interval": 1, "trial_interval_unit": "month" }), "trial"),
        ] {
            let plan = client.plan(&changes).await;
            let subscription = client.subscribed(&plan, &customer).await;
            let as_it_was = client.subscription(&subscription).await;
            for ends in ["cancelled", "cancelling"] {
                if ends == "cancelled" {
                    client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
                } else {
                    client.unsubscribes(&subscription).await.ok(200);
                }
                let (charges, events) = (client.listed().await, app.events().await);
                assert_eq!(client.put_subscription(&subscription, "reactivate").await.ok(200), as_it_was);
                assert_eq!((client.listed().await, app.events().await), (charges, events));
                assert_eq!(client.counts(&plan).await.iter().sum::<i64>(), 1);
            }
            assert_eq!(as_it_was["state"], state);
            app.unchanged(client.put_subscription(&subscription, "reactivate")).await.refused(400, "invalid_state");
        }
        client.move_clock("1month").await;
        let amounts: Vec<_> = client.charged(&customer).await.into_iter().map(|(_, amount)| amount).collect();
        assert_eq!(amounts, [1150, 1000, 1150]);
    }

    #[dated]
    async fn after_what_is_paid_a_reactivation_begins_a_new_interval_now(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({ "setup_amount": 150 })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        client.move_clock("40d").await;
        let before = app.events().await.len();
        let record = client.put_subscription(&subscription, "reactivate").await.ok(200);
        assert_eq!((&record["state"], &record["cancelled_at"]), (&json!("active"), &Value::Null));
        assert_eq!(record["active_interval_started_at"], "2026-04-11T10:00:00Z");
        assert_eq!(record["next_billing_date"], "2026-05-11T10:00:00Z");
        assert_eq!(app.events().await[before..], ["charge.captured"]);
        client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        client.move_clock("40d").await;
        let path = format!("/1/subscriptions/{subscription}/reactivate");
        client.put(&path, &json!({ "include_setup_fee": false })).await.ok(200);
        client.move_clock("1month").await;
        let amounts: Vec<_> = client.charged(&customer).await.into_iter().map(|(_, amount)| amount).collect();
        assert_eq!(amounts, [1150, 1150, 1000, 1000]);
        let kinds: Vec<_> = client.entries(&subscription).await.into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds.iter().filter(|kind| *kind == "interval_debit").count(), 4);
        assert_eq!(kinds.iter().filter(|kind| *kind == "setup_debit").count(), 2);
        let faults = json!([{ "param": "include_setup_fee", "message": "is not included in the list" }]);
        faulty(app, client.put(&path, &json!({ "include_setup_fee": "x" })), faults).await;
    }

    async fn a_declined_reactivation_changes_nothing_but_the_failed_charge(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({})).await;
        let subscription = client.subscribed(&plan, &customer).await;
        client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        client.move_clock("2month").await;
        let as_it_was = client.subscription(&subscription).await;
        client.put(&format!("/1/customers/{customer}"), &json!({ "card": card(DECLINED) })).await.ok(200);
        let before = app.events().await.len();
        let body = client.put_subscription(&subscription, "reactivate").await.refused(400, "card_declined");
        assert!(body["charge_token"].as_str().unwrap().starts_with("ch_"));
        assert_eq!(client.subscription(&subscription).await, as_it_was);
        assert_eq!(app.events().await[before..], ["charge.failed"]);
        assert_eq!(client.counts(&plan).await, [0, 0, 0, 1]);
        client.put(&format!("/1/customers/{customer}"), &json!({ "card": card(CARD) })).await.ok(200);
        assert_eq!(client.put_subscription(&subscription, "reactivate").await.ok(200)["state"], "active");
    }

    async fn used_up_intervals_are_not_reactivated(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({ "intervals": 2 })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        client.put_subscription(&subscription, "reactivate").await.ok(200);
        client.move_clock("3month").await;
        assert_eq!(client.subscription(&subscription).await["state"], "cancelled");
        app.unchanged(client.put_subscription(&subscription, "reactivate")).await.refused(400, "invalid_state");
        assert_eq!(client.charged(&customer).await.len(), 2);
    }

    #[dated]
    async fn an_interval_that_costs_nothing_is_reactivated_without_a_charge(app) {
        let client = app.client();
        let (plan, customer) = (client.plan(&json!({ "amount": 0 })).await, token_of(&client.customer(DECLINED).await));
        let subscription = client.subscribed(&plan, &customer).await;
        client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        client.move_clock("2month").await;
        let record = client.put_subscription(&subscription, "reactivate").await.ok(200);
        assert_eq!((&record["state"], &record["active_interval_started_at"]), (&json!("active"), &json!("2026-05-02T10:00:00Z")));
    }
}
