//! Transfers that race never exceed the available balance (`docs/decisions.md`, 198 and 203).
//! `CARD_PAYMENTS_RACE_ROUNDS` says how often each race is run.

use entity::TimeSpan;
use futures::future::join_all;
use http::{Method, header};
use serde_json::json;

use crate::harness::sending::send_slowly;
use crate::harness::{at_once, rounds, rules, token_of};
use crate::transfers::over_the_balance;

const RACERS: usize = 64;

rules! {
    async fn of_64_transfers_against_one_balance_as_many_win_as_it_covers(app) {
        let client = app.client().patient();
        let recipient = token_of(&client.recipient("987654321").await);
        app.opens_with(10_000).await;
        let mut left = 10_000;
        for round in 0..rounds() {
            // To the recipient each costs 130.
            let (to, cost) = if round % 2 == 0 { (recipient.as_str(), 130) } else { ("self", 100) };
            let answers = at_once((0..RACERS).map(|_| {
                let (client, to) = (client.clone(), to.to_owned());
                async move { client.transfer(100, &to).await }
            })).await;
            let won = answers.iter().filter(|answer| answer.status == 201).count();
            let covered = Ord::min(i64::try_from(RACERS).unwrap(), left / cost);
            assert_eq!(i64::try_from(won).unwrap(), covered);
            for answer in answers.iter().filter(|answer| answer.status != 201) {
                over_the_balance(answer);
            }
            left -= covered * cost;
            assert_eq!(client.balance().await, (left, 0));
        }
    }

    async fn a_transfer_that_began_before_midnight_sees_what_was_taken_after_it(app) {
        let client = app.client();
        app.opens_with(10_000).await;
        let request = client.request(Method::POST, "/1/transfers").header(header::CONTENT_TYPE, "application/json");
        let order = json!({ "description": "Late", "amount": 10_000, "currency": "AUD", "recipient": "self" });
        let (late, rest) = send_slowly(&client, request, order.to_string()).await;
        app.clock.advance(TimeSpan::days(1));
        client.transfer(10_000, "self").await.ok(201);
        rest();
        over_the_balance(&late.await.unwrap());
        assert_eq!(client.balance().await, (0, 0));
    }

    async fn refunds_and_transfers_take_turns_over_one_balance(app) {
        let client = app.client().patient();
        client.set(serde_json::json!({ "settlement_delay_days": 0 })).await;
        app.opens_with(0).await;
        for _ in 0..rounds() {
            let charges = join_all((0..8).map(|_| client.captured(1_000))).await;
            let charges: Vec<_> = charges.iter().map(token_of).collect();
            let (available, _) = client.balance().await;
            let answers = at_once((0..RACERS).map(|n| {
                // Each charge covers the four refunds that are asked of it.
                let (client, charge) = (client.clone(), charges[n / 2 % 8].clone());
                async move {
                    if n % 2 == 0 {
                        client.refund(&charge, 200).await
                    } else {
                        client.transfer(200, "self").await
                    }
                }
            })).await;
            let won = answers.iter().filter(|answer| answer.status == 201).count();
            for answer in answers.iter().filter(|answer| answer.status != 201) {
                assert_eq!(answer.status, 402, "{}", answer.text);
            }
            let taken = 200 * i64::try_from(won).unwrap();
            assert_eq!(client.balance().await, (available - taken, 0));
            // A refund may take an amount that a transfer must leave, but neither takes more than there is.
            assert!((0..200).contains(&(available - taken)));
        }
    }

    async fn a_recipient_that_changes_is_paid_where_it_was_or_where_it_is(app) {
        let client = app.client().patient();
        let recipient = token_of(&client.recipient("100").await);
        for round in 0..rounds() {
            let number = |n: usize| format!("{}", 101 + round * 8 + n);
            let answers = at_once((0..16).map(|n| {
                let (client, recipient, number) = (client.clone(), recipient.clone(), number(n / 2));
                async move {
                    if n % 2 == 0 {
                        let change = serde_json::json!({ "bank_account": crate::harness::bank_account(&number) });
                        client.put(&format!("/1/recipients/{recipient}"), &change).await
                    } else {
                        client.transfer(1, &recipient).await
                    }
                }
            })).await;
            assert!(answers.iter().all(|answer| answer.status < 300), "{answers:?}");
        }
        assert_eq!(app.number("SELECT COUNT(*) FROM bank_accounts").await, 2, "the account's own, and the recipient's");
    }
}
