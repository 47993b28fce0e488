//! walletA's domains, sessions and certificates (specification, Mobile wallet support; `docs/decisions.md`, 227 to 230).

mod libraries;
pub mod parsers;
mod payloads;
mod signatures;

use base::random::RandomSource;
use card_payments::app::Parts;
use card_payments::config::{
    DatabaseOptions, Environment, LoadOptions, PeopleOptions, Secrets, ServeOptions,
};
use card_payments::services::wallets::{Provider, Wallets};
use futures::executor::block_on;
use http::Method;
use outbound::AddressPolicy;
use serde_json::{Value, json};
use vault::OperatorKeys;
use wallet::Issuer;
use wallet::certificate::MerchantKey;

use crate::harness::sending::{request, send};
use crate::harness::wallets::{MERCHANT, VALID, certify};
use crate::harness::{App, Database, as_of, at_once, fields, rounds, rules, token_of, with};

const DOMAINS: &str = "/1/walletA_pay/domains";
const SESSIONS: &str = "/1/walletA_pay/sessions";
const CERTIFICATES: &str = "/1/walletA_pay/certificates";

fn named(domain: &str) -> Value {
    json!({ "domain_name": domain })
}

fn session(initiative: &str, context: &Value) -> Value {
    json!({
        "validation_url": "https://gateway.wallet.example/paymentSession",
        "initiative": initiative, "initiative_context": context,
    })
}

rules! {
    async fn a_domain_is_registered_listed_checked_and_deleted(app) {
        let client = app.client();
        let domain = client.post(DOMAINS, &named("Shop.Example.com")).await.ok(201);
        assert_eq!(fields(&domain), ["token", "domain_name", "registered", "created_at"]);
        assert!(token_of(&domain).starts_with("apmd_"));
        assert_eq!((&domain["domain_name"], &domain["registered"]), (&json!("shop.example.com"), &json!(true)));
        assert_eq!(domain["created_at"], json!(as_of()));
        let other = client.post(DOMAINS, &named("xn--bcher-kva.example")).await.ok(201);
        let list = client.get(DOMAINS).await.json();
        assert_eq!(list["response"], json!([other, domain]));
        assert_eq!(list["pagination"], json!({ "current": 1, "previous": null, "next": null, "per_page": 25, "pages": 1, "count": 2 }));
        assert_eq!(client.get(&format!("{DOMAINS}?per_page=1&page=2")).await.ok(200), json!([domain]));
        let check = "/1/walletA_pay/host_check?domain_name=";
        assert_eq!(client.get(&format!("{check}SHOP.example.com")).await.ok(200), domain);
        client.get(&format!("{check}other.example.com")).await.not_found();
        client.get("/1/walletA_pay/host_check").await.faulty(&[("domain_name", "Domain name can't be blank")]);
        client.get(&format!("{check}localhost")).await.not_found();

        let path = format!("{DOMAINS}/{}", token_of(&domain));
        let stranger = app.stranger().await;
        app.unchanged(stranger.delete(&path)).await.not_found();
        stranger.get(&format!("{check}shop.example.com")).await.not_found();
        assert_eq!(stranger.get(DOMAINS).await.ok(200), json!([]));
        stranger.post(DOMAINS, &named("shop.example.com")).await.ok(201);
        client.delete(&path).await.ok(204);
        app.unchanged(client.delete(&path)).await.not_found();
        client.get(&format!("{check}shop.example.com")).await.not_found();
        client.post(DOMAINS, &named("shop.example.com")).await.ok(201);
    }

    async fn a_domain_is_a_fully_qualified_name_that_hosts_the_file_and_is_new(app) {
        app.client().post(DOMAINS, &named("shop.example.com")).await.ok(201);
        let (form, long) = ("is not a fully qualified domain name", "is too long (maximum is 255 characters)");
        let name = format!("{}example", "a.".repeat(125));
        for (sent, expected) in [
            (json!({}), vec!["can't be blank"]),
            (named(" "), vec!["can't be blank"]),
            (named("localhost"), vec![form]),
            (named("shop.example.com."), vec![form]),
            (named("https://shop.example.com/"), vec![form]),
            (named("shop.example.com:443"), vec![form]),
            (named("shop_1.example.com"), vec![form]),
            (named("192.0.2.1"), vec![form]),
            (named("[2001:db8::1]"), vec![form]),
            (named("*.example.com"), vec![form]),
            (named("bücher.example"), vec![form]),
            (named(&name), vec![form, long]),
            (named("shop.invalid"), vec!["does not host the verification file"]),
            (named("shop.example.com"), vec!["has already been used"]),
            (named("SHOP.EXAMPLE.COM"), vec!["has already been used"]),
        ] {
            let answer = app.unchanged(app.client().post(DOMAINS, &sent)).await;
            let mut messages: Vec<_> = answer.faults().into_iter().map(|(param, message)| { assert_eq!(param, "domain_name"); message }).collect();
            messages.sort();
            let mut expected: Vec<_> = expected.iter().map(|expected| format!("Domain name {expected}")).collect();
            expected.sort();
            assert_eq!(messages, expected, "{sent}");
        }
    }

    async fn of_many_registrations_of_a_name_one_wins(app) {
        let client = app.client();
        for round in 0..rounds() {
            let name = named(&format!("shop{round}.example.com"));
            let answers = at_once((0..16).map(|_| {
                let (client, name) = (client.clone(), name.clone());
                async move { client.post(DOMAINS, &name).await }
            }))
            .await;
            assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
            for lost in answers.iter().filter(|answer| answer.status != 201) {
                lost.faulty(&[("domain_name", "Domain name has already been used")]);
            }
        }
    }

    #[dated]
    async fn a_session_is_for_a_registered_domain_or_a_conversation(app) {
        let client = app.client();
        client.post(DOMAINS, &named("shop.example.com")).await.ok(201);
        for (params, domain) in [
            (session("web", &json!("Shop.example.com")), "Shop.example.com"),
            (session("messaging", &Value::Null), ""),
            (session("messaging", &json!("https://messages.example/session")), "https://messages.example/session"),
            (with(session("messaging", &Value::Null), &json!({ "validation_url": "https://203.0.113.7/session" })), ""),
        ] {
            let session = app.unchanged(client.post(SESSIONS, &params)).await.ok(201);
            assert_eq!(fields(&session), [
                "epochTimestamp", "expiresAt", "merchantSessionIdentifier", "nonce", "merchantIdentifier", "domainName",
                "displayName", "signature", "operationalAnalyticsIdentifier", "retries", "pspId",
            ]);
            assert_eq!((&session["epochTimestamp"], &session["expiresAt"]), (&json!(1_772_445_600_000_i64), &json!(1_772_445_900_000_i64)));
            assert_eq!((&session["domainName"], &session["retries"]), (&json!(domain), &json!(0)));
        }
        let good = session("web", &json!("shop.example.com"));
        for (field, wrong) in [
            ("validation_url", json!("")), ("validation_url", json!("gateway")), ("validation_url", json!({ "a": 1 })),
            ("validation_url", json!("http://gateway.wallet.example/")), ("validation_url", json!("ftp://gateway.wallet.example/")),
            ("validation_url", json!("https://user:secret@gateway.wallet.example/")),
            ("validation_url", json!("https://gateway.wallet.example/#a")), ("validation_url", json!("https://gateway.wallet.example:8443/")),
            ("validation_url", json!("https://169.254.169.254/session")),
            ("initiative", json!("")), ("initiative", json!("app")), ("initiative_context", Value::Null),
            ("initiative_context", json!("other.example.com")), ("initiative_context", json!("shop.example.com.")),
        ] {
            let mut params = good.clone();
            params[field] = wrong;
            let body = app.unchanged(client.post(SESSIONS, &params)).await.refused(400, "bad_request");
            assert!(body.get("messages").is_none(), "{params}");
        }
        app.stranger().await.post(SESSIONS, &good).await.refused(400, "bad_request");
        client.post(SESSIONS, &json!({})).await.refused(400, "bad_request");
    }

    async fn a_certificate_is_incomplete_until_the_provider_has_issued_it(app) {
        let client = app.client();
        let made = client.post(CERTIFICATES, &json!({})).await.ok(201);
        assert_eq!(fields(&made), [
            "token", "public_key", "public_key_hash", "certificate_signing_request", "state", "merchant_id", "valid_from",
            "valid_until", "created_at",
        ]);
        assert!(token_of(&made).starts_with("apdp_"));
        assert_eq!(made["state"], "incomplete");
        for field in ["merchant_id", "valid_from", "valid_until"] {
            assert_eq!(made[field], Value::Null);
        }
        let path = format!("{CERTIFICATES}/{}", token_of(&made));
        assert_eq!(client.get(&path).await.ok(200), made);
        let key = made["public_key"].as_str().unwrap();
        let pem = certify(key, &format!("UID={MERCHANT},CN=Payment processing"), VALID);
        // With what other programs write around it, and with their line ends.
        let pem = format!("subject=UID = {MERCHANT}\r\n\r\n{}", pem.replace('\n', "\r\n"));
        let active = client.put(CERTIFICATES, &json!({ "pem": pem })).await.ok(200);
        assert_eq!((&active["state"], &active["merchant_id"]), (&json!("active"), &json!(MERCHANT)));
        assert_eq!((&active["valid_from"], &active["valid_until"]), (&json!("2026-01-01T00:00:00Z"), &json!("2030-01-01T00:00:00Z")));
        for field in ["token", "public_key", "public_key_hash", "certificate_signing_request", "created_at"] {
            assert_eq!(active[field], made[field]);
        }
        assert_eq!(client.get(&path).await.ok(200), active);
        let other = client.post(CERTIFICATES, &json!({})).await.ok(201);
        assert_ne!(other["public_key_hash"], made["public_key_hash"]);
        assert_eq!(client.get(CERTIFICATES).await.ok(200), json!([other, active]));
        assert_eq!(app.stranger().await.get(CERTIFICATES).await.ok(200), json!([]));
        app.stranger().await.get(&path).await.not_found();
    }

    #[dated]
    async fn a_certificate_that_does_not_fit_is_refused(app) {
        let client = app.client();
        let made = client.post(CERTIFICATES, &json!({})).await.ok(201);
        let key = made["public_key"].as_str().unwrap();
        let subject = format!("UID={MERCHANT}");
        let good = certify(key, &subject, VALID);
        let stranger = app.stranger().await.post(CERTIFICATES, &json!({})).await.ok(201);
        let another = MerchantKey::generate(&RandomSource::default()).public_pem().unwrap();
        let rsa = rcgen_certificate(&rcgen::PKCS_ED25519);
        let long = format!("{good}{}", "x".repeat(10_000));
        for (pem, message) in [
            ("", "can't be blank"),
            ("garbage", "is not valid"),
            ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", "is not valid"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "is not valid"),
            (&good[..good.len() / 2], "is not valid"),
            (&good.replacen('A', "B", 3), "is not valid"),
            (key, "is not valid"),
            (made["certificate_signing_request"].as_str().unwrap(), "is not valid"),
            (&certify(&another, &subject, VALID), "is not valid"),
            (&certify(stranger["public_key"].as_str().unwrap(), &subject, VALID), "is not valid"),
            (&certify(key, "CN=No merchant", VALID), "is not valid"),
            (&certify(key, &subject, ["2024-01-01", "2026-03-02"]), "is not valid"),
            (&certify(key, &subject, ["2026-03-03", "2027-01-01"]), "is not valid"),
            (&rsa, "is not valid"),
            (&rcgen_certificate(&rcgen::PKCS_ECDSA_P384_SHA384), "is not valid"),
            (&long, "is too long (maximum is 10000 characters)"),
        ] {
            let answer = app.unchanged(client.put(CERTIFICATES, &json!({ "pem": pem }))).await;
            answer.faulty(&[("pem", &format!("Pem {message}"))]);
            assert_eq!(answer.json()["messages"][0]["code"], "pem_invalid");
        }
        for pem in [json!(null), json!({ "a": "b" })] {
            app.unchanged(client.put(CERTIFICATES, &json!({ "pem": pem }))).await.refused(422, "invalid_resource");
        }
        // In the form of a browser, and of many at once the first.
        let answers = at_once((0..8).map(|_| {
            let (client, pem) = (client.clone(), good.clone());
            async move { client.put(CERTIFICATES, &json!({ "pem": pem })).await }
        }))
        .await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        for lost in answers.iter().filter(|answer| answer.status != 200) {
            lost.faulty(&[("pem", "Pem is not valid")]);
        }
    }

    async fn a_certificate_is_deleted_at_both_paths(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        for path in ["/1/walletA_pay", CERTIFICATES] {
            let certificate = token_of(&client.wallet_certificate().await);
            let path = format!("{path}/{certificate}");
            app.unchanged(stranger.delete(&path)).await.not_found();
            client.delete(&path).await.ok(204);
            app.unchanged(client.delete(&path)).await.not_found();
            client.get(&format!("{CERTIFICATES}/{certificate}")).await.not_found();
        }
        for path in ["/1/walletA_pay/apdp_x", "/1/walletA_pay/apdp_AAAAAAAAAAAAAAAAAAAAAA", "/1/walletA_pay/certificates/apmd_AAAAAAAAAAAAAAAAAAAAAA"] {
            app.unchanged(client.delete(path)).await.not_found();
        }
        request(&client, Method::DELETE, DOMAINS, &[]).await.refused(405, "method_not_allowed");
        request(&client, Method::DELETE, "/1/walletA_pay/host_check", &[]).await.refused(405, "method_not_allowed");
    }

    async fn all_of_it_is_unavailable_where_it_is_switched_off(app) {
        let client = app.client();
        let certificate = token_of(&client.wallet_certificate().await);
        let payload = client.wallet_payload("walletGpay", "4200000000000000").await;
        client.put("/1/sandbox/account", &json!({ "wallet": false })).await.ok(200);
        let mut requests = 0;
        for operation in crate::answers::operations() {
            if operation.method == Method::HEAD || !operation.path.starts_with("/1/walletA_pay") {
                continue;
            }
            for token in ["x", &certificate] {
                let path = operation.at(token);
                let answer = app.unchanged(send(&client, operation.method.clone(), &path, None, "")).await;
                let body = answer.refused(400, "api_unavailable");
                assert_eq!(body["error_description"], "The requested API is not available on this account.");
            }
            requests += 1;
        }
        assert_eq!(requests, 11);
        // Payment sources are no part of it.
        client.payment_source(&payload).await;
    }

    async fn the_private_key_is_kept_sealed_and_shown_nowhere(app) {
        let client = app.client();
        let made = client.post(CERTIFICATES, &json!({})).await;
        let shown = made.text.clone() + &client.get(CERTIFICATES).await.text;
        assert!(!shown.contains("PRIVATE"), "{shown}");
        let sealed = "SELECT COUNT(*) FROM wallet_certificates WHERE LENGTH(key_sealed) = 60";
        assert_eq!(app.number(sealed).await, 1, "32 bytes, a nonce and a tag");
    }
}

/// Of a key of another kind.
fn rcgen_certificate(algorithm: &'static rcgen::SignatureAlgorithm) -> String {
    use base64::Engine;
    let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
    let certificate = rcgen::CertificateParams::new([]).unwrap().self_signed(&key).unwrap();
    let base64 = base64::engine::general_purpose::STANDARD.encode(certificate.der());
    format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n")
}

/// A live server fetches the file of a domain, and asks only hosts that the operator has named for a session.
async fn live(database: Database) {
    let Some(mut app) = App::live(database).await else { return };
    let client = app.client();
    app.unchanged(client.post(DOMAINS, &named("shop.invalid")))
        .await
        .faulty(&[("domain_name", "Domain name does not host the verification file")]);
    app.unchanged(client.post(SESSIONS, &session("messaging", &Value::Null)))
        .await
        .refused(400, "bad_request");
    app.knows_wallets(|| {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let public = pem("PUBLIC KEY", rcgen::PublicKeyData::subject_public_key_info(&key));
        let certificate = certify(&public, &format!("UID={MERCHANT}"), VALID);
        let identity = format!("{certificate}{}", pem("PRIVATE KEY", key.serialize_der()));
        // No server listens there.
        let hosts = ["wallet.invalid".to_owned()];
        let provider = Provider::new(&identity.into(), &hosts, AddressPolicy::test()).unwrap();
        Wallets { provider: Some(provider), ..Wallets::default() }
    })
    .await;
    let client = app.client();
    for host in [
        "gateway.wallet.example",
        "127.0.0.1",
        "wallet.invalid.example",
        "wallet.invalid@127.0.0.1",
        "wallet.invalid:444",
    ] {
        let params = json!({ "validation_url": format!("https://{host}/"), "initiative": "messaging" });
        app.unchanged(client.post(SESSIONS, &params)).await.refused(400, "bad_request");
    }
    let params = json!({ "validation_url": "https://wallet.invalid/", "initiative": "messaging" });
    app.unchanged(client.post(SESSIONS, &params)).await.refused(502, "gateway_error");
    app.check_books().await;
}

fn pem(label: &str, der: Vec<u8>) -> String {
    use base64::Engine;
    let base64 = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<&str> =
        base64.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_asks_those_whom_the_operator_named_on_sqlite() {
    live(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_asks_those_whom_the_operator_named_on_postgres() {
    live(Database::Postgres).await;
}

fn live_options() -> ServeOptions {
    ServeOptions {
        retention_days: 90,
        erase_after: None,
        listen: "127.0.0.1:0".parse().unwrap(),
        base_url: None,
        blobs: None,
        audit_anchor: None,
        acquirer: Some("simulator".into()),
        admin_listen: None,
        trusted_proxies: Vec::new(),
        fill_in_key: true,
        webhook_allow: Vec::new(),
        wallet_a_hosts: Vec::new(),
        wallet_g_recipient: None,
        wallet_roots: None,
        people: PeopleOptions::default(),
        load: LoadOptions::default(),
        drain_seconds: 0,
        log: "info".into(),
    }
}

type Change<'a> = &'a dyn Fn(&mut ServeOptions, &mut Secrets);

#[test]
fn the_operator_is_told_what_is_wrong_with_the_wallets() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let [_, _, key] = Issuer::new("operator").private_keys();
    let startup_error = |change: &dyn Fn(&mut ServeOptions, &mut Secrets)| {
        let mut options = live_options();
        let mut secrets =
            Secrets { vault_key: Some(OperatorKeys::generate("own").to_text().into()), ..Secrets::default() };
        change(&mut options, &mut secrets);
        let database = DatabaseOptions {
            database_url: None,
            data_dir: folder.path().into(),
            environment: Environment::Live,
            seed: None,
        };
        block_on(Parts::configured(&options, &database, &secrets)).err().map(|error| error.to_string())
    };
    let roots = file("roots.json", &Issuer::new("operator").published().to_string());
    let (garbage, no_certificate, no_key) = (
        file("garbage.json", "garbage"),
        file("a.json", r#"{"walletA": ["garbage"]}"#),
        file("g.json", r#"{"walletG": [{"keyValue": "AAAA", "protocolVersion": "ECv2"}]}"#),
    );
    assert_eq!(startup_error(&|_, _| {}), None);
    assert_eq!(startup_error(&|options, _| options.wallet_roots = Some(roots.clone())), None);
    assert_eq!(
        startup_error(&|options, secrets| {
            options.wallet_g_recipient = Some("gateway:own".into());
            secrets.wallet_g_key = Some(key.as_str().into());
        }),
        None
    );
    for (wrong, message) in [
        (
            garbage,
            "CARD_PAYMENTS_WALLET_ROOTS: must be {\"walletA\": [certificates in PEM], \"walletG\": [root signing keys]}",
        ),
        (no_certificate, "CARD_PAYMENTS_WALLET_ROOTS: walletA: certificate 1 is invalid"),
        (no_key, "CARD_PAYMENTS_WALLET_ROOTS: walletG: key 1 is invalid"),
        (folder.path().join("nowhere.json"), "CARD_PAYMENTS_WALLET_ROOTS: No such file"),
    ] {
        let startup_error = startup_error(&|options, _| options.wallet_roots = Some(wrong.clone())).unwrap();
        assert!(startup_error.starts_with(message), "{startup_error}");
    }
    let changes: [(Change<'_>, &str); 6] = [
        (
            &|_, secrets| secrets.wallet_g_key = Some(key.as_str().into()),
            "CARD_PAYMENTS_WALLET_G_RECIPIENT is required with CARD_PAYMENTS_WALLET_G_KEY",
        ),
        (
            &|options, _| options.wallet_g_recipient = Some("gateway:own".into()),
            "CARD_PAYMENTS_WALLET_G_KEY is required with CARD_PAYMENTS_WALLET_G_RECIPIENT",
        ),
        (
            &|options, secrets| {
                options.wallet_g_recipient = Some("merchant:own".into());
                secrets.wallet_g_key = Some(key.as_str().into());
            },
            "CARD_PAYMENTS_WALLET_G_RECIPIENT: must be gateway:",
        ),
        (
            &|options, secrets| {
                options.wallet_g_recipient = Some("gateway:own".into());
                secrets.wallet_g_key = Some("garbage".into());
            },
            "CARD_PAYMENTS_WALLET_G_KEY: is not a P-256 private key",
        ),
        (
            &|options, _| options.wallet_a_hosts = vec!["wallet.example".parse().unwrap()],
            "CARD_PAYMENTS_WALLET_A_IDENTITY is required with CARD_PAYMENTS_WALLET_A_HOSTS",
        ),
        (
            &|options, secrets| {
                options.wallet_a_hosts = vec!["wallet.example".parse().unwrap()];
                secrets.wallet_a_identity = Some(key.as_str().into());
            },
            "CARD_PAYMENTS_WALLET_A_IDENTITY: the certificate names no merchant",
        ),
    ];
    for (change, message) in changes {
        let startup_error = startup_error(change).unwrap();
        assert!(startup_error.starts_with(message), "{startup_error}");
    }
}
