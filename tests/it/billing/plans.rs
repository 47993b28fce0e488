//! Plans (specification, Plan and Plans; `docs/decisions.md`, 179 to 182).

use serde_json::{Value, json};

use crate::harness::{App, as_of, at_once, fields, rounds, rules, token_of, with};

fn coffee() -> Value {
    json!({ "name": "Coffee plan", "amount": 1000, "interval": 30, "interval_unit": "day" })
}

/// A plan with these changes is refused with these messages, and changes nothing.
async fn refused(app: &App, changes: Value, messages: &[(&str, &str)]) {
    let parameters = with(coffee(), &changes);
    let body =
        app.unchanged(app.client().post("/1/plans", &parameters)).await.refused(422, "unprocessable_entity");
    assert_eq!(body["error_description"], "Validation failure");
    assert_messages(&body, messages);
}

#[track_caller]
fn assert_messages(body: &Value, messages: &[(&str, &str)]) {
    let found: Vec<_> = body["messages"].as_array().unwrap().iter().collect();
    let found: Vec<_> = found
        .iter()
        .map(|message| {
            let param = message["param"].as_str().unwrap();
            assert_eq!(message["code"], format!("{param}_invalid"));
            (param, message["message"].as_str().unwrap())
        })
        .collect();
    assert_eq!(found, messages, "{body}");
}

rules! {
    async fn a_plan_has_the_documented_fields_and_defaults(app) {
        let plan = app.client().post("/1/plans", &coffee()).await.ok(201);
        assert_eq!(
            fields(&plan),
            ["token", "name", "amount", "setup_amount", "trial_amount", "currency", "interval", "intervals", "trial_interval",
             "interval_unit", "trial_interval_unit", "customer_permissions", "created_at", "subscription_counts"]
        );
        assert!(token_of(&plan).starts_with("plan_"));
        let rest = with(plan, &json!({ "token": null }));
        assert_eq!(rest, json!({
            "token": null, "name": "Coffee plan", "amount": 1000, "setup_amount": 0, "trial_amount": 0, "currency": "AUD",
            "interval": 30, "intervals": 0, "trial_interval": 0, "interval_unit": "day", "trial_interval_unit": "",
            "customer_permissions": ["cancel"], "created_at": as_of(),
            "subscription_counts": { "trial": 0, "active": 0, "cancelling": 0, "cancelled": 0 },
        }));
        assert_eq!(app.events().await, ["plan.created"]);
    }

    async fn a_plan_keeps_everything_that_was_sent(app) {
        let sent = json!({
            "name": "Tea", "amount": "5000", "currency": "usd", "interval": 2, "interval_unit": "week", "intervals": 6,
            "setup_amount": 150, "trial_amount": 100, "trial_interval": 7, "trial_interval_unit": "day",
            "customer_permissions": [],
        });
        let client = app.client();
        for answer in [client.post("/1/plans", &sent).await, client.post_form("/1/plans", &with(sent, &json!({ "customer_permissions": [""] }))).await] {
            let plan = answer.ok(201);
            for (field, value) in [
                ("amount", json!(5000)), ("currency", json!("USD")), ("interval", json!(2)), ("interval_unit", json!("week")),
                ("intervals", json!(6)), ("setup_amount", json!(150)), ("trial_amount", json!(100)), ("trial_interval", json!(7)),
                ("trial_interval_unit", json!("day")), ("customer_permissions", json!([])),
            ] {
                assert_eq!(plan[field], value, "{field}");
            }
            assert_eq!(client.get(&format!("/1/plans/{}", token_of(&plan))).await.record(), answer.record());
        }
    }

    async fn names_need_not_be_unique_and_lists_are_short_and_newest_first(app) {
        let client = app.client();
        let plans = [client.plan(&json!({})).await, client.plan(&json!({})).await, client.plan(&json!({})).await];
        let answer = client.get("/1/plans?per_page=2").await;
        let listed: Vec<_> = answer.ok(200).as_array().unwrap().iter().map(token_of).collect();
        assert_eq!(listed, [plans[2].as_str(), &plans[1]]);
        assert_eq!(answer.json()["pagination"], json!({ "count": 3, "per_page": 2, "current": 1 }));
        assert!(answer.json().get("count").is_none());
    }

    async fn every_fault_is_told_at_once_in_the_order_of_the_parameters(app) {
        let body = app.unchanged(app.client().post("/1/plans", &json!({}))).await.refused(422, "unprocessable_entity");
        assert_messages(&body, &[
            ("name", "Name can't be blank"), ("amount", "Amount can't be blank"), ("interval", "Interval can't be blank"),
            ("interval_unit", "Interval unit can't be blank"),
        ]);
        refused(app, json!({
            "amount": "ten", "currency": "XXX", "interval": 0, "interval_unit": "hour", "intervals": -1, "setup_amount": -1,
            "trial_amount": 1.5, "trial_interval": -2, "trial_interval_unit": "fortnight", "customer_permissions": ["fly"],
        }), &[
            ("amount", "Amount is not a number"), ("currency", "Currency is not a supported currency"),
            ("interval", "Interval must be greater than or equal to 1"), ("interval_unit", "Interval unit is not included in the list"),
            ("intervals", "Intervals must be greater than or equal to 0"), ("setup_amount", "Setup amount must be greater than or equal to 0"),
            ("trial_amount", "Trial amount must be an integer"), ("trial_interval", "Trial interval must be greater than or equal to 0"),
            ("trial_interval_unit", "Trial interval unit is not included in the list"),
            ("customer_permissions", "Customer permissions is not included in the list"),
        ]).await;
    }

    async fn intervals_have_bounds(app) {
        let client = app.client();
        refused(app, json!({ "interval": 1001 }), &[("interval", "Interval must be at most 1000")]).await;
        refused(app, json!({ "interval": 9_007_199_254_740_991_i64 }), &[("interval", "Interval must be at most 1000")]).await;
        refused(app, json!({ "interval": -1 }), &[("interval", "Interval must be greater than or equal to 1")]).await;
        refused(app, json!({ "intervals": 10_001 }), &[("intervals", "Intervals must be at most 10000")]).await;
        refused(app, json!({ "trial_interval": 1001, "trial_interval_unit": "day" }), &[("trial_interval", "Trial interval must be at most 1000")]).await;
        refused(app, json!({ "trial_interval": 1 }), &[("trial_interval_unit", "Trial interval unit can't be blank")]).await;
        client.plan(&json!({
            "interval": 1000, "interval_unit": "year", "intervals": 10_000, "trial_interval": 1000, "trial_interval_unit": "year",
        })).await;
    }

    async fn an_amount_is_nothing_or_at_least_the_currencys_minimum(app) {
        let client = app.client();
        for (amount, currency, min) in [(1, "AUD", 100), (99, "AUD", 100), (49, "GBP", 50), (999, "HKD", 1000), (999_999, "IDR", 1_000_000)] {
            for param in ["amount", "setup_amount", "trial_amount"] {
                let name = match param { "amount" => "Amount", "setup_amount" => "Setup amount", _ => "Trial amount" };
                let amounts = json!({ "amount": min, "currency": currency });
                refused(app, with(amounts, &json!({ param: amount })), &[(param, &format!("{name} must be at least {min}"))]).await;
            }
            client.plan(&json!({ "amount": min, "setup_amount": min, "trial_amount": 0, "currency": currency })).await;
        }
        client.plan(&json!({ "amount": 0, "setup_amount": 0 })).await;
    }

    async fn no_bill_is_larger_than_a_charge_may_be(app) {
        let client = app.client();
        refused(app, json!({ "amount": 2_500_001 }), &[("amount", "Amount must be at most 2500000")]).await;
        // What is wrong of one amount says nothing about the other.
        let changes = json!({ "amount": 2_500_001, "setup_amount": 1_000 });
        refused(app, changes, &[("amount", "Amount must be at most 2500000")]).await;
        refused(app, json!({ "trial_amount": 2_500_001 }), &[("trial_amount", "Trial amount must be at most 2500000")]).await;
        refused(app, json!({ "setup_amount": 2_499_001 }), &[("setup_amount", "Setup amount must be at most 2499000")]).await;
        refused(app, json!({ "amount": 9_007_199_254_740_991_i64, "currency": "JPY" }), &[("amount", "Amount must be at most 2500000")]).await;
        client.plan(&json!({ "setup_amount": 2_499_000 })).await;
    }

    async fn an_update_changes_name_and_permissions_and_no_event_tells(app) {
        let client = app.client();
        let plan = client.plan(&json!({})).await;
        let path = format!("/1/plans/{plan}");
        let put = client.put(&path, &json!({ "name": "Tea", "customer_permissions": [], "amount": 5 })).await;
        assert_eq!(put.ok(200)["name"], "Tea");
        assert_eq!(put.ok(200)["customer_permissions"], json!([]));
        assert_eq!(put.ok(200)["amount"], 1000);
        assert_eq!(client.get(&path).await.record(), put.record());
        assert_eq!(client.put(&path, &json!({ "customer_permissions": ["cancel", "cancel"] })).await.ok(200)["customer_permissions"], json!(["cancel"]));
        let untouched = client.put(&path, &json!({})).await.ok(200);
        assert_eq!((&untouched["name"], &untouched["customer_permissions"]), (&json!("Tea"), &json!(["cancel"])));
        assert_eq!(app.events().await, ["plan.created"]);
        for (change, message) in [
            (json!({ "name": " " }), ("name", "Name can't be blank")),
            (json!({ "name": "x".repeat(256) }), ("name", "Name is too long (maximum is 255 characters)")),
            (json!({ "customer_permissions": ["pause"] }), ("customer_permissions", "Customer permissions is not included in the list")),
        ] {
            assert_messages(&app.unchanged(client.put(&path, &change)).await.refused(422, "unprocessable_entity"), &[message]);
        }
    }

    async fn unknown_plans_are_not_found(app) {
        let client = app.client();
        let strangers = app.stranger().await.plan(&json!({})).await;
        for plan in [strangers.as_str(), "plan_AZqYv3rVcBKUQ1mHn7tKRw", "cus_AZqYv3rVcBKUQ1mHn7tKRw", "x"] {
            let path = format!("/1/plans/{plan}");
            client.get(&path).await.not_found();
            app.unchanged(client.put(&path, &json!({ "name": "" }))).await.not_found();
            app.unchanged(client.delete(&path)).await.not_found();
            client.get(&format!("{path}/subscriptions")).await.not_found();
            app.unchanged(client.post(&format!("{path}/subscriptions"), &json!({}))).await.not_found();
        }
    }

    async fn a_plan_with_active_or_trial_subscriptions_is_not_deleted(app) {
        let client = app.client();
        let customer = token_of(&client.customer("4200000000000000").await);
        for changes in [json!({}), json!({ "trial_interval": 1, "trial_interval_unit": "week" })] {
            let plan = client.plan(&changes).await;
            let path = format!("/1/plans/{plan}");
            let subscription = client.subscribed(&plan, &customer).await;
            let body = app.unchanged(client.delete(&path)).await.refused(400, "cannot_delete_plan");
            assert_eq!(body["error_description"], "The plan has active or trial subscriptions");
            client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
            client.delete(&path).await.ok(204);
            app.unchanged(client.delete(&path)).await.not_found();
            client.get(&path).await.not_found();
        }
    }

    async fn with_a_plan_all_its_subscriptions_go(app) {
        let client = app.client();
        let customer = token_of(&client.customer("4200000000000000").await);
        let (plan, other) = (client.plan(&json!({})).await, client.plan(&json!({})).await);
        let mut gone = Vec::new();
        for n in 0..3 {
            let subscription = client.subscribed(&plan, &customer).await;
            if n == 0 {
                client.unsubscribes(&subscription).await.ok(200);
            } else {
                client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
            }
            gone.push(subscription);
        }
        let kept = client.subscribed(&other, &customer).await;
        let charges = client.listed().await;
        client.delete(&format!("/1/plans/{plan}")).await.ok(204);
        for swept in [false, true] {
            for subscription in &gone {
                client.get(&format!("/1/subscriptions/{subscription}")).await.not_found();
                client.get(&format!("/1/subscriptions/{subscription}/ledger")).await.not_found();
                app.unchanged(client.delete(&format!("/1/subscriptions/{subscription}"))).await.not_found();
                app.unchanged(client.put_subscription(subscription, "reactivate")).await.not_found();
            }
            for path in ["/1/subscriptions".to_owned(), format!("/1/customers/{customer}/subscriptions")] {
                let list = client.get(&path).await;
                assert_eq!(list.ok(200).as_array().unwrap().iter().map(token_of).collect::<Vec<_>>(), [kept.as_str()]);
                assert_eq!(list.json()["pagination"]["count"], 1);
            }
            assert_eq!(client.get("/1/plans").await.json()["pagination"]["count"], 1);
            app.check_books().await;
            if !swept {
                app.do_due_work().await;
            }
        }
        // Nothing of them is left but their charges, and no event names them again.
        assert_eq!(app.number("SELECT COUNT(*) FROM subscriptions").await, 1);
        assert_eq!(app.number("SELECT COUNT(*) FROM subscription_entries").await, 2);
        assert_eq!(app.number("SELECT COUNT(*) FROM plans").await, 1);
        assert_eq!(client.listed().await, charges);
        assert_eq!(app.events().await.last(), Some(&"plan.deleted"));
        client.move_clock("2month").await;
        assert!(!app.events().await.contains(&"subscription.expired"));
    }

    async fn a_plan_with_many_subscriptions_goes_in_portions(app) {
        let client = app.client().patient();
        let customer = token_of(&client.customer("4200000000000000").await);
        let plan = client.plan(&json!({ "amount": 0 })).await;
        for _ in 0..5 {
            let subscribing = (0..50).map(|_| {
                let (client, plan, customer) = (client.clone(), plan.clone(), customer.clone());
                async move { client.subscribing(&plan, &customer, &json!({})).await }
            });
            for answer in at_once(subscribing).await {
                let subscription = token_of(&answer.ok(201));
                client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
            }
        }
        assert_eq!(client.counts(&plan).await, [0, 0, 0, 250]);
        client.delete(&format!("/1/plans/{plan}")).await.ok(204);
        assert_eq!(client.get("/1/subscriptions").await.json()["pagination"]["count"], 0);
        app.check_books().await;
        app.do_due_work().await;
        assert_eq!(app.number("SELECT COUNT(*) FROM subscriptions").await, 0);
        assert_eq!(app.number("SELECT COUNT(*) FROM plans").await, 0);
    }

    async fn of_deletions_and_subscriptions_that_race_one_kind_wins(app) {
        let client = app.client().patient();
        let customer = token_of(&client.customer("4200000000000000").await);
        for round in 0..rounds() {
            // With a charge, and without one.
            let plan = client.plan(&json!({ "amount": if round % 2 == 0 { 1000 } else { 0 } })).await;
            let racers = (0..12).map(|n| {
                let (client, plan, customer) = (client.clone(), plan.clone(), customer.clone());
                async move {
                    if n % 3 == 1 {
                        client.delete(&format!("/1/plans/{plan}")).await
                    } else {
                        client.subscribing(&plan, &customer, &json!({})).await
                    }
                }
            });
            let statuses: Vec<_> = at_once(racers).await.iter().map(|answer| answer.status).collect();
            let made = statuses.iter().filter(|status| **status == 201).count();
            if statuses.contains(&204) {
                assert_eq!(made, 0, "{statuses:?}");
                client.get(&format!("/1/plans/{plan}")).await.not_found();
            } else {
                assert_eq!(made, 8, "{statuses:?}");
                assert_eq!(client.counts(&plan).await, [0, 8, 0, 0]);
            }
        }
    }
}
