//! What is left by a process that dies right before or after the commit of a transfer, of a settlement, or of a transfer
//! that comes back: each happens once, and the books are right.

use std::time::Duration;

use chrono::{DateTime, Days, SecondsFormat, Utc};
use serde_json::Value;

use super::{a_minute_passes, books_are_right, dies_at};
use crate::harness::operated;
use crate::harness::process::{PAYMENT, Process, RawResponse, pause, repeatable_request, try_to_ask};

const POINTS: [&str; 6] = [
    "transfer.outcome.before",
    "transfer.outcome.after",
    "settlement.outcome.before",
    "settlement.outcome.after",
    "transfer_return.outcome.before",
    "transfer_return.outcome.after",
];

operated! {
    async fn a_payout_is_paid_once(installed) {
        let server = installed.serve();
        let (first, _) = server.keys();
        let made = server.ask("POST", "/1/sandbox/accounts", Some(&first), "").ok(201);
        let key = made["secret_key"].as_str().unwrap();
        server
            .ask("PUT", "/1/sandbox/account", Some(key), "transfers_schedule=daily&settlement_delay_days=0")
            .ok(200);
        let payee =
            "email=payee@example.com&bank_account[name]=N&bank_account[bsb]=736032&bank_account[number]=999";
        let returns = server.ask("POST", "/1/recipients", Some(key), payee).ok(201);
        let order =
            format!("description=out&amount=100&currency=AUD&recipient={}", returns["token"].as_str().unwrap());
        server.stopped();
        for point in POINTS {
            let server = installed.serve();
            server.ask("POST", "/1/charges", Some(key), PAYMENT).ok(201);
            let (method, path, form) = if point.starts_with("transfer.") {
                ("POST", "/1/transfers", order.clone())
            } else {
                server.ask("POST", "/1/transfers", Some(key), &order).ok(201);
                ("PUT", "/1/sandbox/clock", format!("to={}", two_days_later(&server, key)))
            };
            server.stopped();
            let request = repeatable_request(method, path, Some(key), Some(point), &form);
            assert!(dies_at(installed, point, &request).is_err(), "{point}");
            a_minute_passes(installed).await;
            let server = installed.serve();
            let done = send_again(&server, &request);
            let replayed = done.headers.contains_key("idempotent-replayed");
            assert_eq!(replayed, point == "transfer.outcome.after", "{point}");
            server.stopped();
        }
        let server = installed.serve();
        let to = format!("to={}", two_days_later(&server, key));
        server.ask("PUT", "/1/sandbox/clock", Some(key), &to).ok(200);
        let list = |path: &str| server.ask("GET", &format!("/1/{path}?per_page=500"), Some(key), "").ok(200);
        let transfers = list("transfers");
        let transfers = transfers.as_array().unwrap();
        let of = |description: &str| {
            transfers.iter().filter(|transfer| transfer["description"] == description).count()
        };
        assert_eq!(of("out"), POINTS.len(), "one for each point");
        assert!(of("Settlement") >= POINTS.len() - 1, "{transfers:?}");
        let events = list("events");
        let happened =
            |what: &str| events.as_array().unwrap().iter().filter(|event| event["type"] == what).count();
        assert_eq!((happened("transfer.created"), happened("transfer.failed")), (transfers.len(), POINTS.len()));
        let charges = list("charges");
        let paid = |charge: &Value| charge["transfer"].as_array().unwrap().len() == 1;
        assert!(charges.as_array().unwrap().iter().all(paid), "{charges}");
        // Whatever came in by charges has gone out, and whatever was sent back is there again.
        let balance = server.ask("GET", "/1/balance", Some(key), "").ok(200);
        assert_eq!(balance["available"][0]["amount"], 100_000_000);
        server.stopped();
        books_are_right(installed);
    }
}

fn two_days_later(server: &Process, key: &str) -> String {
    let clock = server.ask("GET", "/1/sandbox/clock", Some(key), "").ok(200);
    let now: DateTime<Utc> = clock["now"].as_str().unwrap().parse().unwrap();
    (now + Days::new(2)).to_rfc3339_opts(SecondsFormat::Secs, true).replace(':', "%3A")
}

/// Repeats the request until it succeeds: a dead server's lease on the clock may last a few seconds more.
fn send_again(server: &Process, request: &str) -> RawResponse {
    for _ in 0..300 {
        let response = try_to_ask(server.address, request).unwrap();
        if response.status < 300 {
            return response;
        }
        assert_eq!(response.status, 409, "{}", response.body);
        pause(Duration::from_millis(200));
    }
    panic!("the clock was never let go");
}
