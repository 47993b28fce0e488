//! A PostgreSQL that knows nothing of its tables, as each new, copied or restored one until autovacuum has come by.

use std::time::{Duration, Instant};

use crate::harness::process::{Process, request, try_to_ask};
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::report::Report;

const CLIENTS: usize = 8;
/// PostgreSQL plans a statement for its values five times, and then once for all values.
const WARMING: usize = 8;

/// The token of no charge.
const NONE: &str = "ch_AaIft5Lzcv6jDr51YZSG2Q";

/// Lists, searches and look-ups of charges and of what comes with them.
const QUESTIONS: [&str; 24] = [
    "charges",
    "charges?page=2",
    "charges?page={middle}",
    "charges?per_page=500",
    "charges/{charge}",
    "charges/{charge}/refunds",
    "charges/search",
    "charges/search?sort=amount",
    "charges/search?sort=amount&direction=-1",
    "charges/search?query=buyer7%40shop7.example",
    "charges/search?query=shop7.example",
    "charges/search?query=example",
    "charges/search?query=example&sort=amount",
    "charges/search?query=407",
    "charges/search?query=AUD",
    "charges/search?query={charge}",
    "charges/search?start_date=2020/01/01&sort=amount",
    "customers",
    "customers?page=2",
    "refunds",
    "balance",
    "events?page={middle}",
    "events?about={charge}",
    "sandbox/requests",
];

/// A database's questions that take too long without statistics, and the worst one.
struct PlanComparison {
    slow: Vec<&'static str>,
    worst: (u128, &'static str),
}

/// `statistics`: each question to a database that has never been analysed takes at most twice as long as afterwards. `--charges` (400),
/// `--rounds` (9). On a machine that does other work, too, times of a few milliseconds say little:
/// `CARD_PAYMENTS_STATISTICS_SLACK_MS` (25) is added.
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let (charges, rounds) = (options.number("charges", 400), options.number("rounds", 9));
    let slack = std::env::var("CARD_PAYMENTS_STATISTICS_SLACK_MS").map_or(25, |slack| slack.parse().unwrap());
    let PlanComparison { slow, worst } = compare(&Installation::on(on)?, charges, rounds, slack);
    if !slow.is_empty() {
        // The two series are seconds apart, and something else may have slowed the first: a bad plan does so in a new database, too.
        let again = compare(&Installation::on(on)?, charges, rounds, slack).slow;
        let slow: Vec<_> = slow.into_iter().filter(|question| again.contains(question)).collect();
        assert!(slow.is_empty(), "slow without statistics, in two databases: {slow:?}");
    }
    let besides = format!(
        "{charges} charges, worst without statistics: {} % of the time with them, {}",
        worst.0, worst.1
    );
    Some(Report { rounds, besides, seed: options.seed(), ..Report::default() })
}

/// Fills a database, and asks it before and after `ANALYZE`.
fn compare(installation: &Installation, charges: u64, rounds: u64, slack: u64) -> PlanComparison {
    let server = installation.start();
    let (key, _) = server.keys();
    // Whatever is planned here is planned for empty tables.
    for question in QUESTIONS {
        ask(&server, &key, &path(question, charges, NONE), WARMING);
    }
    let charge = fill(&server, &key, charges);
    let times = || -> Vec<Duration> {
        // Whatever else the machine does only adds to a plan's time.
        let shortest = |question| {
            let path = path(question, charges, &charge);
            ask(&server, &key, &path, WARMING);
            ask(&server, &key, &path, usize::try_from(rounds).unwrap()).into_iter().min().unwrap()
        };
        QUESTIONS.into_iter().map(shortest).collect()
    };
    let before = times();
    assert_eq!(
        installation.sql("SELECT count(*) FROM pg_class WHERE relname = 'charges' AND reltuples < 0"),
        ["1"]
    );
    installation.sql("ANALYZE");
    let after = times();
    let (mut slow, mut worst) = (Vec::new(), (0, ""));
    for ((question, before), after) in QUESTIONS.into_iter().zip(before).zip(after) {
        let [without, with] = [before, after].map(|time| time.as_micros());
        println!("{question:<48} without statistics {without:>8} us, with them {with:>8} us");
        if before > 2 * after + Duration::from_millis(slack) {
            slow.push(question);
        }
        worst = Ord::max(worst, (without * 100 / with.max(1), question));
    }
    server.stopped();
    installation.proves_its_books();
    PlanComparison { slow, worst }
}

/// Returns a question's path.
fn path(question: &str, charges: u64, charge: &str) -> String {
    let middle = (charges / 50).to_string();
    format!("/1/{}", question.replace("{middle}", &middle).replace("{charge}", charge))
}

/// Asks so many times. Returns how long each answer took.
fn ask(server: &Process, key: &str, path: &str, times: usize) -> Vec<Duration> {
    let text = request("GET", path, Some(key), "");
    let one = |_| {
        let start = Instant::now();
        let answer = try_to_ask(server.address, &text).unwrap();
        assert!([200, 404].contains(&answer.status), "{path}: {}", answer.status);
        start.elapsed()
    };
    (0..times).map(one).collect()
}

/// Makes charges of many buyers at fifty shops, customers, and refunds. Returns a charge.
fn fill(server: &Process, key: &str, charges: u64) -> String {
    const CARD: &str = "card[number]=4200000000000000&card[expiry_month]=5&card[expiry_year]=2035&card[cvc]=123&card[name]=Roland+Robot\
                        &card[address_line1]=42+Sevenoaks+St&card[address_city]=Lathlain&card[address_country]=Australia";
    let make = |n: u64| {
        let email = format!("email=buyer{n}%40shop{}.example", n % 50);
        let form = format!(
            "{email}&description=Order+{n}&amount={}&ip_address=203.192.1.172&{CARD}",
            400 + n * 7 % 10_000
        );
        let made = server.ask("POST", "/1/charges", Some(key), &form).ok(201);
        let charge = made["token"].as_str().unwrap().to_owned();
        if n.is_multiple_of(10) {
            server.ask("POST", "/1/customers", Some(key), &format!("{email}&{CARD}")).ok(201);
            server.ask("POST", &format!("/1/charges/{charge}/refunds"), Some(key), "amount=100").ok(201);
        }
        charge
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| scope.spawn(move || (client as u64..charges).step_by(CLIENTS).map(make).last()))
            .collect();
        clients.into_iter().filter_map(|client| client.join().unwrap()).last().unwrap()
    })
}
