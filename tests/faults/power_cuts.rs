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
    let server = installation.start();
    let (secret, _) = server.keys();
    // The whole of a customer is one commit.
    let customer = repeatable_request("POST", "/1/customers", Some(&secret), Some("seen"), CUSTOMER);
    // The server notes the time as it begins: that commit is not the one that is to hang.
    pause(Duration::from_secs(1));
    installation.disk().order(Order::HangInFlush);
    let address = server.address;
    let request = std::thread::spawn({
        let customer = customer.clone();
        move || try_to_ask(address, &customer)
    });
    pause(Duration::from_secs(1));
    drop(server);
    assert!(request.join().unwrap().is_err(), "nothing was acknowledged");
    installation.disk().order(Order::Work);
    let server = installation.start();
    let response = try_to_ask(server.address, &customer).unwrap();
    assert_eq!(response.status, 201, "{}", response.body);
    let replayed = |response: &RawResponse| response.headers.contains_key("idempotent-replayed");
    assert!(replayed(&response), "it was seen");
    drop(server);
    installation.disk().cut(PowerCutMode::Nothing, random);
    let server = installation.start();
    let again = try_to_ask(server.address, &customer).unwrap();
    assert!(replayed(&again) && again.body == response.body, "{} {}", response.body, again.body);
    Some(())
}
