//! The measured lines, and their order.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::ceilings::{Payment, empty_route, flushes};
use super::database::{Database, Kind};
use super::goals::judge;
use super::load::{self, Run, Stop};
use super::process::{PAYMENT, Process, pause};
use super::report::{Cpu, Figure, Report, kilobytes, micros};
use super::site::{Account, CONNECTIONS, Site, text};
use super::webhooks::Receiver;
use super::{Options, Result, usage};

pub const EMPTY_ROUTE: &str = "empty route";
pub const CHARGE: &str = "charge";
pub const CUSTOMER: &str = "customer";
pub const KEYED: &str = "keyed";
pub const COPIES: &str = "copies";
pub const ALONE: &str = "alone";
pub const FLUSH: &str = "flush of 16 KiB";
pub const START: &str = "start from nothing";
pub const IDLE: &str = "idle memory";
pub const BINARY: &str = "binary";
pub const LOCK_WAITS: &str = "waits for a lock";
/// What the commit of a charge costs a bare program; by the card in the body, and by a customer.
pub const BARE: [&str; 2] = ["bare charge", "bare customer"];

/// Measure everything on one kind of database.
pub async fn measure(kind: Kind, options: &Options, report: &mut Report) -> Result<()> {
    let Some(site) = Site::open(kind, options).await? else {
        let missing = "PostgreSQL is not installed, so it is not measured: apt-get install postgresql";
        if std::env::var("CI").is_ok_and(|ci| ci == "true") {
            return Err(missing.into());
        }
        eprintln!("{missing}");
        return Ok(());
    };
    let on = kind.name();
    if options.wants("start") {
        start(&site, options, report).await?;
    }
    let server = site.start();
    let account = Account::first(&server);
    let (terms, _) = PAYMENT.split_once("&card").ok_or("a payment without a card")?;
    let by_customer = format!("{terms}&customer_token={}", account.customer().await?);
    let payments = [site.watch(&account, PAYMENT).await?, site.watch(&account, &by_customer).await?];
    fill(&site, &account, options, report).await?;
    server.stopped();
    let bare = Bare::new(&site, payments)?;

    let server = site.start();
    let account = Account::first(&server);
    rounds(&site, (&server, &account), &by_customer, &bare, options, report).await?;
    if options.wants(ALONE) {
        alone(&site, (&server, &account), options, report).await?;
    }
    if options.wants("handoff") {
        hand_off(&account.another().await?, on, options, report).await?;
    }
    if options.wants("renewals") {
        renewals(&site, (&server, &account.another().await?), options, report).await?;
    }
    report.fact(on, "memory afterwards", kilobytes(usage::memory(server.id())?), "kB");
    server.stopped();
    judge(kind, report);
    Ok(())
}

/// From the start of the program to `Listening on`, on nothing and on a database that is there, and what it then has.
async fn start(site: &Site, options: &Options, report: &mut Report) -> Result<()> {
    let on = site.database.kind().name();
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for n in 0..2 * options.rounds.get() {
        let folder = site.folder().join(format!("start{n}"));
        let url = site.database.another(&format!("start{n}")).await?;
        for took in [&mut first, &mut again] {
            let began = Instant::now();
            let server = site.start_on(&folder, url.as_deref());
            took.push(began.elapsed());
            server.stopped();
        }
    }
    for (mut took, name) in [(first, START), (again, "start again")] {
        took.sort_unstable();
        report.fact(on, name, micros(took[took.len() / 2]) / 1000, "ms");
    }
    let server = site.start_on(&site.folder().join("idle"), site.database.another("idle").await?.as_deref());
    pause(Duration::from_secs(1));
    report.fact(on, IDLE, kilobytes(usage::memory(server.id())?), "kB");
    server.stopped();
    report.fact(on, BINARY, kilobytes(options.binary.metadata()?.len()), "kB");
    Ok(())
}

/// How many charges a search for a rare word finds.
const FOUND: usize = 100;

/// Makes as many charges as there are to be.
async fn fill(site: &Site, account: &Account, options: &Options, report: &mut Report) -> Result<()> {
    let before = site.database.size().await?;
    let common = account.request("POST", "/1/charges", PAYMENT);
    let mut requests = vec![common; (options.charges.get() / FOUND).max(1)];
    requests[0] =
        account.request("POST", "/1/charges", &PAYMENT.replace("description=Test", "description=A+needle"));
    let run =
        load::run(&[account.address], CONNECTIONS, &requests, Stop::Count(options.charges.get())).await?;
    report.note(&run);
    let bytes = (site.database.size().await?).saturating_sub(before) / u64::try_from(options.charges.get())?;
    report.fact(site.database.kind().name(), "growth a charge", bytes, "bytes");
    Ok(())
}

/// Returns the tokens of an account's newest charges.
pub async fn newest(account: &Account) -> Result<Vec<String>> {
    const TOKENS: usize = 500;
    let list = account.send("GET", &format!("/1/charges?per_page={TOKENS}"), "").await?;
    list.as_array().into_iter().flatten().map(|charge| text(&charge["token"])).collect()
}

/// The lines that a load is put on, and their requests.
async fn lines(
    account: &Account,
    by_customer: &str,
    options: &Options,
) -> Result<Vec<(&'static str, Vec<Vec<u8>>)>> {
    let tokens = newest(account).await?;
    let get = |path: &str| account.request("GET", path, "");
    let each = |path: &str| tokens.iter().map(|token| get(&format!("{path}{token}"))).collect();
    let keyed = |n| account.repeatable("POST", "/1/charges", Some(&format!("speed-{n}")), PAYMENT);
    let keyed: Vec<_> = (0..CONNECTIONS).map(keyed).collect();
    // Each is answered for the first time here.
    load::run(&[account.address], CONNECTIONS, &keyed, Stop::Count(CONNECTIONS)).await?;
    let mut lines = vec![
        (CHARGE, vec![account.request("POST", "/1/charges", PAYMENT)]),
        (CUSTOMER, vec![account.request("POST", "/1/charges", by_customer)]),
        (EMPTY_ROUTE, vec![get("/")]),
        ("get", each("/1/charges/")),
        ("list", vec![get("/1/charges?per_page=25")]),
        ("word", vec![get("/1/charges/search?query=needle")]),
        ("token", each("/1/charges/search?query=")),
        ("replay", keyed),
    ];
    // Of the empty route everything is a part.
    lines.retain(|(name, _)| *name == EMPTY_ROUTE || options.wants(name));
    Ok(lines)
}

/// Puts the load on each line, one after the other, and round after round, so that a bad minute of the machine spoils none.
async fn rounds(
    site: &Site,
    (measured, account): (&Process, &Account),
    by_customer: &str,
    bare: &Bare,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let (on, stop) = (site.database.kind().name(), Stop::After(options.span()));
    let lines = lines(account, by_customer, options).await?;
    let empty = Process::start(&mut empty_route()?);
    let other = (site.cluster.is_some() && options.wants(COPIES)).then(|| site.start());
    for round in 0..options.rounds.get() {
        for (name, requests) in &lines {
            let server = if *name == EMPTY_ROUTE { &empty } else { measured };
            let (run, cpu) = site.measure(&[server], CONNECTIONS, requests, stop).await?;
            report.best(Figure::new(on, name, &run, &cpu), &run);
            // Each ceiling at once: after a hundred thousand reads the server would still write its log of requests beside it.
            if let Some((name, payment)) = bare.payment(name)
                && let Some(per_second) = bare.per_second(site, payment, options.span())?
            {
                let run = Run::default();
                report.best(Figure { per_second, ..Figure::new(on, name, &run, &Cpu::default()) }, &run);
            }
        }
        if options.wants(KEYED) {
            let requests = fresh_keys(account, round, options);
            let (run, cpu) = site.measure(&[measured], CONNECTIONS, &requests, stop).await?;
            report.best(Figure::new(on, KEYED, &run, &cpu), &run);
        }
        if let Some(other) = &other {
            let requests = [account.request("POST", "/1/charges", PAYMENT)];
            let (run, cpu) = site.measure(&[measured, other], CONNECTIONS, &requests, stop).await?;
            report.best(Figure::new(on, COPIES, &run, &cpu), &run);
        }
    }
    if other.is_some() {
        let waits = site.waits.borrow();
        report.fact(on, LOCK_WAITS, waits.values().sum(), format!("sessions seen {waits:?}"));
    }
    Ok(())
}

/// Payments of one round, each under an Idempotency-Key of its own: more than any server makes.
fn fresh_keys(account: &Account, round: usize, options: &Options) -> Vec<Vec<u8>> {
    const PER_MILLISECOND: u128 = 20;
    let keys = (0..options.span().as_millis() * PER_MILLISECOND).map(|n| format!("fresh-{round}-{n}"));
    keys.map(|key| account.repeatable("POST", "/1/charges", Some(&key), PAYMENT)).collect()
}

/// A bare program that writes what payments write.
struct Bare {
    payments: [Payment; 2],
    /// Of SQLite's file; on PostgreSQL it writes into the server's own tables.
    copy: PathBuf,
}

impl Bare {
    fn new(site: &Site, payments: [Payment; 2]) -> Result<Self> {
        let copy = site.folder().join("bare.db");
        if let Database::Sqlite(file) = &site.database {
            // A server that was stopped may leave a part of its file in the log.
            for end in ["", "-wal"] {
                let of = |file: &PathBuf| PathBuf::from(format!("{}{end}", file.display()));
                if of(file).exists() {
                    std::fs::copy(of(file), of(&copy))?;
                }
            }
        }
        Ok(Self { payments, copy })
    }

    /// What a line's payments write, if it is one of payments, and how that is called.
    fn payment(&self, line: &str) -> Option<(&'static str, &Payment)> {
        let mut payments = [CHARGE, CUSTOMER].into_iter().zip(BARE.into_iter().zip(&self.payments));
        payments.find_map(|(paid, bare)| (paid == line).then_some(bare))
    }

    /// Returns how many payments a second. None where the program is not installed.
    fn per_second(&self, site: &Site, payment: &Payment, span: Duration) -> Result<Option<u64>> {
        let Some(cluster) = &site.cluster else {
            return payment.on_sqlite(&self.copy, u64::try_from(CONNECTIONS)?, span).map(Some);
        };
        let pgbench = cluster.program("pgbench");
        pgbench
            .map(|pgbench| payment.on_postgres(&pgbench, site.folder(), &cluster.url(), CONNECTIONS, span))
            .transpose()
    }
}

/// One caller alone, and the flushes that it waits for.
async fn alone(
    site: &Site,
    (measured, account): (&Process, &Account),
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let on = site.database.kind().name();
    let requests = [account.request("POST", "/1/charges", PAYMENT)];
    for _ in 0..options.rounds.get() {
        let (run, cpu) = site.measure(&[measured], 1, &requests, Stop::After(options.span())).await?;
        report.best(Figure::new(on, ALONE, &run, &cpu), &run);
        flush(site.folder(), on, report)?;
    }
    Ok(())
}

/// The flush of a folder's disk.
pub fn flush(folder: &Path, on: &'static str, report: &mut Report) -> Result<()> {
    const FLUSHES: usize = 200;
    let latencies = flushes(folder, FLUSHES)?;
    let run = Run { took: latencies.iter().sum(), latencies, ..Run::default() };
    report.best(Figure::new(on, FLUSH, &run, &Cpu::default()), &run);
    Ok(())
}

/// From a charge's answer to the first byte of its webhook.
async fn hand_off(account: &Account, on: &'static str, options: &Options, report: &mut Report) -> Result<()> {
    let receiver = Receiver::start().await?;
    account.send("POST", "/1/webhook_endpoints", &format!("url=http://{}/hook", receiver.address)).await?;
    let charge = account.request("POST", "/1/charges", PAYMENT);
    let latencies = receiver.hand_offs(account.address, &charge, options.span()).await?;
    let run = Run { latencies, ..Run::default() };
    report.best(Figure { per_second: 0, ..Figure::new(on, "webhook hand-off", &run, &Cpu::default()) }, &run);
    Ok(())
}

/// Subscriptions that the account's clock bills when it is moved by a month.
async fn renewals(
    site: &Site,
    (measured, account): (&Process, &Account),
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let customer = account.customer().await?;
    // Nothing is charged before the clock is moved.
    let plan =
        "name=Coffee&amount=1000&interval=1&interval_unit=month&trial_interval=1&trial_interval_unit=day";
    let plan = text(&account.send("POST", "/1/plans", plan).await?["token"])?;
    let subscribe =
        account.request("POST", "/1/subscriptions", &format!("plan_token={plan}&customer_token={customer}"));
    let subscriptions = Stop::Count((options.charges.get() / 10).clamp(1, 1000));
    report.note(&load::run(&[account.address], CONNECTIONS, &[subscribe], subscriptions).await?);

    let charged = account.charges().await?;
    let began = Instant::now();
    let moved = async {
        while account.send("PUT", "/1/sandbox/clock", "advance=28d").await?["complete"] != true {}
        Ok(began.elapsed())
    };
    let (took, cpu) = site.costs(&[measured], moved).await?;
    let renewed = account.charges().await? - charged;
    let run = Run { took, latencies: vec![Duration::ZERO; renewed], ..Run::default() };
    report.best(Figure::new(site.database.kind().name(), "renewals", &run, &cpu), &run);
    Ok(())
}
