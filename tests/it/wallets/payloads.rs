//! What wallets seal (`docs/decisions.md`, 223 to 226): one message for whatever is wrong with it, and nothing stored.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use card_payments::services::wallets::Wallets;
use entity::{TimeSpan, Timestamp};
use http::Method;
use serde_json::{Value, json};
use url::form_urlencoded;
use wallet::{DeviceCard, Issuer, Roots};

use crate::harness::sending::{FORM, send};
use crate::harness::wallets::{DEVICE, MERCHANT, VALID, certify, texts};
use crate::harness::{App, Client, Database, rules, token_of};

const PATH: &str = "/1/payment_sources";
const CARD: DeviceCard<'_> = DeviceCard { number: "4200000000000000", expiry_month: 5, expiry_year: 2030 };

/// A payload is refused in the one way in which all are, and nothing is stored.
#[track_caller]
fn refused<'a>(app: &'a App, client: &'a Client, payload: &'a Value) -> impl Future<Output = ()> + 'a {
    let caller = std::panic::Location::caller();
    async move {
        let before = app.rows().await;
        let answer = client.post(PATH, payload).await;
        let body = json!({
            "error": "invalid_resource",
            "error_description": "One or more parameters were missing or invalid",
            "messages": [{ "param": "source", "code": "source_invalid", "message": "Source is not valid" }],
        });
        assert_eq!((answer.status, answer.json()), (422, body), "{caller}: {payload}");
        assert!(app.rows().await == before, "{caller}: something changed");
    }
}

fn wall(app: &App) -> Timestamp {
    app.ctx().clock.now()
}

/// The account that a client acts for.
async fn account_of(app: &App) -> String {
    app.work_time().await.account().id().to_string()
}

/// As parameters.
fn payload(wallet: &str, source: &impl serde::Serialize) -> Value {
    json!({ "type": wallet, "source": source })
}

/// A payload of another device than the built-in one, or of another time.
fn wallet_a(device: &Issuer, certificate: &Value, now: Timestamp) -> Value {
    let key = certificate["public_key"].as_str().unwrap();
    payload("walletApay", &device.wallet_a(CARD, (key, MERCHANT), now).unwrap())
}

/// The same payload with one text changed.
fn with(payload: &Value, at: &str, change: impl Fn(&str) -> String) -> Value {
    let mut changed = payload.clone();
    let text = changed["source"].pointer_mut(at).unwrap();
    *text = change(text.as_str().unwrap()).into();
    changed
}

/// Every way in which a text of a payload is spoilt.
const SPOILT: [fn(&str) -> String; 8] = [
    |_| String::new(),
    |text| text[..text.len() - 1].to_owned(),
    |text| text[..text.len() / 2].to_owned(),
    |text| format!("{text}A"),
    |text| format!("!{}", &text[1..]),
    |text| "A".repeat(text.len()),
    |_| "é\u{1}'\"".to_owned(),
    |_| "A".repeat(1_000_000),
];

/// One bit of the bytes behind base64.
fn flipped(text: &str, at: usize) -> Option<String> {
    let mut bytes = STANDARD.decode(text).ok().filter(|bytes| !bytes.is_empty())?;
    let at = at % bytes.len();
    bytes[at] ^= 1;
    Some(STANDARD.encode(bytes))
}

rules! {
    async fn whatever_is_missing_or_changed_the_payload_is_refused(app) {
        let client = app.client();
        for wallet in ["walletApay", "walletGpay"] {
            let good = client.wallet_payload(wallet, "4200000000000000").await;
            let mut paths = Vec::new();
            texts(&good["source"], "", &mut paths);
            assert!(paths.len() >= 5, "{paths:?}");
            for path in &paths {
                for spoil in SPOILT {
                    refused(app, &client, &with(&good, path, spoil)).await;
                }
                for wrong in [json!({}), json!(["a", "b"]), Value::Null] {
                    let mut changed = good.clone();
                    *changed["source"].pointer_mut(path).unwrap() = wrong;
                    refused(app, &client, &changed).await;
                }
                let text = good["source"].pointer(path).unwrap().as_str().unwrap();
                for at in [0, 1, 11, 37, 64, 1_000, usize::MAX] {
                    if let Some(changed) = flipped(text, at) {
                        refused(app, &client, &with(&good, path, |_| changed.clone())).await;
                    }
                }
            }
            for part in good["source"].as_object().unwrap().keys() {
                let mut changed = good.clone();
                changed["source"].as_object_mut().unwrap().remove(part);
                refused(app, &client, &changed).await;
            }
            // And each change inside of the JSON that walletG signs.
            if wallet == "walletGpay" {
                for outer in ["/signedMessage", "/intermediateSigningKey/signedKey"] {
                    refused(app, &client, &with(&good, outer, |text| format!("{text} "))).await;
                    refused(app, &client, &with(&good, outer, |text| text.replacen('A', "B", 1))).await;
                }
            }
            client.post(PATH, &good).await.ok(201);
        }
    }

    async fn a_payload_is_good_for_one_source_and_its_replay_for_none(app) {
        let client = app.client();
        for wallet in ["walletApay", "walletGpay"] {
            let good = client.wallet_payload(wallet, "4200000000000000").await;
            let source = client.payment_source(&good).await;
            refused(app, &client, &good).await;
            client.get(&format!("/1/cards/{}", token_of(&source["source"]))).await.ok(200);
            app.do_due_work().await;
            refused(app, &client, &good).await;
        }
    }

    async fn a_payload_cut_otherwise_where_its_signature_does_not_say_is_a_replay(app) {
        let client = app.client();
        let good = client.wallet_payload("walletApay", "4200000000000000").await;
        let id = good["source"]["header"]["transactionId"].as_str().unwrap().to_owned();
        client.payment_source(&good).await;
        for cut in (2..=id.len()).step_by(2) {
            let mut replay = good.clone();
            let (id, rest) = id.split_at(cut);
            replay["source"]["header"]["transactionId"] = json!(id);
            replay["source"]["header"]["applicationData"] = json!(rest);
            refused(app, &client, &replay).await;
        }
        let mut uncut = client.wallet_payload("walletApay", "4200000000000000").await;
        let id = uncut["source"]["header"]["transactionId"].as_str().unwrap().to_owned();
        uncut["source"]["header"]["transactionId"] = json!(id[..8]);
        uncut["source"]["header"]["applicationData"] = json!(id[8..]);
        client.payment_source(&uncut).await;
    }

    async fn a_wallet_a_payload_is_good_for_five_minutes_of_the_wall_clock(app) {
        let client = app.client();
        let certificate = client.wallet_certificate().await;
        let now = wall(app);
        for (age, good) in [(0, true), (299, true), (301, false), (3_600, false), (-299, true), (-301, false)] {
            let payload = wallet_a(&DEVICE, &certificate, now - TimeSpan::seconds(age));
            if good {
                client.post(PATH, &payload).await.ok(201);
            } else {
                refused(app, &client, &payload).await;
            }
        }
        // The account's own clock has nothing to do with it.
        client.move_clock("7d").await;
        client.post(PATH, &wallet_a(&DEVICE, &certificate, now)).await.ok(201);
        refused(app, &client, &wallet_a(&DEVICE, &certificate, now + TimeSpan::days(7))).await;
    }

    async fn a_wallet_g_payload_is_good_until_it_says(app) {
        let client = app.client();
        let account = account_of(app).await;
        let gateway = DEVICE.gateway();
        let now = wall(app);
        for (age, good) in [(TimeSpan::seconds(604_799), true), (TimeSpan::days(7), false), (TimeSpan::days(8), false)] {
            for source in [DEVICE.wallet_g(CARD, (&gateway, &account), now - age), DEVICE.wallet_g_v1(CARD, (&gateway, &account), now - age)] {
                let payload = payload("walletGpay", &source.unwrap());
                if good {
                    client.post(PATH, &payload).await.ok(201);
                } else {
                    refused(app, &client, &payload).await;
                }
            }
        }
    }

    async fn replays_are_remembered_as_long_as_they_would_be_taken(app) {
        let client = app.client();
        let used = "SELECT COUNT(*) FROM wallet_payloads";
        let payload = client.wallet_payload("walletApay", "4200000000000000").await;
        client.post(PATH, &payload).await.ok(201);
        app.clock.advance(TimeSpan::seconds(300));
        app.do_due_work().await;
        assert_eq!(app.number(used).await, 1);
        refused(app, &client, &payload).await;
        app.clock.advance(TimeSpan::seconds(1));
        app.do_due_work().await;
        assert_eq!(app.number(used).await, 0);
        refused(app, &client, &payload).await;
    }

    async fn a_payload_as_one_text_is_refused_and_as_fields_of_a_form_taken(app) {
        let client = app.client();
        for wallet in ["walletApay", "walletGpay"] {
            let payload = client.wallet_payload(wallet, "4200000000000000").await;
            refused(app, &client, &json!({ "type": wallet, "source": payload["source"].to_string() })).await;
            let fields = recording::query(payload.as_object().unwrap());
            let fields = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
            send(&client, Method::POST, PATH, FORM, fields).await.ok(201);
        }
    }

    async fn a_payload_for_somebody_else_is_refused(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        for wallet in ["walletApay", "walletGpay"] {
            let payload = client.wallet_payload(wallet, "4200000000000000").await;
            refused(app, &stranger, &payload).await;
            client.post(PATH, &payload).await.ok(201);
        }
        let own = client.wallet_certificate().await;
        let others = stranger.wallet_certificate().await;
        // Sealed for one key, said to be for another; for another merchant; for a key without a certificate, or one that is
        // gone.
        let mut lying = wallet_a(&DEVICE, &others, wall(app));
        lying["source"]["header"]["publicKeyHash"] = own["public_key_hash"].clone();
        refused(app, &client, &lying).await;
        let key = own["public_key"].as_str().unwrap();
        let other_merchant = DEVICE.wallet_a(CARD, (key, "merchant.com.example.other"), wall(app)).unwrap();
        refused(app, &client, &payload("walletApay", &other_merchant)).await;
        let incomplete = client.post("/1/walletA_pay/certificates", &json!({})).await.ok(201);
        refused(app, &client, &wallet_a(&DEVICE, &incomplete, wall(app))).await;
        let late = wallet_a(&DEVICE, &own, wall(app));
        client.delete(&format!("/1/walletA_pay/certificates/{}", token_of(&own))).await.ok(204);
        refused(app, &client, &late).await;
        // Another gateway's, by its key or by its name.
        let account = account_of(app).await;
        let gateway = Issuer::new("another").gateway();
        refused(app, &client, &payload("walletGpay", &DEVICE.wallet_g(CARD, (&gateway, &account), wall(app)).unwrap())).await;
    }

    async fn only_devices_of_the_test_root_are_believed(app) {
        let client = app.client();
        let (certificate, account) = (client.wallet_certificate().await, account_of(app).await);
        let (forger, gateway) = (Issuer::new("another"), DEVICE.gateway());
        refused(app, &client, &wallet_a(&forger, &certificate, wall(app))).await;
        for source in [forger.wallet_g(CARD, (&gateway, &account), wall(app)), forger.wallet_g_v1(CARD, (&gateway, &account), wall(app))] {
            refused(app, &client, &payload("walletGpay", &source.unwrap())).await;
        }
        // ECv1 is taken, but not in place of the other.
        let older = payload("walletGpay", &DEVICE.wallet_g_v1(CARD, (&gateway, &account), wall(app)).unwrap());
        refused(app, &client, &with(&older, "/protocolVersion", |_| "ECv2".into())).await;
        refused(app, &client, &with(&older, "/protocolVersion", |_| "ECv0".into())).await;
        client.post(PATH, &older).await.ok(201);
        for version in ["RSA_v1", "EC_v2", "ec_v1"] {
            let payload = wallet_a(&DEVICE, &certificate, wall(app));
            refused(app, &client, &with(&payload, "/version", |_| version.into())).await;
        }
    }

    async fn a_card_that_cannot_pay_is_no_source(app) {
        let client = app.client();
        let (certificate, account, gateway) = (client.wallet_certificate().await, account_of(app).await, DEVICE.gateway());
        let key = certificate["public_key"].as_str().unwrap();
        for card in [
            DeviceCard { number: "4000056655665556", ..CARD },
            DeviceCard { number: "", ..CARD },
            DeviceCard { number: "4200000000000001", ..CARD },
            DeviceCard { expiry_month: 2, expiry_year: 2025, ..CARD },
            DeviceCard { expiry_month: 13, ..CARD },
            DeviceCard { expiry_month: 0, ..CARD },
        ] {
            let source = DEVICE.wallet_a(card, (key, MERCHANT), wall(app)).unwrap();
            refused(app, &client, &payload("walletApay", &source)).await;
            let source = DEVICE.wallet_g(card, (&gateway, &account), wall(app)).unwrap();
            refused(app, &client, &payload("walletGpay", &source)).await;
        }
    }

    async fn a_test_device_hands_over_any_test_card(app) {
        let client = app.client();
        let path = "/1/sandbox/wallet_payloads";
        let mut seen = HashSet::new();
        for number in ["4200000000000000", "5520000000000000", "372000000000000", "4100000000000001"] {
            for wallet in ["walletApay", "walletGpay"] {
                let payload = client.wallet_payload(wallet, number).await;
                assert!(seen.insert(payload.to_string()), "never the same twice");
                let source = client.payment_source(&payload).await;
                assert!(number.ends_with(source["source"]["display_number"].as_str().unwrap().rsplit('-').next().unwrap()));
            }
        }
        let incomplete = token_of(&client.post("/1/walletA_pay/certificates", &json!({})).await.ok(201));
        let foreign = token_of(&app.stranger().await.wallet_certificate().await);
        let unknown = "Certificate token is not valid";
        for (params, faults) in [
            (json!({}), vec![("type", "Type can't be blank"), ("number", "Number can't be blank")]),
            (json!({ "type": "card", "number": "1" }), vec![("type", "Type is not included in the list"), ("number", "Number is not valid")]),
            (json!({ "type": "walletApay", "number": "4242424242424241" }), vec![("number", "Number is not valid"), ("certificate_token", "Certificate token can't be blank")]),
            (json!({ "type": "walletApay", "number": "4200000000000000", "certificate_token": incomplete }), vec![("certificate_token", unknown)]),
            (json!({ "type": "walletApay", "number": "4200000000000000", "certificate_token": foreign }), vec![("certificate_token", unknown)]),
            (json!({ "type": "walletApay", "number": "4200000000000000", "certificate_token": "apdp_x" }), vec![("certificate_token", unknown)]),
        ] {
            app.invalid(path, &params, &faults).await;
        }
    }
}

/// A live server with roots and a gateway accepts payloads that these sign, and none of a test device.
async fn live(database: Database) {
    let Some(mut app) = App::live(database).await else { return };
    let client = app.client();
    let made = client.post("/1/walletA_pay/certificates", &json!({})).await.ok(201);
    let pem = certify(made["public_key"].as_str().unwrap(), &format!("UID={MERCHANT}"), VALID);
    let certificate = client.put("/1/walletA_pay/certificates", &json!({ "pem": pem })).await.ok(200);
    let account = account_of(&app).await;
    let payloads = |device: &Issuer| {
        let now = wall(&app);
        // A test number is no card in live.
        let card = DeviceCard { number: "4000056655665556", ..CARD };
        let source_a =
            device.wallet_a(card, (certificate["public_key"].as_str().unwrap(), MERCHANT), now).unwrap();
        let source_g = device.wallet_g(card, (&device.gateway(), &account), now).unwrap();
        [payload("walletApay", &source_a), payload("walletGpay", &source_g)]
    };
    for untold in payloads(&DEVICE) {
        refused(&app, &client, &untold).await;
    }
    let issuer = Issuer::new("live");
    let [genuine, forged] = [payloads(&issuer), payloads(&DEVICE)];
    app.knows_wallets(|| {
        let issuer = Issuer::new("live");
        let roots = Roots::parse(&issuer.published().to_string()).unwrap();
        Wallets { roots, gateway: Some(issuer.gateway()), ..Wallets::default() }
    })
    .await;
    let client = app.client();
    for payload in &forged {
        refused(&app, &client, payload).await;
    }
    for payload in &genuine {
        client.post(PATH, payload).await.ok(201);
    }
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_believes_whom_the_operator_names_and_nobody_else_on_sqlite() {
    live(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_believes_whom_the_operator_names_and_nobody_else_on_postgres() {
    live(Database::Postgres).await;
}
