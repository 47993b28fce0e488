//! The dashboard's pictures: drawn on the server, with their numbers as tables.

use serde_json::{Value, json};

use crate::harness::browser::Browser;
use crate::harness::{charge_with, rules, token_of};

const CARD: &str = "4200000000000000";

/// Returns the rows of a figure's table, their cells joined by bars.
#[track_caller]
fn figure(page: &str, id: &str) -> Vec<String> {
    let (_, rest) =
        page.split_once(&format!("id=\"{id}-title\"")).unwrap_or_else(|| panic!("no {id}: {page}"));
    let (figure, _) = rest.split_once("</figure>").unwrap();
    assert!(figure.contains("<svg") && figure.contains("role=\"img\""), "{figure}");
    let (_, table) = figure.split_once("<tbody>").unwrap();
    let rows = table.split("</tr>").map(|row| row.replace("</td><td>", "|"));
    rows.filter_map(|row| Some(row.split_once("<td>")?.1.split_once("</td>")?.0.to_owned())).collect()
}

rules! {
    #[dated]
    async fn the_volume_the_success_rate_and_the_declines_of_each_day_are_shown(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        assert!(!browser.page("").await.contains("id=\"volume-title\""), "nothing to draw");
        let pay = async |changes: Value| client.post("/1/charges", &charge_with(40_000, changes)).await;
        let declined = async |code: &str| {
            let outcome = client.request(http::Method::POST, "/1/charges").header("sandbox-outcome", code);
            let outcome = outcome.header("content-type", "application/json");
            let sent = charge_with(400, json!({})).to_string();
            client.send_unchecked(outcome.body(axum::body::Body::from(sent)).unwrap()).await.refused(400, code);
        };
        pay(json!({})).await.ok(201);
        declined("insufficient_funds").await;
        client.put("/1/sandbox/clock", &json!({ "advance": "1d" })).await.ok(200);
        for currency in ["AUD", "AUD", "EUR"] {
            pay(json!({ "currency": currency })).await.ok(201);
        }
        declined("insufficient_funds").await;
        declined("card_declined").await;
        let page = browser.page("").await;
        assert_eq!(figure(&page, "volume"), ["2026-03-03|2|A$800.00", "2026-03-03|1|€400.00", "2026-03-02|1|A$400.00"]);
        assert_eq!(figure(&page, "attempts"), ["2026-03-03|3|2|60.0%", "2026-03-02|1|1|50.0%"]);
        let reasons = figure(&page, "declines");
        assert!(reasons[0].starts_with("insufficient_funds|") && reasons[0].ends_with("|2|66.7%"), "{reasons:?}");
        assert!(reasons[1].starts_with("card_declined|"), "{reasons:?}");
        assert!(page.contains("A$1,200.00 by 3 approved charges in 30 days. Other currencies are in the table."), "{page}");

        client.put("/1/sandbox/clock", &json!({ "advance": "29d" })).await.ok(200);
        let page = browser.page("").await;
        assert_eq!(figure(&page, "volume").len(), 2, "the first day is over thirty days ago");
        assert_eq!(figure(&page, "attempts"), ["2026-03-03|3|2|60.0%"]);
        let stranger = crate::harness::app::another_account(app.ctx()).await;
        let mut other = Browser::with(app, stranger.secret.expose()).await;
        assert!(!other.page("").await.contains("id=\"volume-title\""), "they are the account's own");
    }

    async fn the_money_of_a_charge_flows_from_the_card_to_the_payout(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let open = client.authorised(400).await;
        assert!(!browser.page(&format!("/charges/{open}")).await.contains("id=\"money-title\""), "no money has moved");
        let charge = token_of(&client.captured(100_000).await);
        let shown = client.get(&format!("/1/charges/{charge}")).await.ok(200);
        let fees = shown["total_fees"].as_i64().unwrap();
        client.refund(&charge, 20_000).await.ok(201);
        let money = figure(&browser.page(&format!("/charges/{charge}")).await, "money");
        let dollars = |cents: i64| format!("A${}.{:02}", cents / 100, cents % 100);
        assert_eq!(money[0], format!("Charged to the card|A$1,000.00|{charge}"));
        assert_eq!(money[1], format!("Fees|-{}|{charge}", dollars(fees)));
        assert!(money[2].starts_with("Refunded|-A$200.00|rf_"), "{money:?}");
        assert_eq!(money[3], format!("Left for the merchant|{}|", dollars(80_000 - fees)));

        let disputed = token_of(&client.captured(50_000).await);
        let dispute = token_of(&client.dispute(&disputed).await);
        let page = browser.page(&format!("/charges/{disputed}")).await;
        let left = figure(&page, "money").pop().unwrap();
        let owed = left.strip_prefix("Left for the merchant|-").unwrap().trim_end_matches('|');
        let summary = format!("A$500.00 came from the card, and {owed} more has left, which the merchant owes.");
        assert!(page.contains(&summary), "{left}");
        browser.press(&format!("/disputes/{dispute}/decide"), &[("status", "resolved")]).await;
        let money = figure(&browser.page(&format!("/charges/{disputed}")).await, "money");
        assert!(money.iter().any(|row| row.starts_with("Disputed|-A$500.00")), "{money:?}");
        assert!(money.iter().any(|row| row.starts_with("The disputed amount came back|A$500.00")), "{money:?}");
    }

    async fn disputes_requests_webhooks_and_bills_are_drawn(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        assert!(!browser.page("/disputes").await.contains("id=\"disputes-title\""));
        let (won, _) = (token_of(&client.disputed(700).await), client.disputed(800).await);
        browser.press(&format!("/disputes/{won}/decide"), &[("status", "resolved")]).await;
        let page = browser.page("/disputes").await;
        let mut statuses = figure(&page, "disputes");
        statuses.sort();
        assert_eq!(statuses, ["evidence required|1", "resolved|1"]);
        assert!(page.contains("Decided for the merchant</text>") && page.contains("1 (50.0%)"), "{page}");

        client.post("/1/charges", &json!({})).await.refused(422, "invalid_resource");
        let latency = figure(&browser.page("/requests").await, "latency");
        let charges = latency.iter().find(|row| row.starts_with("POST /1/charges|")).unwrap();
        assert_eq!(charges.split('|').nth(2), Some("1"), "one failed: {latency:?}");

        let webhook = app.record_of(&client, "webhook_token").await;
        let tries = figure(&browser.page(&format!("/webhooks/{webhook}")).await, "tries");
        assert!(tries[0].ends_with("|Its event") && tries.iter().any(|row| row.contains("|Failed: ")), "{tries:?}");

        let (plan, customer) = (client.plan(&json!({ "amount": 980 })).await, client.customer(CARD).await);
        let subscription = client.subscribed(&plan, &token_of(&customer)).await;
        let bills = figure(&browser.page(&format!("/subscriptions/{subscription}")).await, "bills");
        let words: Vec<_> = bills.iter().map(|row| row.split('|').nth(1).unwrap()).collect();
        let mut known = ["Created", "Billed A$9.80", "Will be billed", "Will be billed", "Will be billed"];
        known[..2].sort_unstable();
        let mut begun = words[..2].to_vec();
        begun.sort_unstable();
        assert_eq!((begun, &words[2..]), (known[..2].to_vec(), &known[2..]), "{bills:?}");
        let page = browser.page(&format!("/subscriptions/{subscription}?per_page=1")).await;
        assert!(page.contains("Page 1 of 2, 2 in all"), "a long ledger has pages: {page}");
    }

    async fn a_request_and_a_webhook_show_their_fault_and_their_content_first(app) {
        let client = app.client();
        let answer = client.post("/1/charges", &charge_with(5, json!({ "email": "nobody" }))).await;
        let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = browser.page(&format!("/requests/{id}")).await;
        let place = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}: {page}"));
        assert!(place("<code>invalid_resource</code>") < place("<code>email</code>: "));
        assert!(place("<code>email</code>: ") < place("What it sent") && place("What it sent") < place("&quot;amount&quot;: 5"));
        assert!(!page.contains(CARD));

        let webhook = app.record_of(&client, "webhook_token").await;
        let page = browser.page(&format!("/webhooks/{webhook}")).await;
        let place = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}: {page}"));
        assert!(place("<dt>Type</dt>") < place("What the endpoint answered"));
        assert!(place("What the endpoint answered") < place("What it carries"));
        assert!(place("What it carries") < place("&quot;data&quot;"));
    }

    async fn every_page_leads_to_its_operation_on_the_api_page(app) {
        let document = card_payments::api::openapi();
        let mut operations = Vec::new();
        for operation in document["paths"].as_object().unwrap().values().filter_map(|methods| methods.get("get")) {
            operations.push(format!("{}/{}", operation["tags"][0].as_str().unwrap(), operation["operationId"].as_str().unwrap()));
        }
        let charge = app.client().authorised(400).await;
        let mut browser = Browser::with(app, app.secret_key()).await;
        for (page, operation) in [
            ("", "Balance/get_balance"),
            ("/charges", "Charges/list_charges"),
            ("/charges?query=a", "Charges/search_charges"),
            (&format!("/charges/{charge}"), "Charges/get_charge"),
            ("/disputes?status=won", "Disputes/search_disputes"),
            ("/requests?status=200", "Sandbox/list_sandbox_requests"),
            ("/clock", "Sandbox/get_clock"),
        ] {
            let text = browser.page(page).await;
            assert!(text.contains(&format!("href=\"/docs/#/{operation}\"")), "{page}: {text}");
        }
        for page in ["", "/charges", "/customers", "/subscriptions", "/transfers", "/disputes", "/events", "/webhooks", "/requests", "/clock"] {
            let text = browser.page(page).await;
            let (_, rest) = text.split_once("href=\"/docs/#/").unwrap_or_else(|| panic!("{page}: {text}"));
            assert!(operations.contains(&rest.split('"').next().unwrap().to_owned()), "{page}");
        }
    }
}
