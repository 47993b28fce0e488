//! Merchants that a partner refers (specification, Merchants; `docs/decisions.md`, 231 to 238).

mod lists;
mod moves;

use entity::TimeSpan;
use http::Method;
use serde_json::{Value, json};

use crate::harness::sending::{JSON, post_with, send};
use crate::harness::{
    App, Client, PASSWORD, application, as_of, bank_account, card, charge, fields, rules, token_of, with,
};

const PATH: &str = "/1/merchants";
const SUMMARY: [&str; 10] = [
    "token",
    "email",
    "business_name",
    "country_code",
    "status",
    "contact_name",
    "last_charge_date",
    "created_at",
    "updated_at",
    "activated_at",
];

/// The application with one of its parts changed; null is absent.
fn changed(part: &str, changes: &Value) -> Value {
    let mut params = application();
    params[part] = with(params[part].clone(), changes);
    params
}

/// A caller with the merchant's own key of this environment.
async fn own(app: &App, merchant: &str) -> Client {
    let key = app.client().merchant_of(merchant).await["test_secret_api_key"].as_str().unwrap().to_owned();
    app.with_key(&key)
}

rules! {
    async fn an_application_makes_a_merchant_that_waits_for_approval(app) {
        let client = app.client();
        let made = client.post(PATH, &application()).await.ok(201);
        assert_eq!(fields(&made), SUMMARY);
        let token = token_of(&made);
        assert!(token.starts_with("mrch_"), "{token}");
        let expected = json!({
            "token": token, "email": "roland@example.com", "business_name": "Roland's Robots", "country_code": "AU",
            "status": "pending_approval", "contact_name": "Roland Robot", "last_charge_date": null,
            "created_at": as_of(), "updated_at": as_of(), "activated_at": null,
        });
        assert_eq!(made, expected);
        assert_eq!(client.get(PATH).await.ok(200), json!([made]));
        let events = client.get("/1/events").await.ok(200);
        assert_eq!((&events[0]["type"], &events[0]["data"]), (&json!("sub_merchant_application.submitted"), &made));
    }

    async fn the_detail_shows_settings_and_all_four_keys(app) {
        let client = app.client();
        let made = client.post(PATH, &application()).await.ok(201);
        let detail = client.merchant_of(&token_of(&made)).await;
        let names = [
            "url", "business_registration_number", "phone", "contact_email", "skip_charge_address_validation",
            "send_transfer_email", "send_refund_successful_emails", "settlement_delay_days", "premiumscheme_enabled",
            "maximum_charge_cents", "pos_maximum_charge_cents", "transfers_enabled", "transfers_schedule",
            "test_secret_api_key", "test_publishable_api_key", "api_keys", "pricing", "notifications", "bank_account",
            "resources",
        ];
        assert_eq!(fields(&detail), [SUMMARY.as_slice(), &names].concat());
        for name in SUMMARY {
            assert_eq!(detail[name], made[name], "{name}");
        }
        let shown = json!({
            "url": "https://robots.example.com", "business_registration_number": "51 824 753 556", "phone": "0491 570 156",
            "contact_email": "roland@example.com", "skip_charge_address_validation": false, "send_transfer_email": true,
            "send_refund_successful_emails": true, "settlement_delay_days": 5, "premiumscheme_enabled": true,
            "maximum_charge_cents": 2_500_000, "pos_maximum_charge_cents": 100_000, "transfers_enabled": true,
            "transfers_schedule": "daily",
            "bank_account": { "name": "Pay Ee", "bsb": "736032", "number": "XXXXXX321" },
        });
        for (name, value) in shown.as_object().unwrap() {
            assert_eq!(&detail[name], value, "{name}");
        }
        let keys = [
            &detail["test_secret_api_key"], &detail["test_publishable_api_key"], &detail["api_keys"]["secret"],
            &detail["api_keys"]["publishable"],
        ];
        let keys = keys.map(|key| key.as_str().unwrap());
        assert_eq!(keys.map(str::len), [22, 25, 22, 25]);
        assert!(keys[1].starts_with("pk_") && keys[3].starts_with("pk_") && keys[0] != keys[2] && keys[1] != keys[3]);
        let (domestic, foreign) =
            (json!({ "fixed_fee": 30, "percentage_fee": "1.75" }), json!({ "fixed_fee": 30, "percentage_fee": "2.9" }));
        assert_eq!(detail["pricing"], json!({
            "domestic_currency_domestic_card_core": domestic, "domestic_currency_domestic_card_premium": domestic,
            "domestic_currency_foreign_card_core": foreign, "domestic_currency_foreign_card_premium": foreign,
            "foreign_currency_core": foreign, "foreign_currency_premium": foreign,
        }));
        assert_eq!(detail["notifications"], json!({
            "receipts": { "api": true, "payment_page": true, "manual_charge": true, "recurring_payments": true, "accounting_payment_page": true },
            "recurring_payments": {
                "subscribed": true, "unsubscribed": true, "cancelled": true, "renewed": true, "renewal_failed": true, "reactivated": true,
            },
        }));
        // What does not change is shown byte for byte.
        let path = format!("{PATH}/{}", token_of(&made));
        assert_eq!(client.get(&path).await.text, client.get(&path).await.text);
    }

    async fn the_default_settings_are_those_of_new_merchants(app) {
        let settings = app.client().get(&format!("{PATH}/default_settings")).await;
        let expected = concat!(
            r#"{"response":{"skip_charge_address_validation":0,"send_transfer_email":1,"send_refund_successful_emails":1,"#,
            r#""settlement_delay_days":5,"maximum_charge_cents":2500000,"pos_maximum_charge_cents":100000,"#,
            r#""transaction_fixed_fee":30,"third_party_transfer_fee":30,"domestic_transaction_percentage_fee":"1.75","#,
            r#""premiumscheme_transaction_percentage_fee":"1.75","foreign_transaction_percentage_fee":"2.9","premiumscheme":true,"#,
            r#""transfer_email_line_items_attachment":false,"statement_descriptor_random_code":false,"notifications":{"receipts":"#,
            r#"{"api":true,"payment_page":true,"manual_charge":true,"recurring_payments":true,"accounting_payment_page":true},"#,
            r#""recurring_payments":{"subscribed":true,"unsubscribed":true,"cancelled":true,"renewed":true,"renewal_failed":true,"#,
            r#""reactivated":true}}}}"#,
        );
        assert_eq!((settings.status, settings.text.as_str()), (200, expected));
    }

    async fn a_form_applies_as_json_does(app) {
        let client = app.client();
        let mut params = application();
        params["notes"] = "Met at the fair".into();
        let form = client.post_form(PATH, &params).await.ok(201);
        let mut numbers = application();
        numbers["business"]["typical_product_price"] = 100.into();
        numbers["business"]["sells_physical_goods"] = true.into();
        numbers["bank_account"]["number"] = 987_654_321.into();
        let json = client.post(PATH, &numbers).await.ok(201);
        for name in &SUMMARY[1..] {
            assert_eq!(form[name], json[name], "{name}");
        }
    }

    async fn missing_parts_are_told_all_at_once(app) {
        app.invalid(PATH, &json!({}), &[
            ("contact", "Contact can't be blank"),
            ("entity", "Entity can't be blank"),
            ("business", "Business can't be blank"),
            ("bank_account", "Bank account can't be blank"),
            ("director", "Director can't be blank"),
        ]).await;
        let hollow = json!({ "contact": "x", "entity": { "a": 1 }, "business": [1], "bank_account": { "a": 1 }, "director": { "a": 1 } });
        app.invalid(PATH, &hollow, &[
            ("contact", "Contact is not valid"),
            ("entity.business_registration_number", "Entity business registration number can't be blank"),
            ("entity.full_legal_name", "Entity full legal name can't be blank"),
            ("entity.address_line_1", "Entity address line 1 can't be blank"),
            ("entity.address_locality", "Entity address locality can't be blank"),
            ("entity.address_region", "Entity address region can't be blank"),
            ("entity.address_postal_code", "Entity address postal code can't be blank"),
            ("business", "Business is not valid"),
            ("bank_account.name", "Bank account name can't be blank"),
            ("bank_account.bsb", "Bank account BSB can't be blank"),
            ("bank_account.bsb", "Bank account BSB must be 6 numbers"),
            ("bank_account.number", "Bank account number can't be blank"),
            ("director.full_name", "Director full name can't be blank"),
            ("director.contact_number", "Director contact number can't be blank"),
            ("director.date_of_birth", "Director date of birth can't be blank"),
        ]).await;
    }

    async fn wrong_values_are_told_in_the_order_of_the_parameters(app) {
        let wrong = json!({
            "contact": { "first_name": "", "last_name": "a".repeat(256), "phone_number": " ", "email": "nobody", "password": " " },
            "entity": {
                "business_registration_number": "51824753557", "full_legal_name": " ", "address_line_1": "a".repeat(1001),
                "address_line_2": "a".repeat(1001), "address_locality": "L", "address_region": "W", "address_postal_code": "",
                "address_country_code": "",
            },
            "business": {
                "trading_name": "", "description": "", "typical_product_price": "99", "transactions_per_month": "",
                "annual_transaction_volume": "much", "sells_physical_goods": "perhaps", "average_delivery_days": 2,
                "url": "robots.example.com",
            },
            "bank_account": { "name": "", "bsb": "12", "number": "x" },
            "director": { "full_name": "", "contact_number": "", "date_of_birth": "29/02/1980" },
            "notes": "a".repeat(10_001),
        });
        app.invalid(PATH, &wrong, &[
            ("contact.first_name", "Contact first name can't be blank"),
            ("contact.last_name", "Contact last name is too long (maximum is 255 characters)"),
            ("contact.phone_number", "Contact phone number can't be blank"),
            ("contact.email", "Contact email is not formatted properly"),
            ("contact.password", "Contact password can't be blank"),
            ("entity.business_registration_number", "Entity business registration number is not valid"),
            ("entity.full_legal_name", "Entity full legal name can't be blank"),
            ("entity.address_line_1", "Entity address line 1 is too long (maximum is 1000 characters)"),
            ("entity.address_line_2", "Entity address line 2 is too long (maximum is 1000 characters)"),
            ("entity.address_postal_code", "Entity address postal code can't be blank"),
            ("business.trading_name", "Business trading name can't be blank"),
            ("business.description", "Business description can't be blank"),
            ("business.typical_product_price", "Business typical product price is not included in the list"),
            ("business.transactions_per_month", "Business transactions per month can't be blank"),
            ("business.annual_transaction_volume", "Business annual transaction volume is not included in the list"),
            ("business.sells_physical_goods", "Business sells physical goods is not included in the list"),
            ("business.average_delivery_days", "Business average delivery days is not included in the list"),
            ("business.url", "Business URL is not a valid URL"),
            ("bank_account.name", "Bank account name can't be blank"),
            ("bank_account.bsb", "Bank account BSB must be 6 numbers"),
            ("bank_account.number", "Bank account number is not valid"),
            ("director.full_name", "Director full name can't be blank"),
            ("director.contact_number", "Director contact number can't be blank"),
            ("director.date_of_birth", "Director date of birth is not formatted properly"),
            ("notes", "Notes is too long (maximum is 10000 characters)"),
        ]).await;
        let long = changed("contact", &json!({ "password": "a".repeat(1001) }));
        app.invalid(PATH, &long, &[("contact.password", "Contact password is too long (maximum is 1000 characters)")]).await;
    }

    async fn every_allowed_value_is_taken(app) {
        let client = app.client();
        let values: [(&str, &[&str]); 5] = [
            ("typical_product_price", &["20", "100", "500", "1000", "3000"]),
            ("transactions_per_month", &["10", "20", "100", "500", "1000"]),
            ("annual_transaction_volume", &["5000", "20000", "250000", "1000000"]),
            ("sells_physical_goods", &["true", "false"]),
            ("average_delivery_days", &["1", "3", "7", "14", "30", "40"]),
        ];
        // Each value once.
        for n in 0..6 {
            let pick = |values: &[&str]| values[n % values.len()].to_owned();
            let business = values.iter().fold(json!({}), |params, (name, values)| with(params, &json!({ (*name): pick(values) })));
            client.post(PATH, &changed("business", &business)).await.ok(201);
        }
    }

    async fn a_country_decides_what_its_registration_numbers_are(app) {
        let client = app.client();
        for country in ["NZ", "SG", "HK", "GB", "IE", "US", "CA"] {
            let at_home = |number: &str| changed("entity", &json!({ "address_country_code": country, "business_registration_number": number }));
            let made = client.post(PATH, &at_home("X 1234567890-1234567")).await.ok(201);
            assert_eq!(made["country_code"], country);
            app.invalid(PATH, &at_home(&"1".repeat(21)), &[(
                "entity.business_registration_number",
                "Entity business registration number is too long (maximum is 20 characters)",
            )]).await;
        }
        for country in [json!(null), json!(""), json!("AU")] {
            let made = client.post(PATH, &changed("entity", &json!({ "address_country_code": country }))).await.ok(201);
            assert_eq!(made["country_code"], "AU");
        }
        // The numbers of an unknown country cannot be checked.
        for country in ["DE", "au", "AUS", "x"] {
            let params = json!({ "address_country_code": country, "business_registration_number": "HRB 1" });
            app.invalid(PATH, &changed("entity", &params), &[(
                "entity.address_country_code",
                "Entity address country code is not included in the list",
            )]).await;
        }
        for number in ["5182475355", "51 824 753 557", "518247535560", "A1824753556"] {
            app.invalid(PATH, &changed("entity", &json!({ "business_registration_number": number })), &[(
                "entity.business_registration_number",
                "Entity business registration number is not valid",
            )]).await;
        }
    }

    #[dated]
    async fn a_director_is_of_age_by_the_accounts_clock(app) {
        let client = app.client();
        let born = |day: &str| changed("director", &json!({ "date_of_birth": day }));
        client.post(PATH, &born("2008-03-02")).await.ok(201);
        for day in ["2008-03-03", "2026-03-02", "2999-01-01"] {
            app.invalid(PATH, &born(day), &[("director.date_of_birth", "Director date of birth must be at least 18 years ago")]).await;
        }
        client.put("/1/sandbox/clock", &json!({ "advance": "1d" })).await.ok(200);
        let made = client.post(PATH, &born("2008-03-03")).await.ok(201);
        // The merchant begins at its partner's time.
        assert_eq!(made["created_at"], "2026-03-03T10:00:00Z");
        let own = own(app, &token_of(&made)).await;
        assert_eq!(own.get("/1/sandbox/clock").await.ok(200)["now"], "2026-03-03T10:00:00Z");
    }

    async fn a_bank_account_that_no_bank_has_is_refused(app) {
        let mut params = application();
        params["bank_account"]["bsb"] = "123456".into();
        app.invalid(PATH, &params, &[("bank_account", "Bank account is invalid")]).await;
    }

    #[dated]
    async fn a_merchant_trades_with_its_own_keys_and_its_partner_sees_when(app) {
        let client = app.client();
        let merchant = client.merchant().await;
        let detail = client.merchant_of(&merchant).await;
        let own = app.with_key(detail["test_secret_api_key"].as_str().unwrap());
        assert_eq!(own.balance().await, (0, 0), "it opens with nothing");
        assert_eq!((own.listed().await, own.get("/1/events").await.json()["pagination"]["count"].clone()), (0, json!(0)));
        let switches = own.get("/1/sandbox/account").await.ok(200);
        assert_eq!((&switches["partner"], &switches["disputes"], &switches["wallet"]), (&json!(false), &json!(true), &json!(true)));
        app.clock.advance(TimeSpan::seconds(90));
        let charge = own.captured(400).await;
        assert_eq!(charge["created_at"], "2026-03-02T10:01:30Z");
        app.clock.advance(TimeSpan::seconds(90));
        own.post("/1/charges", &with(crate::harness::charge(400), &json!({ "card": card("4100000000000001") }))).await;
        let other = client.merchant().await;
        for shown in [client.merchant_of(&merchant).await, client.get(PATH).await.ok(200)[1].clone()] {
            assert_eq!(shown["last_charge_date"], "2026-03-02T10:01:30Z");
        }
        assert_eq!(client.merchant_of(&other).await["last_charge_date"], Value::Null);
        assert_eq!(client.listed().await, 0, "they are the merchant's charges");
        assert_eq!(own.balance().await, (0, 363));
        // The publishable key is the merchant's, too.
        let mut browser = card("4200000000000000");
        browser["publishable_api_key"] = detail["test_publishable_api_key"].clone();
        let stored = app.anonymous().post("/1/cards", &browser).await.ok(201);
        own.charge_by(&token_of(&stored)).await.ok(201);
    }

    async fn keys_of_the_other_environment_open_nothing(app) {
        let client = app.client();
        let detail = client.merchant_of(&client.merchant().await).await;
        let live = |name: &str| detail["api_keys"][name].as_str().unwrap();
        let secret = app.with_key(live("secret"));
        app.unchanged(secret.get("/1/charges")).await.refused(401, "unauthorized");
        app.unchanged(secret.post("/1/charges", &charge(400))).await.refused(401, "unauthorized");
        let mut browser = card("4200000000000000");
        browser["publishable_api_key"] = live("publishable").into();
        app.unchanged(app.anonymous().post("/1/cards", &browser)).await.refused(401, "unauthorized");
    }

    async fn settings_that_govern_are_those_of_the_merchants_account(app) {
        let client = app.client();
        let merchant = client.merchant().await;
        let own = own(app, &merchant).await;
        own.set(json!({ "transfers_enabled": false, "transfers_schedule": "weekly", "settlement_delay_days": 0 })).await;
        let detail = client.merchant_of(&merchant).await;
        assert_eq!(
            (&detail["transfers_enabled"], &detail["transfers_schedule"], &detail["settlement_delay_days"]),
            (&json!(false), &json!("weekly"), &json!(0))
        );
        own.captured(1_000).await;
        assert_eq!(own.balance().await, (952, 0));
        app.unchanged(own.transfer(100, "self")).await.refused(422, "invalid_resource");
        own.set(json!({ "transfers_enabled": true })).await;
        let paid = own.transfer(100, "self").await.ok(201);
        assert_eq!(paid["bank_account"]["bsb"], "736032");
        let over = charge(2_500_001);
        app.unchanged(own.post("/1/charges", &over)).await.refused(422, "invalid_resource");
    }

    async fn new_merchants_are_paid_out_every_day(app) {
        let client = app.client();
        let own = own(app, &client.merchant().await).await;
        own.set(json!({ "settlement_delay_days": 0 })).await;
        own.captured(1_000).await;
        own.put("/1/sandbox/clock", &json!({ "advance": "1d" })).await.ok(200);
        let transfers = own.get("/1/transfers").await.ok(200);
        assert_eq!((&transfers[0]["amount"], own.balance().await), (&json!(952), (0, 0)));
    }

    async fn only_partners_may_ask_and_that_is_said_before_anything_else(app) {
        let client = app.client();
        let merchant = client.merchant().await;
        let one = format!("{PATH}/{merchant}");
        let paths = [PATH, "/1/merchants/search?query=ab&page=x", "/1/merchants/default_settings", &one, "/1/merchants/mrch_x"];
        let own = own(app, &merchant).await;
        client.set(json!({ "partner": false })).await;
        for caller in [&client, &own, &app.anonymous(), &app.with_key(app.publishable_key())] {
            for path in paths {
                for method in [Method::GET, Method::HEAD] {
                    let answer = app.unchanged(send(caller, method.clone(), path, None, "")).await;
                    assert_eq!(answer.status, 401, "{method} {path}");
                }
            }
            for (content_type, body) in [(JSON, application().to_string()), (JSON, "{".into()), (Some("text/plain"), "x".into()), (None, String::new())] {
                let answer = app.unchanged(send(caller, Method::POST, PATH, content_type, body)).await;
                answer.refused(401, "unauthorized");
            }
            let decided = format!("/1/sandbox/merchants/{merchant}");
            app.unchanged(caller.put(&decided, &json!({ "status": "active" }))).await.refused(401, "unauthorized");
        }
        client.set(json!({ "partner": true })).await;
        client.get(&one).await.ok(200);
        // A partner's body must be readable.
        app.unchanged(send(&client, Method::POST, PATH, Some("text/plain"), "x")).await.refused(415, "unsupported_media_type");
    }

    async fn nobody_elses_merchants_are_seen(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let merchant = client.merchant().await;
        assert_eq!(stranger.get(PATH).await.ok(200), json!([]));
        assert_eq!(stranger.get(&format!("{PATH}/search?query={merchant}")).await.ok(200), json!([]));
        let charge = token_of(&client.captured(400).await);
        for unknown in [merchant.as_str(), "mrch_AAAAAAAAAAAAAAAAAAAAAA", "mrch_x", "x", &charge, &merchant.replace("mrch_", "acct_")] {
            let client = if unknown == merchant { &stranger } else { &client };
            app.unchanged(client.get(&format!("{PATH}/{unknown}"))).await.not_found();
            app.unchanged(client.decide_merchant(unknown, "active")).await.not_found();
        }
    }

    async fn an_application_is_repeated_under_its_key_without_a_second_merchant(app) {
        let client = app.client();
        let headers = [("Idempotency-Key", "apply")];
        let first = post_with(&client, PATH, &headers, &application()).await;
        first.ok(201);
        let again = app.unchanged(post_with(&client, PATH, &headers, &application())).await;
        assert_eq!((again.status, &again.text), (201, &first.text));
        let other = changed("contact", &json!({ "password": "another" }));
        app.unchanged(post_with(&client, PATH, &headers, &other)).await.refused(422, "idempotency_key_reused");
    }

    async fn a_password_is_kept_as_a_slow_hash_and_told_nowhere(app) {
        let client = app.client();
        let merchant = client.merchant().await;
        let hash = app.text("SELECT password_hash FROM merchants").await;
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        client.merchant().await;
        assert_eq!(app.number("SELECT COUNT(DISTINCT password_hash) FROM merchants").await, 2);
        let everything = app.everything().await;
        let shown = client.get(&format!("{PATH}/{merchant}")).await.text + &client.get("/1/events").await.text;
        for secret in [PASSWORD, &hash] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(!everything.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()));
        // Keys are in no event, and nowhere in plain text.
        let detail = client.merchant_of(&merchant).await;
        let events = client.get("/1/events").await.text;
        for key in [&detail["test_secret_api_key"], &detail["api_keys"]["secret"], &detail["api_keys"]["publishable"]] {
            let key = key.as_str().unwrap();
            assert!(!events.contains(key) && !everything.windows(key.len()).any(|window| window == key.as_bytes()));
        }
    }

    async fn the_pages_say_whose_they_are_and_take_no_payments(app) {
        let client = app.client();
        let merchant = token_of(&client.post(PATH, &changed("business", &json!({ "trading_name": "<b>Robots & Co</b>" }))).await.ok(201));
        for (status, words) in [("", "Pending approval"), ("active", "Active"), ("on_hold", "On hold"), ("declined", "Declined")] {
            if !status.is_empty() {
                client.decide_merchant(&merchant, status).await.ok(200);
            }
            let resources = client.merchant_of(&merchant).await["resources"].clone();
            for name in ["payment_page", "surcharge_payment_page"] {
                let path = resources[name].as_str().unwrap().strip_prefix("http://test").unwrap().to_owned();
                assert!(path.starts_with("/pay/"), "{path}");
                let (code, headers, page) = app.anonymous().bytes(&path).await;
                let page = String::from_utf8(page).unwrap();
                assert_eq!((code, headers["content-type"].to_str().unwrap()), (200, "text/html; charset=utf-8"));
                assert!(headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
                assert!(page.contains("&lt;b&gt;Robots &amp; Co&lt;/b&gt;") && page.contains(words) && page.contains("takes no payments"), "{page}");
                assert!(!page.contains("<script") && !page.contains("<form"));
            }
        }
        // An account that no partner has referred has no page.
        let account = app.text("SELECT value FROM installation WHERE name = 'first_account'").await;
        for unknown in ["mrch_AAAAAAAAAAAAAAAAAAAAAA", "x", &account, &account.replace("acct_", "mrch_"), "%FF"] {
            for path in [format!("/pay/{unknown}"), format!("/pay/{unknown}/surcharge")] {
                let (code, headers, page) = app.anonymous().bytes(&path).await;
                assert_eq!((code, headers["content-type"].to_str().unwrap()), (404, "text/html; charset=utf-8"), "{path}");
                assert!(String::from_utf8(page).unwrap().contains("Page not found"));
            }
        }
    }

    async fn a_number_of_a_bank_account_is_kept_sealed(app) {
        let client = app.client();
        let mut params = application();
        params["bank_account"] = bank_account("987651234");
        client.post(PATH, &params).await.ok(201);
        let everything = app.everything().await;
        assert!(!everything.windows(9).any(|window| window == b"987651234"));
    }
}
