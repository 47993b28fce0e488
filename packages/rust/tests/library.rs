//! The library, against the program.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use card_payments_testing::{Options, Server};
use serde_json::{Value, json};

fn plan() -> Value {
    json!({ "name": "Tea", "amount": 1000, "interval": 1, "interval_unit": "month" })
}

#[test]
fn each_test_has_an_account_of_its_own() {
    let server = Server::start();
    let (one, other) = (server.create_account(), server.create_account());
    one.request("POST", "/1/plans", &plan()).unwrap();
    assert_eq!(one.request("GET", "/1/plans", &Value::Null).unwrap().as_array().unwrap().len(), 1);
    assert_eq!(other.request("GET", "/1/plans", &Value::Null).unwrap(), json!([]));
    let key = one.secret_key.clone();
    drop(one);
    let gone = Server::connect(&server.url, &key).request("GET", "/1/plans", &Value::Null).unwrap_err();
    assert_eq!((gone.status, gone.code()), (401, "unauthorized"));
}

#[test]
fn an_error_says_what_was_refused() {
    let server = Server::start();
    let refused = server.request("POST", "/1/plans", &json!({})).unwrap_err();
    assert!(
        refused.to_string().starts_with("POST /1/plans: 422 unprocessable_entity: Validation failure"),
        "{refused}"
    );
}

#[test]
fn a_clock_is_moved_by_a_span_or_to_a_time() {
    let server = Server::start();
    let account = server.create_account();
    account.move_clock(&json!({ "advance": "1d" })).unwrap();
    assert_eq!(account.move_clock(&json!({ "to": "2090-01-01" })).unwrap(), [Value::Null; 0]);
    let clock = account.request("GET", "/1/sandbox/clock", &Value::Null).unwrap();
    assert!(clock["now"].as_str().unwrap().starts_with("2090-01-01"), "{clock}");
}

#[test]
fn an_inbox_gives_events_that_are_signed_and_shows_all_that_arrives() {
    let server = Server::start();
    let account = server.create_account();
    let inbox = account.open_inbox();
    assert_eq!(inbox.deliveries(0), [Value::Null; 0]);
    let (host, path) = inbox.url.trim_start_matches("http://").split_once('/').unwrap();
    let mut forged = TcpStream::connect(host).unwrap();
    write!(
        forged,
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nwebhook-id: evt_1\r\nwebhook-signature: v1,AAAA\r\n\
         Connection: close\r\nContent-Length: 2\r\n\r\n{{}}"
    )
    .unwrap();
    forged.read_to_string(&mut String::new()).unwrap();
    account.request("POST", "/1/plans", &plan()).unwrap();
    assert_eq!(inbox.wait_for("plan.created")["data"]["name"], "Tea");
    assert_eq!(inbox.wait_at_most(Duration::ZERO, "plan.created"), None);
    let deliveries = inbox.deliveries(2);
    assert_eq!((&deliveries[0]["signature"], &deliveries[0]["body"]), (&json!("invalid"), &json!("{}")));
    assert_eq!(deliveries[1]["signature"], "valid");
}

#[test]
fn an_inbox_answers_as_ordered() {
    let server = Server::start();
    let account = server.create_account();
    let inbox = account.open_inbox();
    inbox.answer(&json!({ "status": 503, "every": 2 })).unwrap();
    for _ in 0..2 {
        account.request("POST", "/1/plans", &plan()).unwrap();
        let _ = inbox.wait_for("plan.created");
    }
    let statuses = inbox.deliveries(0).into_iter().map(|delivery| delivery["status"].clone());
    assert_eq!(statuses.collect::<Vec<_>>(), [200, 503]);
}

#[test]
fn a_server_has_fixtures_and_a_log_and_ends() {
    let folder = std::env::temp_dir().join(format!("card-payments-testing-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let (fixtures, log) = (folder.join("shop.yaml"), folder.join("server.log"));
    std::fs::write(&fixtures, "plans:\n  tea: { name: Tea, amount: 1000, every: month }\n").unwrap();
    let options = Options { fixtures: Some(fixtures), log: Some(log.clone()), sample: false };
    let server = Server::start_with(&options);
    assert_eq!(server.request("GET", "/1/plans", &Value::Null).unwrap()[0]["name"], "Tea");
    let address = server.url.trim_start_matches("http://").to_owned();
    drop(server);
    assert!(TcpStream::connect(address).is_err());
    assert!(std::fs::read_to_string(&log).unwrap().contains("\"/1/plans\""));
    std::fs::remove_dir_all(&folder).unwrap();
}
