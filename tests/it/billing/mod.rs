//! The billing run, through the account's clock (`docs/decisions.md`, 183 to 187, 191 and 192).

pub mod course;
mod currencies;
mod model;
mod plans;
mod races;
mod subscriptions;

use entity::TimeSpan;
use serde_json::{Value, json};

use crate::harness::flaky_acquirer::{CallFault, FlakyAcquirer};
use crate::harness::{App, Client, card, rules, token_of};

const CARD: &str = "4200000000000000";
const DECLINED: &str = "4100000000000001";

async fn customer(client: &Client) -> String {
    token_of(&client.customer(CARD).await)
}

/// From now on the customer is charged by a card of this number.
async fn pays_by(client: &Client, customer: &str, number: &str) {
    client.put(&format!("/1/customers/{customer}"), &json!({ "card": card(number) })).await.ok(200);
}

async fn moved_to(client: &Client, to: &str) -> Value {
    let moved = client.put("/1/sandbox/clock", &json!({ "to": to })).await.ok(200);
    assert_eq!(moved["complete"], true);
    moved
}

fn days(charged: &[(String, i64)]) -> Vec<&str> {
    charged.iter().map(|(at, _)| &at[..10]).collect()
}

/// The events after the first `from`, without those of customers.
async fn events(app: &App, from: usize) -> Vec<&'static str> {
    app.events().await.split_off(from).into_iter().filter(|event| !event.starts_with("customer.")).collect()
}

/// A month passes, and from then on no call reaches the acquirer.
async fn first_renewal_fails(app: &App, acquirer: &FlakyAcquirer) {
    acquirer.carry(CallFault::Nothing);
    app.clock.advance(TimeSpan::days(31));
    app.do_due_work().await;
}

rules! {
    #[dated]
    async fn each_interval_is_billed_on_its_day(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({ "interval": 2, "interval_unit": "week" })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        let from = app.events().await.len();
        let moved = client.move_clock("5w").await;
        let charged = client.charged(&customer).await;
        assert_eq!(days(&charged), ["2026-03-02", "2026-03-16", "2026-03-30"]);
        assert_eq!(events(app, from).await, ["charge.captured", "subscription.renewed", "charge.captured", "subscription.renewed"]);
        let record = client.subscription(&subscription).await;
        assert_eq!(record["active_interval_started_at"], "2026-03-30T10:00:00Z");
        assert_eq!(record["next_billing_date"], "2026-04-13T10:00:00Z");
        let ran: Vec<_> = moved["ran"].as_array().unwrap().iter().map(|ran| (ran["at"].as_str().unwrap(), ran["what"].as_str().unwrap(), ran["token"].as_str().unwrap())).collect();
        assert_eq!(ran, [
            ("2026-03-16T10:00:00Z", "subscription.renewed", subscription.as_str()),
            ("2026-03-30T10:00:00Z", "subscription.renewed", &subscription),
        ]);
        // Ordinary charges: they can be refunded, and their money is the merchant's.
        let charge = token_of(&client.get("/1/charges").await.ok(200)[0]);
        client.refund(&charge, 1000).await.ok(201);
        app.do_due_work().await;
    }

    #[dated]
    async fn a_month_keeps_its_day_through_february_and_leap_years(app) {
        let client = app.client();
        moved_to(&client, "2027-12-31T23:30:00Z").await;
        let customer = customer(&client).await;
        let plan = client.plan(&json!({})).await;
        let subscription = client.subscribed(&plan, &customer).await;
        moved_to(&client, "2028-05-01T00:00:00Z").await;
        assert_eq!(days(&client.charged(&customer).await), ["2027-12-31", "2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30"]);
        assert_eq!(client.subscription(&subscription).await["next_billing_date"], "2028-05-31T23:30:00Z");
    }

    #[dated]
    async fn a_year_from_the_29th_of_february_is_the_28th_but_in_leap_years(app) {
        let client = app.client();
        moved_to(&client, "2028-02-29T00:00:00Z").await;
        let lasting = crate::harness::with(card(CARD), &json!({ "expiry_year": 2033 }));
        let customer = client.post("/1/customers", &json!({ "email": "roland@example.com", "card": lasting })).await;
        let customer = token_of(&customer.ok(201));
        let plan = client.plan(&json!({ "interval_unit": "year" })).await;
        client.subscribed(&plan, &customer).await;
        moved_to(&client, "2032-12-31T00:00:00Z").await;
        assert_eq!(days(&client.charged(&customer).await), ["2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"]);
    }

    #[dated]
    async fn the_longest_intervals_are_further_away_than_any_clock_goes(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let longest = json!({ "interval": 1000, "interval_unit": "year", "intervals": 10_000, "trial_interval": 1000, "trial_interval_unit": "year" });
        let (plan, trial) = (client.plan(&json!({ "interval": 1000, "interval_unit": "year" })).await, client.plan(&longest).await);
        let (active, tried) = (client.subscribed(&plan, &customer).await, client.subscribed(&trial, &customer).await);
        client.move_clock("99year").await;
        for subscription in [active, tried] {
            assert_eq!(client.subscription(&subscription).await["next_billing_date"], "3026-03-02T10:00:00Z");
        }
        assert_eq!(client.charged(&customer).await.len(), 1);
    }

    async fn at_the_end_of_a_trial_plan_amount_and_setup_fee_are_billed(app) {
        let client = app.client();
        let customer = customer(&client).await;
        for (include, amounts) in [(true, [200, 1150, 1000]), (false, [200, 1000, 1000])] {
            let plan = client.plan(&json!({
                "setup_amount": 150, "trial_amount": 200, "trial_interval": 10, "trial_interval_unit": "day",
            })).await;
            let params = json!({ "include_setup_fee": include });
            let subscription = token_of(&client.subscribing(&plan, &customer, &params).await.ok(201));
            let (from, before) = (app.events().await.len(), client.charged(&customer).await.len());
            client.move_clock("10d").await;
            assert_eq!(client.subscription(&subscription).await["state"], "active");
            assert_eq!(client.counts(&plan).await, [0, 1, 0, 0]);
            assert_eq!(events(app, from).await, ["charge.captured", "subscription.renewed"]);
            client.move_clock("1month").await;
            let charged: Vec<_> = client.charged(&customer).await[before - 1..].iter().map(|(_, amount)| *amount).collect();
            assert_eq!(charged, amounts);
            client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        }
    }

    #[dated]
    async fn the_last_interval_is_not_followed_by_a_bill(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({ "intervals": 2 })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        client.move_clock("1month").await;
        let record = client.subscription(&subscription).await;
        assert_eq!((&record["state"], &record["next_billing_date"]), (&json!("active"), &Value::Null));
        let from = app.events().await.len();
        client.move_clock("50d").await;
        let record = client.subscription(&subscription).await;
        assert_eq!((&record["state"], &record["cancelled_at"]), (&json!("cancelled"), &json!("2026-05-02T10:00:00Z")));
        assert_eq!(events(app, from).await, ["subscription.expired"]);
        assert_eq!(days(&client.charged(&customer).await), ["2026-03-02", "2026-04-02"]);
    }

    #[dated]
    async fn a_bill_is_tried_again_after_one_three_and_six_days_then_it_ends(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({ "interval": 1, "interval_unit": "week" })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        pays_by(&client, &customer, DECLINED).await;
        for (at, next) in [("2026-03-09", "2026-03-10"), ("2026-03-10", "2026-03-12"), ("2026-03-12", "2026-03-15")] {
            let from = app.events().await.len();
            moved_to(&client, &format!("{at}T10:00:00Z")).await;
            let record = client.subscription(&subscription).await;
            assert_eq!((&record["state"], &record["next_billing_date"]), (&json!("active"), &json!(format!("{next}T10:00:00Z"))));
            assert_eq!(record["active_interval_finishes_at"], "2026-03-09T10:00:00Z");
            assert_eq!(events(app, from).await, ["charge.failed", "subscription.renewal_failed"]);
        }
        let from = app.events().await.len();
        moved_to(&client, "2026-03-15T10:00:00Z").await;
        let record = client.subscription(&subscription).await;
        assert_eq!((&record["state"], &record["cancelled_at"]), (&json!("cancelled"), &json!("2026-03-15T10:00:00Z")));
        assert_eq!(events(app, from).await, ["charge.failed", "subscription.renewal_failed", "subscription.cancelled"]);
        client.move_clock("1year").await;
        assert_eq!(client.charged(&customer).await.len(), 1);
        assert_eq!(client.counts(&plan).await, [0, 0, 0, 1]);
    }

    #[dated]
    async fn a_bill_paid_late_does_not_move_the_days_of_later_ones(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let subscription = client.subscribed(&client.plan(&json!({})).await, &customer).await;
        pays_by(&client, &customer, DECLINED).await;
        moved_to(&client, "2026-04-04T00:00:00Z").await;
        pays_by(&client, &customer, CARD).await;
        moved_to(&client, "2026-04-05T10:00:00Z").await;
        let record = client.subscription(&subscription).await;
        assert_eq!(record["active_interval_started_at"], "2026-04-02T10:00:00Z");
        assert_eq!(record["next_billing_date"], "2026-05-02T10:00:00Z");
        pays_by(&client, &customer, DECLINED).await;
        // The count of failures begins again.
        moved_to(&client, "2026-05-02T10:00:00Z").await;
        assert_eq!(client.subscription(&subscription).await["next_billing_date"], "2026-05-03T10:00:00Z");
        assert_eq!(days(&client.charged(&customer).await), ["2026-03-02", "2026-04-05"]);
        assert_eq!(client.entries(&subscription).await.len(), 4);
    }

    #[dated]
    async fn the_first_bill_after_a_trial_is_tried_again_likewise(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({ "setup_amount": 150, "trial_interval": 2, "trial_interval_unit": "day" })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        pays_by(&client, &customer, DECLINED).await;
        moved_to(&client, "2026-03-05T10:00:00Z").await;
        let record = client.subscription(&subscription).await;
        assert_eq!((&record["state"], &record["next_billing_date"]), (&json!("trial"), &json!("2026-03-07T10:00:00Z")));
        pays_by(&client, &customer, CARD).await;
        moved_to(&client, "2026-03-07T10:00:00Z").await;
        let record = client.subscription(&subscription).await;
        assert_eq!((&record["state"], &record["active_interval_started_at"]), (&json!("active"), &json!("2026-03-04T10:00:00Z")));
        assert_eq!(client.charged(&customer).await, [("2026-03-07T10:00:00Z".to_owned(), 1150)]);
    }

    async fn a_plan_of_less_than_a_week_ends_with_its_first_failure(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({ "interval": 6, "interval_unit": "day" })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        pays_by(&client, &customer, DECLINED).await;
        let from = app.events().await.len();
        client.move_clock("6d").await;
        assert_eq!(client.subscription(&subscription).await["state"], "cancelled");
        assert_eq!(events(app, from).await, ["charge.failed", "subscription.renewal_failed", "subscription.cancelled"]);
    }

    async fn intervals_that_cost_nothing_go_by_without_charges(app) {
        let client = app.client();
        let customer = token_of(&client.customer(DECLINED).await);
        let plan = client.plan(&json!({ "amount": 0, "intervals": 3, "interval_unit": "week" })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        let from = app.events().await.len();
        client.move_clock("30d").await;
        assert_eq!(events(app, from).await, ["subscription.renewed", "subscription.renewed", "subscription.expired"]);
        assert_eq!((client.charged(&customer).await, client.entries(&subscription).await), (vec![], vec![]));
    }

    async fn the_primary_card_of_that_moment_pays_or_the_named_one(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({})).await;
        let path = format!("/1/customers/{customer}");
        let named = token_of(&client.post(&format!("{path}/cards"), &card(CARD)).await.ok(201));
        client.subscribed(&plan, &customer).await;
        client.subscribing(&plan, &customer, &json!({ "card_token": named })).await.ok(201);
        let primary = client.put(&path, &json!({ "card": card("5520000000000000") })).await.ok(200)["card"]["token"].clone();
        client.move_clock("1month").await;
        let charges = client.get(&format!("{path}/charges")).await.ok(200);
        let mut paid = [charges[0]["card"]["token"].clone(), charges[1]["card"]["token"].clone()];
        paid.sort_by_key(Value::to_string);
        let mut expected = [primary, json!(named)];
        expected.sort_by_key(Value::to_string);
        assert_eq!(paid, expected);
    }

    #[dated]
    async fn a_server_that_was_down_bills_every_missed_interval_once_and_in_order(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({ "intervals": 5 })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        // The wall clock goes on while no worker runs.
        app.clock.advance(TimeSpan::days(100));
        app.do_due_work().await;
        let charged = client.charged(&customer).await;
        assert_eq!(days(&charged), ["2026-03-02", "2026-06-10", "2026-06-10", "2026-06-10"]);
        let record = client.subscription(&subscription).await;
        assert_eq!(record["active_interval_started_at"], "2026-06-02T10:00:00Z");
        assert_eq!(record["next_billing_date"], "2026-07-02T10:00:00Z");
        assert_eq!(client.entries(&subscription).await.len(), 8);
        app.clock.advance(TimeSpan::days(100));
        app.do_due_work().await;
        assert_eq!(client.subscription(&subscription).await["state"], "cancelled");
        assert_eq!(client.charged(&customer).await.len(), 5);
    }

    #[dated]
    async fn a_subscription_that_runs_out_while_no_worker_runs_ends_when_one_does(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let subscription = client.subscribed(&client.plan(&json!({})).await, &customer).await;
        client.unsubscribes(&subscription).await.ok(200);
        app.clock.advance(TimeSpan::days(40));
        app.do_due_work().await;
        let record = client.subscription(&subscription).await;
        assert_eq!((&record["state"], &record["cancelled_at"]), (&json!("cancelled"), &json!("2026-04-11T10:00:00Z")));
    }

    #[dated]
    async fn a_renewal_that_the_card_or_the_sandbox_declines_fails_though_its_answer_is_lost(app) {
        let client = app.client();
        for (number, decline) in [(DECLINED, None), ("4200000000000000", Some("lost_card"))] {
            let customer = customer(&client).await;
            client.subscribed(&client.plan(&json!({})).await, &customer).await;
            pays_by(&client, &customer, number).await;
            client.put("/1/sandbox/acquirer", &json!({ "drop_rate": 1, "decline": decline })).await.ok(200);
            let from = app.events().await.len();
            client.move_clock("1month").await;
            let failed = events(app, from).await;
            assert_eq!(failed[..2], ["charge.failed", "subscription.renewal_failed"], "{number}");
            assert!(!failed.contains(&"charge.captured"), "{number}: {failed:?}");
            client.put("/1/sandbox/acquirer", &json!({ "drop_rate": 0, "decline": null })).await.ok(200);
            client.delete(&format!("/1/customers/{customer}")).await.ok(204);
        }
    }

    #[dated]
    async fn a_lost_answer_to_a_renewal_stands(app) {
        let client = app.client();
        let customer = customer(&client).await;
        let subscription = client.subscribed(&client.plan(&json!({})).await, &customer).await;
        client.put("/1/sandbox/acquirer", &json!({ "drop_rate": 1 })).await.ok(200);
        client.move_clock("1month").await;
        assert_eq!(client.subscription(&subscription).await["next_billing_date"], "2026-05-02T10:00:00Z");
        assert_eq!(client.charged(&customer).await.len(), 2);
        // A first charge does not.
        let plan = client.plan(&json!({})).await;
        client.subscribing(&plan, &customer, &json!({})).await.refused(502, "gateway_error");
        client.delete(&format!("/1/plans/{plan}")).await.ok(204);
        assert_eq!(client.charged(&customer).await.len(), 2);
    }
}

rules! {
    #[dated]
    async fn a_renewal_whose_outcome_nobody_learnt_is_settled_and_stands(app, acquirer) {
        let client = app.client();
        let customer = customer(&client).await;
        let subscription = client.subscribed(&client.plan(&json!({})).await, &customer).await;
        acquirer.carry(CallFault::Call);
        acquirer.settle(false);
        app.clock.advance(TimeSpan::days(31));
        app.do_due_work().await;
        let record = client.subscription(&subscription).await;
        assert_eq!(record["next_billing_date"], "2026-04-02T10:00:00Z");
        // It is not billed a second time meanwhile, and not settled before its time.
        app.do_due_work().await;
        assert_eq!((acquirer.calls().len(), acquirer.settlings()), (2, 1));
        acquirer.settle(true);
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        assert_eq!(client.subscription(&subscription).await["next_billing_date"], "2026-05-02T10:00:00Z");
        assert_eq!(client.charged(&customer).await.len(), 2);
        assert_eq!(acquirer.calls().len(), 2);
        assert_eq!(app.events().await[4..], ["charge.captured", "subscription.renewed"]);
    }

    #[dated]
    async fn a_renewal_that_never_arrived_is_a_failed_one(app, acquirer) {
        let client = app.client();
        let subscription = client.subscribed(&client.plan(&json!({})).await, &customer(&client).await).await;
        first_renewal_fails(app, acquirer).await;
        let record = client.subscription(&subscription).await;
        assert_eq!((&record["state"], &record["next_billing_date"]), (&json!("active"), &json!("2026-04-03T10:00:00Z")));
        assert_eq!(app.events().await[4..], ["charge.failed", "subscription.renewal_failed"]);
        acquirer.carry(CallFault::Both);
        app.clock.advance(TimeSpan::days(1));
        app.do_due_work().await;
        assert_eq!(client.subscription(&subscription).await["next_billing_date"], "2026-05-02T10:00:00Z");
    }

    #[dated]
    async fn a_retry_that_a_server_was_down_for_leaves_as_much_time_until_the_next_one(app, acquirer) {
        let client = app.client();
        let subscription = client.subscribed(&client.plan(&json!({})).await, &customer(&client).await).await;
        first_renewal_fails(app, acquirer).await;
        // Two days after the first retry, which was due on 3 April, and three after the second.
        for (down, next) in [(7, "2026-04-11T10:00:00Z"), (2, "2026-04-14T10:00:00Z")] {
            app.clock.advance(TimeSpan::days(down));
            app.do_due_work().await;
            let record = client.subscription(&subscription).await;
            assert_eq!((&record["state"], &record["next_billing_date"]), (&json!("active"), &json!(next)));
        }
        app.clock.advance(TimeSpan::days(3));
        app.do_due_work().await;
        assert_eq!(client.subscription(&subscription).await["state"], "cancelled");
        assert_eq!(app.events().await.iter().filter(|event| **event == "subscription.renewal_failed").count(), 4);
    }

    async fn a_renewal_under_way_stands_though_the_subscription_is_cancelled(app, acquirer) {
        let client = app.client();
        for ends in ["cancelled", "cancelling", "customer"] {
            let customer = customer(&client).await;
            let plan = client.plan(&json!({ "interval_unit": "week" })).await;
            let subscription = client.subscribed(&plan, &customer).await;
            acquirer.carry(CallFault::AnswerLate);
            let (calls, from) = (acquirer.calls().len(), app.events().await.len());
            app.clock.advance(TimeSpan::days(8));
            let work = async {
                acquirer.called(calls + 1).await;
                match ends {
                    "cancelled" => client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200),
                    "cancelling" => client.unsubscribes(&subscription).await.ok(200),
                    _ => client.delete(&format!("/1/customers/{customer}")).await.ok(204),
                };
                if ends == "cancelling" {
                    // The interval that is being paid has not run out.
                    app.do_due_work().await;
                    assert_eq!(client.subscription(&subscription).await["state"], "cancelling");
                }
                if ends != "customer" {
                    app.unchanged(client.put_subscription(&subscription, "reactivate")).await.refused(400, "invalid_state");
                }
                acquirer.carry(CallFault::Both);
                acquirer.release();
            };
            futures::future::join(app.do_due_work(), work).await;
            let record = client.subscription(&subscription).await;
            assert_eq!(record["state"], if ends == "cancelling" { "cancelling" } else { "cancelled" }, "{record}");
            assert_eq!(record["next_billing_date"], Value::Null);
            assert_eq!(client.entries(&subscription).await.len(), 4);
            let events = events(app, from).await;
            assert_eq!(events.iter().filter(|event| **event == "subscription.renewed").count(), 1, "{events:?}");
        }
    }

    async fn a_first_charge_whose_customer_goes_meanwhile_is_reversed(app, acquirer) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({})).await;
        acquirer.carry(CallFault::AnswerLate);
        let (answer, ()) = futures::future::join(client.subscribing(&plan, &customer, &json!({})), async {
            acquirer.called(1).await;
            // It is not shown, but its plan stays.
            assert_eq!(client.get("/1/subscriptions").await.json()["pagination"]["count"], 0);
            assert_eq!(client.get(&format!("/1/plans/{plan}/subscriptions")).await.ok(200), json!([]));
            assert_eq!(client.counts(&plan).await, [0; 4]);
            client.delete(&format!("/1/plans/{plan}")).await.refused(400, "cannot_delete_plan");
            client.delete(&format!("/1/customers/{customer}")).await.ok(204);
            acquirer.release();
        }).await;
        answer.refused(404, "resource_not_found");
        assert_eq!(acquirer.settlings(), 1);
        assert_eq!(client.listed().await, 0);
        assert_eq!(app.number("SELECT COUNT(*) FROM subscriptions").await, 0);
        client.delete(&format!("/1/plans/{plan}")).await.ok(204);
    }

    async fn a_reactivation_whose_customer_goes_meanwhile_is_reversed(app, acquirer) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({})).await;
        let subscription = client.subscribed(&plan, &customer).await;
        client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        app.clock.advance(TimeSpan::days(60));
        acquirer.carry(CallFault::AnswerLate);
        let (answer, ()) = futures::future::join(client.put_subscription(&subscription, "reactivate"), async {
            acquirer.called(2).await;
            client.put_subscription(&subscription, "reactivate").await.refused(400, "invalid_state");
            client.delete(&format!("/1/plans/{plan}")).await.refused(400, "cannot_delete_plan");
            client.delete(&format!("/1/customers/{customer}")).await.ok(204);
            acquirer.release();
        }).await;
        answer.refused(400, "invalid_state");
        assert_eq!(client.listed().await, 1);
        assert_eq!(client.subscription(&subscription).await["state"], "cancelled");
        client.delete(&format!("/1/plans/{plan}")).await.ok(204);
    }

    async fn a_first_charge_or_reactivation_that_nobody_answered_is_reversed_by_a_worker(app, acquirer) {
        let client = app.client();
        let customer = customer(&client).await;
        let plan = client.plan(&json!({})).await;
        let paid = client.subscribed(&plan, &customer).await;
        client.delete(&format!("/1/subscriptions/{paid}")).await.ok(200);
        app.clock.advance(TimeSpan::days(60));
        acquirer.carry(CallFault::Call);
        acquirer.settle(false);
        client.subscribing(&plan, &customer, &json!({})).await.refused(502, "gateway_error");
        client.put_subscription(&paid, "reactivate").await.refused(502, "gateway_error");
        client.delete(&format!("/1/plans/{plan}")).await.refused(400, "cannot_delete_plan");
        acquirer.settle(true);
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        assert_eq!(client.listed().await, 1);
        assert_eq!(client.get("/1/subscriptions").await.json()["pagination"]["count"], 1);
        assert_eq!(app.number("SELECT COUNT(*) FROM subscriptions").await, 1);
        assert_eq!(client.subscription(&paid).await["state"], "cancelled");
        acquirer.carry(CallFault::Both);
        client.put_subscription(&paid, "reactivate").await.ok(200);
    }

    async fn a_slow_renewal_keeps_no_other_waiting(app, acquirer) {
        let client = app.client();
        let plan = client.plan(&json!({})).await;
        let slow = client.subscribed(&plan, &customer(&client).await).await;
        acquirer.carry(CallFault::AnswerLate);
        app.clock.advance(TimeSpan::days(31));
        futures::future::join(app.do_due_work(), async {
            acquirer.called(2).await;
            acquirer.carry(CallFault::Both);
            let other = client.subscribed(&client.plan(&json!({ "interval": 1, "interval_unit": "day" })).await, &customer(&client).await).await;
            app.clock.advance(TimeSpan::days(1));
            crate::harness::eventually(async || client.entries(&other).await.len() == 4).await;
            assert_eq!(client.entries(&slow).await.len(), 2);
            acquirer.release();
        }).await;
        assert_eq!(client.entries(&slow).await.len(), 4);
    }
}
