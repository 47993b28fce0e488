//! What the dashboard's forms do, which of them are there, and what they refuse (`docs/decisions.md`, 329 and 330).

use serde_json::{Value, json};

use crate::harness::browser::{Browser, csrf_token, led, refused};
use crate::harness::{Answer, card, charge_with, rules, token_of};

const CARD: &str = "4200000000000000";

/// A form, by its path and what is sent, and the status and the words of its refusal.
type RefusedForm<'a> = (String, &'a [(&'a str, &'a str)], u16, &'a str);

rules! {
    async fn buttons_do_what_the_calls_of_the_api_do(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let charge = async |token: &str| client.get(&format!("/1/charges/{token}")).await.ok(200);

        let (kept, dropped) = (client.authorised(400).await, client.authorised(400).await);
        led(&browser.press(&format!("/charges/{kept}/capture"), &[]).await, &format!("/dashboard/charges/{kept}"));
        assert_eq!(charge(&kept).await["captured"], true);
        led(&browser.press(&format!("/charges/{dropped}/void"), &[]).await, &format!("/dashboard/charges/{dropped}"));
        assert_eq!(charge(&dropped).await["authorisation_voided"], true);

        // A part, and then all that is left, which its bank refuses.
        for (amount, outcome, refunded) in [("100", "succeeded", 100), ("", "failed", 100)] {
            let answer = browser.press(&format!("/charges/{kept}/refund"), &[("amount", amount)]).await;
            led(&answer, &format!("/dashboard/charges/{kept}"));
            assert_eq!(charge(&kept).await["amount_refunded"], if amount.is_empty() { 400 } else { refunded });
            let refund = token_of(&client.get(&format!("/1/charges/{kept}/refunds")).await.ok(200)[0]);
            assert!(browser.page(&format!("/charges/{kept}")).await.contains(&format!("/refunds/{refund}/decide")));
            let answer = browser.press(&format!("/refunds/{refund}/decide"), &[("outcome", outcome)]).await;
            led(&answer, &format!("/dashboard/charges/{kept}"));
            assert_eq!(charge(&kept).await["amount_refunded"], refunded);
        }

        let disputed = token_of(&client.captured(500).await);
        let answer = browser.press(&format!("/charges/{disputed}/dispute"), &[("amount", "")]).await;
        let dispute = token_of(&client.get("/1/disputes").await.ok(200)[0]);
        led(&answer, &format!("/dashboard/disputes/{dispute}"));
        assert!(browser.page(&format!("/charges/{disputed}")).await.contains(&dispute), "it is in the charge's history");
        browser.press(&format!("/disputes/{dispute}/decide"), &[("status", "resolved")]).await;
        assert_eq!(client.get(&format!("/1/disputes/{dispute}")).await.ok(200)["status"], "resolved");

        let webhook = app.record_of(&client, "webhook_token").await;
        let page = browser.page(&format!("/webhooks/{webhook}")).await;
        assert!(page.contains("connection_failed"), "its attempts: {page}");
        led(&browser.press(&format!("/webhooks/{webhook}/replay"), &[]).await, &format!("/dashboard/webhooks/{webhook}"));
        assert_eq!(client.get(&format!("/1/webhooks/{webhook}")).await.ok(200)["status"], "pending");

        let (plan, customer) = (client.plan(&json!({ "customer_permissions": ["cancel"] })).await, client.customer(CARD).await);
        let subscription = token_of(&client.subscribing(&plan, &token_of(&customer), &json!({})).await.ok(201));
        browser.press(&format!("/subscriptions/{subscription}/unsubscribe"), &[]).await;
        assert_eq!(client.get(&format!("/1/subscriptions/{subscription}")).await.ok(200)["state"], "cancelling");
    }

    async fn an_action_that_would_be_refused_is_not_offered(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let charge = async |changes: Value| token_of(&client.post("/1/charges", &charge_with(400, changes)).await.ok(201));
        let [open, void, bought, part, whole, disputed] = [
            charge(json!({ "capture": false })).await,
            charge(json!({ "capture": false })).await,
            charge(json!({})).await,
            charge(json!({})).await,
            charge(json!({})).await,
            charge(json!({})).await,
        ];
        client.put_charge(&void, "void").await.ok(200);
        client.refund(&part, 100).await.ok(201);
        client.refund(&whole, 400).await.ok(201);
        let some = json!({ "charge_token": disputed, "amount": 100 });
        client.post("/1/sandbox/disputes", &some).await.ok(201);
        let declined = charge_with(400, json!({ "card": card("4100000000000001") }));
        let failed = client.post("/1/charges", &declined).await.json()["charge_token"].as_str().unwrap().to_owned();
        let offered = async |browser: &mut Browser, charge: &str| {
            let page = browser.page(&format!("/charges/{charge}")).await;
            let verbs = ["capture", "void", "refund", "dispute"].into_iter();
            verbs.filter(|verb| page.contains(&format!("/charges/{charge}/{verb}\""))).collect::<Vec<_>>()
        };
        let expected: [(&String, &[&str]); 7] = [
            (&open, &["capture", "void"]),
            (&void, &[]),
            (&failed, &[]),
            (&bought, &["refund", "dispute"]),
            (&part, &["refund", "dispute"]),
            (&whole, &[]),
            (&disputed, &["dispute"]),
        ];
        for (charge, verbs) in expected {
            assert_eq!(offered(&mut browser, charge).await, verbs);
        }
        let badge = async |browser: &mut Browser, charge: &str| {
            let page = browser.page(&format!("/charges/{charge}")).await;
            let (_, rest) = page.split_once("<span class=\"state ").unwrap();
            rest.split(['>', '<']).nth(1).unwrap().to_owned()
        };
        for charge in [&part, &whole] {
            assert_eq!(badge(&mut browser, charge).await, "Refund pending");
        }
        assert_eq!(badge(&mut browser, &bought).await, "Captured");
        assert!(browser.page("/charges").await.matches("Refund pending").count() == 2);
        client.put("/1/sandbox/clock", &json!({ "advance": "7d" })).await.ok(200);
        for (charge, text) in [(&part, "Partly refunded"), (&whole, "Refunded")] {
            assert_eq!(badge(&mut browser, charge).await, text, "it has ended");
        }
        assert_eq!(offered(&mut browser, &open).await, [""; 0], "it has expired");

        let many = token_of(&client.captured(400).await);
        for _ in 0..26 {
            client.refund(&many, 1).await.ok(201);
        }
        let page = browser.page(&format!("/charges/{many}")).await;
        assert_eq!(page.matches("Let it succeed").count(), 26, "all that are pending");

        let webhook = app.record_of(&client, "webhook_token").await;
        let path = format!("/webhooks/{webhook}");
        assert!(browser.page(&path).await.contains("Replay it"));
        browser.press(&format!("{path}/replay"), &[]).await;
        assert!(!browser.page(&path).await.contains("Replay it"), "it is pending");

        let customer = token_of(&client.customer(CARD).await);
        for (permissions, may) in [(json!([]), false), (json!(["cancel"]), true)] {
            let plan = client.plan(&json!({ "customer_permissions": permissions })).await;
            let path = format!("/subscriptions/{}", client.subscribed(&plan, &customer).await);
            assert_eq!(browser.page(&path).await.contains("Unsubscribe as the customer"), may, "{permissions}");
            browser.press(&format!("{path}/unsubscribe"), &[]).await;
            assert!(!browser.page(&path).await.contains("Unsubscribe as the customer"));
        }
    }

    async fn a_refusal_is_told_in_the_words_of_the_api_and_changes_nothing(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let captured = token_of(&client.captured(400).await);
        let webhook = app.record_of(&client, "webhook_token").await;
        client.put(&format!("/1/webhooks/{webhook}/replay"), &json!({})).await.ok(200);
        let on = |action: &str| format!("/charges/{captured}/{action}");
        let faults: [RefusedForm<'_>; 10] = [
            (on("capture"), &[], 400, "The authorisation has already been captured"),
            (on("refund"), &[("amount", "401")], 422, "You have tried to refund more than the original charge"),
            (on("refund"), &[("amount", "x")], 422, "Amount is not a number"),
            (on("dispute"), &[("amount", "0")], 422, "Amount must be greater than or equal to 1"),
            ("/charges/ch_x/void".into(), &[], 404, "The requested resource could not be found."),
            ("/refunds/rf_x/decide".into(), &[("outcome", "failed")], 404, "The requested resource could not be found."),
            (format!("/webhooks/{webhook}/replay"), &[], 400, "The webhook is already pending"),
            ("/clock".into(), &[("to", "2020-01-01")], 422, "must not be before the clock of the account"),
            ("/clock".into(), &[("days", "many")], 422, "Advance is not formatted properly"),
            ("/sandbox".into(), &[("drop_rate", "2"), ("decline", "maybe")], 422, "Decline is not included in the list"),
        ];
        for (path, pairs, status, words) in faults {
            refused(&app.unchanged(browser.press(&path, pairs)).await, status, words);
        }
        for path in ["/charges/ch_x", "/customers/x", "/webhooks/whr_x", "/events/evt_x", "/transfers/%FF"] {
            let answer = browser.get(&format!("/dashboard{path}")).await;
            refused(&answer, 404, "The requested resource could not be found.");
        }
    }

    #[dated]
    async fn the_clock_moves_by_days_by_spans_and_to_a_date(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        assert!(browser.page("/clock").await.contains("2026-03-02 10:00:00"));
        for (pair, shows) in [
            (("days", "7"), "2026-03-09 10:00:00"),
            (("advance", "1month"), "2026-04-09 10:00:00"),
            (("to", "2027-01-01"), "2027-01-01 00:00:00"),
        ] {
            let answer = browser.press("/clock", &[pair]).await;
            assert!(answer.status == 200 && answer.text.contains(shows), "{pair:?}: {}", answer.text);
            assert!(answer.text.contains("The clock has been moved."));
        }
        assert_eq!(app.client().get("/1/sandbox/clock").await.ok(200)["now"], "2027-01-01T00:00:00Z");
    }

    async fn faults_are_ordered_and_reset(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let orders = [("decline", "insufficient_funds"), ("latency_ms", "0"), ("drop_rate", "0.25"), ("seed", "42")];
        led(&browser.press("/sandbox", &orders).await, "/dashboard/sandbox");
        let page = browser.page("/sandbox").await;
        assert!(page.contains("value=\"insufficient_funds\" selected") && page.contains("value=\"0.25\""), "{page}");
        let declined = client.post("/1/charges", &charge_with(400, json!({ "card": card(CARD) }))).await;
        declined.refused(400, "insufficient_funds");
        browser.press("/sandbox", &[("reset", "true")]).await;
        let faults = client.get("/1/sandbox/acquirer").await.ok(200);
        assert_eq!(faults, json!({ "latency_ms": 0, "decline": null, "gateway_error_rate": 0, "drop_rate": 0, "seed": 0 }));
    }

    async fn switches_are_changed_and_an_endpoint_is_pinged(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let changes = [("disputes", "false"), ("transfers_schedule", "weekly"), ("settlement_delay_days", "0")];
        led(&browser.press("/sandbox/switches", &changes).await, "/dashboard/sandbox");
        let settings = client.get("/1/sandbox/account").await.ok(200);
        assert_eq!([&settings["disputes"], &settings["wallet"]], [false, true]);
        assert_eq!(settings["transfers_schedule"], "weekly");
        assert_eq!(settings["settlement_delay_days"], 0);
        let page = browser.page("/sandbox").await;
        assert!(page.contains("value=\"weekly\" selected") && page.contains("value=\"false\" selected"), "{page}");
        let wrong = [("settlement_delay_days", "366")];
        refused(&app.unchanged(browser.press("/sandbox/switches", &wrong)).await, 422, "must be at most 365");

        let endpoint = token_of(&client.endpoint("http://127.0.0.1:1/").await);
        let ping = format!("/webhook_endpoints/{endpoint}/ping");
        assert!(browser.page("/webhooks").await.contains(&ping));
        let answer = browser.press(&ping, &[]).await;
        led(&answer, &format!("/dashboard/webhooks/{}", token_of(&client.newest_webhook().await)));
        app.do_due_work().await;
    }

    async fn snapshots_are_made_put_back_and_deleted(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let kept = client.authorised(400).await;
        led(&browser.press("/sandbox/snapshots", &[]).await, "/dashboard/sandbox");
        let snapshot = token_of(&client.get("/1/sandbox/snapshots").await.ok(200)[0]);
        assert!(browser.page("/sandbox").await.contains(&snapshot));
        let gone = client.authorised(400).await;
        led(&browser.press(&format!("/sandbox/snapshots/{snapshot}/restore"), &[]).await, "/dashboard/sandbox");
        browser.page(&format!("/charges/{kept}")).await;
        refused(&browser.get(&format!("/dashboard/charges/{gone}")).await, 404, "could not be found");
        led(&browser.press(&format!("/sandbox/snapshots/{snapshot}/delete"), &[]).await, "/dashboard/sandbox");
        assert_eq!(client.get("/1/sandbox/snapshots").await.ok(200), json!([]));
        let restore = browser.press(&format!("/sandbox/snapshots/{snapshot}/restore"), &[]).await;
        refused(&restore, 404, "could not be found");
    }

    async fn keys_are_made_rolled_and_revoked_and_shown_once(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        let shown = |page: &Answer| {
            let (_, rest) = page.text.split_once("Key</dt><dd><code>").unwrap_or_else(|| panic!("{}", page.text));
            rest.split('<').next().unwrap().to_owned()
        };
        let order = [("name", "Accounting"), ("rights[charges]", "read"), ("rights[refunds]", "none")];
        let key = shown(&browser.press("/keys", &[&order[..], &[("networks", ""), ("expires_at", "")]].concat()).await);
        let holder = app.with_key(&key);
        holder.get("/1/charges").await.ok(200);
        holder.get("/1/charges/ch_x/refunds").await.refused(403, "forbidden");
        let page = browser.page("/keys").await;
        assert!(page.contains("Accounting") && page.contains("charges: read") && !page.contains(&key), "{page}");
        assert!(!page.contains("refunds: none") && page.contains(&key[key.len() - 4..]), "{page}");

        let made = app.client().get("/1/sandbox/keys").await.ok(200)[0]["token"].as_str().unwrap().to_owned();
        let rolled = shown(&browser.press(&format!("/keys/{made}/roll"), &[("grace", "0h")]).await);
        assert_ne!(rolled, key);
        holder.get("/1/charges").await.refused(401, "unauthorized");
        app.with_key(&rolled).get("/1/charges").await.ok(200);
        let wrong = [("name", " "), ("rights[charges]", "all"), ("networks", "192.0.2.0/24, here"), ("expires_at", "soon")];
        let answer = app.unchanged(browser.press("/keys", &wrong)).await;
        for fault in ["Name can't", "Rights must", "Networks is not", "Expires at is not"] {
            refused(&answer, 422, fault);
        }
        let made = app.client().get("/1/sandbox/keys").await.ok(200)[0]["token"].as_str().unwrap().to_owned();
        led(&browser.press(&format!("/keys/{made}/revoke"), &[]).await, "/dashboard/keys");
        app.with_key(&rolled).get("/1/charges").await.refused(401, "unauthorized");
        refused(&browser.press(&format!("/keys/{made}/revoke"), &[]).await, 404, "could not be found");
    }

    async fn another_account_is_made_and_its_keys_are_shown_once(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = browser.press("/sandbox/accounts", &[]).await;
        assert_eq!(page.status, 200, "{}", page.text);
        let (_, rest) = page.text.split_once("Secret key</dt><dd><code>").unwrap();
        let key = rest.split('<').next().unwrap();
        let mut other = Browser::with(app, key).await;
        assert!(other.page("/sandbox").await.contains("Delete this account"));
        assert!(!browser.page("/sandbox").await.contains(key));
    }

    async fn an_account_of_the_sandbox_can_be_deleted_and_the_first_one_not(app) {
        let made = app.client().post("/1/sandbox/accounts", &json!({})).await.ok(201);
        let mut browser = Browser::with(app, made["secret_key"].as_str().unwrap()).await;
        assert!(browser.page("/sandbox").await.contains("Delete this account"));
        refused(&app.unchanged(browser.press("/sandbox/delete", &[])).await, 422, "Sure must be checked");
        led(&browser.press("/sandbox/delete", &[("sure", "true")]).await, "/dashboard/sign-in");
        assert_eq!(browser.cookie, None);
        app.with_key(made["secret_key"].as_str().unwrap()).get("/1/balance").await.refused(401, "unauthorized");
        app.do_due_work().await;
        let mut first = Browser::with(app, app.secret_key()).await;
        assert!(!first.page("/sandbox").await.contains("Delete this account"));
        refused(&app.unchanged(first.press("/sandbox/delete", &[("sure", "true")])).await, 404, "could not be found");
    }

    async fn every_page_says_that_the_acquirer_has_faults(app) {
        const SAID: &str = "Faults of the acquirer are on";
        let mut browser = Browser::with(app, app.secret_key()).await;
        assert!(!browser.page("").await.contains(SAID));
        led(&browser.press("/sandbox", &[("latency_ms", "5")]).await, "/dashboard/sandbox");
        assert!(browser.page("/events").await.contains(SAID));
        led(&browser.press("/sandbox", &[("reset", "true")]).await, "/dashboard/sandbox");
        assert!(!browser.page("/events").await.contains(SAID));
    }

    async fn a_charge_is_made_with_the_outcome_that_is_chosen(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = browser.page("/charges/new").await;
        let (form, same) = page.split_once("<footer").unwrap();
        assert!(!form.contains(CARD) && same.contains("/1/charges'") && same.contains("-d 'amount=400'"), "{same}");
        let form = [("amount", "1250"), ("currency", "EUR"), ("description", "Tea"), ("email", "roland@example.com")];
        let made = browser.press("/charges/new", &[&form[..], &[("capture", "false"), ("outcome", "")]].concat()).await;
        let charge = client.get("/1/charges").await.ok(200)[0].clone();
        led(&made, &format!("/dashboard/charges/{}", token_of(&charge)));
        assert_eq!((&charge["amount"], &charge["currency"], &charge["captured"]), (&json!(1250), &json!("EUR"), &json!(false)));
        // A declined attempt has a page as well.
        let declined = browser.press("/charges/new", &[&form[..], &[("outcome", "insufficient_funds")]].concat()).await;
        let events = client.get("/1/events?type=charge.failed").await.ok(200);
        let attempt = token_of(&events[0]["data"]);
        led(&declined, &format!("/dashboard/charges/{attempt}"));
        let page = browser.page(&format!("/charges/{attempt}")).await;
        assert!(page.contains("<span class=\"state bad\">Declined</span>") && page.contains("not enough funds available"), "{page}");
        for (pair, words) in [(("amount", "x"), "Amount is not a number"), (("outcome", "maybe"), "Sandbox-Outcome is not included in the list")] {
            let sent = [&form[..], &[pair]].concat();
            refused(&app.unchanged(browser.press("/charges/new", &sent)).await, 422, words);
        }
    }

    async fn an_endpoint_is_registered(app) {
        let client = app.client();
        let mut browser = Browser::with(app, app.secret_key()).await;
        led(&browser.press("/webhook_endpoints", &[("url", "http://127.0.0.1:9/hooks")]).await, "/dashboard/webhooks");
        assert_eq!(client.get("/1/webhook_endpoints").await.ok(200)[0]["url"], "http://127.0.0.1:9/hooks");
        assert!(browser.page("/webhooks").await.contains("http://127.0.0.1:9/hooks"));
        refused(&app.unchanged(browser.press("/webhook_endpoints", &[("url", "x")])).await, 422, "url is not a valid URL");
    }

    async fn a_key_opens_the_accounts_that_its_account_has_made_and_no_others(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        let own = app.account().await.to_string();
        let page = browser.press("/sandbox/accounts", &[("name", "Run <17>")]).await.text;
        let (_, rest) = page.split_once("name=\"account\" value=\"").unwrap();
        let made = rest.split('"').next().unwrap().to_owned();
        let listed = browser.page("/accounts").await;
        assert!(listed.contains("Run &lt;17&gt;") && listed.contains(&made) && listed.contains(&own), "{listed}");
        let charge = app.client().authorised(400).await;

        led(&browser.press("/accounts", &[("account", &made)]).await, "/dashboard");
        assert!(browser.page("").await.contains("Run &lt;17&gt;"));
        refused(&browser.get(&format!("/dashboard/charges/{charge}")).await, 404, "could not be found");
        // One made from there belongs to the account of the key as well.
        browser.press("/sandbox/accounts", &[("name", "Run 18")]).await;
        assert!(browser.page("/accounts").await.contains("Run 18"));

        let stranger = crate::harness::app::another_account(app.ctx()).await;
        let theirs = app.with_key(stranger.secret.expose()).post("/1/sandbox/accounts", &json!({})).await.ok(201);
        for other in [token_of(&theirs).as_str(), "acct_x", ""] {
            let answer = app.unchanged(browser.press("/accounts", &[("account", other)])).await;
            refused(&answer, 404, "could not be found");
        }
        let mut another = Browser::with(app, stranger.secret.expose()).await;
        refused(&app.unchanged(another.press("/accounts", &[("account", &made)])).await, 404, "could not be found");
        assert!(!another.page("/accounts").await.contains(&made));

        led(&browser.press("/sandbox/delete", &[("sure", "true")]).await, "/dashboard");
        app.do_due_work().await;
        assert!(browser.page("").await.contains("First account"), "back at the account of the key");
        refused(&app.unchanged(browser.press("/accounts", &[("account", &made)])).await, 404, "could not be found");
        led(&browser.press("/accounts", &[("account", &own)]).await, "/dashboard");
        browser.page(&format!("/charges/{charge}")).await;
    }

    async fn a_form_concerns_the_account_that_its_page_has_shown_or_none(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        let made = app.client().post("/1/sandbox/accounts", &json!({})).await.ok(201);
        let (made, other) = (token_of(&made), app.client().post("/1/sandbox/accounts", &json!({})).await.ok(201));
        led(&browser.press("/accounts", &[("account", &made)]).await, "/dashboard");
        let of_made = csrf_token(&browser.page("/sandbox").await);
        let delete = [("form", of_made.as_str()), ("sure", "true")];

        // Another tab has chosen another account since.
        led(&browser.press("/accounts", &[("account", &token_of(&other))]).await, "/dashboard");
        refused(&app.unchanged(browser.post("/dashboard/sandbox/delete", &delete)).await, 403, "Nothing has changed");

        // The account is gone since.
        led(&browser.press("/accounts", &[("account", &made)]).await, "/dashboard");
        app.client().delete(&format!("/1/sandbox/accounts/{made}")).await.ok(204);
        refused(&app.unchanged(browser.post("/dashboard/sandbox/delete", &delete)).await, 403, "Nothing has changed");
        // A page from now on is of the key's own account, and so are its forms.
        browser.press("/clock", &[("advance", "1d")]).await;
        let clock = app.client().get("/1/sandbox/clock").await.ok(200);
        assert_eq!(clock["offset_seconds"], 86_400, "{clock}");
    }

    async fn a_moved_clock_shows_what_was_due_without_housekeeping(app) {
        let mut browser = Browser::with(app, app.secret_key()).await;
        app.client().captured(400).await;
        let page = browser.press("/clock", &[("advance", "1year")]).await.text;
        assert!(!page.contains("retention") && page.contains("things were due on the way."), "{page}");
    }
}
