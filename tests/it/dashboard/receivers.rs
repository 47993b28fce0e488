//! What receives webhooks: endpoints and inboxes are made, changed and deleted, and webhooks are found by the type of their event.

use serde_json::json;

use crate::harness::browser::{Browser, led, refused};
use crate::harness::{charge_with, rules, token_of};

rules! {
    async fn an_endpoint_is_registered_and_deleted_as_the_api_does(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        led(&browser.press("/webhook_endpoints", &[("url", "http://127.0.0.1:9/hooks")]).await, "/dashboard/webhooks");
        let endpoint = token_of(&client.get("/1/webhook_endpoints").await.ok(200)[0]);
        client.authorised(400).await;
        assert_eq!(client.get("/1/webhooks").await.ok(200).as_array().unwrap().len(), 1);
        let delete = format!("/webhook_endpoints/{endpoint}/delete");
        assert!(browser.page("/webhooks").await.contains(&format!("href=\"/dashboard{delete}\"")));
        led(&browser.press(&delete, &[]).await, "/dashboard/webhooks");
        assert_eq!(client.get("/1/webhook_endpoints").await.ok(200), json!([]));
        assert_eq!(client.get("/1/webhooks").await.ok(200), json!([]));
        refused(&app.unchanged(browser.press(&delete, &[])).await, 404, "could not be found");
        refused(&app.unchanged(browser.press("/webhook_endpoints", &[("url", "x")])).await, 422, "url is not a valid URL");
        app.do_due_work().await;
    }

    async fn an_inbox_is_made_registered_changed_and_deleted(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let order = [("status", "503"), ("latency_ms", "20"), ("fault", ""), ("every", "2")];
        let made = browser.press("/inboxes", &order).await;
        let inbox = client.get("/1/sandbox/inboxes").await.ok(200)[0].clone();
        let token = token_of(&inbox);
        led(&made, &format!("/dashboard/inboxes/{token}"));
        assert_eq!((&inbox["status"], &inbox["latency_ms"], &inbox["every"]), (&json!(503), &json!(20), &json!(2)));
        let page = browser.page(&format!("/inboxes/{token}")).await;
        assert!(page.contains("503 after 20 ms, to one of 2; 200 to the others"), "{page}");
        assert!(browser.page("/webhooks").await.contains(&format!("href=\"/dashboard/inboxes/{token}\"")));

        let url = inbox["url"].as_str().unwrap();
        led(&browser.press("/webhook_endpoints", &[("url", url)]).await, "/dashboard/webhooks");
        client.authorised(400).await;
        app.do_due_work().await;
        let page = browser.page(&format!("/inboxes/{token}")).await;
        assert!(page.contains("Delivery 1 as it arrived") && page.contains("charge.authorised"), "{page}");
        assert!(page.contains(">valid<") && page.contains("/dashboard/events/evt_"), "{page}");

        let change = [("status", "200"), ("latency_ms", "0"), ("fault", "reset"), ("every", "1")];
        led(&browser.press(&format!("/inboxes/{token}"), &change).await, &format!("/dashboard/inboxes/{token}"));
        assert_eq!(client.get("/1/sandbox/inboxes").await.ok(200)[0]["fault"], "reset");
        refused(&app.unchanged(browser.press(&format!("/inboxes/{token}"), &[("status", "99")])).await, 422, "Status must be greater than or equal to 200");
        refused(&app.unchanged(browser.press("/inboxes", &[("every", "0")])).await, 422, "Every must be greater than or equal to 1");

        led(&browser.press(&format!("/inboxes/{token}/delete"), &[]).await, "/dashboard/webhooks");
        assert_eq!(client.get("/1/sandbox/inboxes").await.ok(200), json!([]));
        for path in [format!("/dashboard/inboxes/{token}"), format!("/dashboard/inboxes/{token}/delete"), "/dashboard/inboxes/x".into()] {
            refused(&browser.get(&path).await, 404, "could not be found");
        }
        refused(&app.unchanged(browser.press(&format!("/inboxes/{token}/delete"), &[])).await, 404, "could not be found");
        app.do_due_work().await;
    }

    async fn webhooks_are_found_by_the_type_of_their_event(app) {
        let client = app.client();
        client.endpoint("http://127.0.0.1:9/").await;
        for amount in [400, 500, 600] {
            client.post("/1/charges", &charge_with(amount, json!({ "capture": false }))).await.ok(201);
        }
        client.captured(700).await;
        let events = client.get("/1/events").await.ok(200);
        let (mut all, mut found) = (json!([]), json!([]));
        for (wanted, webhooks) in [("charge.authorised", &mut all), ("charge.captured", &mut found)] {
            *webhooks = client.get(&format!("/1/webhooks?type={wanted}")).await.ok(200);
            let sent: Vec<_> = webhooks.as_array().unwrap().iter().map(|webhook| &webhook["event_token"]).collect();
            let of_type = events.as_array().unwrap().iter().filter(|event| event["type"] == wanted);
            assert_eq!(sent, of_type.map(|event| &event["token"]).collect::<Vec<_>>(), "{wanted}, newest first");
            assert!(!sent.is_empty());
        }
        let second = client.get("/1/webhooks?type=charge.authorised&per_page=2&page=2").await.ok(200);
        assert_eq!(second.as_array().unwrap()[..], all.as_array().unwrap()[2..]);
        assert_eq!(client.get("/1/webhooks?type=ping").await.ok(200), json!([]));
        let whole = client.get("/1/webhooks?type=").await.ok(200);
        assert_eq!(whole.as_array().unwrap().len(), events.as_array().unwrap().len());
        client.get("/1/webhooks?type=charge.lost").await.refused(422, "invalid_resource");

        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = browser.page("/webhooks?type=charge.captured").await;
        assert!(page.contains(&token_of(&found[0])) && !page.contains(&token_of(&all[2])), "{page}");
        assert!(page.contains("'http://test/1/webhooks?type=charge.captured'") && page.contains("value=\"charge.captured\" selected"), "{page}");
        let csv = browser.get("/dashboard/webhooks.csv?type=charge.captured").await;
        assert_eq!(csv.text.lines().count(), 2, "{}", csv.text);
        refused(&browser.get("/dashboard/webhooks?type=charge.lost").await, 422, "Type is not included in the list");
        app.do_due_work().await;
    }

    async fn a_key_finds_no_webhooks_by_types_that_it_may_not_read(app) {
        let client = app.client();
        client.endpoint("http://127.0.0.1:9/").await;
        client.authorised(400).await;
        for (rights, found) in [
            (json!({ "webhooks": "read" }), 0),
            (json!({ "webhooks": "read", "charges": "read" }), 1),
        ] {
            let key = client.restricted_key(&json!({ "rights": rights })).await;
            let holder = app.with_key(key["secret_key"].as_str().unwrap());
            assert_eq!(holder.get("/1/webhooks").await.ok(200).as_array().unwrap().len(), 1);
            let webhooks = holder.get("/1/webhooks?type=charge.authorised").await.ok(200);
            assert_eq!(webhooks.as_array().unwrap().len(), found, "{rights}");
        }
        app.do_due_work().await;
    }
}
