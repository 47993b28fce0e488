//! Servers that are killed while they bill: at every point of a first charge, a renewal and a reactivation; and at any
//! moment of a long run of renewals, beside another copy. Each interval is charged once.
//!
//! `CARD_PAYMENTS_CRASH_RENEWALS` (100) says how many renewals are due in the run.

use std::process::Command;
use std::thread::scope;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::number;
use super::points::MOMENTS;
use crate::harness::RawDatabase;
use crate::harness::chance::Chance;
use crate::harness::postgres::Template;
use crate::harness::process::{Process, output, pause, program, repeatable_request, try_to_ask};

const WHAT: [&str; 3] = ["first", "renewal", "reactivation"];
const CUSTOMER: &str = "email=roland@example.com&card[number]=4200000000000000&card[expiry_month]=5&card[expiry_year]=2030\
    &card[cvc]=123&card[name]=Roland+Robot&card[address_line1]=42+Sevenoaks+St&card[address_city]=Lathlain&card[address_country]=AU";
const PLAN: &str = "name=Coffee&amount=1000&interval=1&interval_unit=month";
/// Workers settle what nobody can be making any more after thirty seconds, and look every second.
const SETTLED: Duration = Duration::from_mins(2);

fn post(server: &Process, secret: &str, path: &str, form: &str) -> Value {
    let heard = server.ask("POST", path, Some(secret), form);
    assert!(matches!(heard.status, 200 | 201), "{path}: {}", heard.body);
    heard.json()["response"].clone()
}

fn token(record: &Value) -> String {
    record["token"].as_str().unwrap().to_owned()
}

fn count(server: &Process, secret: &str, path: &str) -> u64 {
    let list = server.ask("GET", &format!("{path}?per_page=1"), Some(secret), "").json();
    list["pagination"]["count"].as_u64().unwrap()
}

/// A server dies at a point of one of the three; the next one finishes what was begun, and the request is sent again until
/// it succeeds.
fn dies_and_lives(command: &dyn Fn() -> Command, what: &str, moment: &str) {
    let server = Process::start(&mut command());
    let (secret, _) = server.keys();
    let plan = token(&post(&server, &secret, "/1/plans", PLAN));
    let customer = token(&post(&server, &secret, "/1/customers", CUSTOMER));
    let form = format!("plan_token={plan}&customer_token={customer}");
    let subscribed = || token(&post(&server, &secret, "/1/subscriptions", &form));
    let (method, path, form, charges) = match what {
        "first" => ("POST", "/1/subscriptions".to_owned(), form, 1),
        "renewal" => {
            let subscription = subscribed();
            let record =
                server.ask("GET", &format!("/1/subscriptions/{subscription}"), Some(&secret), "").ok(200);
            // A week after the renewal: one that was lost is tried again within it.
            let due = record["next_billing_date"]
                .as_str()
                .unwrap()
                .parse::<chrono::DateTime<chrono::Utc>>()
                .unwrap();
            let to = (due + chrono::Days::new(7)).to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
            ("PUT", "/1/sandbox/clock".to_owned(), format!("to={}", to.replace(':', "%3A")), 2)
        }
        _ => {
            let path = format!("/1/subscriptions/{}", subscribed());
            server.ask("DELETE", &path, Some(&secret), "").ok(200);
            server.ask("PUT", "/1/sandbox/clock", Some(&secret), "advance=2month").ok(200);
            ("PUT", format!("{path}/reactivate"), String::new(), 2)
        }
    };
    server.stopped();
    let request = repeatable_request(method, &path, Some(&secret), Some(&format!("{what}.{moment}")), &form);

    let server = Process::start(command().env("CARD_PAYMENTS_CRASH_AT", format!("charge.{moment}")));
    let answer = try_to_ask(server.address, &request);
    assert!(answer.is_err(), "{what}.{moment}: {answer:?}");
    let (code, stderr) = server.ended();
    assert_eq!(code, None, "{what}.{moment}: it did not die: {stderr}");

    let server = Process::start(&mut command());
    let deadline = Instant::now() + SETTLED;
    loop {
        let answer = try_to_ask(server.address, &request);
        match answer {
            Ok(heard)
                if matches!(heard.status, 200 | 201) && heard.json()["response"]["complete"] != false =>
            {
                break;
            }
            Ok(heard) => assert!(
                matches!(heard.status, 200 | 409 | 400),
                "{what}.{moment}: {} {}",
                heard.status,
                heard.body
            ),
            Err(error) => panic!("{what}.{moment}: {error}"),
        }
        assert!(Instant::now() < deadline, "{what}.{moment} is not settled");
        pause(Duration::from_millis(500));
    }
    assert_eq!(count(&server, &secret, "/1/charges"), charges, "{what}.{moment}: charges");
    let subscriptions = server.ask("GET", "/1/subscriptions", Some(&secret), "").ok(200);
    assert_eq!(subscriptions.as_array().unwrap().len(), 1, "{what}.{moment}: {subscriptions}");
    assert_eq!(subscriptions[0]["state"], "active", "{what}.{moment}");
    let ledger = format!("/1/subscriptions/{}/ledger", token(&subscriptions[0]));
    assert_eq!(count(&server, &secret, &ledger), 2 * charges, "{what}.{moment}: entries");
    let counts =
        server.ask("GET", &format!("/1/plans/{plan}"), Some(&secret), "").ok(200)["subscription_counts"]
            .clone();
    assert_eq!(counts["active"], 1, "{what}.{moment}: {counts}");
    server.stopped();
    let (code, stdout, stderr) = output(command().args(["ledger", "verify"]));
    assert_eq!(code, Some(0), "{what}.{moment}: {stdout}{stderr}");
}

#[test]
fn on_sqlite_every_point_of_a_bill_leaves_what_the_next_process_can_settle() {
    for what in WHAT {
        scope(|scope| {
            for moment in MOMENTS {
                scope.spawn(move || {
                    let data = tempfile::tempdir().unwrap();
                    dies_and_lives(&|| program(data.path()), what, moment);
                });
            }
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgresql_every_point_of_a_bill_leaves_what_the_next_process_can_settle() {
    static EMPTY: Template = Template::new("billing_points");
    // All at once, each on a database of its own: most of them only wait.
    let mut cases = Vec::new();
    for what in WHAT {
        for moment in MOMENTS {
            let Some(database) = EMPTY.database(async |_| {}).await else { return };
            cases.push((what, moment, database));
        }
    }
    let died = tokio::task::spawn_blocking(move || {
        for cases in cases.chunks(6) {
            scope(|scope| {
                for (what, moment, database) in cases {
                    scope.spawn(move || {
                        let data = tempfile::tempdir().unwrap();
                        let command = || {
                            let mut command = program(data.path());
                            command.env("CARD_PAYMENTS_DATABASE_URL", database.url());
                            command
                        };
                        dies_and_lives(&command, what, moment);
                    });
                }
            });
        }
    });
    died.await.unwrap();
}

/// Subscriptions whose first bill is due, as many as wanted, and the plan they are of.
fn many(server: &Process, secret: &str, renewals: u64) -> String {
    let trial = format!("{PLAN}&trial_interval=1&trial_interval_unit=day");
    let plan = token(&post(server, secret, "/1/plans", &trial));
    let customer = token(&post(server, secret, "/1/customers", CUSTOMER));
    let form = format!("plan_token={plan}&customer_token={customer}");
    for _ in 0..renewals {
        post(server, secret, "/1/subscriptions", &form);
    }
    plan
}

/// Let the clock of the one account stand so far ahead, as if days had gone by.
async fn days_ahead(url: &str, days: i64) {
    let sql = format!("UPDATE accounts SET clock_offset = {}", days * 86_400_000);
    RawDatabase::connect(url).await.execute(&sql).await;
}

/// Each subscription was billed once, and nobody is asked any more.
fn billed_once(server: &Process, secret: &str, plan: &str, renewals: u64) {
    assert_eq!(count(server, secret, "/1/charges"), renewals);
    let counts =
        server.ask("GET", &format!("/1/plans/{plan}"), Some(secret), "").ok(200)["subscription_counts"]
            .clone();
    assert_eq!((&counts["trial"], counts["active"].as_u64()), (&Value::from(0), Some(renewals)), "{counts}");
    for page in 1.. {
        let path = format!("/1/subscriptions?per_page=500&page={page}");
        let subscriptions = server.ask("GET", &path, Some(secret), "").ok(200);
        let Some(first) = subscriptions.as_array().unwrap().first() else { break };
        let ledger = format!("/1/subscriptions/{}/ledger", token(first));
        assert_eq!(count(server, secret, &ledger), 2, "{first}");
    }
}

/// Wait until so many charges were made.
fn charged(server: &Process, secret: &str, charges: u64) {
    let deadline = Instant::now() + SETTLED;
    while count(server, secret, "/1/charges") < charges {
        assert!(Instant::now() < deadline, "{} of {charges} charges", count(server, secret, "/1/charges"));
        pause(Duration::from_millis(200));
    }
}

/// Kill whoever bills, again and again; then let what was lost be tried again.
async fn killed_while_billing(url: String, data: tempfile::TempDir, copies: usize) {
    let renewals = number("CARD_PAYMENTS_CRASH_RENEWALS", 100);
    let mut chance = Chance(number("CARD_PAYMENTS_CRASH_SEED", getrandom::u64().unwrap() >> 1));
    println!("CARD_PAYMENTS_CRASH_SEED={}", chance.0);
    let (address, handle) = (url.clone(), tokio::runtime::Handle::current());
    let billed = tokio::task::spawn_blocking(move || {
        let command = || {
            let mut command = program(data.path());
            command.env("CARD_PAYMENTS_DATABASE_URL", &address).env("CARD_PAYMENTS_LOG", "error");
            command
        };
        let server = Process::start(&mut command());
        let (secret, _) = server.keys();
        let plan = many(&server, &secret, renewals);
        server.stopped();
        handle.block_on(days_ahead(&address, 2));
        let mut servers: Vec<_> = (0..copies).map(|_| Process::start(&mut command())).collect();
        for kill in 0..4 {
            pause(Duration::from_millis(chance.below(400)));
            // SIGKILL.
            drop(servers.remove(kill % copies));
            servers.insert(kill % copies, Process::start(&mut command()));
        }
        // What was under way at a kill is lost with its simulator: settled as refused, tried again a day later, and at the
        // latest six days later.
        let deadline = Instant::now() + SETTLED;
        let under_way = |server: &Process| {
            let metrics = server.ask("GET", "/metrics", None, "").body;
            let left =
                |kind: &str| !metrics.contains(&format!("card_payments_due_work{{kind=\"{kind}\"}} 0"));
            left("due_renewal") || left("unsettled_subscription")
        };
        if copies > 1 {
            // Nobody tells how many calls nobody is making any more, before their time has come.
            pause(Duration::from_secs(32));
        }
        while under_way(&servers[0]) {
            assert!(Instant::now() < deadline, "still billing");
            pause(Duration::from_millis(200));
        }
        println!("{} of {renewals} charges before the retries", count(&servers[0], &secret, "/1/charges"));
        for days in [4, 6, 10] {
            handle.block_on(days_ahead(&address, days));
            pause(Duration::from_millis(1500));
            while under_way(&servers[0]) {
                pause(Duration::from_millis(200));
            }
        }
        charged(&servers[0], &secret, renewals);
        billed_once(&servers[0], &secret, &plan, renewals);
        for server in servers {
            server.stopped();
        }
        let (code, stdout, stderr) = output(command().args(["ledger", "verify"]));
        assert_eq!(code, Some(0), "{stdout}{stderr}");
    });
    billed.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_server_that_is_killed_while_it_bills_bills_each_interval_once() {
    let data = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", data.path().join("billing.db").display());
    killed_while_billing(url, data, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_copies_that_are_killed_while_they_bill_each_interval_is_billed_once() {
    static EMPTY: Template = Template::new("billing_copies");
    let Some(database) = EMPTY.database(async |_| {}).await else { return };
    killed_while_billing(database.url().to_owned(), tempfile::tempdir().unwrap(), 2).await;
}
