//! How costs grow with the tables: the same requests at 1 k, 10 k, 100 k and 1,000,000 charges of one account, each
//! beside what it cost at the smallest size.
//!
//! `cargo bench --bench growth -- [--sizes 1000,10000] [--rounds 200] [--postgres URL] [--folder PATH] [--binary PATH]`
//!
//! On SQLite in a folder of its own, or in the empty database that URL names. The server makes one charge, which the
//! database then copies (`fill.rs`); the books must hold afterwards. Of a request the median time is told, and the CPU of
//! the server's process for one; settlement and the proof of the books are told for a thousand charges. Searches are also
//! sent by 16 clients at once, beside a GET: of these p50 and p99 are told, and how many times more p99 is than a GET's.

mod fill;
mod server;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use server::Server;

type Fallible<T> = Result<T, Box<dyn Error>>;

struct Options {
    sizes: Vec<i64>,
    rounds: u32,
    postgres: Option<String>,
    folder: PathBuf,
    binary: PathBuf,
}

impl Options {
    /// None where `cargo test` names tests: this is none of them.
    fn read() -> Fallible<Option<Self>> {
        let mut options = Self {
            sizes: vec![1_000, 10_000, 100_000, 1_000_000],
            rounds: 200,
            postgres: None,
            folder: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("growth"),
            binary: env!("CARGO_BIN_EXE_card-payments").into(),
        };
        let mut words = std::env::args().skip(1).peekable();
        // It wants to know that it works.
        if words.peek().is_none() {
            return Ok(Some(Self { sizes: vec![200, 400], rounds: 2, ..options }));
        }
        if !std::env::args().any(|word| word == "--bench") {
            return Ok(None);
        }
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
            match word.as_str() {
                "--sizes" => options.sizes = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
                "--rounds" => options.rounds = value()?.parse()?,
                "--postgres" => options.postgres = Some(value()?),
                "--folder" => options.folder = value()?.into(),
                "--binary" => options.binary = value()?.into(),
                // Cargo says so itself.
                "--bench" => {}
                other => return Err(format!("what is {other}?").into()),
            }
        }
        Ok(Some(options))
    }
}

/// The address of each question, and how much of the rounds it is asked.
const QUESTIONS: [(&str, &str, u32); 20] = [
    ("GET one", "/1/charges/{charge}", 1),
    ("page 1", "/1/charges", 1),
    ("page 1,000", "/1/charges?page=1000", 4),
    ("page in the middle", "/1/charges?page={middle}", 4),
    ("last page", "/1/charges?page={last}", 4),
    ("events, page 1", "/1/events", 1),
    ("events, page 1,000", "/1/events?page=1000", 4),
    ("events, page in the middle", "/1/events?page={middle}", 4),
    ("events, last page", "/1/events?page={last}", 4),
    ("balance", "/1/balance", 1),
    ("search by token", "/1/charges/search?query={charge}", 1),
    ("search by e-mail", "/1/charges/search?query=buyer{buyer}%40example.com", 1),
    ("search, 100 hits", "/1/charges/search?query={lot}", 1),
    ("search, no hit", "/1/charges/search?query=nowhere", 1),
    ("search, all hit", "/1/charges/search?query=roland", 20),
    ("search, page 1,000", "/1/charges/search?query=roland&page=1000", 20),
    ("search, page in the middle", "/1/charges/search?query=roland&page={middle}", 20),
    ("search, last page", "/1/charges/search?query=roland&page={last}", 20),
    ("search, two letters", "/1/charges/search?query=ro", 20),
    ("search, all hit, by amount", "/1/charges/search?query=roland&sort=amount", 20),
];

/// What 16 clients ask for at once: a GET first.
const SHARED: [(&str, &str); 4] = [
    ("GET one", "/1/charges/{charge}"),
    ("search by e-mail", "/1/charges/search?query=buyer{n}%40example.com"),
    ("search by word", "/1/charges/search?query={lot}"),
    ("search by token", "/1/charges/search?query={charge}"),
];
const CLIENTS: u32 = 16;

/// The cost of a request.
#[derive(Debug, Clone, Copy)]
struct Cost {
    median: Duration,
    cpu: Duration,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Fallible<()> {
    let Some(options) = Options::read()? else { return Ok(()) };
    let mut first = BTreeMap::new();
    let place = fill::Place::new(&options.folder, options.postgres.clone())?;
    for &size in &options.sizes {
        let server = Server::start(&options.binary, &place)?;
        if place.template().await?.is_none() {
            server.charge(&fill::description("#n#", "#l#"))?;
        }
        let account = place.template().await?.ok_or("there is no charge to copy")?.account;
        drop(server);
        let began = Instant::now();
        place.fill(size).await?;
        println!("\n{size} charges, filled in {:.1?}", began.elapsed());

        let began = Instant::now();
        server::command(&options.binary, &place, &["ledger", "verify"])?;
        let proof = began.elapsed() * 1_000 / u32::try_from(size)?;
        server::command(
            &options.binary,
            &place,
            &["account", "set", &account, "transfers_schedule", "daily"],
        )?;

        let server = Server::start(&options.binary, &place)?;
        for (name, cost) in requests(&server, size, options.rounds)? {
            print_cost(&mut first, name, cost);
        }
        let mut of_get = None;
        for (name, path) in SHARED {
            let [p50, p99] = shared(&server, path, size, options.rounds)?;
            let of_get = *of_get.get_or_insert(p99);
            println!(
                "{name:<28} p50 {:>9} us  p99 {:>9} us  x{} of a GET's, {CLIENTS} clients",
                p50.as_micros(),
                p99.as_micros(),
                times(p99, of_get)
            );
        }
        let (lines, cost) = settled(&server)?;
        let each = |of: Duration| of * 1_000 / u32::try_from(lines).unwrap_or(1).max(1);
        print_cost(
            &mut first,
            "settlement, a thousand",
            Cost { median: each(cost.median), cpu: each(cost.cpu) },
        );
        print_cost(&mut first, "ledger verify, a thousand", Cost { median: proof, cpu: Duration::ZERO });
    }
    Ok(())
}

fn requests(server: &Server, size: i64, rounds: u32) -> Fallible<Vec<(&'static str, Cost)>> {
    let charge = server.newest_charge()?;
    let lot = fill::lot(size / 200);
    let mut costs = Vec::new();
    for (name, path, part) in QUESTIONS {
        let path = path.replace("{charge}", &charge).replace("{lot}", &lot);
        let path = path.replace("{buyer}", &(size / 3).to_string());
        let path = path.replace("{middle}", &(size / 50).max(1).to_string());
        let path = path.replace("{last}", &size.unsigned_abs().div_ceil(25).to_string());
        costs.push((name, measured(server, rounds.div_ceil(part), || server.get(&path).map(drop))?));
    }
    costs.push(("POST", measured(server, rounds, || server.charge("one more"))?));
    Ok(costs)
}

/// Sends a request by 16 clients at once, each again after each answer. Returns p50 and p99.
fn shared(server: &Server, path: &str, size: i64, rounds: u32) -> Fallible<[Duration; 2]> {
    let path = path.replace("{charge}", &server.newest_charge()?).replace("{lot}", &fill::lot(size / 200));
    let mut threads = Vec::new();
    for client in 0..CLIENTS {
        let (connection, path) = (server.connect()?, path.clone());
        let timed = move |round: u32| -> Result<Duration, String> {
            // Another address each time.
            let n = i64::from(round * CLIENTS + client) * 37 % size;
            let (path, began) = (path.replace("{n}", &n.to_string()), Instant::now());
            connection.send("GET", &path, "").map_err(|error| error.to_string())?;
            Ok(began.elapsed())
        };
        threads.push(thread::spawn(move || (0..rounds).map(timed).collect::<Result<Vec<_>, _>>()));
    }
    let mut times = Vec::new();
    for thread in threads {
        times.extend(thread.join().map_err(|_| "a client has panicked")??);
    }
    times.sort();
    Ok([times[times.len() / 2], times[times.len() * 99 / 100]])
}

/// Settles what waits, by a day of the clock: how many lines that were, and what it cost.
fn settled(server: &Server) -> Fallible<(u64, Cost)> {
    let cost = measured(server, 1, || server.a_day_passes())?;
    let transfers = server.get("/1/transfers")?;
    Ok((transfers["response"][0]["line_items_count"].as_u64().ok_or("nothing was settled")?, cost))
}

fn measured(server: &Server, rounds: u32, mut call: impl FnMut() -> Fallible<()>) -> Fallible<Cost> {
    let mut times = Vec::new();
    let before = server.cpu()?;
    for _ in 0..rounds {
        let began = Instant::now();
        call()?;
        times.push(began.elapsed());
    }
    let cpu = server.cpu()?.saturating_sub(before) / rounds;
    times.sort();
    Ok(Cost { median: times[times.len() / 2], cpu })
}

/// A line of the table, with how many times more it is than at the first size.
fn print_cost(first: &mut BTreeMap<&'static str, Cost>, name: &'static str, cost: Cost) {
    let before = first.entry(name).or_insert(cost);
    println!(
        "{name:<28} {:>9} us  x{:<7} cpu {:>9} us  x{}",
        cost.median.as_micros(),
        times(cost.median, before.median),
        cost.cpu.as_micros(),
        times(cost.cpu, before.cpu),
    );
}

/// How many times more one time is than another.
fn times(now: Duration, then: Duration) -> String {
    let hundredths = (now.as_nanos() * 100).checked_div(then.as_nanos());
    hundredths.map_or_else(|| "-".into(), |n| format!("{}.{:02}", n / 100, n % 100))
}
