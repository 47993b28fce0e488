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
fn an_inbox_takes_what_is_signed_and_nothing_else() {
    let server = Server::start();
    let account = server.create_account();
    let inbox = account.open_inbox();
    let address = inbox.url.trim_start_matches("http://").trim_end_matches('/');
    let mut forged = TcpStream::connect(address).unwrap();
    write!(
        forged,
        "POST / HTTP/1.1\r\nwebhook-id: evt_1\r\nwebhook-signature: v1,AAAA\r\nContent-Length: 2\r\n\r\n{{}}"
    )
    .unwrap();
    let mut answer = String::new();
    forged.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    account.request("POST", "/1/plans", &plan()).unwrap();
    assert_eq!(inbox.wait_for("plan.created")["data"]["name"], "Tea");
    assert_eq!(inbox.wait_at_most(Duration::from_millis(100), "plan.created"), None);
    assert_eq!(inbox.events().len(), 1);
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
