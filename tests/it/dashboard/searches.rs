//! What was attempted, and whatever else an account has, is found (`docs/decisions.md`, 454 and 455).

use serde_json::json;

use crate::harness::browser::{Browser, assert_sign_in, led, refused};
use crate::harness::{Answer, Client, card, charge_with, rules, token_of};

const CARD: &str = "4200000000000000";
const DECLINED_CARD: &str = "4100000000000001";

/// Makes an attempt that is declined. Returns its token.
async fn declined(client: &Client, email: &str) -> String {
    let charge = charge_with(400, json!({ "card": card(DECLINED_CARD), "email": email }));
    client.post("/1/charges", &charge).await.refused(400, "card_declined")["charge_token"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Makes a charge that waits for its cardholder. Returns its token.
async fn waiting(client: &Client) -> String {
    let verified =
        json!({ "three_d_secure": { "enabled": true, "callback_url": "https://example.com/back" } });
    token_of(&client.post("/1/charges", &charge_with(400, verified)).await.ok(201))
}

/// Sends the search at the top of each page.
async fn searched(browser: &mut Browser, query: &str) -> Answer {
    let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
    browser.get(&format!("/dashboard/search?query={query}")).await
}

/// Returns the charges that a page lists, of those known.
fn listed<'c>(page: &str, charges: &[(&'c str, String)]) -> Vec<&'c str> {
    let listed =
        charges.iter().filter(|(_, token)| page.contains(&format!("href=\"/dashboard/charges/{token}\"")));
    listed.map(|(name, _)| *name).collect()
}

rules! {
    async fn what_is_searched_for_may_be_short_and_disputes_may_be_switched_off(app) {
        let client = app.client();
        let charge = charge_with(400, json!({ "description": "Li" }));
        let charge = token_of(&client.post("/1/charges", &charge).await.ok(201));
        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = searched(&mut browser, "Li").await;
        assert!(page.status == 200 && page.text.contains(&charge), "{}", page.text);
        app.execute("UPDATE accounts SET disputes = FALSE").await;
        let page = searched(&mut browser, "dis_AAAAAAAAAAAAAAAAAAAAAA").await;
        assert!(page.status == 200 && page.text.contains("Nothing does."), "{}", page.text);
    }

    async fn charges_list_attempts_of_every_state_and_filter_them(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let expired = client.authorised(400).await;
        client.put("/1/sandbox/clock", &json!({ "advance": "8d" })).await.ok(200);
        let (voided, refunded) = (client.authorised(400).await, token_of(&client.captured(500).await));
        client.put_charge(&voided, "void").await.ok(200);
        client.refund(&refunded, 100).await.ok(201);
        let disputed = token_of(&client.captured(600).await);
        client.dispute(&disputed).await;
        let charges = [
            ("expired", expired),
            ("voided", voided),
            ("refunded", refunded),
            ("disputed", disputed),
            ("authorised", client.authorised(400).await),
            ("captured", token_of(&client.captured(700).await)),
            ("declined", declined(&client, "roland@example.com").await),
            ("pending", waiting(&client).await),
        ];
        let all: Vec<_> = charges.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed(&browser.page("/charges").await, &charges), all);
        for (state, names) in [
            ("succeeded", &["expired", "voided", "refunded", "disputed", "authorised", "captured"][..]),
            ("declined", &["declined"]),
            ("pending", &["pending"]),
            ("authorised", &["authorised"]),
            ("expired", &["expired"]),
            ("captured", &["refunded", "disputed", "captured"]),
            ("voided", &["voided"]),
            ("refunded", &["refunded"]),
            ("disputed", &["disputed"]),
        ] {
            let page = browser.page(&format!("/charges?state={state}")).await;
            assert_eq!(listed(&page, &charges), names, "{state}");
            assert!(page.contains(&format!("<option value=\"{state}\" selected>")), "{page}");
            assert!(!page.contains("The same from the API"), "no call answers the same: {page}");
            let csv = browser.get(&format!("/dashboard/charges.csv?state={state}")).await.text;
            assert_eq!(csv.lines().count() - 1, names.len(), "{state}: {csv}");
        }
        assert_eq!(listed(&browser.page("/charges?reason=card_declined").await, &charges), ["declined"]);
        assert_eq!(listed(&browser.page("/charges?reason=lost_card").await, &charges), [""; 0]);
        // Words and tokens find declined ones as well.
        let (_, token) = &charges[6];
        for query in [token.as_str(), "roland%40example.com", "400"] {
            assert!(listed(&browser.page(&format!("/charges?query={query}")).await, &charges).contains(&"declined"), "{query}");
        }
        assert_eq!(listed(&browser.page("/charges?query=700&state=declined").await, &charges), [""; 0]);
        let stranger = crate::harness::app::another_account(app.ctx()).await;
        let mut other = Browser::with(app, stranger.secret.expose()).await;
        assert_eq!(listed(&other.page("/charges").await, &charges), [""; 0]);
    }

    #[dated]
    async fn the_list_has_as_many_attempts_as_the_overview_counts(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let mut attempts = Vec::new();
        for _ in 0..2 {
            attempts.push(("declined", declined(&client, "roland@example.com").await));
            client.captured(400).await;
        }
        client.authorised(400).await;
        waiting(&client).await;
        let overview = browser.page("").await;
        assert_eq!(listed(&overview, &attempts), ["declined", "declined"], "among the latest ones: {overview}");
        for (state, count, words) in [("succeeded", 3, "3 succeeded attempts"), ("declined", 2, "2 declined attempts")] {
            let list = format!("/charges?state={state}&start_date=2026-02-01");
            let link = format!("<a href=\"/dashboard{}\">{words}</a>", list.replace('&', "&amp;"));
            assert!(overview.contains(&link), "{link}: {overview}");
            assert_eq!(browser.page(&list).await.matches("<tr>").count() - 1, count, "{state}");
        }
    }

    async fn a_charge_leads_to_what_is_told_of_it_and_back(app) {
        let client = app.client();
        client.endpoint("http://127.0.0.1:1/").await;
        let mut browser = Browser::with(app, app.secret_key()).await;
        let charge = token_of(&client.captured(600).await);
        let refund = token_of(&client.refund(&charge, 100).await.ok(201));
        let dispute = token_of(&client.post("/1/sandbox/disputes", &json!({ "charge_token": charge, "amount": 100 })).await.ok(201));
        app.do_due_work().await;
        let page = browser.page(&format!("/charges/{charge}")).await;
        let (events, webhooks) = (client.get("/1/events").await.ok(200), client.get("/1/webhooks").await.ok(200));
        let captured = events.as_array().unwrap().iter().find(|event| event["type"] == "charge.captured").map(token_of);
        let webhook = webhooks.as_array().unwrap().iter().find(|webhook| webhook["event_token"] == json!(captured));
        let webhook = token_of(webhook.unwrap());
        let event = browser.page(&format!("/events/{}", captured.unwrap())).await;
        assert!(event.contains(&format!("href=\"/dashboard/webhooks/{webhook}\"")), "{event}");
        for part in [
            format!("href=\"/dashboard/requests?token={charge}\""),
            format!("href=\"/dashboard/events?about={charge}\""),
            format!("href=\"/dashboard/disputes/{dispute}\""),
            refund,
            "Left for the merchant".to_owned(),
        ] {
            assert!(page.contains(&part), "{part}: {page}");
        }
        let back = format!("href=\"/dashboard/charges/{charge}\"");
        for other in [format!("/webhooks/{webhook}"), format!("/disputes/{dispute}"), format!("/events?about={charge}")] {
            assert!(browser.page(&other).await.contains(&back), "{other}");
        }
    }

    async fn every_page_has_a_search_that_leads_a_token_to_its_record(app) {
        let client = app.client();
        let records = super::records(app, &client).await;
        let mut browser = Browser::with(app, app.secret_key()).await;
        for page in super::PAGES {
            let text = browser.page(page).await;
            assert!(text.contains("action=\"/dashboard/search\""), "{page}: {text}");
        }
        for (kind, token) in &records {
            led(&searched(&mut browser, &format!(" {token} ")).await, &format!("/dashboard/{kind}/{token}"));
        }
        let charge = token_of(&client.captured(500).await);
        let refund = token_of(&client.refund(&charge, 100).await.ok(201));
        led(&searched(&mut browser, &refund).await, &format!("/dashboard/charges/{charge}"));
        let request = client.get("/1/balance").await.headers["x-request-id"].to_str().unwrap().to_owned();
        led(&searched(&mut browser, &request).await, &format!("/dashboard/requests/{request}"));
        let declined = declined(&client, "roland@example.com").await;
        led(&searched(&mut browser, &declined).await, &format!("/dashboard/charges/{declined}"));

        // One without a page: the records that name it, its events, and the requests about it.
        let plan = client.plan(&json!({ "name": "Coffee" })).await;
        client.get(&format!("/1/plans/{plan}")).await.ok(200);
        let page = searched(&mut browser, &plan).await.text;
        assert!(page.contains("<caption>Plans</caption>") && page.contains("<caption>Events</caption>") && page.contains("<caption>Requests</caption>"), "{page}");

        let stranger = crate::harness::app::another_account(app.ctx()).await;
        let mut other = Browser::with(app, stranger.secret.expose()).await;
        for (_, token) in &records {
            let page = searched(&mut other, token).await;
            assert!(page.status == 200 && page.text.contains("Nothing does."), "{}", page.text);
        }
        assert_sign_in(&searched(&mut Browser::new(app), &charge).await);
    }

    async fn words_are_found_in_every_kind_of_record(app) {
        let client = app.client();
        let with_card = json!({ "email": "zoe@beans.example", "first_name": "Zoë", "last_name": "Bean", "card": card(CARD) });
        let customer = token_of(&client.post("/1/customers", &with_card).await.ok(201));
        let plan = client.plan(&json!({ "name": "Beans monthly" })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        let charge = token_of(&client.post("/1/charges", &charge_with(400, json!({ "description": "Green beans" }))).await.ok(201));
        let attempt = declined(&client, "eve@beans.example").await;
        let transfer = client.post("/1/transfers", &json!({ "description": "Beans bought", "amount": 1000, "currency": "AUD", "recipient": "self" })).await;
        let transfer = token_of(&transfer.ok(201));
        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = searched(&mut browser, "BEANS").await;
        assert_eq!(page.status, 200, "{}", page.text);
        for (kind, token) in [("customers", &customer), ("subscriptions", &subscription), ("charges", &charge), ("charges", &attempt), ("transfers", &transfer)] {
            assert!(page.text.contains(&format!("href=\"/dashboard/{kind}/{token}\"")), "{kind}: {}", page.text);
        }
        assert!(page.text.contains(&plan), "{}", page.text);
        let by_name = searched(&mut browser, "Zoë Bean").await.text;
        assert!(by_name.contains(&customer) && !by_name.contains(&attempt), "{by_name}");
        let nothing = searched(&mut browser, "100% <of> _it_").await.text;
        assert!(nothing.contains("Nothing does.") && nothing.contains("100% &lt;of&gt; _it_"), "{nothing}");
        let number = searched(&mut browser, CARD).await;
        assert!(number.status == 200 && !number.text.contains(CARD), "{}", number.text);
        assert_eq!(searched(&mut browser, " ").await.status, 200);
        refused(&searched(&mut browser, &"x".repeat(1001)).await, 422, "is too long");
        for _ in 0..6 {
            client.post("/1/charges", &charge_with(400, json!({ "description": "Green beans" }))).await.ok(201);
        }
        let many = searched(&mut browser, "green beans").await.text;
        assert!(many.contains("<a href=\"/dashboard/charges?query=green+beans\">All 7 charges</a>"), "{many}");
    }

    async fn customers_and_subscriptions_are_searched(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let customer = async |email: &str, company: &str| {
            token_of(&client.post("/1/customers", &json!({ "email": email, "company": company, "card": card(CARD) })).await.ok(201))
        };
        let (ada, eve) = (customer("ada@example.com", "Looms 100%").await, customer("eve@example.com", "Apples").await);
        let (tea, coffee) = (client.plan(&json!({ "name": "Tea" })).await, client.plan(&json!({ "name": "Coffee" })).await);
        let (of_ada, of_eve) = (client.subscribed(&tea, &ada).await, client.subscribed(&coffee, &eve).await);
        client.delete(&format!("/1/subscriptions/{of_eve}")).await;
        let state = client.get(&format!("/1/subscriptions/{of_eve}")).await.ok(200)["state"].as_str().unwrap().to_owned();
        assert_ne!(state, "active");
        for (list, found, other) in [
            ("/customers?query=ADA".to_owned(), &ada, &eve),
            ("/customers?query=100%25".into(), &ada, &eve),
            (format!("/customers?query={eve}"), &eve, &ada),
            ("/subscriptions?query=ada%40".into(), &of_ada, &of_eve),
            ("/subscriptions?query=coff".into(), &of_eve, &of_ada),
            (format!("/subscriptions?query={tea}"), &of_ada, &of_eve),
            (format!("/subscriptions?query={eve}"), &of_eve, &of_ada),
            ("/subscriptions?state=active".into(), &of_ada, &of_eve),
            (format!("/subscriptions?state={state}&query=eve"), &of_eve, &of_ada),
        ] {
            let page = browser.page(&list).await;
            assert!(page.contains(found.as_str()) && !page.contains(other.as_str()), "{list}: {page}");
            let csv = browser.get(&format!("/dashboard{}", list.replace('?', ".csv?"))).await.text;
            assert!(csv.contains(found.as_str()) && !csv.contains(other.as_str()), "{list}: {csv}");
        }
        for list in ["/customers?end_date=2020-01-01", "/subscriptions?end_date=2020-01-01", "/customers?query=nobody"] {
            assert!(browser.page(list).await.contains("There are none."), "{list}");
        }
        let answer = browser.get("/dashboard/subscriptions?state=lost").await;
        refused(&answer, 422, "State is not included in the list");
    }
}
