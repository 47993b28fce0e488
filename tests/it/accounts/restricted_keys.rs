//! Restricted keys: what they may do, from where and until when (`docs/decisions.md`, 382).

mod document;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::body::Body;
use card_payments::api::operation_rights;
use card_payments::api::rights::{OperationRights, Rights, everywhere};
use card_payments::limits::RESTRICTED_KEYS_MAX;
use card_payments::services::accounts::keys;
use entity::TimeSpan;
use entity::section::{Right, Section};
use http::{Method, header};
use serde_json::{Value, json};

use crate::answers::{Operation, operations};
use crate::harness::app::DOCUMENT;
use crate::harness::browser::{Browser, assert_sign_in};
use crate::harness::{Answer, App, Client, Database, as_of, charge, fields, rules, token, token_of, with};
use crate::store::statement_costs::{is_one, since};

const KEYS: &str = "/1/sandbox/keys";

/// The account's own client, by a restricted key with these rights.
async fn holder(app: &App, rights: &Value) -> Client {
    let made = app.client().restricted_key(&json!({ "rights": rights })).await;
    app.with_key(secret(&made))
}

fn secret(key: &Value) -> &str {
    key["secret_key"].as_str().expect("a secret key")
}

/// Orders the same charge under one Idempotency-Key.
async fn order(client: &Client) -> Answer {
    let request = client.request(Method::POST, "/1/charges").header("idempotency-key", "order-1");
    let request = request.header(header::CONTENT_TYPE, "application/json");
    client.send(request.body(Body::from(charge(400).to_string())).unwrap()).await
}

/// The rights that the list names for an operation.
pub fn rights_of(operation: &Operation) -> &'static Rights {
    static NEEDED: LazyLock<OperationRights> = LazyLock::new(operation_rights);
    let method = if operation.method == Method::HEAD { Method::GET } else { operation.method.clone() };
    NEEDED.needed().get(&(operation.path.clone(), method)).expect("each operation is in the list")
}

fn forbidden(section: Section, right: Right) -> Value {
    let (code, name, right) = (section.code(), section.name(), right.code());
    let sentence = format!("This key may not {right} {name}: it needs `{code}: {right}`.");
    json!({ "error": "forbidden", "error_description": sentence })
}

rules! {
    async fn each_operation_needs_exactly_the_rights_of_its_list(app) {
        // By section and right: a key that may do everything else.
        let mut holders = BTreeMap::new();
        for section in Section::ALL {
            for right in [Right::None, Right::Read, Right::Write] {
                let mut rights = everywhere(Right::Write);
                rights.insert(*section, right);
                holders.insert((*section, right), holder(app, &json!(rights)).await);
            }
        }
        let (mut refused, mut admitted) = (0, 0);
        for operation in operations() {
            let rights = rights_of(&operation);
            // One that it does not need, too.
            let other = Section::ALL.iter().find(|section| !rights.contains_key(*section));
            for section in rights.keys().chain(other) {
                let wanted = rights.get(section).copied().unwrap_or(Right::None);
                for right in [Right::None, Right::Read, Right::Write] {
                    let client = &holders[&(*section, right)];
                    // Rights come before all that a body or a token could be refused for.
                    let path = operation.at("x");
                    let answer = client.perform(&operation.method, &path, &json!({ "to": "x" })).await;
                    let of = format!("{} {path} with {}: {}", operation.method, section.code(), right.code());
                    if right >= wanted {
                        // At its limit of snapshots an account gets 403, too.
                        let is_refused = answer.status == 403 && answer.text.contains("\"error\":\"forbidden\"");
                        assert!(answer.status != 401 && !is_refused, "{of}: {}", answer.text);
                        admitted += 1;
                        continue;
                    }
                    assert_eq!(answer.status, 403, "{of}: {}", answer.text);
                    if operation.method != Method::HEAD {
                        assert_eq!(answer.json(), forbidden(*section, wanted), "{of}");
                    }
                    refused += 1;
                }
            }
        }
        assert!(refused > 200 && admitted > 200, "{refused} {admitted}");
    }

    async fn a_restricted_key_does_what_it_may_and_a_refusal_changes_nothing(app) {
        let client = holder(app, &json!({ "charges": "write", "refunds": "read" })).await;
        let made = client.captured(400).await;
        let refunds = format!("/1/charges/{}/refunds", token(&made));
        client.get(&refunds).await.ok(200);
        let refused = app.unchanged(client.post(&refunds, &json!({ "amount": 100 }))).await;
        assert_eq!(refused.refused(403, "forbidden"), forbidden(Section::Refunds, Right::Write));
        app.unchanged(client.post("/1/customers", &json!({}))).await.refused(403, "forbidden");
        app.client().get("/1/customers").await.ok(200);
    }

    #[dated]
    async fn a_key_is_shown_once_and_listed_without_its_secret(app) {
        let expires_at = "2031-05-01T00:00:00Z";
        let asked = json!({
            "name": "Nightly report", "rights": { "charges": "read", "plans": "none" },
            "networks": ["127.0.0.9/8", "2001:db8::1"], "expires_at": expires_at,
        });
        let made = app.client().post(KEYS, &asked).await.ok(201);
        assert_eq!(fields(&made), [
            "token", "name", "secret_key", "last_characters", "rights", "networks", "expires_at", "last_used_at", "created_at",
        ]);
        assert!(secret(&made).starts_with("rk_") && secret(&made).len() == 25, "{made}");
        assert_eq!(made["last_characters"], secret(&made)[21..]);
        assert_eq!(made["rights"], json!({ "charges": "read" }), "what is none is absent");
        assert_eq!(made["networks"], json!(["127.0.0.0/8", "2001:db8::1/128"]));
        let listed = app.client().get(KEYS).await.ok(200);
        let mut without = made.clone();
        without.as_object_mut().unwrap().remove("secret_key");
        assert_eq!(listed, json!([without]));
        app.clock.advance(TimeSpan::seconds(5));
        app.with_key(secret(&made)).get("/1/charges").await.ok(200);
        let used = app.client().get(KEYS).await.ok(200);
        assert_eq!(used[0]["last_used_at"], "2026-03-02T10:00:05Z");
        assert!(!app.rows().await.contains(secret(&made)), "it is stored by its hash alone");
    }

    #[dated]
    async fn a_key_ends_when_it_was_to_end(app) {
        let made = app.client().restricted_key(&json!({ "expires_at": "2026-03-02T10:00:30Z" })).await;
        let client = app.with_key(secret(&made));
        client.get("/1/charges").await.ok(200);
        app.clock.advance(TimeSpan::seconds(30));
        client.get("/1/charges").await.refused(401, "unauthorized");
        assert_eq!(app.client().get(KEYS).await.ok(200), json!([]));
        let path = format!("{KEYS}/{}", token(&made));
        app.client().delete(&path).await.refused(404, "not_found");
        app.client().post(&format!("{path}/roll"), &json!({})).await.refused(404, "not_found");
        app.do_due_work().await;
        assert_eq!(app.number("SELECT COUNT(*) FROM api_keys").await, 2, "a worker deletes it");
    }

    async fn a_key_works_from_its_networks_only(app) {
        for (networks, status) in [
            (json!(["127.0.0.0/8"]), 200),
            (json!(["192.0.2.0/24", "127.0.0.1"]), 200),
            (json!(["192.0.2.0/24"]), 401),
            (json!(["::/0"]), 401),
        ] {
            let made = app.client().restricted_key(&json!({ "networks": networks })).await;
            let answer = app.with_key(secret(&made)).get("/1/charges").await;
            assert_eq!(answer.status, status, "{networks}: {}", answer.text);
        }
    }

    async fn a_revoked_key_is_refused_at_once(app) {
        let made = app.client().restricted_key(&json!({ "rights": { "charges": "write" } })).await;
        let client = app.with_key(secret(&made));
        client.captured(400).await;
        let path = format!("{KEYS}/{}", token(&made));
        app.client().delete(&path).await.ok(204);
        app.unchanged(client.get("/1/charges")).await.refused(401, "unauthorized");
        app.unchanged(client.post("/1/charges", &charge(400))).await.refused(401, "unauthorized");
        app.client().delete(&path).await.refused(404, "not_found");
    }

    #[dated]
    async fn a_rolled_key_has_the_same_rights_and_the_former_one_works_for_the_grace(app) {
        let made = app.client().restricted_key(&json!({ "networks": ["127.0.0.1"] })).await;
        let path = format!("{KEYS}/{}/roll", token(&made));
        let rolled = app.client().post(&path, &json!({ "grace": "1h" })).await.ok(201);
        assert_ne!((&rolled["token"], secret(&rolled)), (&made["token"], secret(&made)));
        for same in ["name", "rights", "networks", "expires_at"] {
            assert_eq!(rolled[same], made[same], "{same}");
        }
        let works = async |key: &Value| app.with_key(secret(key)).get("/1/charges").await.status;
        assert_eq!((works(&made).await, works(&rolled).await), (200, 200));
        let ends: Vec<_> = app.client().get(KEYS).await.ok(200).as_array().unwrap().iter().map(|key| key["expires_at"].clone()).collect();
        assert_eq!(json!(ends), json!([null, "2026-03-02T11:00:00Z"]));
        app.clock.advance(TimeSpan::seconds(3600));
        assert_eq!((works(&made).await, works(&rolled).await), (401, 200));
        let path = format!("{KEYS}/{}/roll", token(&rolled));
        let again = app.client().post(&path, &json!({ "grace": "0h" })).await.ok(201);
        assert_eq!((works(&rolled).await, works(&again).await), (401, 200));
        app.unchanged(app.client().post(&format!("{KEYS}/{}/roll", token(&again)), &json!({ "grace": "soon" }))).await.refused(422, "invalid_resource");
    }

    #[dated]
    async fn rolling_gives_a_key_no_longer_life(app) {
        let made = app.client().restricted_key(&json!({ "expires_at": "2026-03-02T10:30:00Z" })).await;
        let rolled = app.client().post(&format!("{KEYS}/{}/roll", token(&made)), &json!({})).await.ok(201);
        assert_eq!(rolled["expires_at"], "2026-03-02T10:30:00Z");
        app.clock.advance(TimeSpan::seconds(1800));
        for key in [&made, &rolled] {
            app.with_key(secret(key)).get("/1/charges").await.refused(401, "unauthorized");
        }
    }

    async fn every_fault_of_a_key_is_named_at_once(app) {
        let client = app.client();
        let all_wrong = json!({
            "name": " ", "rights": { "chargs": "read" }, "networks": ["somewhere"], "expires_at": "soon",
        });
        let faults = app.unchanged(client.post(KEYS, &all_wrong)).await.faults();
        let params: Vec<_> = faults.iter().map(|(param, _)| param.as_str()).collect();
        assert_eq!(params, ["name", "rights", "networks", "expires_at"], "{faults:?}");
        for (wrong, message) in [
            (json!({ "rights": { "charges": "all" } }), "Rights must be none, read or write"),
            (json!({ "rights": { "Charges": "read" } }), "Rights names an unknown section: take one of the API's document in small letters, such as bank_accounts, or keys"),
            (json!({ "expires_at": as_of() }), "Expires at must be in the future"),
            (json!({ "networks": ["10.0.0.0/33"] }), "Networks is not a list of networks, such as 192.0.2.0/24"),
        ] {
            let asked = with(json!({ "name": "A", "rights": { "charges": "read" } }), &wrong);
            let faults = app.unchanged(client.post(KEYS, &asked)).await.faults();
            assert_eq!(faults.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), [message]);
        }
        let faults = app.unchanged(client.post(KEYS, &json!({}))).await.faults();
        assert_eq!(faults.len(), 2, "{faults:?}");
        let form = client.post_form(KEYS, &json!({ "name": "A", "rights": { "charges": "read" }, "networks": ["127.0.0.1"] })).await;
        assert_eq!(form.ok(201)["rights"], json!({ "charges": "read" }));
    }

    async fn an_account_has_a_limited_number_of_keys(app) {
        let mut first = None;
        for _ in 0..RESTRICTED_KEYS_MAX {
            first.get_or_insert(app.client().restricted_key(&json!({})).await);
        }
        let first = token_of(&first.unwrap());
        let another = json!({ "name": "A", "rights": { "charges": "read" } });
        app.unchanged(app.client().post(KEYS, &another)).await.refused(403, "limit_reached");
        let roll = format!("{KEYS}/{first}/roll");
        app.unchanged(app.client().post(&roll, &json!({}))).await.refused(403, "limit_reached");
        // Without a grace it takes the former one's place.
        app.client().post(&roll, &json!({ "grace": "0h" })).await.ok(201);
    }

    #[dated]
    async fn a_restricted_key_gives_no_more_than_it_has(app) {
        let owner = app.client();
        let rights = json!({ "sandbox": "write", "keys": "write", "charges": "read" });
        let own = json!({ "rights": rights, "networks": ["127.0.0.0/8"], "expires_at": "2026-03-03T00:00:00Z" });
        let client = app.with_key(secret(&owner.restricted_key(&own).await));
        let fits = json!({
            "name": "B", "rights": { "charges": "read" }, "networks": ["127.0.0.1"], "expires_at": "2026-03-02T12:00:00Z",
        });
        client.post(KEYS, &fits).await.ok(201);
        for (more, sentence) in [
            (json!({ "rights": { "charges": "write" } }), "This key may not give `charges: write`, which it does not have."),
            (json!({ "rights": { "refunds": "read" } }), "This key may not give `refunds: read`, which it does not have."),
            (json!({ "networks": [] }), "This key may not give other networks than its own."),
            (json!({ "networks": ["127.0.0.1", "0.0.0.0/0"] }), "This key may not give other networks than its own."),
            (json!({ "expires_at": "" }), "This key may not give a later end than its own."),
            (json!({ "expires_at": "2026-03-03T00:00:01Z" }), "This key may not give a later end than its own."),
        ] {
            let refused = app.unchanged(client.post(KEYS, &with(fits.clone(), &more))).await.refused(403, "forbidden");
            assert_eq!(refused["error_description"], sentence);
        }
        let mightier = owner.restricted_key(&json!({ "rights": { "refunds": "write" }, "networks": ["127.0.0.1"] })).await;
        app.unchanged(client.post(&format!("{KEYS}/{}/roll", token(&mightier)), &json!({}))).await.refused(403, "forbidden");
        client.delete(&format!("{KEYS}/{}", token(&mightier))).await.ok(204);
    }

    async fn without_the_right_to_write_keys_a_key_cannot_touch_any(app) {
        let mut rights = everywhere(Right::Write);
        rights.insert(Section::Keys, Right::Read);
        let client = holder(app, &json!(rights)).await;
        let made = app.client().restricted_key(&json!({})).await;
        client.get(KEYS).await.ok(200);
        for answer in [
            app.unchanged(client.post(KEYS, &json!({ "name": "A", "rights": { "charges": "read" } }))).await,
            app.unchanged(client.post(&format!("{KEYS}/{}/roll", token(&made)), &json!({}))).await,
            app.unchanged(client.delete(&format!("{KEYS}/{}", token(&made)))).await,
            app.unchanged(client.post("/1/sandbox/accounts", &json!({}))).await,
        ] {
            assert_eq!(answer.refused(403, "forbidden"), forbidden(Section::Keys, Right::Write));
        }
    }

    async fn a_key_sees_the_events_of_the_sections_that_it_may_read(app) {
        let owner = app.client();
        owner.customer("4200000000000000").await;
        owner.captured(400).await;
        owner.disputed(500).await;
        let types = |answer: &Answer| {
            let events = answer.ok(200);
            events.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let client = holder(app, &json!({ "events": "read", "charges": "read" })).await;
        assert_eq!(types(&client.get("/1/events").await), ["charge.captured", "charge.captured"]);
        assert_eq!(client.get("/1/events").await.json()["pagination"]["count"], 2);
        assert_eq!(types(&client.get("/1/events?after=0&wait=1&count=2").await).len(), 2);
        assert_eq!(types(&client.get("/1/events?type=customer.created").await), [""; 0]);
        let all = owner.get("/1/events?per_page=500").await.ok(200);
        for event in all.as_array().unwrap() {
            let (seen, path) = (event["type"].as_str().unwrap().starts_with("charge."), format!("/1/events/{}", token(event)));
            assert_eq!(client.get(&path).await.status, if seen { 200 } else { 404 }, "{event}");
            if !seen {
                client.get(&format!("/1/events?after={}", token(event))).await.faults();
                let about = event["data"]["token"].as_str().unwrap();
                assert_eq!(types(&client.get(&format!("/1/events?about={about}")).await), [""; 0]);
            }
        }
        // A dispute shows its charge.
        let disputes = holder(app, &json!({ "events": "read", "disputes": "read" })).await;
        assert_eq!(types(&disputes.get("/1/events").await), [""; 0]);
        let both = holder(app, &json!({ "events": "read", "disputes": "read", "charges": "read" })).await;
        assert_eq!(types(&both.get("/1/events").await).len(), 3);
    }

    async fn events_of_authorisations_are_seen_by_the_right_to_those_and_not_to_charges(app) {
        let owner = app.client();
        owner.endpoint("https://example.com/webhooks").await;
        let charge = owner.authorised(400).await;
        let authorisation = owner.authorisation(500).await;
        owner.put(&format!("/1/authorisations/{authorisation}/void"), &json!({})).await.ok(200);
        let all = owner.get("/1/events").await.ok(200);
        assert_eq!(all.as_array().unwrap().len(), 3);
        for (section, record, number) in [("charges", &charge, 1), ("authorisations", &authorisation, 2)] {
            let client = holder(app, &json!({ "events": "read", "webhooks": "read", section: "read" })).await;
            let webhooks = client.get("/1/webhooks?type=charge.authorised").await;
            assert_eq!((webhooks.ok(200).as_array().unwrap().len(), &webhooks.json()["pagination"]["count"]), (1, &json!(1)), "{section}");
            for query in ["after=0&wait=1&count=3".to_owned(), String::new(), format!("about={record}")] {
                let seen = client.get(&format!("/1/events?{query}")).await;
                assert_eq!(seen.json()["pagination"]["count"], number, "{section}: {query}");
                assert!(seen.ok(200).as_array().unwrap().iter().all(|event| event["data"]["token"] == *record), "{section}");
            }
            for event in all.as_array().unwrap() {
                let status = if event["data"]["token"] == *record { 200 } else { 404 };
                assert_eq!(client.get(&format!("/1/events/{}", token(event))).await.status, status, "{section}: {event}");
            }
        }
    }

    async fn a_restricted_key_is_no_publishable_key_and_opens_no_dashboard(app) {
        let made = app.client().restricted_key(&json!({ "rights": everywhere(Right::Write) })).await;
        let path = format!("/1/cards?publishable_api_key={}", secret(&made));
        app.anonymous().post(&path, &crate::harness::card("4200000000000000")).await.refused(401, "unauthorized");
        let mut browser = Browser::new(app);
        let answer = browser.post("/dashboard/sign-in", &[("key", secret(&made)), ("to", "/dashboard")]).await;
        assert_eq!(answer.status, 422, "{}", answer.text);
        assert_sign_in(&browser.get("/dashboard").await);
    }

    async fn the_rotation_of_the_pair_leaves_restricted_keys(app) {
        let made = app.client().restricted_key(&json!({})).await;
        keys::rotate(app.ctx(), app.account().await, TimeSpan::ZERO).await.unwrap();
        app.ctx().memory.keys.invalidate_all();
        app.client().get("/1/charges").await.refused(401, "unauthorized");
        app.with_key(secret(&made)).get("/1/charges").await.ok(200);
    }

    async fn an_exchanged_key_repeats_a_request_under_its_idempotency_key(app) {
        let first = order(&app.client()).await.ok(201);
        let client = holder(app, &json!({ "charges": "write" })).await;
        assert_eq!(order(&client).await.ok(201), first);
        let reader = holder(app, &json!({ "charges": "read" })).await;
        order(&reader).await.refused(403, "forbidden");
    }

    async fn a_repeated_request_gives_a_key_to_nobody_else(app) {
        let (owner, key) = (app.client(), json!({ "name": "A", "rights": { "charges": "write" } }));
        let send = async |client: &Client| {
            let request = client.request(Method::POST, KEYS).header("idempotency-key", "key-1");
            let request = request.header(header::CONTENT_TYPE, "application/json");
            client.send(request.body(Body::from(key.to_string())).unwrap()).await
        };
        let made = send(&owner).await.ok(201);
        assert_eq!(send(&owner).await.ok(201), made);
        let weaker = holder(app, &json!({ "sandbox": "write", "keys": "write" })).await;
        app.unchanged(send(&weaker)).await.refused(422, "idempotency_key_reused");
    }

    async fn a_key_may_roll_itself_and_gives_none_once_it_is_gone(app) {
        let rights = json!({ "sandbox": "write", "keys": "write" });
        let own = app.client().restricted_key(&json!({ "rights": rights })).await;
        let rolled = app.with_key(secret(&own)).post(&format!("{KEYS}/{}/roll", token(&own)), &json!({})).await.ok(201);
        let client = app.with_key(secret(&rolled));
        client.get(KEYS).await.ok(200);
        // As another copy of the server does, of which this one does not know yet.
        app.execute("DELETE FROM api_keys WHERE restriction IS NOT NULL").await;
        let given = json!({ "name": "B", "rights": { "keys": "write" } });
        app.unchanged(client.post(KEYS, &given)).await.refused(401, "unauthorized");
    }

    async fn an_ipv4_network_may_be_written_in_its_ipv6_form(app) {
        let made = app.client().restricted_key(&json!({ "networks": ["::ffff:127.0.0.0/104"] })).await;
        assert_eq!(made["networks"], json!(["127.0.0.0/8"]));
        app.with_key(secret(&made)).get("/1/charges").await.ok(200);
    }

    async fn a_payment_by_a_restricted_key_costs_no_statement_more(app) {
        let client = holder(app, &json!({ "charges": "write" })).await;
        client.captured(400).await;
        let before = app.ctx().store.statements();
        client.captured(400).await;
        let costs = since(before, app.ctx().store.statements());
        assert_eq!(costs, if is_one(app) { (0, 1, 1) } else { (1, 1, 1) });
    }

    async fn a_restored_snapshot_and_a_deleted_account_treat_it_as_every_key(app) {
        let owner = app.client();
        let snapshot = token_of(&owner.post("/1/sandbox/snapshots", &json!({})).await.ok(201));
        let made = owner.restricted_key(&json!({})).await;
        owner.put(&format!("/1/sandbox/snapshots/{snapshot}/restore"), &json!({})).await.ok(200);
        app.with_key(secret(&made)).get("/1/charges").await.ok(200);
        let other = owner.post("/1/sandbox/accounts", &json!({})).await.ok(201);
        let of_other = app.with_key(secret(&other)).restricted_key(&json!({})).await;
        owner.delete(&format!("/1/sandbox/accounts/{}", token(&other))).await.ok(204);
        app.with_key(secret(&of_other)).get("/1/charges").await.refused(401, "unauthorized");
    }
}

#[tokio::test]
async fn a_payment_obeys_another_copy_that_has_revoked_its_key() {
    let Some(app) = App::start(Database::Postgres).await else { return };
    let made = app.client().restricted_key(&json!({ "rights": { "charges": "write" } })).await;
    let client = app.with_key(secret(&made));
    client.captured(400).await;
    let copy = app.copy().await;
    let other = Client::new(copy.router.clone(), Some(app.secret_key().to_owned()));
    other.delete(&format!("{KEYS}/{}", token(&made))).await.ok(204);
    app.unchanged(client.post("/1/charges", &charge(400))).await.refused(401, "unauthorized");
    app.check_books().await;
}
