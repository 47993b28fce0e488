//! Requests that hold a connection while they wait shut nobody out (`docs/decisions.md`, 395).

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use web::connections::Connections;

use crate::harness::app::another_account;
use crate::harness::flaky_acquirer::CallFault;
use crate::harness::process::{PAYMENT, RawResponse, parsed, request};
use crate::harness::{App, Database, charge, eventually, on_both, rules};

/// A server of these rules takes so many connections, of which so many may wait.
const CONNECTIONS: usize = 8;
const WAITS: usize = 7;
/// Less than anything takes that ends by itself, and enough for a busy machine.
const SOON: Duration = Duration::from_secs(15);

/// Returns a request for events that never come, on a connection that is kept.
fn awaiting(key: &str) -> String {
    request("GET", "/1/events?wait=30&count=1000", Some(key), "").replace("Connection: close\r\n", "")
}

/// Opens a connection and sends some bytes.
async fn send(address: SocketAddr, bytes: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream
}

/// Returns the answer that comes within a time.
async fn answer_within(span: Duration, stream: &mut TcpStream) -> Option<RawResponse> {
    let mut text = Vec::new();
    let reading = async {
        while stream.read_buf(&mut text).await.is_ok_and(|bytes| bytes > 0) {
            if let Some(answer) = parsed(&String::from_utf8_lossy(&text))
                && answer.headers["content-length"] == answer.body.len().to_string()
            {
                return Some(answer);
            }
        }
        None
    };
    timeout(span, reading).await.ok().flatten()
}

async fn answer(stream: &mut TcpStream) -> RawResponse {
    answer_within(SOON, stream).await.expect("an answer")
}

async fn has_no_answer(stream: &mut TcpStream) -> bool {
    answer_within(Duration::from_millis(200), stream).await.is_none()
}

/// Sends the same on so many connections, each of which then waits.
async fn hold(connections: &Connections, address: SocketAddr, bytes: &str, many: usize) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    for _ in 0..many {
        streams.push(send(address, bytes).await);
        eventually(async || connections.waiting() == streams.len()).await;
    }
    streams
}

/// Serves more newcomers than there are connections: health checks, and requests of a key. Each comes when the former has gone.
async fn serves(connections: &Connections, address: SocketAddr, text: &str, status: u16) {
    let began = Instant::now();
    for _ in 0..CONNECTIONS {
        for (text, status) in [(&*request("GET", "/healthz", None, ""), 200), (text, status)] {
            assert_eq!(answer(&mut send(address, text).await).await.status, status);
            eventually(async || connections.taken().0 < CONNECTIONS).await;
        }
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

/// Takes all connections by waits of one key. Those that are too many end the oldest ones, with what there is; the others go on.
async fn waits_give_way(app: &App, newcomer: impl FnOnce(&str) -> String, status: u16) {
    let (address, connections) = app.listens(CONNECTIONS).await;
    let stranger = another_account(app.ctx()).await;
    let text = awaiting(app.secret_key());
    let mut waits = hold(&connections, address, &text, WAITS).await;
    for oldest in 0..CONNECTIONS - WAITS {
        waits.push(send(address, &text).await);
        assert!(answer(&mut waits[oldest]).await.ok(200).is_array());
    }
    assert_eq!(connections.taken(), (CONNECTIONS, CONNECTIONS));
    serves(&connections, address, &newcomer(stranger.secret.expose()), status).await;
    // A newcomer ends a wait rather than a connection that has just become idle.
    assert!(connections.waiting() >= WAITS - 1, "the others go on");
    while connections.waiting() < WAITS {
        let before = connections.waiting();
        waits.push(send(address, &text).await);
        eventually(async || connections.waiting() > before).await;
    }
    let mut modest = send(address, &awaiting(stranger.secret.expose())).await;
    assert!(has_no_answer(&mut modest).await, "an account with fewer goes on");
    eventually(async || connections.waiting() == WAITS).await;
    assert!(has_no_answer(waits.last_mut().unwrap()).await);
}

fn payment(key: &str) -> String {
    request("POST", "/1/charges", Some(key), PAYMENT)
}

rules! {
    async fn waits_of_one_key_shut_nobody_out(app) {
        waits_give_way(app, payment, 201).await;
    }

    async fn bodies_that_come_slowly_shut_nobody_out(app) {
        let stranger = another_account(app.ctx()).await;
        let card = request("POST", "/1/cards", None, PAYMENT);
        for (text, completed) in [(card, 401), (payment(app.secret_key()), 201)] {
            let (address, connections) = app.listens(CONNECTIONS).await;
            let (beginning, rest) = text.split_at(text.len() - 10);
            let mut bodies = hold(&connections, address, beginning, WAITS).await;
            for oldest in 0..CONNECTIONS - WAITS {
                bodies.push(send(address, beginning).await);
                let refused = answer(&mut bodies[oldest]).await;
                assert_eq!((refused.status, &refused.json()["error"]), (503, &json!("service_unavailable")));
                assert_eq!(refused.headers["retry-after"], "1");
            }
            serves(&connections, address, &payment(stranger.secret.expose()), 201).await;
            let last = bodies.last_mut().unwrap();
            last.write_all(rest.as_bytes()).await.unwrap();
            assert_eq!(answer(last).await.status, completed, "the others go on");
        }
        let charges = app.client().get("/1/charges").await;
        assert_eq!(charges.ok(200).as_array().unwrap().len(), 1, "of those with a whole body");
    }

    async fn requests_that_wait_for_their_turn_shut_nobody_out(app) {
        let (address, connections) = app.listens(CONNECTIONS).await;
        let stranger = another_account(app.ctx()).await;
        let in_flight = app.ctx().memory.snapshots.acquire(app.account().await).await.unwrap();
        let text = request("POST", "/1/sandbox/snapshots", Some(app.secret_key()), "").replace("Connection: close\r\n", "");
        let mut waits = hold(&connections, address, &text, WAITS).await;
        for oldest in 0..CONNECTIONS - WAITS {
            waits.push(send(address, &text).await);
            let refused = answer(&mut waits[oldest]).await;
            assert_eq!((refused.status, &refused.json()["error"]), (503, &json!("service_unavailable")));
        }
        serves(&connections, address, &payment(stranger.secret.expose()), 201).await;
        drop(in_flight);
        assert_eq!(answer(waits.last_mut().unwrap()).await.status, 201, "the others go on");
    }

    async fn a_body_whose_request_is_answered_holds_no_connection(app) {
        let (address, connections) = app.listens(CONNECTIONS).await;
        let refused = payment("sk_wrong");
        let mut unread = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = send(address, &refused[..refused.len() - 10]).await;
            assert_eq!(answer(&mut stream).await.status, 401);
            unread.push(stream);
        }
        serves(&connections, address, &payment(app.secret_key()), 201).await;
    }

    async fn a_wait_ends_with_the_reset_of_its_client(app) {
        let (address, connections) = app.listens(CONNECTIONS).await;
        // A connection that is closed over an unread answer is reset.
        let health = request("GET", "/healthz", None, "").replace("Connection: close\r\n", "");
        let streams = hold(&connections, address, &(health + &awaiting(app.secret_key())), 3).await;
        for stream in &streams {
            stream.readable().await.unwrap();
        }
        drop(streams);
        let gone = async || connections.waiting() == 0 && connections.taken().0 == 0;
        assert!(timeout(SOON, eventually(gone)).await.is_ok());
    }

    async fn a_client_that_has_closed_its_side_only_waits_on(app) {
        let (address, connections) = app.listens(CONNECTIONS).await;
        let text = request("GET", "/1/events?wait=30", Some(app.secret_key()), "");
        let mut wait = hold(&connections, address, &text, 1).await.remove(0);
        wait.shutdown().await.unwrap();
        assert!(has_no_answer(&mut wait).await);
        app.client().post("/1/charges", &charge(400)).await.ok(201);
        assert_eq!(answer(&mut wait).await.ok(200).as_array().unwrap().len(), 1);
    }
}

rules! {
    async fn a_connection_too_many_waits_while_all_others_have_a_request_under_way(app, acquirer) {
        let (address, _) = app.listens(2).await;
        acquirer.carry(CallFault::AnswerLate);
        let payment = payment(app.secret_key());
        let mut busy = [send(address, &payment).await, send(address, &payment).await];
        acquirer.called(2).await;
        let question = request("GET", "/healthz", None, "");
        let mut waiting =
            [send(address, &question).await, send(address, &question).await, send(address, &question).await];
        for newcomer in &mut waiting {
            assert!(has_no_answer(newcomer).await);
        }
        acquirer.carry(CallFault::Both);
        acquirer.release();
        acquirer.release();
        for newcomer in &mut waiting {
            assert_eq!(answer(newcomer).await.status, 200);
        }
        for paid in &mut busy {
            answer(paid).await.ok(201);
        }
    }
}

async fn in_live_waits_of_one_key_shut_nobody_out(database: Database) {
    let Some(app) = App::live(database).await else { return };
    waits_give_way(&app, |key| request("GET", "/1/balance", Some(key), ""), 200).await;
}

on_both!(in_live_waits_of_one_key_shut_nobody_out);
