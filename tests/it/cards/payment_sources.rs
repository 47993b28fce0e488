//! Payment sources (specification, Payment source and Payment sources; `docs/decisions.md`, 109 to 112).

use entity::TimeSpan;
use http::Method;
use serde_json::{Value, json};

use crate::harness::sending::{form, request};
use crate::harness::wallets::network_token;
use crate::harness::{App, Client, Proof, at_once, card, charge_with, fields, rounds, rules, token_of};

const PATH: &str = "/1/payment_sources";

impl Client {
    /// Parameters of a payment source of each type, all of the same card.
    async fn sources(&self) -> Vec<Value> {
        let number = "4200000000000000";
        vec![
            json!({ "type": "card", "source": card(number) }),
            self.wallet_payload("walletApay", number).await,
            self.wallet_payload("walletGpay", number).await,
            network_token(number),
        ]
    }
}

fn by_source(token: &Value) -> Value {
    charge_with(400, json!({ "card": null, "payment_source_token": token }))
}

const NOT_VALID: [(&str, &str); 1] = [("payment_source_token", "Payment source token is not valid")];

/// The address of the card inside.
fn card_of(source: &Value) -> String {
    format!("/1/cards/{}", token_of(&source["source"]))
}

rules! {
    #[dated]
    async fn each_type_is_stored_with_a_card_inside(app) {
        let client = app.client();
        let expiries = [(5, 2030), (3, 2029), (3, 2029), (5, 2030)];
        for (parameters, (month, year)) in client.sources().await.iter().zip(expiries) {
            let answer = client.post(PATH, parameters).await;
            assert_eq!(fields(&answer.json()), ["response", "ip_address"]);
            let source = answer.ok(201);
            assert_eq!(fields(&source), ["token", "type", "source"]);
            assert_eq!(source["type"], parameters["type"]);
            assert!(token_of(&source).starts_with("ps_") && token_of(&source).len() == 25);
            let card = &source["source"];
            assert_eq!(client.get(&card_of(&source)).await.ok(200), *card);
            assert_eq!(card["display_number"], "XXXX-XXXX-XXXX-0000");
            assert_eq!((&card["scheme"], &card["issuing_country"]), (&json!("visa"), &json!("AU")));
            assert_eq!((&card["expiry_month"], &card["expiry_year"]), (&json!(month), &json!(year)));
            let (kind, format) = match parameters["type"].as_str().unwrap() {
                "card" => (Value::Null, Value::Null),
                "network_token" => (json!("visa"), json!("cryptogram_3ds")),
                wallet => (json!(wallet), json!("cryptogram_3ds")),
            };
            assert_eq!((&card["network_type"], &card["network_format"]), (&kind, &format));
            let personal = ["name", "address_line1", "address_city", "address_postcode", "address_state", "address_country"];
            for field in personal {
                assert_eq!(card[field].is_null(), !kind.is_null(), "{field}");
            }
            assert_eq!((&card["customer_token"], &card["primary"]), (&Value::Null, &Value::Null));
        }
    }

    async fn a_source_pays_one_charge_or_one_authorisation(app) {
        let client = app.client();
        for path in ["/1/charges", "/1/authorisations"] {
            for parameters in client.sources().await {
                let source = client.payment_source(&parameters).await;
                let payment = client.post(path, &by_source(&source["token"])).await.ok(201);
                assert_eq!(payment["card"], source["source"], "as it was charged");
                assert_eq!(payment["success"], true);
                for again in ["/1/charges", "/1/authorisations"] {
                    app.unchanged(client.post(again, &by_source(&source["token"]))).await.refused(400, "token_already_used");
                }
                app.unchanged(client.charge_by(&token_of(&source["source"]))).await.refused(400, "token_already_used");
            }
        }
    }

    async fn the_card_inside_shares_the_use(app) {
        let client = app.client();
        for parameters in client.sources().await {
            let source = client.payment_source(&parameters).await;
            client.charge_by(&token_of(&source["source"])).await.ok(201);
            app.unchanged(client.post("/1/charges", &by_source(&source["token"]))).await.refused(400, "token_already_used");
        }
        for parameters in client.sources().await {
            let source = client.payment_source(&parameters).await;
            let customer = json!({ "email": "a@example.com", "card_token": source["source"]["token"] });
            let customer = client.post("/1/customers", &customer).await.ok(201);
            app.unchanged(client.post("/1/charges", &by_source(&source["token"]))).await.refused(400, "token_already_used");
            // Now it is the customer's, and is charged by the customer's name again and again.
            for _ in 0..2 {
                client.post("/1/charges", &charge_with(400, json!({ "card": null, "customer_token": customer["token"] }))).await.ok(201);
            }
        }
    }

    async fn a_decline_spends_a_source_and_a_failure_does_not(app) {
        let client = app.client();
        let declined = client.payment_source(&client.wallet_payload("walletGpay", "4100000000000001").await).await;
        client.post("/1/charges", &by_source(&declined["token"])).await.refused(400, "card_declined");
        app.unchanged(client.post("/1/charges", &by_source(&declined["token"]))).await.refused(400, "token_already_used");
        let failing = client.payment_source(&network_token("4300000000000009")).await;
        for _ in 0..2 {
            client.post("/1/charges", &by_source(&failing["token"])).await.refused(502, "gateway_error");
        }
    }

    async fn a_source_expires_with_its_card_after_a_month(app) {
        let client = app.client();
        let sources = [client.payment_source(&network_token("4200000000000000")).await, client.payment_source(&network_token("4200000000000000")).await];
        client.move_clock("27d").await;
        client.post("/1/charges", &by_source(&sources[0]["token"])).await.ok(201);
        client.move_clock("4d").await;
        app.invalid("/1/charges", &by_source(&sources[1]["token"]), &NOT_VALID).await;
        client.get(&card_of(&sources[1])).await.not_found();
    }

    async fn only_a_source_of_the_account_is_one(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let source = client.payment_source(&network_token("4200000000000000")).await;
        let refused = app.unchanged(stranger.post("/1/charges", &by_source(&source["token"]))).await;
        refused.faulty(&NOT_VALID);
        // A card that was stored as a card is none, and neither is anything else.
        let stored = client.card_token("4200000000000000").await.replace("card_", "ps_");
        for token in [stored.as_str(), "ps_x", "ps_AAAAAAAAAAAAAAAAAAAAAA", &token_of(&source["source"])] {
            app.invalid("/1/charges", &by_source(&json!(token)), &NOT_VALID).await;
        }
        let both = charge_with(400, json!({ "payment_source_token": source["token"] }));
        let sentence = "Exactly one of card, card_token, payment_source_token or customer_token is required";
        app.invalid("/1/charges", &both, &[("card", sentence)]).await;
        client.post("/1/charges", &by_source(&source["token"])).await.ok(201);
    }

    async fn faults_of_a_card_and_of_a_network_token_are_all_told(app) {
        app.invalid(PATH, &json!({}), &[("type", "Type can't be blank"), ("source", "Source can't be blank")]).await;
        let unlisted = json!({ "type": "applepay", "source": {} });
        app.invalid(PATH, &unlisted, &[("type", "Type is not included in the list"), ("source", "Source can't be blank")]).await;
        for (kind, source) in [("card", json!(null)), ("network_token", json!({})), ("walletApay", json!("")), ("walletGpay", json!(null))] {
            app.invalid(PATH, &json!({ "type": kind, "source": source }), &[("source", "Source can't be blank")]).await;
        }
        for kind in ["card", "network_token", "walletApay", "walletGpay"] {
            app.invalid(PATH, &json!({ "type": kind, "source": "a" }), &[("source", "Source is not valid")]).await;
        }
        app.invalid(PATH, &json!({ "type": "card", "source": { "number": "4200000000000001", "cvc": "12", "expiry_month": 13 } }), &[
            ("source.number", "Source number is not valid"),
            ("source.expiry_month", "Source expiry month must be at most 12"),
            ("source.expiry_year", "Source expiry year can't be blank"),
            ("source.cvc", "Source cvc is not valid"),
            ("source.name", "Source name can't be blank"),
            ("source.address_line1", "Source address line1 can't be blank"),
            ("source.address_city", "Source address city can't be blank"),
            ("source.address_country", "Source address country can't be blank"),
        ]).await;
        app.invalid(PATH, &json!({ "type": "network_token", "source": { "eci": "05" } }), &[
            ("source.number", "Source number can't be blank"),
            ("source.network_type", "Source network type can't be blank"),
            ("source.expiry_month", "Source expiry month can't be blank"),
            ("source.expiry_year", "Source expiry year can't be blank"),
            ("source.cryptogram", "Source cryptogram can't be blank"),
        ]).await;
        let mut token = network_token("4200000000000001");
        token["source"]["expiry_month"] = json!(2);
        token["source"]["expiry_year"] = json!(25);
        token["source"]["network_type"] = json!("x".repeat(256));
        token["source"]["eci"] = json!("x".repeat(256));
        token["source"]["cryptogram"] = json!("x".repeat(1001));
        app.invalid(PATH, &token, &[
            ("source.number", "Source number is not valid"),
            ("source.network_type", "Source network type is too long (maximum is 255 characters)"),
            ("source.expiry_month", "Source expiry month is expired"),
            ("source.expiry_year", "Source expiry year is expired"),
            ("source.eci", "Source eci is too long (maximum is 255 characters)"),
            ("source.cryptogram", "Source cryptogram is too long (maximum is 1000 characters)"),
        ]).await;
        let mut token = network_token("4200000000000000");
        token["source"]["eci"] = json!("05\nAgAA");
        app.invalid(PATH, &token, &[("source.eci", "Source eci is not valid")]).await;
    }

    async fn a_form_says_the_same_as_json(app) {
        let client = app.client();
        for mut parameters in client.sources().await {
            if parameters["type"] == "network_token" {
                parameters["source"].as_object_mut().unwrap().remove("eci");
            }
            let source = client.post_form(PATH, &parameters).await.ok(201);
            client.post("/1/charges", &by_source(&source["token"])).await.ok(201);
        }
    }

    async fn a_browser_stores_a_source_by_its_publishable_key(app) {
        let (client, anonymous) = (app.client(), app.anonymous());
        for parameters in client.sources().await {
            anonymous.post(PATH, &parameters).await.refused(401, "unauthorized");
            let mut keyed = parameters.clone();
            keyed["publishable_api_key"] = json!(app.publishable_key());
            let source = if parameters["type"] == "walletApay" {
                let path = format!("{PATH}.json?callback=F&_method=POST&{}", form(&keyed, true));
                let script = request(&anonymous, Method::GET, &path, &[]).await;
                let json = script.text.strip_prefix("/**/F(").and_then(|rest| rest.strip_suffix(");")).expect("a script");
                let body: Value = serde_json::from_str(json).unwrap();
                assert!(body["response"].is_object(), "{body}: {path}");
                body["response"].clone()
            } else {
                anonymous.post(PATH, &keyed).await.ok(201)
            };
            client.post("/1/charges", &by_source(&source["token"])).await.ok(201);
        }
    }

    async fn of_the_sources_token_and_the_cards_one_wins(app) {
        let client = app.client();
        for _ in 0..rounds() {
            let source = client.payment_source(&network_token("4200000000000000")).await;
            let by_card = charge_with(400, json!({ "card": null, "card_token": source["source"]["token"] }));
            let answers = at_once((0..16).map(|n| {
                let body = if n % 2 == 0 { by_source(&source["token"]) } else { by_card.clone() };
                let (client, path) = (client.clone(), if n % 3 == 0 { "/1/authorisations" } else { "/1/charges" });
                async move { client.post(path, &body).await }
            }))
            .await;
            assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
            for lost in answers.iter().filter(|answer| answer.status != 201) {
                lost.refused(400, "token_already_used");
            }
        }
    }

    async fn of_the_same_payload_at_the_same_moment_one_is_stored(app) {
        let client = app.client();
        for wallet in ["walletApay", "walletGpay"] {
            let payload = client.wallet_payload(wallet, "4200000000000000").await;
            let answers = at_once((0..16).map(|_| {
                let (client, payload) = (client.clone(), payload.clone());
                async move { client.post(PATH, &payload).await }
            }))
            .await;
            assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
            for lost in answers.iter().filter(|answer| answer.status != 201) {
                lost.faulty(&[("source", "Source is not valid")]);
            }
        }
    }
}

/// Nothing that is stored has these bytes.
async fn nowhere(app: &App, text: &str) {
    let everything = app.everything().await;
    assert!(!everything.windows(text.len()).any(|window| window == text.as_bytes()), "{text}");
}

rules! {
    async fn the_proof_goes_to_the_acquirer_instead_of_a_cvc_and_is_kept_no_longer(app, acquirer) {
        let client = app.client();
        let cryptogram = "AgAAAAAABk4DWZ4C28yUQAAAAAA=";
        let source = client.payment_source(&network_token("4200000000000000")).await;
        let kept = "SELECT COUNT(*) FROM cards WHERE network_sealed IS NOT NULL AND cvc_sealed IS NULL";
        assert_eq!(app.number(kept).await, 1);
        nowhere(app, cryptogram).await;
        client.post("/1/charges", &by_source(&source["token"])).await.ok(201);
        let proof = Proof { cvc: None, network: Some((Some("05".into()), cryptogram.into())) };
        assert_eq!(acquirer.proofs(), [proof]);
        assert_eq!(app.number(kept).await, 0);
        for wallet in ["walletApay", "walletGpay"] {
            let source = client.payment_source(&client.wallet_payload(wallet, "4200000000000000").await).await;
            client.post("/1/charges", &by_source(&source["token"])).await.ok(201);
            let Proof { cvc: None, network: Some((Some(eci), cryptogram)) } = acquirer.proofs().pop().unwrap() else {
                panic!("{:?}", acquirer.proofs())
            };
            assert!(eci.trim_start_matches('0') == "5" && cryptogram.len() == 28, "{eci} {cryptogram}");
            nowhere(app, &cryptogram).await;
        }
        // Without an indicator, and with a customer's card none of it.
        let mut token = network_token("4200000000000000");
        token["source"]["eci"] = json!("");
        let source = client.payment_source(&token).await;
        client.charge_by(&token_of(&source["source"])).await.ok(201);
        assert_eq!(acquirer.proofs().pop().unwrap().network, Some((None, cryptogram.into())));
        let source = client.payment_source(&network_token("4200000000000000")).await;
        let customer = json!({ "email": "a@example.com", "card_token": source["source"]["token"] });
        let customer = client.post("/1/customers", &customer).await.ok(201);
        client.post("/1/charges", &charge_with(400, json!({ "card": null, "customer_token": customer["token"] }))).await.ok(201);
        assert_eq!(acquirer.proofs().pop().unwrap(), Proof { cvc: None, network: None });
    }

    async fn a_sources_token_is_free_again_where_nothing_was_charged(app, acquirer) {
        let client = app.client();
        let source = client.payment_source(&client.wallet_payload("walletApay", "4200000000000000").await).await;
        acquirer.carry(crate::harness::flaky_acquirer::CallFault::Call);
        client.post("/1/charges", &by_source(&source["token"])).await.refused(502, "gateway_error");
        acquirer.carry(crate::harness::flaky_acquirer::CallFault::Both);
        client.post("/1/charges", &by_source(&source["token"])).await.ok(201);
        let proofs = acquirer.proofs();
        assert_eq!(proofs[0], proofs[1], "the same payment, so the same proof");
        app.clock.advance(TimeSpan::seconds(30));
    }
}
