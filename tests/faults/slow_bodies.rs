//! Clients without a key whose bodies come a byte a second, beside an account that makes its charges.

use std::time::Duration;

use web::server::raise_file_limit;

use crate::attackers::{Attack, beside};
use crate::installation::Installation;
use crate::neighbour::{Neighbour, bound};
use crate::options::{Database, Options};
use crate::report::Report;

/// How long the attack of a round lasts.
const ROUND: Duration = Duration::from_secs(6);
const BEGINNING: &str = "POST /1/cards HTTP/1.1\r\nHost: test\r\nContent-Type: application/x-www-form-urlencoded\r\n\
    Content-Length: 10000\r\n\r\nnumber=";

/// `slow-bodies`: 1,024 connections that send POST /1/cards without a key, and a byte of the body a second. `--rounds` (1),
/// `--connections` (1,024). `CARD_PAYMENTS_NEIGHBOUR_P99_MS` as for `waiters`.
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let (rounds, connections) = (options.number("rounds", 1), options.number("connections", 1_024));
    let connections = usize::try_from(connections).unwrap();
    let installation = Installation::on(on)?;
    // Of this run, and of one on the other database in the same process.
    raise_file_limit(2 * connections);
    let server = installation.start();
    let mut neighbour = Neighbour::new(&server);
    neighbour.pays_for(ROUND);
    let quiet = neighbour.begins_anew();
    let attack = Attack { beginning: BEGINNING.into(), byte: Some(b'4') };
    for _ in 0..rounds {
        beside(server.address, connections, &attack, || neighbour.pays_for(ROUND));
    }
    let besides = neighbour.tells(&format!("{connections} slow bodies ({})", on.name()), quiet, bound());
    server.stopped();
    let faults = rounds * connections as u64;
    Some(Report { rounds, faults, besides, seed: options.seed(), ..Report::default() })
}
