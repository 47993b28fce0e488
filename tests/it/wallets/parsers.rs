//! Whatever is handed over as a wallet's payload, a certificate or a file of roots: nothing panics, and nothing but the
//! very payment that was sealed comes out.
//!
//! `CARD_PAYMENTS_FUZZ_ROUNDS` says how many inputs each parser is given; `CARD_PAYMENTS_FUZZ_SEED` repeats a run.

use base::random::{RandomSource, random};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use entity::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wallet::certificate::{Certified, MerchantKey};
use wallet::{DecryptedPayload, DeviceCard, Merchant, Roots, WalletAToken, WalletGToken};

use crate::harness::wallets::{DEVICE, MERCHANT, VALID, certify, texts};

const NOW: Timestamp = Timestamp::from_millis(1_772_445_600_000);
const CARD: DeviceCard<'_> = DeviceCard { number: "4200000000000000", expiry_month: 5, expiry_year: 2030 };

/// Numbers that look drawn; the same seed gives the same ones.
pub struct Fuzzer(u64);

impl Fuzzer {
    pub fn new() -> Self {
        let seed = std::env::var("CARD_PAYMENTS_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| u64::from_le_bytes(random()) | 1);
        println!("CARD_PAYMENTS_FUZZ_SEED={seed}");
        Self(seed)
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (end.max(1) as u64)).unwrap()
    }

    /// Bytes with one to three things wrong.
    pub fn spoil(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let (at, other) = (self.below(bytes.len()), self.below(bytes.len()));
            let (from, to) = (at.min(other), at.max(other));
            match self.below(9) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(from..to)),
                2 => bytes.extend_from_within(from..to),
                3 => bytes.insert(at, u8::try_from(self.below(256)).unwrap()),
                4 => bytes.swap(from, to),
                // Lengths, tags and bounds of DER and JSON.
                5 if !bytes.is_empty() => {
                    bytes[at] = [0x00, 0x30, 0x7f, 0x80, 0x84, 0xa0, 0xff, b'"', b'{'][self.below(9)];
                }
                _ if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                _ => bytes.push(0x30),
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
    }
}

/// Returns how many inputs each parser is given.
pub fn rounds() -> usize {
    std::env::var("CARD_PAYMENTS_FUZZ_ROUNDS").map_or(10_000, |rounds| rounds.parse().unwrap())
}

/// Spoil a token in every way, and open what is left.
fn opens_nothing_else<T: Serialize + DeserializeOwned>(
    good: &T,
    open: impl Fn(&T) -> Option<DecryptedPayload>,
) {
    let genuine = open(good).expect("the payload is good");
    let good = serde_json::to_value(good).unwrap();
    let mut paths = Vec::new();
    texts(&good, "", &mut paths);
    let mut drawn = Fuzzer::new();
    for _ in 0..rounds() {
        let mut spoilt = good.clone();
        let text = spoilt.pointer_mut(&paths[drawn.below(paths.len())]).unwrap();
        let old = text.as_str().unwrap();
        let new = match (STANDARD.decode(old), drawn.below(4)) {
            // Mostly below the spelling, where the formats are.
            (Ok(mut bytes), 1..) if !bytes.is_empty() => {
                drawn.spoil(&mut bytes);
                STANDARD.encode(bytes)
            }
            _ => {
                let mut bytes = old.as_bytes().to_vec();
                drawn.spoil(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
        *text = new.into();
        if let Some(opened) = open(&serde_json::from_value(spoilt).unwrap()) {
            // Parts of a signature are not signed themselves.
            assert_eq!(
                (opened.payment, opened.card.number),
                (genuine.payment.clone(), genuine.card.number.clone())
            );
        }
    }
}

#[test]
fn wallet_a_payloads() {
    let key = MerchantKey::generate(&RandomSource::default());
    let token = DEVICE.wallet_a(CARD, (&key.public_pem().unwrap(), MERCHANT), NOW).unwrap();
    let (merchant, roots) = (Merchant { key, merchant_id: MERCHANT.into() }, DEVICE.roots());
    opens_nothing_else(&token, |token: &WalletAToken| token.open(&merchant, &roots, NOW).ok());
}

#[test]
fn wallet_g_payloads() {
    let (gateway, roots) = (DEVICE.gateway(), DEVICE.roots());
    let tokens = [
        DEVICE.wallet_g(CARD, (&gateway, "acct_x"), NOW).unwrap(),
        DEVICE.wallet_g_v1(CARD, (&gateway, "acct_x"), NOW).unwrap(),
    ];
    for token in tokens {
        opens_nothing_else(&token, |token: &WalletGToken| token.open(&gateway, &roots, NOW).ok());
    }
}

#[test]
fn certificates_and_roots() {
    let key = MerchantKey::generate(&RandomSource::default());
    let pem = certify(&key.public_pem().unwrap(), &format!("UID={MERCHANT}"), VALID);
    assert_eq!(Certified::read(&pem).unwrap().merchant_id, MERCHANT);
    let base64: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let der = STANDARD.decode(base64).unwrap();
    let roots = DEVICE.published().to_string();
    Roots::parse(&roots).unwrap();
    let mut drawn = Fuzzer::new();
    for _ in 0..rounds() {
        let mut bytes = der.clone();
        drawn.spoil(&mut bytes);
        let spoilt =
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(&bytes));
        let _ = Certified::read(&spoilt);
        let mut text = if drawn.below(2) == 0 { pem.as_bytes().to_vec() } else { roots.as_bytes().to_vec() };
        drawn.spoil(&mut text);
        let text = String::from_utf8_lossy(&text);
        let _ = (Certified::read(&text), Roots::parse(&text));
    }
}
