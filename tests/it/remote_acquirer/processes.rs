//! The acquirer in a process of its own, which is killed, or stands still.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use acquirer::CallKey;
use card_payments::config::Environment;
use entity::TimeSpan;

use super::protocol::authorise;
use crate::crashes::points;
use crate::harness::process::{Process, pause, read_response};
use crate::harness::{App, Database, Installed, on_both, remote_acquirer, token_of};

const CARD: &str = "4200000000000000";

/// Starts a server that waits this long for its acquirer.
async fn server(database: Database, acquirer: &Process, answer: Duration) -> Option<App> {
    let client = remote_acquirer::client(acquirer.address, Environment::Test);
    client.greet().await.unwrap();
    App::start_with(database, client, answer).await
}

/// No process listens, so nothing is sent, and the server knows that at once.
async fn a_killed_acquirer_has_done_nothing_and_is_asked_again_when_it_is_back(database: Database) {
    let acquirer = remote_acquirer::process();
    let Some(app) = server(database, &acquirer, Duration::from_mins(1)).await else { return };
    let client = app.client();
    let token = client.card_token(CARD).await;
    let [captured, voided] = [client.authorised(400).await, client.authorised(400).await];
    let refunded = token_of(&client.captured(400).await);
    let address = acquirer.address.to_string();
    acquirer.killed();
    // Whoever meets the end of the connection that was kept cannot know that nothing was done: a question that changes nothing.
    assert!(app.ctx().acquirer.settle(&CallKey::new("nobody", "charge")).await.is_err());
    for _ in 0..2 {
        let failed = client.charge_by(&token).await.refused(502, "gateway_error");
        let failed = client.charge(failed["charge_token"].as_str().unwrap()).await;
        assert!(failed["status_message"] != "Pending", "{failed}");
        for (charge, verb) in [(&captured, "capture"), (&voided, "void")] {
            client.put_charge(charge, verb).await.refused(502, "gateway_error");
        }
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM charges WHERE settle_after IS NOT NULL").await, 0);
    let refund = token_of(&client.refund(&refunded, 100).await.ok(201));
    app.do_due_work().await;
    assert_eq!(app.anonymous().bytes("/readyz").await.0, 200, "it has been heard of");

    let _back = Process::start(&mut remote_acquirer::acquirer(&address));
    client.charge_by(&token).await.ok(201);
    assert_eq!(client.put_charge(&captured, "capture").await.ok(200)["captured"], true);
    assert_eq!(client.put_charge(&voided, "void").await.ok(200)["authorisation_voided"], true);
    for _ in 0..2 {
        app.clock.advance(TimeSpan::seconds(40));
        app.do_due_work().await;
    }
    assert_eq!(client.get(&format!("/1/refunds/{refund}")).await.ok(200)["success"], true);
    let failed = app.events().await.into_iter().filter(|event| *event == "charge.failed").count();
    assert_eq!((failed, client.listed().await), (2, 4));
    app.check_books().await;
}

on_both!(a_killed_acquirer_has_done_nothing_and_is_asked_again_when_it_is_back);

fn signal(process: &Process, name: &str) {
    let id = process.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_reached_an_acquirer_that_stood_still_is_settled_once() {
    let acquirer = remote_acquirer::process();
    let app = server(Database::Sqlite, &acquirer, Duration::from_secs(3)).await.unwrap();
    let client = app.client();
    let token = client.card_token(CARD).await;
    let charge = client.authorised(400).await;
    let (available, pending) = client.balance().await;
    signal(&acquirer, "-STOP");
    client.charge_by(&token).await.refused(502, "gateway_error");
    client.put_charge(&charge, "capture").await.refused(502, "gateway_error");
    signal(&acquirer, "-CONT");
    // What it finds in its queue comes before or after the worker's questions; either way all agree.
    while app.number("SELECT COUNT(*) FROM charges WHERE settle_after IS NOT NULL").await > 0 {
        app.clock.advance(TimeSpan::seconds(3600));
        app.do_due_work().await;
    }
    while client.charge(&charge).await["captured"] != true {
        client.put_charge(&charge, "capture").await;
        app.clock.advance(TimeSpan::seconds(3600));
        app.do_due_work().await;
    }
    assert_eq!(client.balance().await, (available, pending + 363));
    while client.charge_by(&token).await.status != 201 {
        app.clock.advance(TimeSpan::seconds(3600));
        app.do_due_work().await;
    }
    assert_eq!(client.balance().await, (available, pending + 2 * 363));
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_point_at_which_a_server_dies_is_settled_with_what_its_acquirer_remembers() {
    let acquirer = remote_acquirer::process();
    let mut installed = Installed::on(Database::Sqlite).await.unwrap();
    installed.with("ACQUIRER", &format!("http://{}", acquirer.address));
    installed.with("ACQUIRER_SECRET", remote_acquirer::SECRET);
    points::dies_around_calls(&installed).await;
    acquirer.stopped();
}

#[test]
fn an_acquirer_that_is_told_to_stop_answers_what_is_under_way_and_ends() {
    let acquirer = remote_acquirer::process();
    let request = authorise("ch_1:charge");
    let (head, body) = request.to_http();
    let mut stream = TcpStream::connect(acquirer.address).unwrap();
    stream.write_all(format!("{head}Expect: 100-continue\r\n\r\n").as_bytes()).unwrap();
    // An acquirer that asks for the body has begun.
    let mut begun = [0; 25];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
    acquirer.terminate();
    while TcpStream::connect(acquirer.address).is_ok() {
        pause(Duration::from_millis(10));
    }
    stream.write_all(body.as_bytes()).unwrap();
    let done = request.is_answered(&read_response(stream), 200);
    assert_eq!(done["result"], "done");
    let (code, log) = acquirer.ended();
    assert!(code == Some(0) && log.contains("stopping"), "{code:?} {log}");
}
