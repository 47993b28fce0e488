//! The dashboard through the router: who is let in, and what pages show (`docs/decisions.md`, 327 to 332).

mod browser;
mod evidence;
mod forms;
mod keys;
mod lists;
mod pictures;
mod questions;
mod receivers;
mod refused_forms;
mod resend;
mod searches;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::TimeSpan;
use http::{Method, header};
use serde_json::{Value, json};

use crate::harness::browser::{Browser, OWN, assert_sign_in, csrf_token, guarded, led, refused};
use crate::harness::{App, Client, Database, charge_with, on_both, rules, token_of};

const CARD: &str = "4200000000000000";
/// At least as long as it must be.
const OPERATOR: &str = "operator-0123456789-0123456789-01";

/// The pages that all others name.
const PAGES: [&str; 12] = [
    "",
    "/charges",
    "/customers",
    "/subscriptions",
    "/transfers",
    "/disputes",
    "/events",
    "/webhooks",
    "/keys",
    "/requests",
    "/clock",
    "/sandbox",
];

/// A record of each kind that has a page, as path and token.
async fn records(app: &App, client: &Client) -> Vec<(&'static str, String)> {
    let (plan, customer) = (client.plan(&json!({})).await, client.customer(CARD).await);
    let customer = token_of(&customer);
    let webhook = app.record_of(client, "webhook_token").await;
    vec![
        ("charges", client.authorised(400).await),
        ("charges", token_of(&client.captured(500).await)),
        ("subscriptions", token_of(&client.subscribing(&plan, &customer, &json!({})).await.ok(201))),
        ("customers", customer),
        ("transfers", app.record_of(client, "transfer_token").await),
        ("disputes", token_of(&client.disputed(600).await)),
        ("events", app.record_of(client, "event_token").await),
        ("webhooks", webhook),
    ]
}

rules! {
    async fn a_secret_key_opens_a_session_whose_cookie_holds_no_key(app) {
        let mut browser = Browser::new(app);
        for path in ["/dashboard", "/dashboard/charges/ch_x?page=2"] {
            let answer = browser.get(path).await;
            assert_sign_in(&answer);
            guarded(&answer);
            assert!(answer.text.contains(&format!("name=\"to\" value=\"{path}\"")), "it leads back: {}", answer.text);
        }
        let searched = browser.get("/dashboard/search?query=4242424242424242").await;
        assert_sign_in(&searched);
        assert!(!searched.text.contains("42424242"), "it may be a card's number: {}", searched.text);
        let to = "/dashboard/charges?query=a";
        let opened = browser.post("/dashboard/sign-in", &[("key", app.secret_key()), ("to", to)]).await;
        led(&opened, to);
        let cookie = opened.headers[header::SET_COOKIE].to_str().unwrap();
        for part in ["; Path=/dashboard", "; Max-Age=2635200", "; HttpOnly", "; SameSite=Strict"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        assert!(!cookie.contains("Secure") && !cookie.contains(app.secret_key()));
        let page = browser.get("/dashboard").await;
        guarded(&page);
        assert!(page.text.contains("A$1,000,000.00") && page.text.contains("First account"), "{}", page.text);
        for to in ["https://evil.example/", "//evil.example", "/dashboardx", "/1/charges", ""] {
            let answer = browser.post("/dashboard/sign-in", &[("key", app.secret_key()), ("to", to)]).await;
            led(&answer, "/dashboard");
        }
    }

    async fn an_address_without_a_page_answers_a_page(app) {
        assert_sign_in(&Browser::new(app).get("/dashboard/nothing").await);
        let mut browser = Browser::with(app, app.secret_key()).await;
        for path in ["/dashboard/nothing", "/dashboard/charges/ch_x/nothing"] {
            let answer = browser.get(path).await;
            assert!(answer.status == 404 && answer.text.contains("<h1>Page not found</h1>"), "{}", answer.text);
            guarded(&answer);
        }
        let icon = browser.get("/dashboard/favicon.svg").await;
        assert_eq!((icon.status, icon.headers[header::CONTENT_TYPE].to_str().unwrap()), (200, "image/svg+xml"));
    }

    async fn no_other_key_opens_anything(app) {
        let mut browser = Browser::new(app);
        for key in [app.publishable_key(), "nobody-has-this", "", " "] {
            let answer = app.unchanged(browser.sign_in(key)).await;
            refused(&answer, 422, "Not authorised. (Check API Key)");
            assert!(!answer.headers.contains_key(header::SET_COOKIE) && browser.cookie.is_none(), "{key}");
            assert!(key.trim().is_empty() || !answer.text.contains(key), "it is not repeated");
        }
        assert_sign_in(&browser.get("/dashboard").await);
    }

    async fn attempts_to_sign_in_are_slowed(app) {
        let mut browser = Browser::new(app);
        for _ in 0..10 {
            assert_eq!(browser.sign_in("wrong").await.status, 422);
        }
        for key in ["wrong", app.secret_key()] {
            let answer = browser.sign_in(key).await;
            refused(&answer, 429, "Too many requests. Please try again in a moment.");
            assert!(answer.headers.contains_key("retry-after") && browser.cookie.is_none());
        }
        app.clock.advance(TimeSpan::seconds(6));
        led(&browser.sign_in(app.secret_key()).await, "/dashboard");
        assert_eq!(browser.sign_in(app.secret_key()).await.status, 429, "one in six seconds");
    }

    async fn a_session_ends_by_itself_by_its_visitor_and_with_its_account(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        app.clock.advance(TimeSpan::seconds(12 * 3600 - 1));
        browser.page("").await;
        app.clock.advance(TimeSpan::seconds(1));
        assert_sign_in(&browser.get("/dashboard").await);

        let mut browser = Browser::with(app, app.secret_key()).await;
        let (kept, form) = (browser.cookie.clone(), csrf_token(&browser.page("").await));
        refused(&browser.post("/dashboard/sign-out", &[]).await, 403, "was not sent by a page of your session");
        led(&browser.post("/dashboard/sign-out", &[("form", &form)]).await, "/dashboard/sign-in");
        assert_eq!(browser.cookie, None, "the browser forgets it");
        browser.cookie = kept;
        assert_sign_in(&browser.get("/dashboard").await);

        let made = app.client().post("/1/sandbox/accounts", &json!({})).await.ok(201);
        let mut browser = Browser::with(app, made["secret_key"].as_str().unwrap()).await;
        app.client().delete(&format!("/1/sandbox/accounts/{}", token_of(&made))).await.ok(204);
        assert_sign_in(&browser.get("/dashboard").await);
        app.do_due_work().await;
    }

    async fn a_cookie_that_somebody_has_made_or_changed_opens_nothing(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        let (name, value) = browser.cookie.clone().unwrap().split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let mut forged = vec![String::new(), "x".into(), "A".repeat(22), "A".repeat(300), value[..value.len() - 4].into()];
        for at in [0, 30, value.len() / 2, value.len() - 2] {
            let other = if value.as_bytes()[at] == b'A' { "B" } else { "A" };
            forged.push(format!("{}{other}{}", &value[..at], &value[at + 1..]));
        }
        for value in forged {
            browser.cookie = Some(format!("{name}={value}"));
            assert_sign_in(&browser.get("/dashboard").await);
        }
    }

    async fn a_cookie_that_somebody_has_made_up_lets_nobody_look_for_its_key(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        let (name, _) = browser.cookie.clone().unwrap().split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let known = app.ctx().vault.data_keys();
        browser.cookie = Some(format!("{name}={}", URL_SAFE_NO_PAD.encode([7; 100])));
        assert_sign_in(&browser.get("/dashboard").await);
        assert!(Arc::ptr_eq(&known, &app.ctx().vault.data_keys()), "the table of keys was read again");
    }

    async fn forms_of_other_pages_change_nothing(app) {
        let charge = app.client().authorised(400).await;
        let path = format!("/dashboard/charges/{charge}/capture");
        let mut browser = Browser::with(app, app.secret_key()).await;
        let form = csrf_token(&browser.page("").await);
        let foreign = "was not sent by a page of your session";
        for origin in [None, Some("null"), Some("http://evil.example"), Some("http://test.evil.example"), Some("http://test:81")] {
            browser.origin = origin;
            refused(&app.unchanged(browser.post(&path, &[("form", &form)])).await, 403, foreign);
            refused(&app.unchanged(browser.post("/dashboard/sign-in", &[("key", app.secret_key())])).await, 403, foreign);
        }
        browser.origin = Some(OWN);
        for pairs in [&[][..], &[("form", "")], &[("form", "guess")]] {
            refused(&app.unchanged(browser.post(&path, pairs)).await, 403, foreign);
        }
        let mut other = Browser::with(app, app.secret_key()).await;
        refused(&app.unchanged(other.post(&path, &[("form", &form)])).await, 403, foreign);
        // A form of no session.
        let mut nobody = Browser::new(app);
        led(&app.unchanged(nobody.post(&path, &[("form", &form)])).await, "/dashboard/sign-in");
        led(&browser.post(&path, &[("form", &form)]).await, &format!("/dashboard/charges/{charge}"));
    }

    async fn every_page_shows_its_records_and_the_call_that_shows_the_same(app) {
        let client = app.client();
        let records = records(app, &client).await;
        let endpoint = client.get("/1/webhook_endpoints").await.ok(200)[0].clone();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let mut pages: Vec<String> = PAGES.iter().map(|&page| page.to_owned()).collect();
        for (kind, token) in &records {
            let list = browser.page(&format!("/{kind}")).await;
            assert!(list.contains(&format!("href=\"/dashboard/{kind}/{token}\"")), "{kind} lists {token}: {list}");
            pages.push(format!("/{kind}/{token}"));
        }
        for page in pages {
            let answer = browser.get(&format!("/dashboard{page}")).await;
            assert_eq!(answer.status, 200, "{page}: {}", answer.text);
            guarded(&answer);
            let text = answer.text;
            let secrets = [app.secret_key(), app.publishable_key(), CARD, endpoint["key"].as_str().unwrap(), "whsec_"];
            assert_eq!(secrets.iter().find(|secret| text.contains(**secret)), None, "{page}");
            let (_, named) = text.split_once("curl -u &quot;$KEY:&quot; 'http://test").unwrap_or_else(|| panic!("{page}"));
            let called = client.get(named.split('\'').next().unwrap()).await.ok(200);
            if let Some((_, token)) = page.trim_start_matches('/').split_once('/') {
                assert_eq!(token_of(&called), token);
                assert!(text.contains(&format!("{token}</h1>")), "{page}");
            }
        }
    }

    async fn the_request_log_leads_to_each_request_by_the_id_that_its_client_has(app) {
        let answer = app.client().post("/1/charges", &charge_with(400, json!({ "email": "nobody" }))).await;
        let id = answer.headers["x-request-id"].to_str().unwrap().to_owned();
        let mut browser = Browser::with(app, app.secret_key()).await;
        assert!(browser.page("/requests").await.contains(&format!("href=\"/dashboard/requests/{id}\"")));
        let page = browser.page(&format!("/requests/{id}")).await;
        assert!(page.contains("/1/charges") && page.contains("invalid_resource") && !page.contains(CARD), "{page}");
        assert!(page.contains(&format!("http://test/1/sandbox/requests/{id}")), "{page}");
        refused(&browser.get("/dashboard/requests/never-sent").await, 404, "could not be found");
    }

    #[dated]
    async fn pages_show_any_currency_what_is_left_of_a_deleted_customer_and_a_clock_far_ahead(app) {
        let client = app.client();
        let in_currency = async |currency: &str, amount: i64| {
            let charge = charge_with(amount, json!({ "currency": currency }));
            token_of(&client.post("/1/charges", &charge).await.ok(201))
        };
        let (yen, euros) = (in_currency("JPY", 12_345).await, in_currency("EUR", 12_345).await);
        client.refund(&yen, 2_345).await.ok(201);
        let dispute = token_of(&client.dispute(&euros).await);
        let (plan, customer) = (client.plan(&json!({ "currency": "JPY", "amount": 980 })).await, client.customer(CARD).await);
        let customer = token_of(&customer);
        let subscription = token_of(&client.subscribing(&plan, &customer, &json!({})).await.ok(201));
        client.delete(&format!("/1/customers/{customer}")).await.ok(204);
        let bill = token_of(&client.get("/1/charges").await.ok(200)[0]);
        let pages: [(String, &[&str]); 6] = [
            (format!("/charges/{yen}"), &["¥12,345<", "¥2,345<"]),
            (format!("/charges/{euros}"), &["€123.45<"]),
            (format!("/charges/{bill}"), &["¥980<", &customer]),
            (format!("/disputes/{dispute}"), &["€123.45<"]),
            (format!("/subscriptions/{subscription}"), &["¥980<", "cancelled"]),
            ("/charges".into(), &["¥12,345<", "€123.45<", "¥980<"]),
        ];
        let mut browser = Browser::with(app, app.secret_key()).await;
        for day in ["2026-03-03", "2126-03-01"] {
            client.put("/1/sandbox/clock", &json!({ "to": day })).await.ok(200);
            for page in PAGES {
                browser.page(page).await;
            }
            assert!(browser.page("/clock").await.contains(day));
            for (page, texts) in &pages {
                let text = browser.page(page).await;
                for wanted in *texts {
                    assert!(text.contains(wanted), "{page}: {wanted}: {text}");
                }
            }
            refused(&browser.get(&format!("/dashboard/customers/{customer}")).await, 404, "could not be found");
        }
    }

    async fn lists_have_pages_and_charges_are_found(app) {
        let client = app.client();
        for n in 0..27 {
            let charge = charge_with(400 + n, json!({ "description": format!("Thing {n:02} & <more>'s") }));
            client.post("/1/charges", &charge).await.ok(201);
        }
        let mut browser = Browser::with(app, app.secret_key()).await;
        let first = browser.page("/charges").await;
        assert!(first.contains("Thing 26 &amp; &lt;more&gt;") && !first.contains("Thing 01"), "newest first, and escaped");
        assert!(first.contains("Page 1 of 2, 27 in all") && first.contains("href=\"/dashboard/charges?page=2\""));
        let second = browser.page("/charges?page=2").await;
        assert!(second.contains("Thing 01") && second.contains("rel=\"prev\"") && !second.contains("rel=\"next\""));
        assert!(second.contains("/1/charges?page=2"));
        let found = browser.page("/charges?query=+thing+07+").await;
        assert!(found.contains("Thing 07") && !found.contains("Thing 08") && found.contains("/1/charges/search?query=thing+07"));
        assert!(browser.page("/charges?query=nothing+like+it").await.contains("There are none."));
        let answer = browser.get("/dashboard/charges?page=x").await;
        refused(&answer, 422, "Page is not a number");
    }

    async fn nobody_sees_the_records_of_another_account(app) {
        let records = records(app, &app.client()).await;
        let stranger = crate::harness::app::another_account(app.ctx()).await;
        let mut browser = Browser::with(app, stranger.secret.expose()).await;
        assert!(browser.page("").await.contains("Stranger"));
        for (kind, token) in records {
            refused(&browser.get(&format!("/dashboard/{kind}/{token}")).await, 404, "could not be found");
            assert!(!browser.page(&format!("/{kind}")).await.contains(&token));
        }
        let charge = app.client().authorised(400).await;
        let answer = app.unchanged(browser.press(&format!("/charges/{charge}/capture"), &[])).await;
        refused(&answer, 404, "could not be found");
    }

    async fn other_methods_and_paths_are_answered_as_everywhere(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        let head = browser.send(Method::HEAD, "/dashboard/charges", None).await;
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        for (method, path) in [(Method::PUT, "/dashboard"), (Method::DELETE, "/dashboard/charges/ch_x"), (Method::POST, "/dashboard/events")] {
            browser.send(method, path, None).await.refused(405, "method_not_allowed");
        }
        browser.get("/dashboardx").await.refused(404, "resource_not_found");
        let slash = browser.get("/dashboard/").await;
        assert_eq!((slash.status, slash.headers[header::LOCATION].to_str().unwrap()), (308, "/dashboard"));
        let mut anybody = Browser::new(app);
        for (path, kind) in [("/dashboard/dashboard.css", "text/css"), ("/dashboard/dashboard.js", "text/javascript")] {
            let file = anybody.get(path).await;
            assert!(file.status == 200 && file.headers["content-type"].to_str().unwrap().starts_with(kind), "{path}");
            // A server of another release gives its own file under this address.
            let page = browser.page("").await;
            let own = page.split('"').find(|address| address.starts_with(&format!("{path}?"))).unwrap();
            let other = format!("{path}?other");
            for (address, kept) in [(own, "public, max-age=31536000, immutable"), (&other, "no-store")] {
                assert_eq!(anybody.get(address).await.headers["cache-control"], kept, "{address}");
            }
        }
    }

    #[dated]
    async fn the_balance_over_time_is_drawn_and_told(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        client.captured(100_000).await;
        client.transfer(1_000_000, "self").await.ok(201);
        let page = browser.page("").await;
        assert!(page.contains("<svg") && page.contains("The same as a table"), "{page}");
        // Five days to the day on which the charge's money becomes available.
        for row in ["2026-03-02</td><td>A$990,000.00", "2026-03-07</td><td>A$990,982.20"] {
            assert!(page.contains(row), "{row}: {page}");
        }
        let balance: Value = client.get("/1/balance").await.ok(200);
        assert_eq!(balance["available"][0]["amount"], 99_000_000);
    }
}

/// A live server whose operator has a key, or none.
async fn live(database: Database, key: Option<&str>) -> Option<App> {
    let mut app = App::live(database).await?;
    app.operator_has(key).await;
    Some(app)
}

async fn operators_look_at_every_account_and_change_nothing(database: Database) {
    let Some(app) = live(database, Some(OPERATOR)).await else { return };
    let charge = token_of(&app.client().captured(400).await);
    let mut browser = Browser::new(&app);
    for key in [app.secret_key(), app.publishable_key(), "wrong", ""] {
        refused(&browser.sign_in(key).await, 422, "Not authorised. (Check API Key)");
    }
    led(&browser.get("/dashboard/accounts").await, "/dashboard/sign-in");
    led(&browser.sign_in(OPERATOR).await, "/dashboard");
    led(&browser.get("/dashboard").await, "/dashboard/accounts");
    let accounts = browser.page("/accounts").await;
    let account = app.account().await.to_string();
    assert!(accounts.contains(&account) && accounts.contains("Stranger"), "{accounts}");
    let form = csrf_token(&accounts);
    let choose = async |browser: &mut Browser, pairs: &[(&str, &str)]| {
        browser.post("/dashboard/accounts", pairs).await
    };
    refused(
        &choose(&mut browser, &[("account", &account)]).await,
        403,
        "was not sent by a page of your session",
    );
    for unknown in ["acct_x", "", "acct_AZqYv3rVcBKUQ1mHn7tKRw"] {
        refused(
            &choose(&mut browser, &[("form", &form), ("account", unknown)]).await,
            404,
            "could not be found",
        );
    }
    led(&choose(&mut browser, &[("form", &form), ("account", &account)]).await, "/dashboard");
    for page in &PAGES[..9] {
        let text = browser.page(page).await;
        assert!(!text.contains("/dashboard/clock") && !text.contains("/dashboard/sandbox"), "{page}");
        assert!(text.contains("Other accounts") && !text.contains(OPERATOR));
    }
    let page = browser.page(&format!("/charges/{charge}")).await;
    assert!(
        page.contains("A$4.00") && page.matches("method=\"post\"").count() == 1,
        "only the one that signs out: {page}"
    );
    let form = csrf_token(&page);
    for path in [
        "/clock",
        "/sandbox",
        "/sandbox/delete",
        &format!("/charges/{charge}/refund"),
        &format!("/charges/{charge}/dispute"),
    ] {
        let path = format!("/dashboard{path}");
        let answer = app.unchanged(browser.post(&path, &[("form", &form), ("days", "1")])).await;
        assert!(answer.status == 404 && answer.text.contains("<h1>Page not found</h1>"), "{}", answer.text);
    }
    app.check_books().await;
}

async fn whom_an_operator_looks_at_is_recorded_and_may_ask_as_often_as_ever(database: Database) {
    let Some(mut app) = live(database, Some(OPERATOR)).await else { return };
    app.takes_on(Some(1), 128).await;
    let mut browser = Browser::new(&app);
    led(&browser.sign_in(OPERATOR).await, "/dashboard");
    let account = app.account().await.to_string();
    let viewed = format!(
        "SELECT COUNT(*) FROM audit_entries WHERE action = 'account.viewed' AND subject = '{account}' AND account IS NOT NULL"
    );
    assert_eq!(app.number(&viewed).await, 0);
    let form = csrf_token(&browser.page("/accounts").await);
    let chosen = [("form", form.as_str()), ("account", account.as_str())];
    led(&browser.post("/dashboard/accounts", &chosen).await, "/dashboard");
    assert_eq!(app.number(&viewed).await, 1);
    for _ in 0..2 {
        browser.page("/charges").await;
    }
    // Requests are counted by the machine's clock, which lets more of them in while it is busy.
    let mut answer = browser.get("/dashboard/charges").await;
    for _ in 0..100 {
        if answer.status != 200 {
            break;
        }
        answer = browser.get("/dashboard/charges").await;
    }
    refused(&answer, 429, "Too many requests");
    app.client().get("/1/balance").await.ok(200);
}

async fn another_operators_key_ends_the_sessions_of_the_one_before(database: Database) {
    let Some(mut app) = live(database, Some(OPERATOR)).await else { return };
    let mut browser = Browser::new(&app);
    led(&browser.sign_in(OPERATOR).await, "/dashboard");
    let cookie = browser.cookie.clone();
    // A new process knows the session, as long as the key is the same.
    app.operator_has(Some(OPERATOR)).await;
    let mut browser = Browser::new(&app);
    browser.cookie.clone_from(&cookie);
    browser.page("/accounts").await;
    app.operator_has(Some("another-operator-0123456789-01234")).await;
    let mut browser = Browser::new(&app);
    browser.cookie = cookie;
    assert_sign_in(&browser.get("/dashboard").await);
}

async fn without_an_operators_key_live_has_no_dashboard(database: Database) {
    let Some(app) = live(database, None).await else { return };
    let mut browser = Browser::new(&app);
    for path in [
        "/dashboard",
        "/dashboard/",
        "/dashboard/charges",
        "/dashboard/sign-in",
        "/dashboard/accounts",
        "/dashboard/dashboard.css",
    ] {
        browser.get(path).await.refused(404, "resource_not_found");
    }
    browser.sign_in(app.secret_key()).await.refused(404, "resource_not_found");
    assert!(!browser.get("/").await.text.contains("/dashboard"));
}

on_both!(operators_look_at_every_account_and_change_nothing);
on_both!(whom_an_operator_looks_at_is_recorded_and_may_ask_as_often_as_ever);
on_both!(another_operators_key_ends_the_sessions_of_the_one_before);
on_both!(without_an_operators_key_live_has_no_dashboard);
