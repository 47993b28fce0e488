//! Fees, rates, the ledger and the balance (`docs/decisions.md`, 129, 130 and 193 to 195).

pub mod dispute_rules;
mod ledger;
pub mod sequences;
mod settlement;

use entity::TimeSpan;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::harness::{App, Client, card, charge_with, rules, token_of};

const OPENING: i64 = 100_000_000;
const VISA_AU: &str = "4200000000000000";
const VISA_NZ: &str = "4200000190000000";
const AMEX_AU: &str = "372000000000000";
const AMEX_NZ: &str = "372001800000000";
const VISA_US: &str = "4242424242424242";

/// The simulator's rates, in millionths of AUD a unit; for whole yen, a hundredth of one.
const RATES: [(&str, i64); 15] = [
    ("AUD", 1_000_000),
    ("USD", 1_500_000),
    ("NZD", 900_000),
    ("SGD", 1_150_000),
    ("EUR", 1_650_000),
    ("GBP", 1_950_000),
    ("CAD", 1_100_000),
    ("HKD", 190_000),
    ("JPY", 1_000_000),
    ("MYR", 350_000),
    ("THB", 45_000),
    ("PHP", 26_000),
    ("ZAR", 85_000),
    ("IDR", 100),
    ("TWD", 48_000),
];

/// Millionths rounded half up, as a person would: the whole, and one more from a half on.
fn rounded_half_up(amount: i64, millionths: i64) -> i64 {
    let exact = i128::from(amount) * i128::from(millionths);
    let (whole, rest) = (exact / 1_000_000, exact % 1_000_000);
    i64::try_from(whole + i128::from(rest >= 500_000)).unwrap()
}

/// Settlement amount and fees of a charge (`docs/decisions.md`, 129 and 130).
fn expected(amount: i64, currency: &str, number: &str) -> (i64, i64) {
    let (_, rate) = RATES.into_iter().find(|(code, _)| *code == currency).unwrap();
    let settlement = rounded_half_up(amount, rate);
    let domestic = currency == "AUD" && [VISA_AU, AMEX_AU].contains(&number);
    (settlement, 30 + rounded_half_up(settlement, if domestic { 17_500 } else { 29_000 }))
}

async fn charged(client: &Client, amount: i64, currency: &str, number: &str) -> Value {
    let parameters = charge_with(amount, json!({ "currency": currency, "card": card(number) }));
    client.post("/1/charges", &parameters).await.ok(201)
}

fn money(charge: &Value) -> (i64, i64) {
    (charge["total_fees"].as_i64().unwrap(), charge["merchant_entitlement"].as_i64().unwrap())
}

/// What lies in a book.
async fn book(app: &App, book: &str) -> i64 {
    app.number(&format!("SELECT COALESCE(SUM(amount), 0) FROM postings WHERE book = '{book}'")).await
}

rules! {
    async fn a_domestic_charge_costs_thirty_cents_and_1_75_per_cent(app) {
        let client = app.client();
        // Of 200, 3.5 cents are rounded up.
        for (amount, fees) in [(100, 32), (2_000, 65), (3_550, 92), (50_000, 905), (200, 34), (199, 33), (2_500_000, 43_780)] {
            let charge = charged(&client, amount, "AUD", VISA_AU).await;
            assert_eq!(money(&charge), (fees, amount - fees), "{amount}");
        }
    }

    async fn the_card_decides_between_1_75_and_2_9_per_cent(app) {
        let client = app.client();
        for (number, fees) in [(VISA_AU, 205), (AMEX_AU, 205), (VISA_NZ, 320), (AMEX_NZ, 320), (VISA_US, 320)] {
            assert_eq!(money(&charged(&client, 10_000, "AUD", number).await), (fees, 10_000 - fees), "{number}");
        }
    }

    async fn each_kind_of_charge_has_its_row_of_the_merchants_pricing(app) {
        let rows = [
            "domestic_currency_domestic_card_core", "domestic_currency_domestic_card_premium",
            "domestic_currency_foreign_card_core", "domestic_currency_foreign_card_premium",
            "foreign_currency_core", "foreign_currency_premium",
        ];
        let pricing: serde_json::Map<String, Value> = rows.iter().enumerate()
            .map(|(n, row)| ((*row).to_owned(), json!({ "fixed_fee": n + 1, "percentage_fee": "0" }))).collect();
        let sql = format!("UPDATE accounts SET pricing = '{}'", Value::Object(pricing));
        app.execute(sql.leak()).await;
        for (currency, number, fees) in [
            ("AUD", VISA_AU, 1), ("AUD", AMEX_AU, 2), ("AUD", VISA_NZ, 3), ("AUD", AMEX_NZ, 4),
            ("NZD", VISA_AU, 5), ("NZD", VISA_NZ, 5), ("NZD", AMEX_AU, 6),
        ] {
            assert_eq!(charged(&app.client(), 1_000, currency, number).await["total_fees"], fees);
        }
    }

    async fn a_foreign_currency_is_settled_in_aud_at_its_rate_and_costs_2_9_per_cent(app) {
        let client = app.client();
        for (currency, amount, settlement, fees) in [
            ("USD", 400, 600, 47),
            ("USD", 101, 152, 34), // 151.5 cents
            ("NZD", 10_000, 9_000, 291),
            ("SGD", 10_000, 11_500, 364), // 333.5 cents
            ("EUR", 10_000, 16_500, 509), // 478.5 cents
            ("GBP", 50, 98, 33), // 97.5 cents
            ("CAD", 10_000, 11_000, 349),
            ("HKD", 1_000, 190, 36),
            ("JPY", 1_000, 1_000, 59),
            ("MYR", 300, 105, 33),
            ("THB", 2_010, 90, 33), // 90.45 cents
            ("PHP", 3_000, 78, 32),
            ("ZAR", 1_000, 85, 32),
            ("IDR", 1_000_000, 100, 33),
            ("TWD", 2_500, 120, 33),
        ] {
            let charge = charged(&client, amount, currency, VISA_AU).await;
            assert_eq!(money(&charge), (fees, settlement - fees), "{amount} {currency}");
            assert_eq!((&charge["currency"], &charge["settlement_currency"]), (&json!(currency), &json!("AUD")));
        }
    }

    async fn any_amount_is_settled_and_priced_to_the_nearest_cent(app) {
        let client = app.client();
        let currency = proptest::sample::select(RATES.map(|(code, _)| code).to_vec());
        let number = proptest::sample::select(vec![VISA_AU, VISA_NZ, AMEX_AU, VISA_US]);
        let charges = (1_000_000_i64..1_100_000, currency, number);
        let mut runner = TestRunner::deterministic();
        for _ in 0..60 {
            let (amount, currency, number) = charges.new_tree(&mut runner).unwrap().current();
            let (settlement, fees) = expected(amount, currency, number);
            let charge = charged(&client, amount, currency, number).await;
            assert_eq!(money(&charge), (fees, settlement - fees), "{amount} {currency} {number}");
        }
    }

    async fn money_of_a_charge_is_split_over_the_books(app) {
        let client = app.client();
        let postings = app.number("SELECT COUNT(*) FROM postings").await;
        let parameters = charge_with(400, json!({ "currency": "USD", "platform_adjustment": { "amount": 10 } }));
        client.post("/1/charges", &parameters).await.ok(201);
        client.captured(400).await;
        assert_eq!(book(app, "charges").await, -(600 + 400));
        assert_eq!(book(app, "fees").await, 47 + 37);
        assert_eq!(book(app, "platform").await, 15);
        assert_eq!(book(app, "merchant").await, OPENING + 538 + 363);
        assert_eq!(book(app, "deposits").await, -OPENING);
        // Nothing is posted for a platform that takes nothing.
        assert_eq!(app.number("SELECT COUNT(*) FROM postings").await, postings + 4 + 3);
        assert_eq!(app.number("SELECT COUNT(*) FROM postings WHERE currency <> 'AUD'").await, 0);
        let unbalanced = "SELECT COUNT(*) FROM (SELECT entry_id FROM postings GROUP BY entry_id HAVING SUM(amount) <> 0) AS t";
        assert_eq!(app.number(unbalanced).await, 0);
        let sources = "SELECT COUNT(*) FROM journal_entries WHERE kind = 'charge' AND source LIKE 'ch\\_%' ESCAPE '\\'";
        assert_eq!(app.number(sources).await, 2);
    }

    async fn an_authorisation_that_is_not_captured_moves_no_money(app) {
        let client = app.client();
        let postings = app.number("SELECT COUNT(*) FROM postings").await;
        client.authorised(400).await;
        let voided = client.authorised(400).await;
        client.put_charge(&voided, "void").await.ok(200);
        let declined = charge_with(400, json!({ "card": card("4100000000000001") }));
        client.post("/1/charges", &declined).await.refused(400, "card_declined");
        assert_eq!(app.number("SELECT COUNT(*) FROM postings").await, postings);
        assert_eq!(client.balance().await, (OPENING, 0));
    }

    #[dated]
    async fn the_balance_of_an_instant_is_what_it_was_then(app) {
        let client = app.client();
        let balance = async |query: &str| client.get(&format!("/1/balance{query}")).await.ok(200);
        let now = async || client.get("/1/sandbox/clock").await.ok(200)["now"].as_str().unwrap().to_owned();
        let before = now().await;
        app.clock.advance(TimeSpan::seconds(1));
        let charge = token_of(&client.captured(400).await);
        let mut seen = vec![(now().await, balance("").await)];
        for hours in [1, 23, 96, 24] {
            let arrival = json!({ "amount": 700, "available_at": "2026-03-02T20:00:00Z" });
            client.post("/1/sandbox/deposits", &arrival).await.ok(201);
            client.refund(&charge, 10).await.ok(201);
            seen.push((now().await, balance("").await));
            // Within a second that the API shows as one.
            app.clock.advance(TimeSpan::from_millis(3_600_000 * hours + 250));
            client.captured(500).await;
            seen.push((now().await, balance("").await));
            app.clock.advance(TimeSpan::seconds(1));
        }
        let last: std::collections::BTreeMap<_, _> = seen.into_iter().collect();
        for (at, then) in last {
            assert_eq!(balance(&format!("?at={at}")).await, then, "{at}");
        }
        assert_eq!(balance(&format!("?at={before}")).await["available"][0]["amount"], OPENING);
        assert_eq!(balance("?at=2026-03-02").await["available"][0]["amount"], 0, "before the account was there");
        let first_of_day = balance("?at=2026-03-07T00:00:00Z").await;
        assert_eq!(balance("?at=2026/03/07").await, first_of_day);
        assert_eq!(balance("?at=%20").await, balance("").await);
    }

    #[dated]
    async fn a_balance_has_no_malformed_and_no_future_instant(app) {
        let client = app.client();
        for (at, message) in [
            ("yesterday", "At is not formatted properly"),
            ("2026-02-30", "At is not formatted properly"),
            ("2026-03-02T10:00:01Z", "At must not be in the future"),
            ("9999-12-31", "At must not be in the future"),
        ] {
            let faults = client.get(&format!("/1/balance?at={at}")).await.faults();
            assert_eq!(faults, [("at".to_owned(), message.to_owned())], "{at}");
        }
        client.get("/1/balance?at=2026-03-02T10:00:00.999Z").await.ok(200);
    }

    #[dated]
    async fn a_balance_of_an_instant_is_the_accounts_own(app) {
        let stranger = app.stranger().await;
        stranger.captured(400).await;
        let pending = async |client: &Client| client.get("/1/balance?at=2026-03-02T10:00:00Z").await.ok(200)["pending"][0]["amount"].clone();
        assert_eq!((pending(&stranger).await, pending(&app.client()).await), (json!(363), json!(0)));
    }

    async fn the_first_account_opens_with_a_million_aud(app) {
        let balance = app.client().get("/1/balance").await;
        let expected = r#"{"response":{"available":[{"amount":100000000,"currency":"AUD"}],"pending":[{"amount":0,"currency":"AUD"}]}}"#;
        assert_eq!((balance.status, balance.text.as_str()), (200, expected));
        assert_eq!(app.events().await, Vec::<&str>::new(), "without an event");
        assert_eq!(app.number("SELECT COUNT(*) FROM deposits WHERE narration = 'Opening balance'").await, 1);
    }

    #[dated]
    async fn an_entitlement_becomes_available_at_midnight_utc_five_days_later(app) {
        let client = app.client();
        client.captured(400).await;
        assert_eq!(client.balance().await, (OPENING, 363));
        // From Monday, 10:00, to Saturday, 00:00.
        app.clock.advance(TimeSpan::seconds(4 * 86_400 + 14 * 3_600 - 1));
        client.captured(1_000).await;
        assert_eq!(client.balance().await, (OPENING, 363 + 952));
        app.clock.advance(TimeSpan::seconds(1));
        assert_eq!(client.balance().await, (OPENING + 363, 952));
        app.clock.advance(TimeSpan::days(4));
        assert_eq!(client.balance().await, (OPENING + 363 + 952, 0));
    }

    async fn the_days_count_from_the_capture(app) {
        let client = app.client();
        let charge = client.authorised(400).await;
        app.clock.advance(TimeSpan::days(6));
        client.put_charge(&charge, "capture").await.ok(200);
        app.clock.advance(TimeSpan::days(4));
        assert_eq!(client.balance().await, (OPENING, 363));
        app.clock.advance(TimeSpan::days(1));
        assert_eq!(client.balance().await, (OPENING + 363, 0));
    }

    #[dated]
    async fn the_merchants_settlement_delay_decides_the_day(app) {
        let client = app.client();
        app.execute("UPDATE accounts SET settlement_delay_days = 0").await;
        client.captured(400).await;
        assert_eq!(client.balance().await, (OPENING + 363, 0));
        app.execute("UPDATE accounts SET settlement_delay_days = 1").await;
        client.captured(400).await;
        assert_eq!(client.balance().await, (OPENING + 363, 363));
        app.clock.advance(TimeSpan::seconds(14 * 3_600));
        assert_eq!(client.balance().await, (OPENING + 2 * 363, 0));
    }

    async fn a_balance_is_the_accounts_own(app) {
        let stranger = app.stranger().await;
        stranger.captured(400).await;
        assert_eq!(stranger.balance().await, (OPENING, 363));
        assert_eq!(app.client().balance().await, (OPENING, 0));
    }
}
