//! Card testing is noticed: an attack is refused after a few cards, and nobody else is (`docs/decisions.md`, 387).

mod proof;

use acquirer::SimulatedOutcome;
use acquirer::test_cards::{TABLE, TestCards};
use card_payments::params::Paging;
use card_payments::services::audit::{self, AuditFilter};
use card_payments::services::card_testing::synchronise;
use entity::TimeSpan;
use entity::card_attack::{Column, Entity};
use entity::failure::Decline;
use sea_orm::{EntityTrait, QueryOrder};
use serde_json::{Value, json};

use crate::harness::browser::Browser;
use crate::harness::sending::post_with;
use crate::harness::{Answer, App, Client, Database, card, charge_with, operated, rules, token_of};

const ACCEPTED: &str = "4200000000000000";
/// More than what is small.
const LARGE: i64 = 5000;

/// Numbers that the issuer declines.
fn declined() -> impl Iterator<Item = &'static str> {
    let is_declined = |row: &&TestCards| {
        matches!(
            row.outcome,
            SimulatedOutcome::Declined(
                Decline::CardDeclined
                    | Decline::InsufficientFunds
                    | Decline::InvalidCvv
                    | Decline::InvalidCard
            )
        )
    };
    TABLE.iter().filter(is_declined).flat_map(TestCards::numbers)
}

/// Tries a card from an address.
async fn try_card(client: &Client, number: &str, address: &str, amount: i64) -> Answer {
    let parameters = charge_with(amount, json!({ "card": card(number), "ip_address": address }));
    client.post("/1/charges", &parameters).await
}

fn code(answer: &Answer) -> String {
    answer.json()["error"].as_str().unwrap_or("approved").to_owned()
}

/// Tries cards that the issuer declines, each from an address of the network `203.0.113.0/24`.
async fn attack(client: &Client, cards: usize) {
    for (n, number) in declined().take(cards).enumerate() {
        let answer = try_card(client, number, &format!("203.0.113.{n}"), LARGE).await;
        assert_ne!(answer.refused(400, &code(&answer))["error"], "suspected_fraud", "the card {n}");
    }
}

/// Switches an account's rules on. Returns its client.
async fn watched(app: &App, action: &str) -> Client {
    let client = app.client();
    client.set(json!({ "card_testing": { "action": action } })).await;
    client
}

/// The attacks in the table: rule, subject and number of refused payments.
async fn attacks(app: &App) -> Vec<(String, String, i64)> {
    synchronise(app.ctx()).await.unwrap();
    let rows = Entity::find().order_by_asc(Column::Rule).order_by_asc(Column::Subject);
    let rows = rows.all(app.ctx().store.read()).await.unwrap();
    rows.into_iter().map(|row| (row.rule.code().to_owned(), row.subject, row.refused)).collect()
}

async fn noticed(app: &App) -> Vec<Value> {
    let filter =
        AuditFilter { account: None, since: None, until: None, paging: Paging { page: 1, per_page: 500 } };
    let records = audit::list(&app.ctx().store, filter).await.unwrap();
    let records = records.iter().map(|record| serde_json::to_value(record).unwrap());
    records.filter(|record| record["action"] == "card_testing.noticed").collect()
}

rules! {
    async fn a_network_with_nothing_but_declines_is_refused_and_the_acquirer_is_not_asked(app, acquirer) {
        let client = watched(app, "refuse").await;
        attack(&client, 10).await;
        let (asked, events) = (acquirer.calls().len(), app.events().await.len());
        let unused = client.card_token(ACCEPTED).await;
        let by_token = charge_with(LARGE, json!({
            "card": null, "card_token": unused, "ip_address": "203.0.113.200",
        }));
        let refusal = client.post("/1/charges", &by_token).await.refused(400, "suspected_fraud");
        let failed = client.charge(refusal["charge_token"].as_str().unwrap()).await;
        assert_eq!((&failed["success"], &failed["error_message"]), (&json!(false), &refusal["error_description"]));
        assert_eq!((acquirer.calls().len(), app.events().await.len()), (asked, events + 1));
        client.post("/1/charges", &by_token).await.refused(400, "token_already_used");
        let authorised = client.post("/1/authorisations", &charge_with(LARGE, json!({ "ip_address": "203.0.113.9" }))).await;
        authorised.refused(400, "suspected_fraud");
        assert_eq!(acquirer.calls().len(), asked, "no call was made for either");
        try_card(&client, ACCEPTED, "203.0.114.1", LARGE).await.ok(201);
    }

    async fn only_cards_count_and_not_what_the_acquirer_fails_to_do(app, acquirer) {
        let client = watched(app, "refuse").await;
        for outcome in ["gateway_error", "processing_error"] {
            for _ in 0..12 {
                let answer = post_with(&client, "/1/charges", &[("Sandbox-Outcome", outcome)], &charge_with(400, json!({}))).await;
                assert_eq!(code(&answer), outcome);
            }
        }
        assert!(acquirer.calls().len() >= 24);
        client.captured(400).await;
        assert_eq!(attacks(app).await, []);
    }
}

rules! {
    async fn addresses_of_no_cardholder_are_no_network_and_translated_ones_are_those_inside(app) {
        let client = watched(app, "refuse").await;
        for network in ["100.64.0.", "198.18.0.", "64:ff9b::100.64.0.", "64:ff9b:1::198.51.100."] {
            for (n, number) in declined().take(10).enumerate() {
                let answer = try_card(&client, number, &format!("{network}{n}"), LARGE).await;
                assert_ne!(code(&answer), "suspected_fraud", "{network}");
            }
            try_card(&client, ACCEPTED, &format!("{network}1"), LARGE).await.ok(201);
            // Three declines of a card are no attack, and those of four networks are not counted together.
            client.put("/1/sandbox/clock", &json!({ "advance": "2h" })).await.ok(200);
        }
        assert_eq!(attacks(app).await, []);
        for (n, number) in declined().take(10).enumerate() {
            let network = if n % 2 == 0 { "198.51.100." } else { "64:ff9b::198.51.100." };
            try_card(&client, number, &format!("{network}{n}"), LARGE).await;
        }
        assert_eq!(attacks(app).await, [("network_declines".into(), "198.51.100.0/24".into(), 0)]);
        try_card(&client, ACCEPTED, "198.51.100.77", LARGE).await.refused(400, "suspected_fraud");
    }

    async fn an_attack_lasts_for_the_window_by_the_accounts_clock(app) {
        let client = watched(app, "refuse").await;
        attack(&client, 10).await;
        client.put("/1/sandbox/clock", &json!({ "advance": "59m" })).await.ok(200);
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.refused(400, "suspected_fraud");
        client.put("/1/sandbox/clock", &json!({ "advance": "1m" })).await.ok(200);
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.ok(201);
        attack(&client, 9).await;
        client.put("/1/sandbox/clock", &json!({ "advance": "1h" })).await.ok(200);
        attack(&client, 9).await;
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.ok(201);
    }

    async fn an_approval_ends_a_row_of_declines_but_not_a_test_of_many_cards(app) {
        let client = watched(app, "refuse").await;
        for number in [0, 1] {
            attack(&client, 9).await;
            assert_eq!(try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.status, 201, "{number}");
        }
        let mut tried = 0;
        for (n, number) in declined().enumerate().skip(9) {
            if n % 4 == 0 {
                try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await;
            }
            tried = n + 1;
            if code(&try_card(&client, number, "203.0.113.1", LARGE).await) == "suspected_fraud" {
                break;
            }
        }
        assert_eq!(tried, 16, "fifteen cards were declined, and fewer than that approved");
        assert_eq!(attacks(app).await, [("network_cards".into(), "203.0.113.0/24".into(), 1)]);
    }

    async fn an_address_of_nobody_is_no_network(app) {
        let client = watched(app, "refuse").await;
        for number in declined() {
            let code = code(&try_card(&client, number, "10.0.0.1", LARGE).await);
            assert!(code != "approved" && code != "suspected_fraud", "{number}: {code}");
        }
        try_card(&client, ACCEPTED, "10.0.0.1", LARGE).await.ok(201);
        assert_eq!(attacks(app).await, []);
    }

    async fn a_card_with_nothing_but_declines_is_refused_wherever_it_comes_from(app) {
        let client = watched(app, "refuse").await;
        let (guessed, other) = ("4000000000000002", "5510000000000002");
        for n in 0..10 {
            let answer = try_card(&client, guessed, &format!("198.51.{n}.1"), LARGE).await;
            answer.refused(400, "insufficient_funds");
        }
        try_card(&client, guessed, "2001:db8::1", LARGE).await.refused(400, "suspected_fraud");
        try_card(&client, other, "198.51.100.1", LARGE).await.refused(400, "insufficient_funds");
        let attacks = attacks(app).await;
        let [(rule, subject, 1)] = &attacks[..] else { panic!("{attacks:?}") };
        assert!(rule == "card_declines" && subject.starts_with("card #"), "{subject}");
        assert!(!app.everything().await.windows(16).any(|window| window == guessed.as_bytes()));
    }

    async fn a_customer_with_many_declined_cards_is_refused(app) {
        let client = watched(app, "refuse").await;
        let customer = token_of(&client.customer(ACCEPTED).await);
        let pay = async |customer: &str, n: usize| {
            let parameters = charge_with(LARGE, json!({
                "card": null, "customer_token": customer, "ip_address": format!("198.51.{n}.1"),
            }));
            client.post("/1/charges", &parameters).await
        };
        for (n, number) in declined().take(5).enumerate() {
            let token = client.card_token(number).await;
            client.put(&format!("/1/customers/{customer}"), &json!({ "card_token": token })).await.ok(200);
            let answer = pay(&customer, n).await;
            assert_ne!(answer.refused(400, &code(&answer))["error"], "suspected_fraud", "{n}");
        }
        pay(&customer, 10).await.refused(400, "suspected_fraud");
        let plan = client.plan(&json!({})).await;
        client.subscribing(&plan, &customer, &json!({})).await.refused(400, "suspected_fraud");
        let other = token_of(&client.customer(ACCEPTED).await);
        pay(&other, 11).await.ok(201);
        client.subscribed(&plan, &other).await;
        assert_eq!(attacks(app).await, [("customer_cards".into(), customer, 2)]);
    }

    async fn small_amounts_from_everywhere_are_reported_and_make_the_other_rules_stricter(app) {
        let client = watched(app, "refuse").await;
        for (n, number) in declined().take(20).enumerate() {
            let answer = try_card(&client, number, &format!("198.51.{n}.1"), 499).await;
            assert_ne!(answer.refused(400, &code(&answer))["error"], "suspected_fraud", "{n}");
        }
        try_card(&client, ACCEPTED, "203.0.113.1", 499).await.ok(201);
        assert_eq!(attacks(app).await, [("account_cards".into(), "the account".into(), 0)]);
        for (n, number) in declined().take(5).enumerate() {
            let answer = try_card(&client, number, "192.0.2.1", 499).await;
            assert_ne!(answer.refused(400, &code(&answer))["error"], "suspected_fraud", "{n}");
        }
        try_card(&client, ACCEPTED, "192.0.2.1", 499).await.refused(400, "suspected_fraud");
        try_card(&client, ACCEPTED, "203.0.113.1", 499).await.ok(201);
        client.put("/1/sandbox/clock", &json!({ "advance": "10m" })).await.ok(200);
        for number in declined().take(5) {
            try_card(&client, number, "203.0.113.1", 499).await;
        }
        try_card(&client, ACCEPTED, "203.0.113.1", 499).await.ok(201);
    }

    async fn in_test_nothing_is_counted_unless_the_account_switches_it_on(app) {
        let client = app.client();
        for number in declined().take(12) {
            try_card(&client, number, "203.0.113.1", LARGE).await;
        }
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.ok(201);
        client.set(json!({ "card_testing": { "action": "refuse" } })).await;
        attack(&client, 10).await;
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.refused(400, "suspected_fraud");
        client.set(json!({ "card_testing": { "action": "off" } })).await;
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.ok(201);
    }

    async fn an_attack_that_is_only_reported_refuses_nothing(app) {
        let client = watched(app, "report").await;
        attack(&client, 20).await;
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.ok(201);
        let expected = ["network_cards", "network_declines"].map(|rule| (rule.to_owned(), "203.0.113.0/24".to_owned(), 0));
        assert_eq!(attacks(app).await, expected);
    }

    async fn an_account_has_its_own_thresholds_and_switches_rules_off(app) {
        let client = app.client();
        let shown = client.get("/1/sandbox/account").await.ok(200)["card_testing"].clone();
        assert_eq!(shown, json!({
            "action": "off", "network_declines": 10, "network_cards": 15, "card_declines": 10, "customer_cards": 5,
            "account_cards": 20,
        }));
        client.set(json!({ "card_testing": { "action": "refuse", "network_declines": 3 } })).await;
        attack(&client, 3).await;
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.refused(400, "suspected_fraud");
        client.set(json!({ "card_testing": { "network_declines": 0 } })).await;
        let shown = client.get("/1/sandbox/account").await.ok(200)["card_testing"].clone();
        assert_eq!((&shown["action"], &shown["network_declines"]), (&json!("refuse"), &json!(0)));
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.ok(201);
        attack(&client, 12).await;
        let stranger = app.stranger().await;
        stranger.set(json!({ "card_testing": { "action": "refuse" } })).await;
        try_card(&stranger, ACCEPTED, "203.0.113.1", LARGE).await.ok(201);
    }

    async fn wrong_settings_of_card_testing_are_refused_and_change_nothing(app) {
        let wrong = json!({ "card_testing": {
            "action": "block", "network_declines": -1, "network_cards": 51, "card_declines": "ten",
        } });
        let answer = app.unchanged(app.client().put("/1/sandbox/account", &wrong)).await;
        answer.refused(422, "invalid_resource");
        assert_eq!(answer.faults().iter().map(|(param, _)| param.as_str()).collect::<Vec<_>>(), [
            "card_testing.action", "card_testing.network_declines", "card_testing.network_cards", "card_testing.card_declines",
        ]);
    }

    async fn an_attack_is_one_entry_of_the_audit_trail_and_counts_what_was_refused(app) {
        let client = watched(app, "refuse").await;
        attack(&client, 10).await;
        for _ in 0..3 {
            try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.refused(400, "suspected_fraud");
            assert_eq!(attacks(app).await.len(), 1);
        }
        assert_eq!(attacks(app).await, [("network_declines".into(), "203.0.113.0/24".into(), 3)]);
        let entries = noticed(app).await;
        let [entry] = &entries[..] else { panic!("{entries:#?}") };
        assert_eq!((&entry["by"], &entry["detail"]["subject"]), (&json!("the server"), &json!("203.0.113.0/24")));
        client.put("/1/sandbox/clock", &json!({ "advance": "1h" })).await.ok(200);
        attack(&client, 10).await;
        assert_eq!(attacks(app).await, [("network_declines".into(), "203.0.113.0/24".into(), 0)]);
        assert_eq!(noticed(app).await.len(), 2, "the next attack is another one");
        app.clock.advance(TimeSpan::days(90));
        app.do_due_work().await;
        assert_eq!(attacks(app).await, []);
    }

    async fn an_attack_that_cannot_be_written_is_written_later(app) {
        let client = watched(app, "refuse").await;
        attack(&client, 10).await;
        app.execute("ALTER TABLE card_attacks RENAME TO away").await;
        synchronise(app.ctx()).await.unwrap_err();
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.refused(400, "suspected_fraud");
        app.execute("ALTER TABLE away RENAME TO card_attacks").await;
        assert_eq!(attacks(app).await, [("network_declines".into(), "203.0.113.0/24".into(), 1)]);
    }

    async fn a_page_shows_the_rules_what_is_counted_and_the_attacks(app) {
        let client = watched(app, "refuse").await;
        let mut browser = Browser::with(app, app.secret_key()).await;
        let page = browser.page("/card_testing").await;
        assert!(page.contains("10 declines in a row") && page.contains("There are none."), "{page}");
        attack(&client, 10).await;
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.refused(400, "suspected_fraud");
        try_card(&client, "4000000000000002", "198.51.100.1", LARGE).await;
        attacks(app).await;
        let page = browser.page("/card_testing").await;
        for shown in ["203.0.113.0/24", "198.51.100.0/24", "network declines", "<dd>refuse</dd>", "<dd>1</dd>"] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_live_attacks_are_refused_unless_the_account_says_otherwise() {
    for database in [Database::Sqlite, Database::Postgres] {
        let Some(app) = App::live(database).await else { continue };
        let client = app.client();
        attack(&client, 10).await;
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.refused(400, "suspected_fraud");
        app.execute(r#"UPDATE accounts SET card_testing = '{"action":"report","thresholds":{}}'"#).await;
        try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.ok(201);
        app.check_books().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_copy_refuses_an_attack_that_one_has_noticed() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    let copy = app.copy().await;
    let client = watched(&app, "refuse").await;
    let other = Client::new(copy.router.clone(), Some(app.secret_key().to_owned()));
    attack(&client, 9).await;
    attack(&other, 9).await;
    attack(&client, 1).await;
    try_card(&client, ACCEPTED, "203.0.113.1", LARGE).await.refused(400, "suspected_fraud");
    try_card(&other, ACCEPTED, "203.0.113.1", LARGE).await.ok(201);
    synchronise(app.ctx()).await.unwrap();
    synchronise(&copy.ctx).await.unwrap();
    try_card(&other, ACCEPTED, "203.0.113.1", LARGE).await.refused(400, "suspected_fraud");
    synchronise(&copy.ctx).await.unwrap();
    let refused = [("network_declines".into(), "203.0.113.0/24".into(), 2)];
    assert_eq!((attacks(&app).await, noticed(&app).await.len()), (refused.into(), 1));
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_notice_an_attack_at_once_record_one() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    let copy = app.copy().await;
    let client = watched(&app, "refuse").await;
    let other = Client::new(copy.router.clone(), Some(app.secret_key().to_owned()));
    attack(&client, 10).await;
    attack(&other, 10).await;
    for client in [&client, &other] {
        try_card(client, ACCEPTED, "203.0.113.1", LARGE).await.refused(400, "suspected_fraud");
    }
    let (one, two) = tokio::join!(synchronise(app.ctx()), synchronise(&copy.ctx));
    one.and(two).unwrap();
    let refused = [("network_declines".into(), "203.0.113.0/24".into(), 2)];
    assert_eq!((attacks(&app).await, noticed(&app).await.len()), (refused.into(), 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_starts_knows_the_attacks_that_last() {
    for database in [Database::Sqlite, Database::Postgres] {
        let Some(mut app) = App::start(database).await else { continue };
        attack(&watched(&app, "refuse").await, 10).await;
        synchronise(app.ctx()).await.unwrap();
        app.restart().await;
        synchronise(app.ctx()).await.unwrap();
        try_card(&app.client(), ACCEPTED, "203.0.113.1", LARGE).await.refused(400, "suspected_fraud");
        app.clock.advance(TimeSpan::seconds(3600));
        try_card(&app.client(), ACCEPTED, "203.0.113.1", LARGE).await.ok(201);
        app.check_books().await;
    }
}

operated! {
    async fn an_operator_sets_what_an_account_does_about_card_testing(installed) {
        let create = ["account", "create", "--business-name", "Shop", "--email", "shop@example.com"];
        installed.records(&create);
        let account = installed.account();
        let set = |word: &str, value: &str| {
            let set = ["account", "set", &account, &format!("card_testing.{word}"), value];
            installed.records(&set).remove(0)["card_testing"].clone()
        };
        assert_eq!(set("action", "report"), json!({ "action": "report", "thresholds": {} }));
        let both = json!({ "action": "report", "thresholds": { "customer_cards": 7 } });
        assert_eq!(set("customer_cards", "7"), both);
        for (word, value, message) in [
            ("action", "block", "Card testing action is not included in the list"),
            ("action", "", "Card testing action can't be blank"),
            ("network_cards", "51", "Card testing network cards must be at most 50"),
        ] {
            installed.refuses(&["account", "set", &account, &format!("card_testing.{word}"), value], message);
        }
        assert_eq!(installed.records(&["account", "list"]).remove(0)["card_testing"], both);
    }
}
