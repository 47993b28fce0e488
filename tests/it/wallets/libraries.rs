//! Payloads mean the same to libraries that others have published: theirs open ours, and ours opens theirs. `.ci/run`
//! installs them.

use std::io::Write;
use std::process::{Command, Stdio};

use base::clock::Clock;
use card_payments::services::wallets::certificates;
use entity::TimeSpan;
use p256::SecretKey;
use p256::pkcs8::{EncodePrivateKey, LineEnding};
use serde_json::{Value, json};

use crate::harness::process::machine_time;
use crate::harness::wallets::{DEVICE, MERCHANT, VALID, certify};
use crate::harness::{App, rules};
use crate::webhooks::verifiers::{PYTHON, installed, root};

const PATH: &str = "/1/payment_sources";

/// What a script makes of its input.
fn run(program: &str, script: &str, verb: &str, input: &Value) -> Value {
    let program = if program.contains('/') { root().join(program) } else { program.into() };
    let mut script = Command::new(program)
        .arg(root().join("tests/verifiers").join(script))
        .arg(verb)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    script.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = script.wait_with_output().unwrap();
    assert!(output.status.success(), "{verb}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The account's keys are sealed; libraries need them in the open.
async fn private_key(app: &App, certificate: &Value) -> String {
    let hash = certificate["public_key_hash"].as_str().unwrap();
    let time = app.work_time().await;
    let merchant = certificates::merchant(app.ctx(), time.account(), hash).await.unwrap().unwrap();
    let key = SecretKey::from_slice(&merchant.key.to_bytes()).unwrap();
    key.to_pkcs8_pem(LineEnding::LF).unwrap().to_string()
}

rules! {
    #[dated]
    async fn published_libraries_and_we_open_each_others_wallet_a_payloads(app) {
        if !installed() {
            return;
        }
        let client = app.client();
        let certificate = client.wallet_certificate().await;
        let params = json!({ "type": "walletApay", "number": "5520000000000000", "certificate_token": certificate["token"] });
        let token = client.post("/1/sandbox/wallet_payloads", &params).await.ok(201)["source"].clone();
        let public_key = certificate["public_key"].as_str().unwrap();
        let opened = run("node", "wallet_a.mjs", "open", &json!({
            "token": token,
            "certificatePem": certify(public_key, &format!("UID={MERCHANT}"), VALID),
            "privateKeyPem": private_key(app, &certificate).await,
            "rootPem": DEVICE.published()["walletA"][0],
        }));
        assert_eq!(opened["verified"], true, "{opened}");
        assert_eq!(opened["opened"]["applicationPrimaryAccountNumber"], "5520000000000000");
        assert_eq!(opened["opened"]["applicationExpirationDate"], "290331");
        assert_eq!(opened["opened"]["paymentDataType"], "3DSecure");

        let plain = json!({
            "applicationPrimaryAccountNumber": "372000000000000", "applicationExpirationDate": "301231", "currencyCode": "036",
            "transactionAmount": 1500, "deviceManufacturerIdentifier": "040010030273", "paymentDataType": "3DSecure",
            "paymentData": { "onlinePaymentCryptogram": "AgAAAAAABk4DWZ4C28yUQAAAAAA=" },
        });
        for indefinite in [false, true] {
            let theirs = run("node", "wallet_a.mjs", "seal", &json!({
                "plain": plain, "publicKeyPem": public_key, "merchantId": MERCHANT, "deviceKeyPem": DEVICE.private_keys()[0],
                "certificates": DEVICE.certificates(), "signedAt": app.ctx().clock.now().millis(), "indefinite": indefinite,
            }));
            let source = client.post(PATH, &json!({ "type": "walletApay", "source": theirs })).await.ok(201);
            let card = &source["source"];
            assert_eq!((&card["display_number"], &card["expiry_month"], &card["expiry_year"]), (&json!("XXX-XXXX-XXXX-0000"), &json!(12), &json!(2030)));
        }
    }

    async fn published_libraries_and_we_open_each_others_wallet_g_payloads(app) {
        if !installed() {
            return;
        }
        let client = app.client();
        // The library has the machine's clock, of which the tests' is months behind.
        app.clock.advance(machine_time() - app.clock.now());
        let params = json!({ "type": "walletGpay", "number": "5520000000000000" });
        let token = client.post("/1/sandbox/wallet_payloads", &params).await.ok(201)["source"].clone();
        let [_, root_key, gateway_key] = DEVICE.private_keys();
        let recipient = "gateway:cardpayments";
        let opened = run(PYTHON, "wallet_g.py", "open", &json!({
            "token": token, "roots": DEVICE.published()["walletG"], "recipient": recipient, "privateKeyPem": gateway_key,
        }));
        assert_eq!(opened["paymentMethodDetails"]["pan"], "5520000000000000");
        assert_eq!(opened["paymentMethodDetails"]["authMethod"], "CRYPTOGRAM_3DS");
        let account = opened["gatewayMerchantId"].clone();

        let until = (app.ctx().clock.now() + TimeSpan::days(1)).millis().to_string();
        let details = json!({
            "pan": "372000000000000", "expirationMonth": 12, "expirationYear": 2099, "authMethod": "CRYPTOGRAM_3DS",
            "cryptogram": "AgAAAAAABk4DWZ4C28yUQAAAAAA=", "eciIndicator": "05",
        });
        let older = json!({
            "dpan": "372000000000000", "expirationMonth": 12, "expirationYear": 2099, "authMethod": "3DS",
            "3dsCryptogram": "AgAAAAAABk4DWZ4C28yUQAAAAAA=", "3dsEciIndicator": "05",
        });
        let pan_only = json!({ "pan": "372000000000000", "expirationMonth": 12, "expirationYear": 2099, "authMethod": "PAN_ONLY" });
        for (n, (version, details)) in [("ECv2", &details), ("ECv1", &details), ("ECv1", &older), ("ECv2", &pan_only)].into_iter().enumerate() {
            let plain = json!({
                "gatewayMerchantId": account, "messageExpiration": until, "messageId": format!("message {n}"), "paymentMethod": "CARD",
                "paymentMethodDetails": details,
            });
            let theirs = run(PYTHON, "wallet_g.py", "seal", &json!({
                "plain": plain, "version": version, "gatewayKeyPem": gateway_key, "recipient": recipient, "rootKeyPem": root_key,
                "keyExpiration": until,
            }));
            let source = client.post(PATH, &json!({ "type": "walletGpay", "source": theirs })).await.ok(201);
            let card = &source["source"];
            assert_eq!((&card["display_number"], &card["expiry_year"], &card["network_format"]), (&json!("XXX-XXXX-XXXX-0000"), &json!(2099), &json!("cryptogram_3ds")));
        }
    }
}
