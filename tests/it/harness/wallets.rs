//! Wallets of testers: certificates as a provider issues them, and devices.

use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

use base::hexadecimal;
use der::EncodePem;
use der::asn1::{GeneralizedTime, ObjectIdentifier, OctetString};
use der::pem::LineEnding;
use p256::PublicKey;
use p256::ecdsa::{DerSignature, SigningKey};
use p256::pkcs8::DecodePublicKey;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wallet::Issuer;
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{Builder, CertificateBuilder};
use x509_cert::certificate::TbsCertificate;
use x509_cert::ext::Extension;
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{SubjectPublicKeyInfo, SubjectPublicKeyInfoRef};
use x509_cert::time::{Time, Validity};

use super::client::Client;
use super::fixtures::token_of;

/// The merchant that certificates of tests name.
pub const MERCHANT: &str = "merchant.com.example.shop";

/// The providers' other half of the test environment.
pub static DEVICE: LazyLock<Issuer> = LazyLock::new(Issuer::built_in);

/// The days in which the tests' wall clock begins.
pub const VALID: [&str; 2] = ["2026-01-01", "2030-01-01"];

struct Profile {
    subject: Name,
    merchant: String,
}

impl BuilderProfile for Profile {
    fn get_issuer(&self, _: &Name) -> Name {
        Name::from_str("CN=Provider of tests").unwrap()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        _: SubjectPublicKeyInfoRef<'_>,
        _: SubjectPublicKeyInfoRef<'_>,
        _: &TbsCertificate,
    ) -> x509_cert::builder::Result<Vec<Extension>> {
        // Other libraries take the merchant from here: a UTF-8 string with the hash in hexadecimal.
        let hash = hexadecimal::encode(&Sha256::digest(&self.merchant));
        let value = [&[12, 64], hash.as_bytes()].concat();
        let extn_id = ObjectIdentifier::new_unwrap("1.2.840.113635.100.6.32");
        Ok(vec![Extension { extn_id, critical: false, extn_value: OctetString::new(value)? }])
    }
}

/// Makes a certificate for a public key, in PEM. Its subject is `CN=...`, or with a merchant `UID=...`.
pub fn certify(public_pem: &str, subject: &str, [from, until]: [&str; 2]) -> String {
    let time = |day: &str| {
        let day = day.parse::<chrono::NaiveDate>().unwrap().and_time(chrono::NaiveTime::MIN).and_utc();
        let since_epoch = Duration::from_secs(day.timestamp().try_into().unwrap());
        Time::GeneralTime(GeneralizedTime::from_unix_duration(since_epoch).unwrap())
    };
    let public = PublicKey::from_public_key_pem(public_pem).unwrap();
    let merchant = subject.trim_start_matches("UID=").to_owned();
    let profile = Profile { subject: Name::from_str(subject).unwrap(), merchant };
    let validity = Validity::new(time(from), time(until));
    let public = SubjectPublicKeyInfo::from_key(&public).unwrap();
    let builder = CertificateBuilder::new(profile, SerialNumber::from(7_u32), validity, public).unwrap();
    let certificate = builder.build::<_, DerSignature>(&SigningKey::from_slice(&[7; 32]).unwrap()).unwrap();
    certificate.to_pem(LineEnding::LF).unwrap()
}

/// Collects the paths of all texts in a payload.
pub fn texts(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                texts(item, &format!("{at}/{n}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                texts(field, &format!("{at}/{name}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Client {
    /// Makes a key. Returns the provider's certificate for it and [`MERCHANT`], in PEM.
    pub async fn issued_certificate(&self) -> String {
        let made = self.post("/1/walletA_pay/certificates", &json!({})).await.ok(201);
        certify(made["public_key"].as_str().unwrap(), &format!("UID={MERCHANT}"), VALID)
    }

    /// Makes an active certificate.
    pub async fn wallet_certificate(&self) -> Value {
        let pem = self.issued_certificate().await;
        self.put("/1/walletA_pay/certificates", &json!({ "pem": pem })).await.ok(200)
    }

    /// Returns a test device's payload of a card: parameters of a payment source.
    pub async fn wallet_payload(&self, wallet: &str, number: &str) -> Value {
        let mut params = json!({ "type": wallet, "number": number });
        if wallet == "walletApay" {
            params["certificate_token"] = token_of(&self.wallet_certificate().await).into();
        }
        self.post("/1/sandbox/wallet_payloads", &params).await.ok(201)
    }

    /// Stores a payment source.
    pub async fn payment_source(&self, parameters: &Value) -> Value {
        self.post("/1/payment_sources", parameters).await.ok(201)
    }
}

/// Returns the parameters of a payment source with this card number.
pub fn network_token(number: &str) -> Value {
    json!({
        "type": "network_token",
        "source": {
            "number": number, "network_type": "visa", "expiry_month": 5, "expiry_year": 2030,
            "eci": "05", "cryptogram": "AgAAAAAABk4DWZ4C28yUQAAAAAA=",
        },
    })
}
