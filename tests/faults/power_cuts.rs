//! The power is cut at random moments under load: whatever was not flushed is gone, or any part of it.

use std::process::Stdio;
use std::time::Duration;

use crate::disk::{Order, PowerCutMode};
use crate::harness::process::{RawResponse, pause, repeatable_request, try_to_ask};
use crate::harness::random::Random;
use crate::installation::Installation;
use crate::load::CUSTOMER;
use crate::options::{Database, Options};
use crate::report::Report;
use crate::trial::Trial;

/// How often the flush that hangs may be another one than the customer's.
const TRIES: u64 = 10;

/// `power-cuts`: `--rounds` (4) under load, after a first start that was cut, and the cut of a commit that had been seen.
pub fn run(options: &Options, _on: Database) -> Option<Report> {
    let mut random = Random(options.seed());
    first_starts(options.number("starts", 2), &mut random)?;
    a_seen_commit_outlives_the_power(&mut random)?;
    let mut trial = Trial::begin(Installation::on_a_disk()?, options);
    for round in 0..options.number("rounds", 4) {
        trial.go_on();
        trial.kill();
        let survives = if round % 2 == 0 { PowerCutMode::Nothing } else { PowerCutMode::Anything };
        trial.installation.disk().cut(survives, &mut trial.random);
        trial.start();
    }
    Some(trial.end())
}

/// An installation that is cut during its first start, and again right after it: the keys that were told are kept.
fn first_starts(times: u64, random: &mut Random) -> Option<()> {
    for _ in 0..times {
        let installation = Installation::on_a_disk()?;
        let mut starting = installation.program().stdout(Stdio::null()).spawn().unwrap();
        pause(Duration::from_millis(random.below(500)));
        starting.kill().unwrap();
        starting.wait().unwrap();
        installation.disk().cut(PowerCutMode::Anything, random);
        let server = installation.start();
        let keys = server.keys();
        drop(server);
        installation.disk().cut(PowerCutMode::Nothing, random);
        assert_eq!(installation.start().keys(), keys);
    }
    Some(())
}

/// The process dies when its commit is written and not flushed yet. The next one finds it, for the page cache has it, and
/// answers with it: from then on it must outlive the power, too.
fn a_seen_commit_outlives_the_power(random: &mut Random) -> Option<()> {
    let installation = Installation::on_a_disk()?;
    let seen = (1..=TRIES).find_map(|n| sees_unflushed_customer(&installation, n));
    let (customer, response) = seen.expect("a customer that was written and not flushed is seen");
    installation.disk().cut(PowerCutMode::Nothing, random);
    let server = installation.start();
    let again = try_to_ask(server.address, &customer).unwrap();
    assert!(is_replayed(&again) && again.body == response.body, "{} {}", response.body, again.body);
    Some(())
}

/// Lets a process die in the flush of a customer, and asks the next one. Returns the request and the answer, unless the flush was one
/// of another commit, behind which the customer waited.
fn sees_unflushed_customer(installation: &Installation, n: u64) -> Option<(String, RawResponse)> {
    let server = installation.start();
    let (secret, _) = server.keys();
    // The whole of a customer is one commit.
    let key = format!("seen-{n}");
    let customer = repeatable_request("POST", "/1/customers", Some(&secret), Some(&key), CUSTOMER);
    // The server notes the time as it begins, and seals its audit trail: those commits are not the one that is to hang.
    pause(Duration::from_secs(n));
    installation.disk().order(Order::HangInFlush);
    let address = server.address;
    let request = std::thread::spawn({
        let customer = customer.clone();
        move || try_to_ask(address, &customer)
    });
    installation.disk().waits_for_hanging_flush();
    drop(server);
    assert!(request.join().unwrap().is_err(), "nothing was acknowledged");
    installation.disk().order(Order::Work);
    let server = installation.start();
    let response = try_to_ask(server.address, &customer).unwrap();
    assert_eq!(response.status, 201, "{}", response.body);
    is_replayed(&response).then_some((customer, response))
}

fn is_replayed(response: &RawResponse) -> bool {
    response.headers.contains_key("idempotent-replayed")
}
