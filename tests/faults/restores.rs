//! One account whose snapshots are made, put back and deleted all the time, and that refers merchants, whose passwords are hashed, beside
//! another account that makes its charges.

use std::iter::repeat_with;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use crate::harness::process::{PAYMENT, Process, pause, request, try_to_ask};
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::report::Report;

/// How many clients put back snapshots at once.
const LOOPS: usize = 2;
/// How many refer merchants at once.
const MERCHANTS: usize = 16;
const MERCHANT: &str = "contact[first_name]=Roland&contact[last_name]=Robot&contact[phone_number]=0491+570+156\
    &contact[email]=roland@example.com&contact[password]=correct+horse+battery+staple\
    &entity[business_registration_number]=51+824+753+556&entity[full_legal_name]=Robots+Pty+Ltd\
    &entity[address_line_1]=42+Sevenoaks+St&entity[address_locality]=Lathlain&entity[address_region]=WA\
    &entity[address_postal_code]=6454&entity[address_country_code]=AU\
    &business[trading_name]=Robots&business[description]=Robots&business[typical_product_price]=100\
    &business[transactions_per_month]=20&business[annual_transaction_volume]=20000\
    &business[sells_physical_goods]=true&business[average_delivery_days]=7&business[url]=https://robots.example.com\
    &bank_account[name]=Roland+Robot&bank_account[bsb]=736-032&bank_account[number]=987654321\
    &director[full_name]=Roland+Robot&director[contact_number]=0491+570+156&director[date_of_birth]=1980-02-29";
/// Between two charges.
const PACE: Duration = Duration::from_millis(20);

/// `restores`: two clients put back an account's snapshots, with many charges and with none, one after another; others make and delete
/// snapshots of it, and refer merchants. `--seconds` (4),
/// `--charges` (200; 4,000 are a busy test account). What a charge of another account may take at the 99th percentile depends on the
/// build, the machine and what else runs on it: `CARD_PAYMENTS_RESTORES_P99_MS` says it. The default (20,000) is that of a debug build
/// beside other tests. Nobody may see an account that is neither of the two.
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let (seconds, charges) = (options.number("seconds", 4), options.number("charges", 200));
    let bound = std::env::var("CARD_PAYMENTS_RESTORES_P99_MS").map_or(20_000, |bound| bound.parse().unwrap());
    let installation = Installation::on(on)?;
    let server = installation.start();
    let (modest, _) = server.keys();
    let made = server.ask("POST", "/1/sandbox/accounts", Some(&modest), "").ok(201);
    let busy = made["secret_key"].as_str().unwrap();
    let empty = snapshot(&server, busy);
    scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..charges / 8).for_each(|_| drop(server.pay(busy).ok(201))));
        }
    });
    let full = snapshot(&server, busy);
    let alone = charges_of(&server, &modest, Duration::from_secs(seconds.min(4)));

    let (is_over, restored, refused) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let beside = scope(|scope| {
        for _ in 0..LOOPS {
            scope.spawn(|| {
                for snapshot in [&full, &full, &empty].into_iter().cycle() {
                    if is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    let path = format!("/1/sandbox/snapshots/{snapshot}/restore");
                    let count = match server.ask("PUT", &path, Some(busy), "").status {
                        200 => &restored,
                        // The other client's goes on.
                        503 => &refused,
                        other => panic!("{other}"),
                    };
                    count.fetch_add(1, Ordering::SeqCst);
                    pause(PACE);
                }
            });
        }
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                let made = server.ask("POST", "/1/sandbox/snapshots", Some(busy), "");
                if made.status == 201 {
                    let path = format!("/1/sandbox/snapshots/{}", made.ok(201)["token"].as_str().unwrap());
                    // While another one is put back, it is refused.
                    let mut statuses = repeat_with(|| server.ask("DELETE", &path, Some(busy), "").status);
                    assert_eq!(statuses.find(|status| *status != 503), Some(204));
                } else {
                    assert_eq!(made.status, 503, "{}", made.body);
                }
                pause(PACE);
            }
        });
        for _ in 0..MERCHANTS {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    let made = server.ask("POST", "/1/merchants", Some(busy), MERCHANT).status;
                    assert!([201, 503].contains(&made), "{made}");
                }
            });
        }
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                let list = server.ask("GET", "/1/charges?per_page=1", Some(busy), "");
                let count =
                    (list.status == 200).then(|| list.json()["pagination"]["count"].as_u64().unwrap());
                assert!(list.status == 503 || [Some(0), Some(charges / 8 * 8)].contains(&count), "{count:?}");
                pause(PACE);
            }
        });
        let beside = charges_of(&server, &modest, Duration::from_secs(seconds));
        is_over.store(true, Ordering::SeqCst);
        beside
    });
    let (quiet, p99) = (percentile(&alone, 99), percentile(&beside, 99));
    let restored = restored.into_inner();
    let besides = format!(
        "{} charges beside {restored} restores of {charges} charges: p50 {} ms, p99 {} ms, at most {} ms (alone: p99 {} ms)",
        beside.len(),
        percentile(&beside, 50).as_millis(),
        p99.as_millis(),
        percentile(&beside, 100).as_millis(),
        quiet.as_millis(),
    );
    println!("restores on {}: {besides}", on.name());
    assert!(restored > 0);
    assert!(p99 < Duration::from_millis(bound), "p99 {p99:?}");
    server.stopped();
    installation.proves_its_books();
    let server_errors = refused.into_inner();
    Some(Report {
        rounds: 1,
        faults: restored,
        server_errors,
        besides,
        seed: options.seed(),
        ..Report::default()
    })
}

fn snapshot(server: &Process, key: &str) -> String {
    let made = server.ask("POST", "/1/sandbox/snapshots", Some(key), "").ok(201);
    made["token"].as_str().unwrap().to_owned()
}

/// Makes charges one after another, and returns how long each takes, sorted. None may be refused.
fn charges_of(server: &Process, key: &str, span: Duration) -> Vec<Duration> {
    let (began, mut took) = (Instant::now(), Vec::new());
    while began.elapsed() < span {
        let start = Instant::now();
        let answer = try_to_ask(server.address, &request("POST", "/1/charges", Some(key), PAYMENT));
        assert_eq!(answer.unwrap().status, 201);
        took.push(start.elapsed());
        pause(PACE);
    }
    took.sort_unstable();
    took
}

fn percentile(took: &[Duration], percent: usize) -> Duration {
    took[(took.len() * percent / 100).min(took.len() - 1)]
}
