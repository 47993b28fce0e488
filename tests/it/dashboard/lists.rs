//! Lists in the dashboard: their filters are those of the API's lists, stand in the address, and go on into every link.

use serde_json::json;

use crate::harness::browser::{Browser, assert_sign_in, led, refused};
use crate::harness::{App, Database, charge_with, on_both, rules, token_of};

/// Returns the addresses that a page links to, as the browser follows them.
fn links(page: &str) -> Vec<String> {
    let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    links.map(|link| link.replace("&amp;", "&")).collect()
}

rules! {
    async fn filters_stand_in_the_address_of_every_page_and_of_the_csv(app) {
        let client = app.client();
        for n in 0..3 {
            client.post("/1/charges", &charge_with(400 + n, json!({ "email": "nobody" }))).await.refused(422, "invalid_resource");
            client.post("/1/charges", &charge_with(400 + n, json!({}))).await.ok(201);
        }
        let mut browser = Browser::with(app, app.secret_key()).await;
        let list = "/requests?method=POST&status=422&error=invalid_resource&per_page=2";
        let first = browser.page(list).await;
        assert!(first.contains("Page 1 of 2, 3 in all") && !first.contains(">201<"), "{first}");
        let filters = "method=POST&status=422&error=invalid_resource";
        for link in [format!("/dashboard/requests?{filters}&per_page=2&page=2"), format!("/dashboard/requests.csv?{filters}")] {
            assert!(links(&first).contains(&link), "{link}: {:?}", links(&first));
        }
        assert!(first.contains("value=\"422\"") && first.contains("value=\"POST\" selected"), "the form shows them");
        let second = browser.page(&format!("/requests?{filters}&per_page=2&page=2")).await;
        assert_eq!(second.matches("invalid_resource</td>").count(), 1, "{second}");

        let events = browser.page("/events?type=charge.captured").await;
        assert!(events.contains("charge.captured</td>") && !events.contains("charge.authorised</td>"), "{events}");
        assert!(events.contains("'http://test/1/events?type=charge.captured'"), "the same call: {events}");
        let charge = token_of(&client.get("/1/charges").await.ok(200)[0]);
        let about = browser.page(&format!("/events?about={charge}")).await;
        assert_eq!(about.matches("charge.captured</td>").count(), 1, "{about}");
    }

    #[dated]
    async fn a_search_goes_by_words_days_status_and_order(app) {
        let client = app.client();
        let made = |amount: i64| charge_with(amount, json!({ "description": format!("Cup {amount}") }));
        for amount in [500, 400, 600] {
            client.post("/1/charges", &made(amount)).await.ok(201);
        }
        let mut browser = Browser::with(app, app.secret_key()).await;
        let order = |page: &str| {
            let cups = page.split("<td class=\"wide\">Cup ").skip(1);
            cups.map(|rest| rest[..3].to_owned()).collect::<Vec<_>>()
        };
        for (list, cups) in [
            ("/charges", ["600", "400", "500"]),
            ("/charges?sort=amount&direction=1", ["400", "500", "600"]),
            ("/charges?sort=amount", ["600", "500", "400"]),
            ("/charges?direction=1&start_date=2026-03-02", ["500", "400", "600"]),
        ] {
            assert_eq!(order(&browser.page(list).await), cups, "{list}");
        }
        assert!(browser.page("/charges?end_date=2026-03-02").await.contains("There are none."));
        let sorted = browser.page("/charges?query=cup&sort=amount").await;
        assert!(sorted.contains("aria-sort=\"descending\""), "{sorted}");
        assert!(links(&sorted).contains(&"/dashboard/charges?query=cup&sort=amount&direction=1".into()), "{sorted}");

        let (won, open) = (token_of(&client.disputed(700).await), token_of(&client.disputed(800).await));
        browser.press(&format!("/disputes/{won}/decide"), &[("status", "resolved")]).await;
        let listed = browser.page("/disputes?status=resolved").await;
        assert!(listed.contains(&won) && !listed.contains(&open), "{listed}");
        client.transfer(1_000, "self").await.ok(201);
        assert!(browser.page("/transfers?query=1000").await.contains("A$10.00"));
        assert!(browser.page("/transfers?start_date=2026-03-03").await.contains("There are none."));
        for (list, words) in [
            ("/charges?start_date=soon", "Start date is not formatted properly"),
            ("/disputes?status=maybe", "Status is not included in the list"),
            ("/events?type=charge.lost", "Type is not included in the list"),
            ("/requests?status=1", "Status must be at least 100"),
        ] {
            let answer = browser.get(&format!("/dashboard{list}")).await;
            assert_eq!(answer.status, 422, "{words}: {}", answer.text);
            assert!(answer.text.contains("role=\"alert\""), "{words}");
        }
    }

    async fn a_list_is_downloaded_as_csv_with_its_filters(app) {
        let client = app.client();
        for n in 0..27 {
            let charge = charge_with(400 + n, json!({ "description": format!("Thing {n:02}") }));
            client.post("/1/charges", &charge).await.ok(201);
        }
        let mut browser = Browser::with(app, app.secret_key()).await;
        let csv = browser.get("/dashboard/charges.csv").await;
        let header = |name: &str| csv.headers[name].to_str().unwrap();
        assert_eq!((csv.status, header("content-type")), (200, "text/csv; charset=utf-8"));
        assert_eq!(header("content-disposition"), "attachment; filename=\"charges.csv\"");
        assert!(csv.text.starts_with("\u{feff}token,success,amount,") && csv.text.lines().count() == 28, "{}", csv.text);
        let found = browser.get("/dashboard/charges.csv?query=thing+07").await;
        assert!(found.text.lines().count() == 2 && found.text.contains("Thing 07"), "{}", found.text);
        for list in ["customers", "subscriptions", "transfers", "disputes", "events", "webhooks", "requests"] {
            let csv = browser.get(&format!("/dashboard/{list}.csv")).await;
            assert_eq!((csv.status, csv.headers["content-type"].to_str().unwrap()), (200, "text/csv; charset=utf-8"), "{list}");
        }
        refused(&browser.get("/dashboard/charges.csv?start_date=x").await, 422, "Start date is not formatted properly");
        assert_sign_in(&Browser::new(app).get("/dashboard/charges.csv").await);
        let stranger = crate::harness::app::another_account(app.ctx()).await;
        let other = Browser::with(app, stranger.secret.expose()).await.get("/dashboard/charges.csv").await;
        assert_eq!(other.text.lines().count(), 1, "only the heading: {}", other.text);
    }

    #[dated]
    async fn times_are_relative_and_exact_and_statuses_have_text_and_colour(app) {
        let client = app.client();
        client.captured(123_456).await;
        let mut browser = Browser::with(app, app.secret_key()).await;
        client.put("/1/sandbox/clock", &json!({ "advance": "3d" })).await.ok(200);
        let page = browser.page("/charges").await;
        for part in [
            "<time datetime=\"2026-03-02T10:00:00Z\" title=\"2026-03-02 10:00:00 UTC\">3 days ago</time>",
            "<span class=\"state good\">Captured</span>",
            "<span class=\"money\" title=\"AUD 1234.56\">A$1,234.56</span>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}

async fn live_lists_have_no_filters_and_no_csv(database: Database) {
    const OPERATOR: &str = "operator-0123456789-0123456789-01";
    let Some(mut app) = App::live(database).await else { return };
    app.operator_has(Some(OPERATOR)).await;
    app.client().captured(400).await;
    let mut browser = Browser::new(&app);
    led(&browser.sign_in(OPERATOR).await, "/dashboard");
    let account = app.account().await.to_string();
    let form = crate::harness::browser::csrf_token(&browser.page("/accounts").await);
    browser.post("/dashboard/accounts", &[("form", &form), ("account", &account)]).await;
    for list in ["/charges", "/transfers", "/disputes", "/events", "/webhooks", ""] {
        let page = browser.page(list).await;
        for part in [
            ".csv",
            "start_date",
            "aria-sort",
            "name=\"status\"",
            "/docs/#",
            "id=\"volume\"",
            "id=\"disputes\"",
            "new endpoint",
        ] {
            assert!(!page.contains(part), "{list}: {part}");
        }
    }
    for path in ["/dashboard/charges.csv", "/dashboard/requests.csv"] {
        let answer = browser.get(path).await;
        assert!(answer.status == 404 && answer.text.contains("<h1>Page not found</h1>"), "{}", answer.text);
    }
}

on_both!(live_lists_have_no_filters_and_no_csv);
