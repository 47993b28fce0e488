//! A server that is killed in the middle of a long move of a clock: the same `to` goes on, nothing is skipped and
//! nothing happens twice.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, Days, SecondsFormat, Utc};
use serde_json::Value;

use super::{a_minute_passes, books_are_right, number};
use crate::harness::operated;
use crate::harness::process::{Process, pause, repeatable_request, try_to_ask};
use crate::harness::random::Random;

const CARDS: usize = 150;
const REFUNDS: usize = 60;
/// A card, from the parameters of a payment.
const CARD: &str = "number=4200000000000000&expiry_month=5&expiry_year=2030&cvc=123&name=Roland+Robot\
    &address_line1=42+Sevenoaks+St&address_city=Lathlain&address_country=AU";

operated! {
    async fn a_killed_move_goes_on(installed) {
        let seed = number("CARD_PAYMENTS_CRASH_SEED", getrandom::u64().unwrap() >> 1);
        println!("CARD_PAYMENTS_CRASH_SEED={seed}");
        let mut random = Random(seed);
        installed.with("LOG", "error");
        let mut server = installed.serve();
        let (secret, _) = server.keys();
        for _ in 0..REFUNDS {
            let charge = server.pay(&secret).ok(201);
            let path = format!("/1/charges/{}/refunds", charge["token"].as_str().unwrap());
            server.ask("POST", &path, Some(&secret), "").ok(201);
        }
        for _ in 0..CARDS {
            server.ask("POST", "/1/cards", Some(&secret), CARD).ok(201);
        }
        let shown = |server: &Process| server.ask("GET", "/1/sandbox/clock", Some(&secret), "").ok(200);
        let began = shown(&server)["now"].as_str().unwrap().to_owned();
        // Past all that is due, but for the events: those are kept.
        let to = began.parse::<DateTime<Utc>>().unwrap() + Days::new(60);
        let to = to.to_rfc3339_opts(SecondsFormat::Secs, true);
        let form = format!("to={}", to.replace(':', "%3A"));
        let (mut kills, mut before) = (0, began);
        let moved = loop {
            let (address, request) =
                (server.address, repeatable_request("PUT", "/1/sandbox/clock", Some(&secret), None, &form));
            let request = std::thread::spawn(move || try_to_ask(address, &request));
            if kills < 6 {
                pause(Duration::from_millis(20 + random.below(150)));
                drop(server);
                kills += 1;
                a_minute_passes(installed).await;
                server = installed.serve();
            }
            let answer = request.join().unwrap();
            let now = shown(&server)["now"].as_str().unwrap().to_owned();
            assert!(now >= before, "{now} is before {before}");
            before = now;
            match answer {
                Ok(response) if response.status == 200 => {
                    let moved = response.ok(200);
                    if moved["complete"] == true {
                        break moved;
                    }
                }
                // A dead server's lease on the clock may last a few seconds more.
                Ok(response) => assert_eq!(response.status, 409, "{}", response.body),
                Err(_) => {}
            }
            pause(Duration::from_millis(100));
        };
        println!("{kills} kills; the last move did {} of {}", moved["ran_count"], CARDS + 2 * REFUNDS);
        assert!(before >= to, "{before} is before {to}");
        happened_once(&server, &secret);
        let metrics = server.ask("GET", "/metrics", None, "").body;
        for kind in ["expired_card", "unsubmitted_refund", "settling_refund", "unsettled_charge"] {
            assert!(
                metrics.contains(&format!("card_payments_due_work{{kind=\"{kind}\"}} 0")),
                "{kind}: {metrics}"
            );
        }
        server.stopped();
        books_are_right(installed);
    }
}

/// Each refund has succeeded, once.
fn happened_once(server: &Process, secret: &str) {
    let list = |path: &str| server.ask("GET", path, Some(secret), "").ok(200).as_array().unwrap().clone();
    let refunds = list("/1/refunds?per_page=500");
    assert_eq!(refunds.len(), REFUNDS);
    assert!(refunds.iter().all(|refund| refund["success"] == true), "{refunds:?}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let events = list("/1/events?per_page=500");
    let settled = events.iter().filter(|event| event["type"] == "refund.succeeded");
    let settled: Vec<_> = settled.map(|event| text(&event["data"]["token"])).collect();
    assert_eq!((settled.len(), settled.iter().collect::<BTreeSet<_>>().len()), (REFUNDS, REFUNDS));
}
