//! Several copies of the server over one PostgreSQL: they start at once, and are replaced one by one under load without
//! a request that fails (docs/operating/upgrade.md). `crashes.rs` has what a killed one leaves.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use card_payments::limits::WAIT_CHECKS;
use sea_orm::sqlx::postgres::PgListener;
use store::distribute;
use tokio::runtime::Handle;
use url::Url;
use vault::OperatorKeys;
use web::server::ServerPhase;

use crate::harness::postgres::{Database, Template, is_distributed};
use crate::harness::process::{
    PAYMENT, Process, ask, output, pause, program, repeatable_request, try_to_ask,
};
use crate::harness::raw_database::RawDatabase;
use crate::harness::receiver::Receiver;
use crate::harness::{rules, token_of};

static EMPTY: Template = Template::new("empty_for_copies");

/// The configuration of all copies.
struct Service {
    database: Database,
    /// The addresses of the database: each copy has another one.
    nodes: Vec<String>,
    vault_key: String,
    folder: tempfile::TempDir,
}

impl Service {
    async fn new() -> Option<Self> {
        let vault_key = OperatorKeys::generate("shared").to_text().expose().to_owned();
        let database = EMPTY.database(async |_| {}).await?;
        if is_distributed() {
            distribute(&database.url().parse().unwrap(), &()).await.unwrap();
        }
        Some(Self {
            nodes: database.node_urls().await,
            database,
            vault_key,
            folder: tempfile::tempdir().unwrap(),
        })
    }

    /// Returns the program of a copy.
    fn program(&self, name: usize) -> Command {
        let mut command = program(&self.folder.path().join(name.to_string()));
        let mut url = Url::parse(&self.nodes[name % self.nodes.len()]).unwrap();
        url.query_pairs_mut().append_pair("application_name", &format!("copy_{name}"));
        command.env("CARD_PAYMENTS_DATABASE_URL", url.as_str());
        command.env("CARD_PAYMENTS_VAULT_KEY", &self.vault_key).env("CARD_PAYMENTS_LOG", "warn");
        command
    }

    /// Starts a copy that goes on for so long when it was asked to stop, or until it is asked a second time.
    fn start(&self, name: usize, drain: Duration) -> Process {
        let mut command = self.program(name);
        Process::start(command.env("CARD_PAYMENTS_DRAIN_SECONDS", drain.as_secs().to_string()))
    }
}

/// Who knows which copies are ready, as balancers do: by asking them.
#[derive(Default)]
struct Balancer {
    copies: Mutex<Vec<SocketAddr>>,
    ready: Mutex<Vec<SocketAddr>>,
    turn: AtomicUsize,
}

impl Balancer {
    fn poll(&self) {
        let copies = self.copies.lock().unwrap().clone();
        let is_ready = |copy: &SocketAddr| ask(*copy, "GET", "/readyz", None, "").status == 200;
        *self.ready.lock().unwrap() = copies.into_iter().filter(is_ready).collect();
    }

    fn next(&self) -> SocketAddr {
        let ready = self.ready.lock().unwrap();
        ready[self.turn.fetch_add(1, Ordering::Relaxed) % ready.len()]
    }
}

/// A caller on a kept connection.
struct KeptClient {
    balancer: Arc<Balancer>,
    secret: String,
    kept: Option<TcpStream>,
    /// How often a kept connection was closed at the moment at which it was used once more.
    repeated: usize,
}

impl KeptClient {
    /// A payment's token. Nothing but its success is an answer.
    fn pay(&mut self, key: &str) -> String {
        let request = repeatable_request("POST", "/1/charges", Some(&self.secret), Some(key), PAYMENT);
        let request = request.replace("Connection: close\r\n", "");
        loop {
            let was_kept = self.kept.is_some();
            let mut stream = match self.kept.take() {
                Some(stream) => stream,
                None => TcpStream::connect(self.balancer.next()).unwrap(),
            };
            let Some((head, body)) = answer(&mut stream, &request) else {
                assert!(was_kept, "a fresh connection was closed without an answer");
                self.repeated += 1;
                continue;
            };
            assert!(head.starts_with("HTTP/1.1 201 "), "{head}\n{body}");
            if !head.contains("connection: close") {
                self.kept = Some(stream);
            }
            let json: serde_json::Value = serde_json::from_str(&body).unwrap();
            return json["response"]["token"].as_str().unwrap().to_owned();
        }
    }
}

/// Head and body; none where the connection was closed before their first byte.
fn answer(stream: &mut TcpStream, request: &str) -> Option<(String, String)> {
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream.write_all(request.as_bytes()).ok()?;
    let (mut text, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let read = match stream.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) if text.is_empty() => return None,
            read => read.unwrap(),
        };
        assert!(read > 0, "an answer was cut off: {}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&piece[..read]);
        let so_far = std::str::from_utf8(&text).unwrap_or_default();
        let Some((head, body)) = so_far.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            return Some((head.to_owned(), body.to_owned()));
        }
    }
}

const CALLERS: usize = 4;
const COPIES: usize = 3;
const REFRESH: Duration = Duration::from_mins(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_are_replaced_one_by_one_under_load_without_a_request_that_fails() {
    let Some(service) = Service::new().await else { return };
    tokio::task::spawn_blocking(move || replaced_under_load(&service)).await.unwrap();
}

fn replaced_under_load(service: &Service) {
    let mut copies: Vec<_> = (0..COPIES).map(|name| service.start(name, REFRESH)).collect();
    let (secret, _) = copies[0].keys();
    let balancer = Arc::new(Balancer::default());
    let join = |copies: &[Process]| {
        *balancer.copies.lock().unwrap() = copies.iter().map(|copy| copy.address).collect();
        balancer.poll();
    };
    join(&copies);
    let (stop, paid) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> = (0..CALLERS)
        .map(|name| {
            let (stop, paid) = (Arc::clone(&stop), Arc::clone(&paid));
            let (balancer, secret) = (Arc::clone(&balancer), secret.clone());
            let mut caller = KeptClient { balancer, secret, kept: None, repeated: 0 };
            std::thread::spawn(move || {
                let mut tokens = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    tokens.push(caller.pay(&format!("{name}-{}", tokens.len())));
                    paid.fetch_add(1, Ordering::Relaxed);
                }
                (tokens, caller.repeated)
            })
        })
        .collect();
    let more_was_paid = || {
        let (began, so_far) = (Instant::now(), paid.load(Ordering::Relaxed));
        while paid.load(Ordering::Relaxed) < so_far + 3 * CALLERS && began.elapsed() < Duration::from_mins(2)
        {
            pause(Duration::from_millis(20));
        }
    };
    for name in COPIES..2 * COPIES {
        more_was_paid();
        let old = copies.remove(0);
        old.terminate();
        // A balancer looks now and then; as long as the copy is listed, it serves.
        more_was_paid();
        let leaving = ask(old.address, "GET", "/readyz", None, "");
        assert_eq!((leaving.status, &*leaving.headers["retry-after"]), (503, "1"));
        join(&copies);
        // Earlier clients have their answers, and their connections are closed.
        more_was_paid();
        let log = old.stopped();
        assert!(!log.contains("cut off"), "{log}");
        copies.push(service.start(name, REFRESH));
        join(&copies);
    }
    more_was_paid();
    stop.store(true, Ordering::Relaxed);
    let done: Vec<_> = callers.into_iter().map(|caller| caller.join().unwrap()).collect();
    let tokens: Vec<_> = done.iter().flat_map(|(tokens, _)| tokens).collect();
    let repeated: usize = done.iter().map(|(_, repeated)| repeated).sum();
    println!("{} payments, {repeated} of them on a second connection", tokens.len());
    let different: BTreeSet<_> = tokens.iter().collect();
    assert_eq!(different.len(), tokens.len(), "every key has a payment of its own");
    let list = copies[0].ask("GET", "/1/charges?per_page=1", Some(&secret), "").json();
    assert_eq!(list["pagination"]["count"], tokens.len(), "none is lost, none is there twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_start_at_once_on_an_empty_database_are_one_service() {
    let Some(service) = Service::new().await else { return };
    tokio::task::spawn_blocking(move || {
        let copies: Vec<_> = std::thread::scope(|scope| {
            let starting: Vec<_> = (0..4)
                .map(|name| {
                    scope.spawn({
                        let service = &service;
                        move || service.start(name, Duration::ZERO)
                    })
                })
                .collect();
            starting.into_iter().map(|copy| copy.join().unwrap()).collect()
        });
        let (secret, publishable) = copies[0].keys();
        for copy in &copies {
            assert_eq!(copy.keys(), (secret.clone(), publishable.clone()));
            copy.pay(&secret).ok(201);
        }
        let list = copies[0].ask("GET", "/1/charges", Some(&secret), "").json();
        assert_eq!(list["pagination"]["count"], copies.len());
        for copy in copies {
            copy.stopped();
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reads_events_in_order_at_one_copy_misses_none_of_another() {
    const PAYMENTS: usize = 40;
    let Some(service) = Service::new().await else { return };
    tokio::task::spawn_blocking(move || {
        let copies = [service.start(0, Duration::ZERO), service.start(1, Duration::ZERO)];
        let (secret, _) = copies[0].keys();
        let read = |copy: &Process, count: usize| {
            let mut read: Vec<serde_json::Value> = Vec::new();
            let began = Instant::now();
            while read.len() < count {
                assert!(began.elapsed() < Duration::from_mins(1), "{} events", read.len());
                let after = read.last().map_or(0, |event| event["sequence"].as_u64().unwrap());
                let page = format!("/1/events?type=charge.captured&after={after}&wait=30");
                let page = copy.ask("GET", &page, Some(&secret), "").json();
                read.extend(page["response"].as_array().unwrap().iter().cloned());
            }
            read
        };
        let (one, other) = std::thread::scope(|scope| {
            let readers = copies.each_ref().map(|copy| scope.spawn(|| read(copy, PAYMENTS)));
            for copy in &copies {
                scope.spawn(|| {
                    for _ in 0..PAYMENTS / 2 {
                        copy.pay(&secret).ok(201);
                    }
                });
            }
            let [one, other] = readers.map(|reader| reader.join().unwrap());
            (one, other)
        });
        assert_eq!(one, other, "both copies tell the same, in one order");
        let charges: BTreeSet<_> = one.iter().map(|event| event["data"]["token"].to_string()).collect();
        assert_eq!(charges.len(), PAYMENTS, "each once");
        for copy in copies {
            copy.stopped();
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_race_for_a_key_make_one_payment_and_each_webhook_is_delivered_once() {
    const RACES: usize = 6;
    let Some(service) = Service::new().await else { return };
    let receiver = Receiver::start().await;
    tokio::task::spawn_blocking(move || {
        let copies = [0, 1, 2].map(|name| service.start(name, Duration::ZERO));
        let (secret, _) = copies[0].keys();
        let url = format!("url={}", receiver.url());
        copies[1].ask("POST", "/1/webhook_endpoints", Some(&secret), &url).ok(201);
        let mut charges = BTreeSet::new();
        for race in 0..RACES {
            let key = format!("race-{race}");
            let request = repeatable_request("POST", "/1/charges", Some(&secret), Some(&key), PAYMENT);
            let pay = |copy: &Process| try_to_ask(copy.address, &request).unwrap();
            let answers = std::thread::scope(|scope| {
                copies.each_ref().map(|copy| scope.spawn(|| pay(copy))).map(|answer| answer.join().unwrap())
            });
            assert!(answers.iter().all(|answer| [201, 409].contains(&answer.status)), "{answers:?}");
            charges.extend(copies.iter().map(|copy| token_of(&pay(copy).ok(201))));
        }
        assert_eq!(charges.len(), RACES);
        for copy in &copies {
            let list = copy.ask("GET", "/1/charges", Some(&secret), "").json();
            assert_eq!(list["pagination"]["count"], RACES);
        }
        let runtime = Handle::current();
        let webhooks = runtime.block_on(async {
            let database = RawDatabase::connect(service.database.url()).await;
            let webhooks = database.number("SELECT COUNT(*) FROM webhooks").await.try_into().unwrap();
            receiver.receives(webhooks).await;
            webhooks
        });
        for copy in copies {
            copy.stopped();
        }
        assert!(webhooks >= RACES);
        assert_eq!(receiver.received().len(), webhooks, "each is delivered by one copy");
        assert_eq!(output(service.program(1).args(["ledger", "verify"])).0, Some(0));
    })
    .await
    .unwrap();
}

/// The connection by which the first copy receives announcements.
const LISTENING: &str = "FROM pg_stat_activity \
    WHERE datname = current_database() AND application_name = 'copy_0' AND query LIKE 'LISTEN%'";

fn signal(copy: &Process, signal: &str) {
    assert!(Command::new("kill").args([signal, &copy.id().to_string()]).status().unwrap().success());
}

/// The copy is stopped while it has no such connection, so nobody announces the commit to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_ends_with_a_commit_of_another_copy_although_the_connection_for_announcements_was_lost() {
    let Some(service) = Service::new().await else { return };
    tokio::task::spawn_blocking(move || {
        let runtime = Handle::current();
        let url = service.database.url();
        let number =
            |sql: &str| runtime.block_on(async { RawDatabase::connect(url).await.number(sql).await });
        let until_listening = |connections: i64| {
            let began = Instant::now();
            while number(&format!("SELECT COUNT(*) {LISTENING}")) != connections {
                assert!(began.elapsed() < Duration::from_mins(1), "{connections}");
            }
        };
        let [waits, commits] = [0, 1].map(|name| service.start(name, Duration::ZERO));
        let (secret, _) = waits.keys();
        commits.pay(&secret).ok(201);
        // A copy that learns of a first wait makes it check.
        waits.ask("GET", "/1/events?type=charge.voided&wait=1", Some(&secret), "").ok(200);
        let mut announcements = runtime.block_on(PgListener::connect(url)).unwrap();
        runtime.block_on(announcements.listen("card_payments")).unwrap();
        let is_answered_at_once = || {
            let last =
                commits.ask("GET", "/1/events?per_page=1", Some(&secret), "").ok(200)[0]["sequence"].clone();
            let query = format!("/1/events?type=charge.captured&after={last}&wait=25");
            until_listening(1);
            let began = Instant::now();
            let (found, paid) = std::thread::scope(|scope| {
                let waiting = scope.spawn(|| waits.ask("GET", &query, Some(&secret), "").ok(200));
                runtime.block_on(async {
                    while !announcements.recv().await.unwrap().payload().contains(" waits ") {}
                });
                signal(&waits, "-STOP");
                let end = "SELECT SUM(CASE WHEN pg_terminate_backend(pid) THEN 1 ELSE 0 END)";
                assert_eq!(number(&format!("{end} {LISTENING}")), 1);
                until_listening(0);
                let paid = commits.pay(&secret);
                signal(&waits, "-CONT");
                (waiting.join().unwrap(), paid)
            });
            // A stopped copy may hold what the payment needs.
            let is_paid = paid.status == 201;
            assert_eq!(found.as_array().unwrap().len(), usize::from(is_paid), "{}", paid.body);
            // A waiting request checks by itself after this time.
            is_paid && began.elapsed() < WAIT_CHECKS
        };
        // A machine that is busy for so long tells nothing.
        assert!(std::iter::repeat_with(is_answered_at_once).take(5).any(|is_so| is_so));
        for copy in [waits, commits] {
            copy.stopped();
        }
    })
    .await
    .unwrap();
}

#[test]
fn a_server_that_leaves_answers_and_closes_each_connection() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_DRAIN_SECONDS", "600"));
    let (secret, _) = server.keys();
    let balancer = Arc::new(Balancer::default());
    *balancer.ready.lock().unwrap() = vec![server.address];
    let mut caller = KeptClient { balancer, secret: secret.clone(), kept: None, repeated: 0 };
    caller.pay("1");
    assert!(caller.kept.is_some(), "it keeps connections");
    server.terminate();
    let began = Instant::now();
    while server.ask("GET", "/readyz", None, "").status == 200 {
        assert!(began.elapsed() < Duration::from_mins(1));
        pause(Duration::from_millis(20));
    }
    assert_eq!(server.ask("GET", "/healthz", None, "").status, 200);
    caller.pay("2");
    assert!(caller.kept.is_none(), "the next request goes elsewhere");
    caller.pay("3");
    assert_eq!(caller.repeated, 0);
    assert_eq!(server.ask("GET", "/1/charges", Some(&secret), "").json()["count"], 3);
    let address = server.address;
    server.stopped();
    TcpStream::connect(address).unwrap_err();
}

rules! {
    async fn a_copy_that_leaves_is_not_ready_and_serves(app) {
        for phase in [ServerPhase::Draining, ServerPhase::Closing] {
            app.enters(phase);
            let (status, headers, _) = app.anonymous().bytes("/readyz").await;
            assert_eq!((status, &headers["retry-after"]), (503, &"1".parse().unwrap()));
            assert_eq!(app.anonymous().bytes("/healthz").await.0, 200);
            app.client().get("/1/balance").await.ok(200);
        }
    }
}
