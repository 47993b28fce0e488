//! Servers that are killed while they bill: at every point of a first charge, a renewal and a reactivation; and at any
//! moment of a long run of renewals, beside another copy. Each interval is charged once.
//!
//! `CARD_PAYMENTS_CRASH_RENEWALS` (100) says how many renewals are due in the run.

use std::thread::scope;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::Handle;

use super::points::MOMENTS;
use super::{a_minute_passes, books_are_right, dies_at, number, until_nothing_is_due};
use crate::harness::process::{Process, pause, repeatable_request, try_to_ask};
use crate::harness::random::Random;
use crate::harness::{Database, Installed, on_both};

const WHAT: [&str; 3] = ["first", "renewal", "reactivation"];
const CUSTOMER: &str = "email=roland@example.com&card[number]=4200000000000000&card[expiry_month]=5&card[expiry_year]=2030\
    &card[cvc]=123&card[name]=Roland+Robot&card[address_line1]=42+Sevenoaks+St&card[address_city]=Lathlain&card[address_country]=AU";
const PLAN: &str = "name=Coffee&amount=1000&interval=1&interval_unit=month";
/// Longer than anything takes that is waited for.
const SETTLED: Duration = Duration::from_mins(2);

fn post(server: &Process, secret: &str, path: &str, form: &str) -> Value {
    let response = server.ask("POST", path, Some(secret), form);
    assert!(matches!(response.status, 200 | 201), "{path}: {}", response.body);
    response.json()["response"].clone()
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
fn dies_and_lives(installed: &Installed, runtime: &Handle, what: &str, moment: &str) {
    let server = installed.serve();
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

    let answer = dies_at(installed, &format!("charge.{moment}"), &request);
    assert!(answer.is_err(), "{what}.{moment}: {answer:?}");
    runtime.block_on(a_minute_passes(installed));

    let server = installed.serve();
    let deadline = Instant::now() + SETTLED;
    loop {
        let answer = try_to_ask(server.address, &request);
        match answer {
            Ok(response)
                if matches!(response.status, 200 | 201)
                    && response.json()["response"]["complete"] != false =>
            {
                break;
            }
            Ok(response) => assert!(
                matches!(response.status, 200 | 409 | 400),
                "{what}.{moment}: {} {}",
                response.status,
                response.body
            ),
            Err(error) => panic!("{what}.{moment}: {error}"),
        }
        assert!(Instant::now() < deadline, "{what}.{moment} is not settled");
        pause(Duration::from_millis(100));
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
    books_are_right(installed);
}

async fn every_point_of_a_bill_leaves_what_the_next_process_can_settle(database: Database) {
    let runtime = &Handle::current();
    for what in WHAT {
        let mut cases = Vec::new();
        for moment in MOMENTS {
            let Some(installed) = Installed::on(database).await else { return };
            cases.push((moment, installed));
        }
        // Most of them only wait.
        scope(|scope| {
            for (moment, installed) in &cases {
                scope.spawn(move || dies_and_lives(installed, runtime, what, moment));
            }
        });
    }
}
on_both!(every_point_of_a_bill_leaves_what_the_next_process_can_settle);

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

/// Lets the clock of the one account stand so far ahead, as if days had gone by.
async fn days_ahead(installed: &Installed, days: i64) {
    installed.execute(&format!("UPDATE accounts SET clock_offset = {}", days * 86_400_000)).await;
}

/// Checks that each subscription was billed once, and that no bill is left.
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

/// Waits until so many charges were made.
fn charged(server: &Process, secret: &str, charges: u64) {
    let deadline = Instant::now() + SETTLED;
    while count(server, secret, "/1/charges") < charges {
        assert!(Instant::now() < deadline, "{} of {charges} charges", count(server, secret, "/1/charges"));
        pause(Duration::from_millis(200));
    }
}

/// Kills servers that bill, again and again; then lets lost bills be tried again.
async fn killed_while_billing(mut installed: Installed, copies: usize) {
    let renewals = number("CARD_PAYMENTS_CRASH_RENEWALS", 100);
    let mut random = Random(number("CARD_PAYMENTS_CRASH_SEED", getrandom::u64().unwrap() >> 1));
    println!("CARD_PAYMENTS_CRASH_SEED={}", random.0);
    installed.with("LOG", "error");
    let server = installed.serve();
    let (secret, _) = server.keys();
    let plan = many(&server, &secret, renewals);
    server.stopped();
    days_ahead(&installed, 2).await;
    let mut servers: Vec<_> = (0..copies).map(|_| installed.serve()).collect();
    for kill in 0..4 {
        pause(Duration::from_millis(random.below(400)));
        // SIGKILL.
        drop(servers.remove(kill % copies));
        servers.insert(kill % copies, installed.serve());
    }
    if copies > 1 {
        // The calls of living copies end as they should, and those of dead ones become due.
        for server in servers {
            server.stopped();
        }
        a_minute_passes(&installed).await;
        servers = (0..copies).map(|_| installed.serve()).collect();
    }
    // The simulator of a killed server forgets a call in flight: it is settled as refused, and the bill is tried again a day later,
    // and at the latest six days later.
    until_nothing_is_due(&servers[0]).await;
    println!("{} of {renewals} charges before the retries", count(&servers[0], &secret, "/1/charges"));
    for days in [4, 6, 10] {
        days_ahead(&installed, days).await;
        pause(Duration::from_millis(1500));
        until_nothing_is_due(&servers[0]).await;
    }
    charged(&servers[0], &secret, renewals);
    billed_once(&servers[0], &secret, &plan, renewals);
    for server in servers {
        server.stopped();
    }
    books_are_right(&installed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_server_that_is_killed_while_it_bills_bills_each_interval_once() {
    killed_while_billing(Installed::on(Database::Sqlite).await.unwrap(), 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_copies_that_are_killed_while_they_bill_each_interval_is_billed_once() {
    let Some(installed) = Installed::on(Database::Postgres).await else { return };
    killed_while_billing(installed, 2).await;
}
