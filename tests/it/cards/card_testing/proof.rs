//! The long proof: attacks amid an honest load. `CARD_PAYMENTS_CARD_TESTING_CARDS` (200) says how many cards an attack tries.

use std::time::Duration;

use acquirer::simulator::{Numbers, Simulator};

use super::*;
use crate::harness::random::Random;

/// How many cards of an attack may reach the acquirer.
const STOPPED_WITHIN: usize = 20;

/// A number of sixteen digits with its check digit.
fn number(n: u64) -> String {
    let digits = format!("424242{n:09}");
    let doubled = digits.bytes().rev().enumerate().map(|(place, digit)| {
        let digit = u64::from(digit - b'0') * (2 - place as u64 % 2);
        digit / 10 + digit % 10
    });
    format!("{digits}{}", (10 - doubled.sum::<u64>() % 10) % 10)
}

/// A payment that the issuer declines or approves. Returns its code.
async fn pay(client: &Client, number: &str, address: &str, amount: i64, is_declined: bool) -> String {
    let parameters = charge_with(amount, json!({ "card": card(number), "ip_address": address }));
    let headers: &[_] = if is_declined { &[("Sandbox-Outcome", "card_declined")] } else { &[] };
    code(&post_with(client, "/1/charges", headers, &parameters).await)
}

/// An honest payment: of a household, of a carrier's network that many share, or of a shop that names its own address. One of
/// eight is declined, and then tried again with the same card. Returns how many were refused.
async fn honest(client: &Client, random: &mut Random) -> usize {
    let address = match random.below(4) {
        0 => "10.0.0.1".to_owned(),
        1 => format!("100.64.7.{}", random.below(250)),
        _ => format!("198.{}.{}.{}", 20 + random.below(60), random.below(250), random.below(250)),
    };
    let number = number(1_000_000 + random.below(100_000));
    let amount = 100 + i64::try_from(random.below(20_000)).unwrap();
    let mut refused = 0;
    for _ in 0..3 {
        let is_declined = random.below(8) == 0;
        let code = pay(client, &number, &address, amount, is_declined).await;
        refused += usize::from(code == "suspected_fraud");
        if code == "approved" {
            break;
        }
    }
    refused
}

/// How an attacker hides.
#[derive(Debug, Clone, Copy)]
enum Disguise {
    /// Not at all: one card in fifty is good.
    Nothing,
    /// Each eighth payment is one by a good card of his own.
    OwnCard,
    /// The addresses of a network in turn.
    Addresses,
}

/// Tries the cards. Returns how many reached the acquirer.
async fn attacks_with(client: &Client, disguise: Disguise, cards: u64, random: &mut Random) -> usize {
    let mut reached = 0;
    for n in 0..cards {
        let address = match disguise {
            Disguise::Nothing => "203.0.113.7".to_owned(),
            Disguise::OwnCard => "2001:db8:1::7".to_owned(),
            Disguise::Addresses => format!("192.0.2.{}", random.below(256)),
        };
        if matches!(disguise, Disguise::OwnCard) && n % 8 == 7 {
            pay(client, ACCEPTED, &address, 150, false).await;
        }
        let is_declined = random.below(50) > 0;
        let amount = 100 + i64::try_from(random.below(300)).unwrap();
        let code = pay(client, &number(n), &address, amount, is_declined).await;
        reached += usize::from(code != "suspected_fraud");
    }
    reached
}

async fn is_stopped_and_refuses_nobody_else(database: Database) {
    let cards =
        std::env::var("CARD_PAYMENTS_CARD_TESTING_CARDS").map_or(200, |number| number.parse().unwrap());
    let cards: u64 = if database == Database::Postgres { cards / 10 } else { cards };
    let acquirer = std::sync::Arc::new(Simulator::new(Numbers::All));
    let Some(app) = App::start_with(database, acquirer, Duration::from_secs(5)).await else { return };
    let client = watched(&app, "refuse").await;
    for (seed, disguise) in (1..).zip([Disguise::Nothing, Disguise::OwnCard, Disguise::Addresses]) {
        let (mut random, mut others) = (Random(seed), Random(seed + 100));
        let attack = attacks_with(&client, disguise, cards, &mut random);
        let load = async {
            let mut refused = 0;
            for _ in 0..cards / 2 {
                refused += honest(&client, &mut others).await;
            }
            refused
        };
        let (reached, refused) = tokio::join!(attack, load);
        assert!(reached <= STOPPED_WITHIN, "{disguise:?}: {reached} of {cards} cards reached the acquirer");
        assert_eq!(refused, 0, "{disguise:?}: honest customers");
        app.clock.advance(TimeSpan::seconds(3600));
    }
    app.check_books().await;
}

crate::harness::on_both!(is_stopped_and_refuses_nobody_else);
