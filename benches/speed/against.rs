//! A server that somebody else has started: the part of the workload that any server of card payments can speak
//! (`docs/benchmark.md`).

use url::Url;

use super::lines::{ALONE, CHARGE, flush, newest};
use super::load::{self, Stop};
use super::process::PAYMENT;
use super::report::{Cpu, Figure, Report};
use super::site::{Account, CONNECTIONS};
use super::{Options, Result};

/// Measures charges, single reads, lists and a caller alone, and checks that every answered charge is counted.
pub async fn measure(server: &Url, key: &str, options: &Options, report: &mut Report) -> Result<()> {
    const ON: &str = "server";
    let address = server.socket_addrs(|| None)?.into_iter().next().ok_or("the URL names no server")?;
    let account = Account { address, secret: key.into() };
    let charge = vec![account.request("POST", "/1/charges", PAYMENT)];
    let before = account.charges().await?;
    let filled = load::run(&[address], CONNECTIONS, &charge, Stop::Count(options.charges.get())).await?;
    report.note(&filled);
    let mut answered = filled.succeeded();

    let get = |path: &str| account.request("GET", path, "");
    let each = newest(&account).await?.iter().map(|token| get(&format!("/1/charges/{token}"))).collect();
    let lines = [
        (CHARGE, CONNECTIONS, charge.clone()),
        ("get", CONNECTIONS, each),
        ("list", CONNECTIONS, vec![get("/1/charges?per_page=25")]),
        (ALONE, 1, charge),
    ];
    for _ in 0..options.rounds.get() {
        for (name, callers, requests) in lines.iter().filter(|(name, ..)| options.wants(name)) {
            let run = load::run(&[address], *callers, requests, Stop::After(options.span())).await?;
            if [CHARGE, ALONE].contains(name) {
                answered += run.succeeded();
            }
            report.best(Figure::new(ON, name, &run, &Cpu::default()), &run);
        }
        if options.wants(ALONE) {
            flush(&options.folder, ON, report)?;
        }
    }
    let counted = account.charges().await?.saturating_sub(before);
    report.fact(ON, "charges counted", u64::try_from(counted)?, format!("of {answered} answered"));
    if counted != answered {
        report.failures.push(format!("{answered} charges were answered, and {counted} are counted"));
    }
    Ok(())
}
