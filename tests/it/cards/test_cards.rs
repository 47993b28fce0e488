//! The table of test cards, each number through the API (`docs/decisions.md`, 98; the sentences are those of
//! `docs/errors.md`).

use std::collections::BTreeSet;
use std::fmt::Write;

use acquirer::test_cards::{TABLE, TestCards};
use acquirer::{Aftermath, Fault, SimulatedOutcome};
use serde_json::{Value, json};

use crate::document::site::committed_below;
use crate::harness::{App, card, charge_with, rules, token_of};

const PAGE: &str = "docs/testing.md";
const DRAWN: &str = "## Test cards\n";

fn drawn() -> String {
    let mut page = String::from(
        "\nWith any month of expiry to come and any `cvc`. A code is what the charge fails with, and a word for `Sandbox-Outcome`.\n\n\
         | outcome | issued in | numbers |\n|---|---|---|\n",
    );
    for row in TABLE {
        let outcome = match row.outcome {
            SimulatedOutcome::Approved(Aftermath::Ordinary) => row.challenge.map_or_else(
                || "accepted".into(),
                |challenge| format!("accepted; with 3-D Secure `{}`", challenge.code()),
            ),
            SimulatedOutcome::Approved(Aftermath::Disputed) => "accepted, then `disputed`".into(),
            SimulatedOutcome::Approved(Aftermath::RefundsFail) => "accepted; its refunds fail".into(),
            SimulatedOutcome::Declined(decline) => format!("`{}`", decline.code()),
            SimulatedOutcome::Fault(Fault::GatewayError) => "`gateway_error`".into(),
            SimulatedOutcome::Fault(Fault::NoAnswer) => {
                "`no_answer`: 502, and the payment is reversed".into()
            }
            SimulatedOutcome::ApprovedButLost => "`approved_but_lost`".into(),
            SimulatedOutcome::Fault(Fault::AnswerLost) => "a lost answer".into(),
        };
        let numbers: Vec<_> = row.numbers().collect();
        writeln!(page, "| {outcome} | {} | {} |", row.issuing_country, numbers.join(", ")).unwrap();
    }
    page
}

#[test]
fn the_page_for_testers_lists_every_test_card() {
    committed_below(PAGE, DRAWN, &drawn());
}

/// How attempts on a card end, with which sentence, on which numbers.
const DECLINES: [(&str, &str, &str); 10] = [
    (
        "card_declined",
        "The card was declined",
        "4100000000000001 5560000000000001 371000000000001 3528300000000001 6011600000000001 6550000000000001 36800000000001",
    ),
    (
        "insufficient_funds",
        "There are not enough funds available to process the requested amount",
        "4000000000000002 5510000000000002 370000000000002 3528700000000002 6011100000000002 6500000000000002 36300000000002",
    ),
    (
        "invalid_cvv",
        "The card verification code (cvc) was not in the correct format",
        "4900000000000003 5550000000000003 379000000000003 3528200000000003 6011500000000003 6590000000000003 36700000000003",
    ),
    (
        "invalid_card",
        "The card was invalid",
        "4800000000000004 5500000000000004 378000000000004 3528600000000004 6011000000000004 6540000000000004 36200000000004",
    ),
    (
        "processing_error",
        "An error occurred while processing the card",
        "4700000000000005 5590000000000005 377000000000005",
    ),
    (
        "suspected_fraud",
        "The transaction was flagged as possibly fraudulent and subsequently declined",
        "4600000000000006 5540000000000006 376000000000006",
    ),
    (
        "unknown",
        "Sorry, an unknown error has occurred. This is being investigated",
        "4400000000000099 5530000000000099 374000000000099",
    ),
    ("expired_card", "The card has expired", "4200600000000007 5500800000000007"),
    ("lost_card", "The card was reported lost", "4200100000000008 5500300000000008"),
    ("stolen_card", "The card was reported stolen", "4200400000000010 5500100000000010"),
];
const GATEWAY_ERROR: &str = "4300000000000009 5570000000000009 373000000000009";
const NO_ANSWER: &str = "4200800000000011 5500500000000011";
const ACCEPTED: [(&str, &str); 3] = [
    (
        "AU",
        "4200000000000000 5520000000000000 372000000000000 3528800000000000 6011200000000000 6510000000000000 \
         36400000000000 4200300000000012 4200700000000013 4200200000000014 4200600000000015 4200100000000016 4200500000000017 \
         5520000000000018 5520900000000019",
    ),
    (
        "NZ",
        "4200000190000000 5520000190000000 372001800000000 3528800190000000 6011200190000000 6510000190000000 \
         36400190000000",
    ),
    (
        "US",
        "4242424242424242 4111111111111111 5555555555554444 5105105105105100 378282246310005 6011111111111117 \
         30569309025904 3530111333300000",
    ),
];

/// The scheme, by prefix.
fn scheme(number: &str) -> &'static str {
    match (number.len(), number[..2].parse().unwrap()) {
        (16, 40..=49) => "visa",
        (16, 51..=55) => "master",
        (15, _) => "american_express",
        (16, 35) => "jcb",
        (16, _) => "discover",
        _ => "diners_club",
    }
}

/// A failed attempt: what the error says, the record it left, and that no money moved.
async fn failed(app: &App, body: &Value, description: &str) {
    assert_eq!(body["error_description"], description);
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["error", "error_description", "charge_token"]);
    let failed = app.client().charge(body["charge_token"].as_str().unwrap()).await;
    for (field, value) in [
        ("success", json!(false)),
        ("status_message", json!(description)),
        ("error_message", json!(description)),
        ("captured", json!(false)),
        ("captured_at", Value::Null),
        ("total_fees", Value::Null),
        ("merchant_entitlement", Value::Null),
        ("authorisation_voided", json!(false)),
        ("authorisation_expired", json!(false)),
        ("amount", json!(400)),
    ] {
        assert_eq!(failed[field], value, "{field} of {failed}");
    }
}

#[test]
fn the_table_holds_the_numbers_of_the_decisions_and_no_other() {
    let decided = DECLINES.iter().map(|(_, _, numbers)| *numbers);
    let decided = decided.chain(ACCEPTED.map(|(_, numbers)| numbers)).chain([GATEWAY_ERROR, NO_ANSWER]);
    let decided: BTreeSet<_> = decided.flat_map(str::split_whitespace).collect();
    let known: BTreeSet<_> = TABLE.iter().flat_map(TestCards::numbers).collect();
    assert_eq!(known, decided);
}

rules! {
    async fn every_decline_is_told_by_every_operation_that_authorises(app) {
        let client = app.client();
        let plan = client.plan(&json!({})).await;
        for (code, sentence, numbers) in DECLINES {
            let number = numbers.split_whitespace().next().unwrap();
            let parameters = charge_with(400, json!({ "card": card(number) }));
            let customer = token_of(&client.customer(number).await);
            let below = format!("/1/plans/{plan}/subscriptions");
            for answer in [
                client.post("/1/authorisations", &parameters).await,
                client.subscribing(&plan, &customer, &json!({})).await,
                client.post(&below, &json!({ "customer_token": customer })).await,
            ] {
                assert_eq!(answer.refused(400, code)["error_description"], sentence);
            }
        }
    }

    async fn an_accepted_card_pays_and_shows_its_scheme_and_country(app) {
        let client = app.client();
        for (country, numbers) in ACCEPTED {
            for number in numbers.split_whitespace() {
                let stored = client.post("/1/cards", &card(number)).await.ok(201);
                let charged = client.charge_by(stored["token"].as_str().unwrap()).await.ok(201);
                assert_eq!(charged["card"], stored, "{number}");
                assert_eq!(charged["card"]["scheme"], scheme(number), "{number}");
                assert_eq!(charged["card"]["issuing_country"], country, "{number}");
                assert_eq!(charged["success"], true, "{number}");
            }
        }
    }

    async fn a_decline_is_an_error_that_spends_the_token_and_leaves_a_failed_record(app) {
        let client = app.client();
        let money = client.balance().await;
        for (code, description, numbers) in DECLINES {
            for number in numbers.split_whitespace() {
                let token = client.card_token(number).await;
                let body = client.charge_by(&token).await.refused(400, code);
                failed(app, &body, description).await;
                app.unchanged_by(client.charge_by(&token), 400, "token_already_used").await;
            }
        }
        assert_eq!(client.listed().await, 0);
        assert_eq!(client.get("/1/charges/search?query=roland").await.ok(200), json!([]));
        assert_eq!(client.balance().await, money);
        let events = app.events().await;
        assert_eq!(events, vec!["charge.failed"; 43]);
    }

    async fn a_gateway_error_means_not_charged_and_frees_the_token(app) {
        let client = app.client();
        let money = client.balance().await;
        for number in GATEWAY_ERROR.split_whitespace() {
            let token = client.card_token(number).await;
            for _ in 0..2 {
                let body = client.charge_by(&token).await.refused(502, "gateway_error");
                let sentence = "An upstream error occurred while processing the transaction. Please try again.";
                failed(app, &body, sentence).await;
            }
        }
        assert_eq!((client.listed().await, client.balance().await), (0, money));
        assert_eq!(app.events().await, vec!["charge.failed"; 6]);
    }

    async fn the_event_of_a_failed_charge_shows_its_record(app) {
        let client = app.client();
        let body = client.post("/1/charges", &charge_with(400, json!({ "card": card("4000000000000002") }))).await;
        let body = body.refused(400, "insufficient_funds");
        let failed = client.get(&format!("/1/charges/{}", body["charge_token"].as_str().unwrap())).await;
        let record = failed.text.strip_prefix("{\"response\":").unwrap().strip_suffix('}').unwrap();
        assert!(client.get("/1/events").await.text.contains(record));
    }

    async fn an_authorisation_declines_like_a_charge(app) {
        let parameters = charge_with(400, json!({ "card": card("4600000000000006"), "capture": false }));
        let body = app.client().post("/1/charges", &parameters).await.refused(400, "suspected_fraud");
        failed(app, &body, "The transaction was flagged as possibly fraudulent and subsequently declined").await;
        assert_eq!(app.events().await, ["charge.failed"]);
    }

    async fn a_number_that_is_in_no_table_is_not_valid(app) {
        // The first two are Luhn-valid: no live number belongs in a test server.
        for number in ["4000056655665556", "5200828282828210", "4242424242424241", "1234", "not a number"] {
            let fault = [("card.number", "Card number is not valid")];
            app.invalid("/1/charges", &charge_with(400, json!({ "card": card(number) })), &fault).await;
        }
    }
}
