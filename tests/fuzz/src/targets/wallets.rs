//! Payloads of wallets, certificates and roots. The first byte of an input says what it is, the second which part of a genuine payload it
//! replaces.

use std::sync::{Arc, LazyLock};

use base::random::RandomSource;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use card_payments::params;
use entity::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;
use validator::Validate;
use wallet::certificate::{Certified, MerchantKey};
use wallet::{DecryptedPayload, DeviceCard, Gateway, Issuer, Merchant, Roots, WalletAToken, WalletGToken};

use super::{Target, inputs};

const NOW: Timestamp = Timestamp::from_millis(1_772_445_600_000);
const CARD: DeviceCard<'_> = DeviceCard { number: "4200000000000000", expiry_month: 5, expiry_year: 2030 };

pub const TARGET: Target = Target {
    name: "wallets",
    hold,
    samples,
    words: &[
        "EC_v1",
        "ECv1",
        "ECv2",
        "\"keyExpiration\":\"1\"",
        "\"encryptedMessage\":",
        "\"ephemeralPublicKey\":",
        "\"tag\":",
        "\"walletG\":[{",
        "\"walletA\":[",
        "-----BEGIN CERTIFICATE-----\n",
        "-----BEGIN PRIVATE KEY-----\n",
        "gateway:",
        "\x30\x03\u{2}\u{1}\u{1}",
        "\x06\x03\x55\x04\x03",
    ],
};

/// The genuine payloads, and who can open them.
struct Genuine {
    merchant: Merchant,
    gateway: Gateway,
    roots: Roots,
    payloads: [Value; 3],
    published: String,
    certificate: Vec<u8>,
}

static GENUINE: LazyLock<Genuine> = LazyLock::new(|| {
    let random = Arc::new(RandomSource::seeded("parsers"));
    let key = MerchantKey::generate(&random);
    let issuer = Issuer::built_in().drawing_from(random);
    let gateway = issuer.gateway();
    let public = key.public_pem().expect("a key");
    let a = issuer.wallet_a(CARD, (&public, "merchant.com.example.shop"), NOW).expect("a payload");
    let g = [
        issuer.wallet_g(CARD, (&gateway, "acct_x"), NOW).expect("a payload"),
        issuer.wallet_g_v1(CARD, (&gateway, "acct_x"), NOW).expect("a payload"),
    ];
    let [g2, g1] = g.map(|token| serde_json::to_value(token).expect("JSON"));
    let [device, _] = issuer.certificates();
    let base64: String = device.lines().filter(|line| !line.starts_with('-')).collect();
    Genuine {
        merchant: Merchant { key, merchant_id: "merchant.com.example.shop".into() },
        payloads: [serde_json::to_value(a).expect("JSON"), g2, g1],
        roots: issuer.roots(),
        published: issuer.published().to_string(),
        certificate: STANDARD.decode(base64).expect("PEM"),
        gateway,
    }
});

/// The texts of a payload, as JSON pointers.
fn parts(value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::String(_) => vec![path.to_owned()],
        Value::Object(fields) => {
            fields.iter().flat_map(|(name, field)| parts(field, &format!("{path}/{name}"))).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, item)| parts(item, &format!("{path}/{at}"))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn samples() -> Vec<Vec<u8>> {
    let mut samples = inputs(["c", "r{\"walletA\":[],\"walletG\":[]}", "j{\"protocolVersion\":\"ECv2\"}"]);
    for (kind, payload) in (0..).zip(&GENUINE.payloads) {
        samples.push([b"j".to_vec(), payload.to_string().into()].concat());
        for (at, path) in (0..).zip(parts(payload, "")) {
            let text = payload.pointer(&path).and_then(Value::as_str).unwrap_or_default();
            samples.push([vec![kind, at], text.into()].concat());
            if let Ok(bytes) = STANDARD.decode(text) {
                samples.push([vec![kind, at | 0x80], bytes].concat());
            }
        }
    }
    samples.push([b"c".to_vec(), GENUINE.certificate.clone()].concat());
    samples.push([b"r".to_vec(), GENUINE.published.clone().into()].concat());
    samples
}

fn hold(input: &[u8]) {
    let Some((kind, rest)) = input.split_first() else { return };
    match kind {
        b'c' => hold_certificate(rest),
        b'j' => {
            if let Ok(payload) = serde_json::from_slice(rest) {
                (0..3).for_each(|kind| hold_payload(kind, &payload));
            }
        }
        b'r' => {
            let text = String::from_utf8_lossy(rest);
            let _ = (
                Roots::parse(&text),
                Certified::read(&text),
                Gateway::new(&text, "gateway:x"),
                Gateway::new("", &text),
            );
        }
        kind => {
            let kind = usize::from(kind % 3);
            let (Some((part, bytes)), mut payload) = (rest.split_first(), GENUINE.payloads[kind].clone())
            else {
                return;
            };
            let parts = parts(&payload, "");
            // Mostly below the spelling, where the formats are.
            let text =
                if part & 0x80 == 0 { String::from_utf8_lossy(bytes).into() } else { STANDARD.encode(bytes) };
            if let Some(slot) = payload.pointer_mut(&parts[usize::from(part & 0x7f) % parts.len()]) {
                *slot = text.into();
            }
            hold_payload(kind, &payload);
        }
    }
}

/// Holds that nothing but the very payment that was sealed comes out.
fn hold_payload(kind: usize, payload: &Value) {
    let Genuine { merchant, gateway, roots, .. } = &*GENUINE;
    let open = |payload: &Value| -> Option<DecryptedPayload> {
        match kind {
            0 => read::<WalletAToken>(payload)?.open(merchant, roots, NOW).ok(),
            _ => read::<WalletGToken>(payload)?.open(gateway, roots, NOW).ok(),
        }
    };
    let Some(opened) = open(payload) else { return };
    // Both protocols of walletG open by one key.
    let genuine = GENUINE.payloads.iter().filter_map(&open);
    assert!(
        genuine
            .into_iter()
            .any(|genuine| genuine.payment == opened.payment && genuine.card.number == opened.card.number),
        "no other payment comes out"
    );
}

fn read<T: DeserializeOwned + Validate>(payload: &Value) -> Option<T> {
    params::read(payload).valid().ok()
}

fn hold_certificate(der: &[u8]) {
    let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(der));
    let Ok(certified) = Certified::read(&pem) else { return };
    let name = &certified.merchant_id;
    assert!(!name.trim().is_empty() && name.chars().count() <= 256 && !name.contains('\0'), "{name:?}");
    assert_eq!(STANDARD.decode(&certified.public_key_hash).map(|hash| hash.len()), Ok(32));
}
