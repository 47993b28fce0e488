//! How long it takes to verify and open one payload of each wallet: `cargo run --release --example wallets`.

use std::time::Instant;

use base::random::RandomSource;
use entity::Timestamp;
use wallet::certificate::MerchantKey;
use wallet::{DeviceCard, Issuer, Merchant};

const TIMES: u32 = 1_000;

fn main() {
    let now = Timestamp::from_millis(1_772_445_600_000);
    let card = DeviceCard { number: "4200000000000000", expiry_month: 5, expiry_year: 2030 };
    let (device, key) = (Issuer::built_in(), MerchantKey::generate(&RandomSource::default()));
    let public_key = key.public_pem().expect("a public key");
    let merchant = Merchant { key, merchant_id: "merchant.com.example.shop".into() };
    let (roots, gateway) = (device.roots(), device.gateway());
    let wallet_a = device.wallet_a(card, (&public_key, &merchant.merchant_id), now).expect("a payload");
    let wallet_g = device.wallet_g(card, (&gateway, "acct_x"), now).expect("a payload");
    timed("walletA EC_v1", || wallet_a.open(&merchant, &roots, now).is_ok());
    timed("walletG ECv2", || wallet_g.open(&gateway, &roots, now).is_ok());
}

fn timed(what: &str, opens: impl Fn() -> bool) {
    let start = Instant::now();
    assert!((0..TIMES).all(|_| opens()), "{what}");
    println!("{what}: {} us", start.elapsed().as_micros() / u128::from(TIMES));
}
