//! The states that verifiers of pacts ask for (`docs/decisions.md`, 473 and 474), and a consumer's pact that is verified.

use std::fmt::Write;
use std::process::Command;

use axum::body::Body;
use entity::provider_state::ProviderState;
use http::{Method, header};
use serde_json::{Value, json};

use crate::document::site::{self, committed_below};
use crate::harness::postgres::skipped;
use crate::harness::process::output;
use crate::harness::{Answer, Client, card, charge, operated, rules};
use crate::webhooks::verifiers;

const STATES: &str = "/1/sandbox/provider_states";
const PAGE: &str = "docs/pact.md";

/// Asks for a state. Returns its values, which are the same in the response and beside it.
async fn set_up(client: &Client, state: &str, params: &Value) -> Value {
    let sent = json!({ "consumer": "shop", "state": state, "params": params, "action": "setup" });
    let answer = client.post(STATES, &sent).await;
    let values = answer.ok(201);
    let mut beside = answer.json();
    beside.as_object_mut().unwrap().remove("response");
    assert_eq!(values, beside, "{state}");
    values
}

async fn tear_down(client: &Client, state: &str, params: &Value) {
    let sent = json!({ "state": state, "params": params, "action": "teardown" });
    assert_eq!(client.post(STATES, &sent).await.ok(201), json!({}), "{state}");
}

fn text<'v>(values: &'v Value, name: &str) -> &'v str {
    values[name].as_str().unwrap_or_else(|| panic!("no {name} in {values}"))
}

async fn keyed(client: &Client, key: &str, body: &Value) -> Answer {
    let request = client.request(Method::POST, "/1/charges").header("Idempotency-Key", key);
    let request = request.header(header::CONTENT_TYPE, "application/json");
    client.send(request.body(Body::from(body.to_string())).unwrap()).await
}

rules! {
    async fn of_a_state_that_is_asked_for_twice_at_once_under_one_key_one_is_made(app) {
        let client = app.client();
        let ask = async || {
            let request = client.request(Method::POST, STATES).header("Idempotency-Key", "once");
            let request = request.header(header::CONTENT_TYPE, "application/json");
            client.send(request.body(Body::from(json!({ "state": "a charge" }).to_string())).unwrap()).await
        };
        let answers = futures::future::join_all((0..4).map(|_| ask())).await;
        assert!(answers.iter().all(|answer| [201, 409].contains(&answer.status)));
        let again = ask().await;
        let made: Vec<_> = answers.iter().filter(|answer| answer.status == 201).map(|answer| answer.ok(201)).collect();
        assert!(!made.is_empty() && made.iter().all(|values| *values == again.ok(201)), "{made:?}");
        assert_eq!(client.listed().await, 1);
    }

    async fn every_state_makes_what_it_says(app) {
        let client = app.client();
        for (state, about) in ProviderState::WORDS {
            let params = if matches!(state, ProviderState::RequestInFlight) {
                json!({ "idempotency_key": "k", "method": "POST", "path": "/1/charges" })
            } else {
                json!({})
            };
            let values = set_up(&client, state.code(), &params).await;
            // The sentence about a state names its values.
            let named = about.split_once(": ").map_or("", |(_, named)| named.split('.').next().unwrap());
            let mut named: Vec<_> = named.split(", ").filter(|name| name.ends_with("_token") || name.ends_with("_url")).collect();
            let mut made: Vec<_> = values.as_object().unwrap().keys().map(String::as_str).collect();
            named.sort_unstable();
            made.sort_unstable();
            assert_eq!(made, named, "{}", state.code());
            for (name, path) in [
                ("charge_token", "/1/charges/"), ("refund_token", "/1/refunds/"), ("auth_token", "/1/authorisations/"),
                ("customer_token", "/1/customers/"), ("card_token", "/1/cards/"), ("plan_token", "/1/plans/"),
                ("sub_token", "/1/subscriptions/"), ("recipient_token", "/1/recipients/"), ("transfer_token", "/1/transfers/"),
                ("deposit_token", "/1/deposits/"), ("dispute_token", "/1/disputes/"),
            ] {
                if let Some(token) = values[name].as_str() {
                    client.get(&format!("{path}{token}")).await.ok(200);
                }
            }
            tear_down(&client, state.code(), &params).await;
        }
    }

    async fn an_interaction_without_a_state_changes_nothing(app) {
        for sent in [json!({}), json!({ "state": "", "params": {}, "action": "setup" })] {
            assert_eq!(app.client().post(STATES, &sent).await.ok(201), json!({}));
        }
        assert_eq!(app.client().listed().await, 0);
    }

    async fn the_parameters_of_a_state_are_those_of_its_operation(app) {
        let client = app.client();
        let values = set_up(&client, "a charge", &json!({ "amount": 1250, "card": { "name": "Zoë" } })).await;
        let charge = client.charge(text(&values, "charge_token")).await;
        assert_eq!((&charge["amount"], &charge["card"]["name"]), (&json!(1250), &json!("Zoë")));
        let customer = set_up(&client, "a customer", &json!({ "email": "zoe@example.com" })).await;
        let paid = set_up(&client, "a charge", &json!({ "customer_token": customer["customer_token"] })).await;
        assert_eq!(client.charge(text(&paid, "charge_token")).await["card"]["customer_token"], customer["customer_token"]);
        let declined = set_up(&client, "a declined charge", &json!({ "outcome": "lost_card" })).await;
        let declined = client.charge(text(&declined, "charge_token")).await;
        assert_eq!((&declined["success"], &declined["error_message"]), (&json!(false), &json!("The card was reported lost")));
        let voided = set_up(&client, "a voided charge", &json!({})).await;
        assert_eq!(client.charge(text(&voided, "charge_token")).await["authorisation_voided"], true);
        let failed = set_up(&client, "a failed refund", &json!({})).await;
        let failed = client.get(&format!("/1/refunds/{}", text(&failed, "refund_token"))).await.ok(200);
        assert_eq!(failed["success"], false);
        let cancelled = set_up(&client, "a cancelled subscription", &json!({ "name": "Tea" })).await;
        let cancelled = client.get(&format!("/1/subscriptions/{}", text(&cancelled, "sub_token"))).await.ok(200);
        assert_eq!(cancelled["state"], "cancelled");
    }

    async fn a_state_that_cannot_be_made_is_refused_under_the_names_of_its_operation(app) {
        let client = app.client();
        for (sent, param, code) in [
            (json!({ "state": "a chrage" }), "state", "state_invalid"),
            (json!({ "state": "a charge", "action": "undo" }), "action", "action_invalid"),
            (json!({ "state": "a charge", "params": "x" }), "params", "params_invalid"),
            (json!({ "state": "a charge", "params": { "amount": "ten" } }), "amount", "amount_invalid"),
            (json!({ "state": "a plan", "params": { "interval": 0 } }), "interval", "interval_invalid"),
            (json!({ "state": "a subscription", "params": { "amount": 20 } }), "amount", "amount_invalid"),
            (json!({ "state": "a charge", "params": { "card": { "number": "4100000000000001" } } }), "params", "params_invalid"),
            (json!({ "state": "a declined charge", "params": { "outcome": "disputed" } }), "outcome", "outcome_invalid"),
            (json!({ "state": "a request in flight", "params": { "method": "POST", "path": "/1/charges" } }), "idempotency_key", "idempotency_key_invalid"),
        ] {
            let refused = client.post(STATES, &sent).await.refused(422, "invalid_resource");
            let fault = &refused["messages"][0];
            assert_eq!((&fault["param"], &fault["code"]), (&json!(param), &json!(code)), "{sent}: {refused}");
        }
        app.unchanged(app.anonymous().post(STATES, &json!({ "state": "a charge" }))).await.refused(401, "unauthorized");
        app.unchanged(app.with_key(app.publishable_key()).post(STATES, &json!({ "state": "a charge" }))).await.refused(401, "unauthorized");
    }

    async fn a_declining_acquirer_declines_until_the_teardown(app) {
        let client = app.client();
        set_up(&client, "a declining acquirer", &json!({ "decline": "insufficient_funds" })).await;
        client.post("/1/charges", &charge(400)).await.refused(400, "insufficient_funds");
        tear_down(&client, "a declining acquirer", &json!({ "decline": "insufficient_funds" })).await;
        client.post("/1/charges", &charge(400)).await.ok(201);
    }

    async fn a_request_in_flight_owns_its_key_until_the_teardown(app) {
        let client = app.client();
        let request = json!({ "idempotency_key": "order-1", "method": "POST", "path": "/1/charges", "parameters": charge(400) });
        for _ in 0..2 {
            set_up(&client, "a request in flight", &request).await;
        }
        let waiting = app.unchanged(keyed(&client, "order-1", &charge(400))).await;
        waiting.refused(409, "idempotency_key_in_use");
        assert!(waiting.headers.contains_key(header::RETRY_AFTER));
        app.unchanged(keyed(&client, "order-1", &charge(500))).await.refused(422, "idempotency_key_reused");
        keyed(&app.stranger().await, "order-1", &charge(400)).await.ok(201);
        tear_down(&client, "a request in flight", &request).await;
        keyed(&client, "order-1", &charge(400)).await.ok(201);
    }

    async fn a_key_that_another_request_has_used_stays_its_own(app) {
        let client = app.client();
        let paid = keyed(&client, "order-1", &charge(400)).await;
        for parameters in [charge(400), charge(500)] {
            let params = json!({ "idempotency_key": "order-1", "method": "POST", "path": "/1/charges", "parameters": parameters });
            let state = |action: &str| json!({ "state": "a request in flight", "action": action, "params": params });
            app.unchanged(client.post(STATES, &state("setup"))).await.faulty(&[("idempotency_key", "Idempotency key has already been used")]);
            tear_down(&client, "a request in flight", &params).await;
            let again = keyed(&client, "order-1", &charge(400)).await;
            assert_eq!((again.status, &again.text), (201, &paid.text));
        }
    }

    async fn a_repeated_request_makes_no_second_state(app) {
        let client = app.client();
        let sent = json!({ "state": "a charge" }).to_string();
        let mut answers = Vec::new();
        for _ in 0..2 {
            let request = client.request(Method::POST, STATES).header("Idempotency-Key", "state-1");
            let request = request.header(header::CONTENT_TYPE, "application/json").body(Body::from(sent.clone()));
            answers.push(client.send(request.unwrap()).await);
        }
        assert_eq!(answers[0].text, answers[1].text);
        assert_eq!(client.listed().await, 1);
    }

    async fn a_card_of_a_state_pays_once(app) {
        let client = app.client();
        let values = set_up(&client, "a card", &card("4242424242424242")).await;
        client.charge_by(text(&values, "card_token")).await.ok(201);
        app.unchanged(client.charge_by(text(&values, "card_token"))).await.refused(400, "token_already_used");
    }
}

fn drawn() -> String {
    let mut page = String::from("\n| state | what it makes, and its values |\n|---|---|\n");
    for (state, about) in ProviderState::WORDS {
        writeln!(page, "| `{}` | {about} |", state.code()).unwrap();
    }
    page
}

#[test]
fn the_page_about_pacts_lists_every_state() {
    committed_below(PAGE, "## States\n", &drawn());
}

const MISSING: &str = "Pact is not installed, so the tests on it are skipped: .ci/run installs it.\n";

/// The files that the page shows.
fn shown(name: &str) -> String {
    let page = site::read(PAGE);
    let (_, rest) = page.split_once(&format!("```python {name}\n")).unwrap_or_else(|| panic!("no {name}"));
    rest.split_once("```").unwrap().0.to_owned()
}

operated! {
    async fn the_pact_of_the_page_is_verified(installed) {
        let python = site::root().join(verifiers::PYTHON);
        if !verifiers::installed() {
            return skipped(MISSING).unwrap();
        }
        let server = installed.serve();
        let folder = tempfile::tempdir().unwrap();
        for file in ["shop.py", "test_shop.py", "verify.py"] {
            std::fs::write(folder.path().join(file), shown(file)).unwrap();
        }
        let run = |arguments: &[&str]| {
            let mut command = Command::new(&python);
            command.current_dir(folder.path()).args(arguments).env("PACT_DO_NOT_TRACK", "true");
            command.env("URL", format!("http://{}", server.address)).env("KEY", server.keys().0);
            let (code, stdout, stderr) = output(&mut command);
            assert_eq!(code, Some(0), "{stdout}\n{stderr}");
            stdout
        };
        assert!(run(&["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shop.py"]).contains("5 passed"));
        run(&["verify.py"]);
        // A provider that answers otherwise does not pass.
        let pact = folder.path().join("pacts/shop-card-payments.json");
        let broken = std::fs::read_to_string(&pact).unwrap().replace("\"insufficient_funds\"", "\"lost_card\"");
        std::fs::write(&pact, broken.replacen("\"decline\": \"lost_card\"", "\"decline\": \"stolen_card\"", 1)).unwrap();
        let mut command = Command::new(&python);
        command.current_dir(folder.path()).arg("verify.py").env("PACT_DO_NOT_TRACK", "true");
        command.env("URL", format!("http://{}", server.address)).env("KEY", server.keys().0);
        assert_ne!(output(&mut command).0, Some(0));
        server.stopped();
    }
}
