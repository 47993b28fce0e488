//! What a server does not take on it refuses at once, with 503 and `Retry-After` (`docs/decisions.md`, 95), and what it has
//! let in keeps its pace.

mod open_loop;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use base::permits::Permit;
use entity::refund;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use http::{Method, header};
use sea_orm::EntityTrait;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use web::server::raise_file_limit;

use self::open_loop::{OpenLoop, RawResponse, Shot};
use crate::harness::flaky_acquirer::CallFault;
use crate::harness::process::{
    PAYMENT, Process, in_shell, pause, program, read_first_response, read_response, request,
};
use crate::harness::sending::{self, form, send_slowly};
use crate::harness::{
    Answer, App, Client, application, card, charge, charge_with, eventually, rules, token_of,
};

#[track_caller]
fn assert_busy(answer: &Answer) {
    answer.refused(503, "service_unavailable");
    assert_eq!(answer.headers["retry-after"], "1");
}

/// A body of more than 16 KiB: a charge with an unknown parameter.
fn large() -> Value {
    charge_with(400, json!({ "unknown": "x".repeat(20_000) }))
}

async fn is_free(app: &App) {
    eventually(async || app.gate().requests().taken().0 == 0).await;
}

/// A payment that has released its permit, because its body is not complete. The second value sends the rest.
async fn paying_slowly(app: &App) -> (JoinHandle<Answer>, impl FnOnce() + use<>) {
    let client = app.client();
    let request = client.request(Method::POST, "/1/charges").header(header::CONTENT_TYPE, "application/json");
    let (paying, rest) = send_slowly(&client, request, charge(400).to_string()).await;
    is_free(app).await;
    (paying, rest)
}

rules! {
    async fn no_more_wait_for_a_place_than_four_times_as_many_as_there_are(app, _line) {
        app.takes_on(None, 1).await;
        let place = app.gate().requests().try_acquire(None, 1);
        let client = app.client();
        let mut requests: FuturesUnordered<_> = (0..6).map(|_| client.get("/1/balance")).collect();
        // Two of them, whichever: they do not wait for those that wait.
        assert_busy(&requests.next().await.unwrap());
        assert_busy(&requests.next().await.unwrap());
        drop(place);
        while let Some(waited) = requests.next().await {
            // Its second may be over on a slow machine.
            if waited.status == 503 { assert_busy(&waited) } else { drop(waited.ok(200)) }
        }
    }

    async fn a_request_without_a_permit_is_refused_and_changes_nothing(app, _line) {
        app.takes_on(None, 1).await;
        let place = app.gate().requests().try_acquire(None, 1);
        assert_busy(&app.unchanged(app.client().post("/1/charges", &charge(400))).await);
        assert_busy(&app.client().get("/1/balance").await);
        // It costs the database nothing to say no, so keys are not looked at.
        assert_busy(&app.anonymous().get("/1/balance").await);
        sending::request(&app.client(), Method::GET, "/1/nothing", &[]).await.refused(404, "resource_not_found");
        drop(place);
        app.client().post("/1/charges", &charge(400)).await.ok(201);
        is_free(app).await;
    }

    async fn whoever_watches_over_a_server_is_always_let_in(app, _line) {
        app.takes_on(None, 1).await;
        let _place = app.gate().requests().try_acquire(None, 1);
        for path in ["/healthz", "/readyz", "/metrics"] {
            assert_eq!(app.anonymous().bytes(path).await.0, 200, "{path}");
        }
    }

    async fn a_script_tag_hears_of_it_inside_of_its_call(app, _line) {
        app.takes_on(None, 1).await;
        let _place = app.gate().requests().try_acquire(None, 1);
        let (key, parameters) = (app.publishable_key(), form(&card("4200000000000000"), true));
        let path = format!("/1/cards?callback=f&_method=POST&publishable_api_key={key}&{parameters}");
        let answer = app.unchanged(sending::request(&app.anonymous(), Method::GET, &path, &[])).await;
        assert_eq!((answer.status, &answer.headers["retry-after"]), (200, &"1".parse().unwrap()));
        assert!(answer.text.starts_with("/**/f({\"error\":\"service_unavailable\""), "{}", answer.text);
    }

    async fn a_payment_that_waits_for_the_acquirer_leaves_its_place_to_others(app, acquirer) {
        app.takes_on(None, 1).await;
        acquirer.carry(CallFault::AnswerLate);
        let client = app.client();
        let paying = tokio::spawn(async move { client.post("/1/charges", &charge(400)).await });
        acquirer.called(1).await;
        is_free(app).await;
        app.client().get("/1/balance").await.ok(200);
        acquirer.release();
        paying.await.unwrap().ok(201);
    }

    async fn a_body_that_comes_slowly_leaves_its_place_to_others(app, _line) {
        app.takes_on(None, 1).await;
        let (paying, rest) = paying_slowly(app).await;
        app.client().get("/1/balance").await.ok(200);
        rest();
        paying.await.unwrap().ok(201);
    }

    async fn a_request_whose_body_has_come_at_last_needs_a_permit_again(app, _line) {
        app.takes_on(None, 1).await;
        let (paying, rest) = paying_slowly(app).await;
        let place = app.gate().requests().try_acquire(None, 1);
        rest();
        assert_busy(&app.unchanged(async { paying.await.unwrap() }).await);
        drop(place);
        app.client().post("/1/charges", &charge(400)).await.ok(201);
    }

    async fn long_work_that_waits_leaves_its_place_to_others(app, _line) {
        app.takes_on(None, 1).await;
        let account = app.account().await;
        let memory = &app.ctx().memory;
        for (permits, path, body) in [
            (&memory.passwords, "/1/merchants", application()),
            (&memory.snapshots, "/1/sandbox/snapshots", json!({})),
        ] {
            let held = permits.acquire(account).await.unwrap();
            let client = app.client();
            let sent = body.clone();
            let waiting = tokio::spawn(async move { client.post(path, &sent).await });
            eventually(async || permits.waiting() == 1).await;
            assert_eq!(app.gate().requests().taken().0, 0, "{path}");
            app.client().post("/1/charges", &charge(400)).await.ok(201);
            app.stranger().await.post(path, &body).await.ok(201);
            assert!(!waiting.is_finished(), "an account has one at a time");
            drop(held);
            waiting.await.unwrap().ok(201);
        }
    }

    async fn few_large_bodies_are_held_at_a_time(app, _line) {
        app.takes_on(None, 1).await;
        let room = app.gate().large_body().await.unwrap();
        assert_busy(&app.unchanged(app.client().post("/1/charges", &large())).await);
        app.client().post("/1/charges", &charge(400)).await.ok(201);
        drop(room);
        app.client().post("/1/charges", &large()).await.ok(201);
        drop(app.gate().large_body().await.unwrap());
    }
}

rules! {
    async fn a_clock_that_is_moved_leaves_its_place_to_others(app, acquirer) {
        app.takes_on(None, 1).await;
        let client = app.client();
        let charge = token_of(&client.captured(400).await);
        client.refund(&charge, 400).await.ok(201);
        acquirer.carry(CallFault::AnswerLate);
        let calls = acquirer.calls().len();
        let (ctx, time) = (app.ctx().clone(), app.work_time().await);
        let row = refund::Entity::find().one(ctx.store.read()).await.unwrap().unwrap();
        let worker = tokio::spawn(async move { card_payments::services::refunds::submit(&ctx, &time, row).await });
        acquirer.called(calls + 1).await;
        // It waits for the worker.
        let caller = client.clone();
        let moving = tokio::spawn(async move { caller.move_clock("1d").await });
        eventually(async || app.number("SELECT COUNT(*) FROM accounts WHERE moving_until IS NOT NULL").await == 1).await;
        is_free(app).await;
        client.get("/1/balance").await.ok(200);
        assert!(!moving.is_finished());
        acquirer.release();
        worker.await.unwrap().unwrap();
        assert_eq!(moving.await.unwrap()["complete"], true);
    }

    async fn payments_whose_callers_hang_up_are_counted_until_they_are_done(app, acquirer) {
        app.takes_on(None, 1).await;
        acquirer.carry(CallFault::AnswerLate);
        for paid in 1..=6 {
            let client = app.client();
            let paying = tokio::spawn(async move { client.post("/1/charges", &charge(400)).await });
            acquirer.called(paid).await;
            paying.abort();
            assert!(paying.await.unwrap_err().is_cancelled());
        }
        assert_eq!(app.gate().tasks().taken(), (6, 6));
        assert_busy(&app.unchanged(app.client().post("/1/charges", &charge(400))).await);
        // A silent acquirer stops nothing else.
        app.client().get("/1/balance").await.ok(200);
        assert_eq!(acquirer.calls().len(), 6);
        acquirer.carry(CallFault::Both);
        for _ in 0..6 {
            acquirer.release();
        }
        eventually(async || app.gate().tasks().taken().0 == 0).await;
        app.client().post("/1/charges", &charge(400)).await.ok(201);
        assert_eq!(app.client().get("/1/charges").await.ok(200).as_array().unwrap().len(), 7, "none is lost");
    }

    async fn an_account_leaves_others_an_eighth_of_what_lasts_long(app, _line) {
        app.takes_on(None, 8).await;
        let (account, stranger) = (Some(app.account().await), app.stranger().await);
        let (tasks, all) = (app.gate().tasks(), app.gate().tasks().taken().1);
        assert!(tasks.try_acquire(account, all - all / 8 + 1).is_none());
        let held = tasks.try_acquire(account, all - all / 8).unwrap();
        assert_busy(&app.unchanged(app.client().post("/1/charges", &charge(400))).await);
        stranger.post("/1/charges", &charge(400)).await.ok(201);
        drop(held);
        app.client().post("/1/charges", &charge(400)).await.ok(201);
    }

    async fn a_long_answer_counts_until_it_is_read(app, _line) {
        let (client, list) = (app.client(), "/1/charges?per_page=500");
        let metadata: Value = (0..25).map(|n| (n.to_string(), json!("x".repeat(500)))).collect();
        for _ in 0..8 {
            client.post("/1/charges", &charge_with(400, json!({ "metadata": metadata }))).await.ok(201);
        }
        let answers = app.gate().answers();
        let unread = client.unread(list).await;
        let (held, all) = answers.taken();
        assert!(held >= 96, "{held} KiB");
        let rest = fill_up(app, all - held);
        assert_busy(&client.get(list).await);
        // A short one needs none.
        client.get("/1/charges?per_page=1").await.ok(200);
        drop((unread, rest));
        client.get(list).await.ok(200);
        assert_eq!(answers.taken().0, 0);
    }
}

/// All room for answers that is left, in the names of many accounts: one alone may not take it.
fn fill_up(app: &App, mut left: usize) -> Vec<Permit> {
    let mut taken = Vec::new();
    // Each leaves as many as it takes, so the last permit stays free.
    while left > 1 {
        taken.extend(app.gate().answers().try_acquire(Some(app.ctx().ids.token()), left / 2));
        left -= left / 2;
    }
    taken
}

rules! {
    async fn room_for_a_long_answer_is_taken_before_anything_is_read_for_it(app, _line) {
        let client = app.client();
        let answers = app.gate().answers();
        let rest = fill_up(app, answers.taken().1);
        // There is not one charge.
        let refused = client.get("/1/charges?per_page=500").await;
        assert_busy(&refused);
        assert_eq!(refused.headers["connection"], "close", "what it has asked for beside is not wanted");
        assert!(!client.get("/1/charges?per_page=25").await.headers.contains_key("connection"));
        drop(rest);
        client.get("/1/charges?per_page=500").await.ok(200);
        assert_eq!(answers.taken().0, 0, "what is not needed is given back");
    }

    async fn an_account_leaves_others_as_much_room_for_long_answers_as_it_holds(app, _line) {
        let (account, stranger) = (app.account().await, app.stranger().await);
        let (answers, all) = (app.gate().answers(), app.gate().answers().taken().1);
        let held = answers.try_acquire(Some(account), all / 2).unwrap();
        assert_busy(&app.client().get("/1/charges?per_page=500").await);
        stranger.get("/1/charges?per_page=500").await.ok(200);
        drop(held);
        app.client().get("/1/charges?per_page=500").await.ok(200);
    }

    async fn a_place_that_becomes_free_goes_to_the_account_that_holds_the_fewest(app, _line) {
        app.takes_on(None, 2).await;
        let (account, greedy, modest) = (app.account().await, app.client(), app.stranger().await);
        // From now on their keys are known.
        greedy.get("/1/balance").await.ok(200);
        modest.get("/1/balance").await.ok(200);
        let places = app.gate().requests();
        let (one, other) = (places.try_acquire(Some(account), 1), places.try_acquire(None, 1));
        let send = |name, client: Client| async move { (name, client.get("/1/balance").await.status) };
        let mut waiting = FuturesUnordered::new();
        for _ in 0..8 {
            waiting.push(send("greedy", greedy.clone()).boxed());
        }
        assert!(waiting.next().now_or_never().is_none());
        waiting.push(send("modest", modest).boxed());
        assert!(waiting.next().now_or_never().is_none());
        drop(other);
        // On a slow machine their second may be over.
        let is_over = |answer: &(&str, u16)| *answer == ("greedy", 503);
        let mut next = waiting.next().await.unwrap();
        while is_over(&next) {
            next = waiting.next().await.unwrap();
        }
        assert_eq!(next, ("modest", 200), "it came last, and holds nothing");
        drop(one);
        while let Some(answer) = waiting.next().await {
            assert!(is_over(&answer) || answer == ("greedy", 200), "{answer:?}");
        }
    }
}

/// A server that takes eight connections.
fn small_server(data: &Path) -> Process {
    Process::start(program(data).env("CARD_PAYMENTS_CONCURRENCY", "1"))
}

fn ends(mut stream: TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(4))).unwrap();
    match stream.read(&mut [0]) {
        Ok(bytes) => bytes == 0,
        // What it had sent was not read yet.
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn a_connection_too_many_takes_the_seat_of_the_one_that_has_been_idle_for_longest() {
    let data = tempfile::tempdir().unwrap();
    let server = small_server(data.path());
    let health = request("GET", "/healthz", None, "");
    let mut idle: Vec<_> = (0..8).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    // The first one has asked for something since, and the second one has sent a part of something.
    idle[0].write_all(health.replace("Connection: close\r\n", "").as_bytes()).unwrap();
    assert_eq!(read_first_response(&mut idle[0]).status, 200);
    idle[1].write_all(b"GET /hea").unwrap();
    assert_eq!(server.ask("GET", "/healthz", None, "").status, 200);
    assert!(ends(idle.remove(1)), "the second");
    idle[0].write_all(health.as_bytes()).unwrap();
    assert_eq!(read_response(idle.remove(0)).status, 200);
    server.stopped();
}

#[test]
fn a_low_limit_of_open_files_shuts_no_newcomer_out() {
    const FILES: usize = 128;
    let data = tempfile::tempdir().unwrap();
    raise_file_limit(2 * FILES);
    let server = Process::start(&mut in_shell(&program(data.path()), &format!("ulimit -n {FILES}")));
    let idle: Vec<_> = (0..2 * FILES).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    assert_eq!(server.ask("GET", "/healthz", None, "").status, 200);
    server.pay(&server.keys().0).ok(201);
    drop(idle);
    let said = server.stopped();
    assert!(said.contains("too few files may be open (ulimit -n): fewer connections are taken"), "{said}");
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |number| number.parse().unwrap())
}

/// Kilobytes of memory that a process has had at most.
fn peak_memory(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// `CARD_PAYMENTS_OVERLOAD_SECONDS` (5) of ten times the load that the server has just carried. What the latencies may be
/// depends on the machine, on which the load generator runs, too: `CARD_PAYMENTS_OVERLOAD_P99_MS` (30,000) and
/// `CARD_PAYMENTS_OVERLOAD_RECOVERY_MS` (30,000) say it; they are printed in any case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_times_the_load_it_can_carry_costs_a_server_neither_its_memory_nor_a_payment() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_LOG", "error"));
    let (secret, _) = server.keys();
    let payment = request("POST", "/1/charges", Some(&secret), PAYMENT).replace("Connection: close\r\n", "");
    let load = OpenLoop::new(server.address, payment);

    let warm = load.closed(16, Duration::from_secs(2)).await;
    // Where the disk stood still meanwhile, more than any debug build carries.
    let capacity = (warm.len() as u64 / 2).max(100);
    assert!(warm.iter().all(Shot::is_accepted), "{warm:?}");
    let span = Duration::from_secs(number("CARD_PAYMENTS_OVERLOAD_SECONDS", 5));
    let mut shots = load.open(capacity * 10, span).await;

    let ended = Instant::now();
    while server.ask("POST", "/1/charges", Some(&secret), PAYMENT).status != 201 {
        assert!(ended.elapsed() < Duration::from_mins(1), "it does not recover");
        pause(Duration::from_millis(50));
    }
    let recovery = ended.elapsed();

    let mut accepted: Vec<_> = shots.extract_if(.., |shot| shot.is_accepted()).collect();
    accepted.sort_by_key(|shot| shot.took);
    let p99 = accepted[accepted.len() * 99 / 100].took;
    let refused = shots.iter().filter(|shot| shot.is_refused()).count();
    let unsent = shots.iter().filter(|shot| matches!(shot.response, RawResponse::Unsent)).count();
    let memory = peak_memory(&server) / 1024;
    let list = server.ask("GET", "/1/charges?per_page=1", Some(&secret), "").json();
    let (listed, paid) =
        (list["pagination"]["count"].as_u64().unwrap(), (warm.len() + accepted.len() + 1) as u64);
    println!(
        "overload: {span:?}, carried {capacity}/s, offered {}/s, accepted {}, refused {refused}, p99 {p99:?}, \
         peak {memory} MiB, recovered in {recovery:?}, not sent by the generator {unsent}, lost {}, too many {}",
        capacity * 10,
        accepted.len(),
        paid.saturating_sub(listed),
        listed.saturating_sub(paid)
    );
    assert_eq!(
        refused + unsent,
        shots.len(),
        "neither accepted nor told to wait: {:?}",
        open_loop::odd(&shots)
    );
    assert!(refused > 0, "that was no overload");
    assert!(memory < 256, "{memory} MiB");
    assert!(p99 < Duration::from_millis(number("CARD_PAYMENTS_OVERLOAD_P99_MS", 30_000)), "{p99:?}");
    assert!(
        recovery < Duration::from_millis(number("CARD_PAYMENTS_OVERLOAD_RECOVERY_MS", 30_000)),
        "{recovery:?}"
    );
    // Nothing that was refused is there, and nothing that was accepted is lost.
    assert_eq!(listed, paid);
    server.stopped();
}
