//! A plan in a currency that the acquirer does not take any more (`docs/decisions.md`, 184).

use entity::{Currency, TimeSpan};
use serde_json::json;

use super::customer;
use crate::harness::rules;

rules! {
    async fn a_currency_that_is_dropped_fails_renewals_until_they_are_cancelled_and_begins_no_subscription(app, acquirer) {
        let client = app.client();
        let plan = client.plan(&json!({ "currency": "USD", "interval_unit": "week" })).await;
        let subscriber = customer(&client).await;
        let subscription = client.subscribed(&plan, &subscriber).await;
        let ended = client.subscribed(&plan, &subscriber).await;
        client.delete(&format!("/1/subscriptions/{ended}")).await.ok(200);
        acquirer.drop_currency(Currency::Usd);
        let refused = app.unchanged(client.subscribing(&plan, &subscriber, &json!({}))).await;
        let body = refused.refused(400, "invalid_resource");
        assert_eq!(body["messages"], json!([{ "param": "plan_token", "message": "is not in a supported currency" }]));

        for days in [7, 1, 2, 3] {
            assert_eq!(client.subscription(&subscription).await["state"], "active");
            app.clock.advance(TimeSpan::days(days));
            app.do_due_work().await;
            assert!(app.events().await.contains(&"subscription.renewal_failed"));
        }
        assert_eq!(client.subscription(&subscription).await["state"], "cancelled");
        assert_eq!(app.events().await.iter().filter(|event| **event == "subscription.renewal_failed").count(), 4);
        app.unchanged(client.put_subscription(&ended, "reactivate")).await.refused(400, "invalid_resource");
        assert_eq!(client.listed().await, 2, "no charge was tried");
    }
}
