//! The machine's clock is set: back, as by an hour, or forward, as by a day. Nothing is done twice, and nothing is lost.

use entity::TimeSpan;
use serde_json::json;

use crate::harness::sending::post_with;
use crate::harness::{App, Client, charge, rules, token, token_of};

const HOUR: TimeSpan = TimeSpan::seconds(3600);
const DAY: TimeSpan = TimeSpan::days(1);

fn back(span: TimeSpan) -> TimeSpan {
    TimeSpan::from_millis(-span.millis())
}

async fn newest(client: &Client) -> String {
    token_of(&client.get("/1/charges?per_page=1").await.ok(200)[0])
}

/// What happens while all due work is done.
async fn happens(app: &App) -> Vec<&'static str> {
    let before = app.events().await.len();
    app.do_due_work().await;
    app.events().await.split_off(before)
}

rules! {
    async fn finished_work_is_not_done_again_after_the_clock_was_set_back(app) {
        let client = app.client();
        let customer = token_of(&client.customer("4200000000000000").await);
        let plan = client.plan(&json!({ "interval": 1, "interval_unit": "day" })).await;
        client.subscribed(&plan, &customer).await;
        let charge = token_of(&client.captured(400).await);
        client.refund(&charge, 100).await.ok(201);
        // Its submission, and its outcome ten seconds later.
        assert_eq!(happens(app).await, [""; 0]);
        app.clock.advance(TimeSpan::seconds(11));
        assert_eq!(happens(app).await, ["refund.succeeded"]);
        app.clock.advance(DAY);
        assert!(happens(app).await.contains(&"subscription.renewed"));
        for span in [HOUR, DAY] {
            app.clock.advance(back(span));
            assert_eq!(happens(app).await, [""; 0], "set back");
            app.clock.advance(span);
            assert_eq!(happens(app).await, [""; 0], "and forward again");
        }
        assert_eq!(client.charged(&customer).await.len(), 2);
    }

    async fn work_due_while_the_clock_is_behind_is_done_once_when_it_has_caught_up(app) {
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        client.refund(&charge, 100).await.ok(201);
        app.do_due_work().await;
        app.clock.advance(back(HOUR));
        assert_eq!(happens(app).await, [""; 0]);
        app.clock.advance(HOUR);
        app.clock.advance(TimeSpan::seconds(11));
        assert_eq!(happens(app).await, ["refund.succeeded"]);
        assert_eq!(happens(app).await, [""; 0]);
    }

    async fn ids_decide_what_is_newest_and_not_a_clock_that_was_set_back(app) {
        let client = app.client();
        client.captured(400).await;
        app.clock.advance(back(HOUR));
        let later = token_of(&client.captured(400).await);
        assert_eq!(newest(&client).await, later);
        app.clock.advance(DAY);
        let last = token_of(&client.captured(400).await);
        assert_eq!(newest(&client).await, last);
        assert_ne!(later, last);
    }

    async fn repeated_requests_keys_and_links_live_through_it(app) {
        let client = app.client();
        let paid = async || post_with(&client, "/1/charges", &[("Idempotency-Key", "jump")], &charge(400)).await;
        let first = paid().await;
        first.ok(201);
        let file = client.upload("a.pdf", b"%PDF-1.7").await.ok(200);
        let link = file["presigned_url"].as_str().unwrap().strip_prefix("http://test").unwrap();
        for jump in [back(HOUR), HOUR, back(DAY), DAY] {
            app.clock.advance(jump);
            app.do_due_work().await;
            assert_eq!(paid().await.text, first.text);
            assert_eq!(client.bytes(link).await.0, 200);
            assert_eq!(client.get(&format!("/1/files/{}", token(&file))).await.ok(200)["token"], file["token"]);
        }
        assert_eq!(client.listed().await, 1);
    }
}
