//! What is left by a process that dies at a chosen point, or in the middle of long work. Servers that are killed at random
//! moments under load, and what lies below them, are the programs of `tests/faults`.

mod billing;
mod clock;
mod disputes;
mod payouts;
pub mod points;

use std::io;

use crate::harness::process::{Process, RawResponse, try_to_ask};
use crate::harness::{Installed, eventually};

/// A setting of a test, from the environment.
fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |number| number.parse().unwrap())
}

/// Starts a server that dies at this point, and sends it a request. Returns what the client gets.
fn dies_at(installed: &Installed, point: &str, request: &str) -> io::Result<RawResponse> {
    let server = Process::start(installed.program().env("CARD_PAYMENTS_CRASH_AT", point));
    let answer = try_to_ask(server.address, request);
    let (code, stderr) = server.ended();
    assert_eq!(code, None, "{point}: it did not die: {stderr}");
    answer
}

/// A minute passes while no server runs. Then none can still be making a call, and the leases of dead servers have ended:
/// what a server that starts on SQLite knows without waiting.
async fn a_minute_passes(installed: &Installed) {
    let later = [
        ("charges", "settle_after"),
        ("refunds", "submit_after"),
        ("accounts", "moving_until"),
        ("webhooks", "leased_until"),
    ];
    let later = later.map(|(table, time)| format!("UPDATE {table} SET {time} = {time} - 60000;"));
    installed.execute(&later.concat()).await;
}

/// Waits until a server finds nothing that is due.
async fn until_nothing_is_due(server: &Process) {
    let is_due = |line: &str| line.starts_with("card_payments_due_work{") && !line.ends_with("} 0");
    eventually(async || !server.ask("GET", "/metrics", None, "").body.lines().any(is_due)).await;
}

/// The books of a stopped server are right.
#[track_caller]
fn books_are_right(installed: &Installed) {
    let (code, stdout, stderr) = installed.run(&["ledger", "verify"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
}
