//! The parser of walletA's signatures, `cms`, is a release candidate, and a client with a publishable key may send it any bytes:
//! nothing panics, nothing runs away, and no signature is believed for anything but what was signed.
//!
//! `CARD_PAYMENTS_FUZZ_ROUNDS` says how many inputs it is given; `CARD_PAYMENTS_FUZZ_SEED` repeats a run.

use std::time::{Duration, Instant};

use base::random::RandomSource;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use entity::Timestamp;
use wallet::certificate::MerchantKey;
use wallet::{DeviceCard, Merchant, WalletAToken};

use crate::harness::wallets::{DEVICE, MERCHANT};
use crate::wallets::parsers::{Fuzzer, rounds};

const NOW: Timestamp = Timestamp::from_millis(1_772_445_600_000);
const CARD: DeviceCard<'_> = DeviceCard { number: "4200000000000000", expiry_month: 5, expiry_year: 2030 };

/// A part of a signature: a tag, and what is in it.
#[derive(Clone)]
struct Part {
    tag: u8,
    inside: Inside,
}

#[derive(Clone)]
enum Inside {
    Bytes(Vec<u8>),
    Parts(Vec<Part>),
}

/// Reads what our own issuer writes: plain tags, definite lengths.
fn read(mut bytes: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    while let [tag, length, rest @ ..] = bytes {
        let (length, rest) = match *length {
            short @ 0..0x80 => (usize::from(short), rest),
            long => {
                let (length, rest) = rest.split_at(usize::from(long & 0x7f));
                (length.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte)), rest)
            }
        };
        let (inside, rest) = rest.split_at(length);
        // Of a constructed part.
        let inside =
            if tag & 0x20 == 0 { Inside::Bytes(inside.to_vec()) } else { Inside::Parts(read(inside)) };
        parts.push(Part { tag: *tag, inside });
        bytes = rest;
    }
    parts
}

/// Writes it; now and then as BER may: with lengths left open, or longer than they have to be, or none of anything.
fn write(parts: &[Part], odd: bool, drawn: &mut Fuzzer) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Part { tag, inside } in parts {
        let (inside, is_open) = match inside {
            Inside::Bytes(inside) => (inside.clone(), false),
            Inside::Parts(parts) => (write(parts, odd, drawn), true),
        };
        bytes.push(*tag);
        let kind = if odd { drawn.below(12) } else { 12 };
        let length = u32::try_from(inside.len()).unwrap().to_be_bytes();
        match (kind, inside.len()) {
            (0, _) if is_open => bytes.push(0x80),
            (1, _) => bytes.extend([[0x84].as_slice(), &length].concat()),
            (2, _) => bytes.extend([0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            (_, length @ 0..0x80) => bytes.push(u8::try_from(length).unwrap()),
            (_, 0x80..0x1_0000) => bytes.extend([&[0x82], &length[2..]].concat()),
            _ => bytes.extend([[0x84].as_slice(), &length].concat()),
        }
        bytes.extend(inside);
        if kind == 0 && is_open {
            bytes.extend([0, 0]);
        }
    }
    bytes
}

/// Does something to one part, somewhere.
fn reshape(parts: &mut Vec<Part>, drawn: &mut Fuzzer) {
    let at = drawn.below(parts.len());
    if let Some(Part { inside: Inside::Parts(below), .. }) = parts.get_mut(at)
        && !below.is_empty()
        && drawn.below(6) > 0
    {
        return reshape(below, drawn);
    }
    let other = drawn.below(parts.len());
    match drawn.below(9) {
        0 => drop(parts.remove(at)),
        1 => parts.insert(at, parts[other].clone()),
        2 => parts.swap(at, other),
        3 => parts[at].tag = [0x02, 0x04, 0x06, 0x30, 0x31, 0x80, 0xa0, 0xa1, 0xff][drawn.below(9)],
        4 => parts[at].tag ^= 1 << drawn.below(8),
        5 => {
            // Deeper than any program writes.
            for _ in 0..=drawn.below(200) {
                let inside = Inside::Parts(vec![parts[at].clone()]);
                parts[at] = Part { tag: [0x30, 0x31, 0xa0][drawn.below(3)], inside };
            }
        }
        6 => parts[at].inside = Inside::Parts(vec![parts[other].clone(); drawn.below(50)]),
        7 => parts[at].inside = Inside::Bytes(Vec::new()),
        _ => {
            if let Inside::Bytes(bytes) = &mut parts[at].inside
                && !bytes.is_empty()
            {
                drawn.spoil(bytes);
            }
        }
    }
}

fn signed(merchant: &Merchant) -> WalletAToken {
    DEVICE.wallet_a(CARD, (&merchant.key.public_pem().unwrap(), MERCHANT), NOW).unwrap()
}

fn merchant() -> Merchant {
    Merchant { key: MerchantKey::generate(&RandomSource::default()), merchant_id: MERCHANT.into() }
}

#[test]
fn no_signature_is_believed_for_what_it_does_not_sign() {
    let (merchant, roots) = (merchant(), DEVICE.roots());
    let (mut own, mut other) = (signed(&merchant), signed(&merchant));
    let genuine = own.open(&merchant, &roots, NOW).expect("the payload is good");
    let signature = STANDARD.decode(&own.signature).unwrap();
    let parts = read(&signature);
    let mut drawn = Fuzzer::new();
    assert!(write(&parts, false, &mut drawn) == signature, "it is read and written as it is");
    let mut believed = 0;
    for _ in 0..rounds() {
        let mut bytes = match drawn.below(4) {
            0 => signature.clone(),
            oddly => {
                let mut parts = parts.clone();
                for _ in 0..=drawn.below(3) {
                    reshape(&mut parts, &mut drawn);
                    if parts.is_empty() {
                        break;
                    }
                }
                write(&parts, oddly == 1, &mut drawn)
            }
        };
        if !bytes.is_empty() && drawn.below(3) == 0 {
            drawn.spoil(&mut bytes);
        }
        if bytes == signature {
            continue;
        }
        let text = STANDARD.encode(&bytes);
        other.signature.clone_from(&text);
        assert!(other.open(&merchant, &roots, NOW).is_err(), "believed for another payment: {text}");
        own.signature = text;
        // What is around a signature is not signed itself: what was signed is still the same.
        if let Ok(opened) = own.open(&merchant, &roots, NOW) {
            believed += 1;
            assert_eq!(
                (opened.payment, opened.card.number, opened.until),
                (genuine.payment.clone(), genuine.card.number.clone(), genuine.until),
                "{}",
                own.signature
            );
        }
    }
    println!("{believed} of {} were still the same signature", rounds());
    assert!(believed * 5 < rounds(), "{believed} were hardly changed at all");
}

#[test]
fn a_signature_however_deep_or_long_is_refused_soon() {
    let (merchant, roots) = (merchant(), DEVICE.roots());
    let mut own = signed(&merchant);
    let signature = STANDARD.decode(&own.signature).unwrap();
    let nested = |tag: u8, depth: usize| [tag, 0x80].repeat(depth);
    // As large as a request may be.
    let many = 500 * 1024;
    let began = Instant::now();
    for bytes in [
        nested(0x30, many / 2),
        nested(0x24, many / 2),
        nested(0xa0, many / 2),
        [&signature[..20], &nested(0x31, many / 2)].concat(),
        [
            &[0x30, 0x80, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02, 0xa0, 0x80],
            &nested(0x30, many / 2)[..],
        ]
        .concat(),
        [
            &[
                0x30, 0x80, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02, 0xa0, 0x80,
                0x30, 0x80, 0x02, 0x01, 0x01, 0x31, 0x80,
            ],
            &nested(0x30, many / 2)[..],
        ]
        .concat(),
        [[0x30, 0x80].as_slice(), &[0x05, 0x00].repeat(many / 2)].concat(),
        [[0x31, 0x84, 0x00, 0x07, 0xd0, 0x00].as_slice(), &[0x02, 0x01, 0x07].repeat(many / 3)].concat(),
    ] {
        own.signature = STANDARD.encode(bytes);
        assert!(own.open(&merchant, &roots, NOW).is_err());
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
