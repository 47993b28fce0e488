//! Faults that are seeded into a statement are found, all of them and no other, wherever its import is killed.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use entity::{AccountToken, ChargeToken, Currency, DisputeToken, RefundToken, TimeSpan, Timestamp};
use uuid::Uuid;

use super::{File, exceptions, reconciled};
use crate::harness::random::Random;
use crate::harness::{Database, Installed, operated};

/// 2026-11-23, a Monday, in days since 1970.
pub const DAY: i64 = 20_780;

/// Returns a day as a statement writes it.
pub fn day_of(day: i64) -> String {
    (Timestamp::from_millis(0) + TimeSpan::days(day)).day().date().to_string()
}

/// Returns the milliseconds at which a day begins, counted from [`DAY`].
pub fn midnight(days: i64) -> i64 {
    TimeSpan::days(DAY + days).millis()
}

/// A movement of the books, as the acquirer would write it.
#[derive(Debug, Clone)]
pub struct Moved {
    pub kind: &'static str,
    pub token: String,
    pub amount: i64,
    pub currency: &'static str,
    /// Days since 1970.
    pub day: i64,
}

impl Moved {
    pub fn reference(&self) -> String {
        let call = if self.kind == "refund" { "refund" } else { "charge" };
        format!("{}:{call}", self.token)
    }

    pub fn subject(&self) -> &str {
        &self.token
    }

    pub fn line(&self) -> String {
        let Self { kind, amount, currency, day, .. } = self;
        format!("{kind},{},{amount},{currency},{}", self.reference(), day_of(*day))
    }
}

/// Rows of the books, written past the server: many, at chosen times.
pub struct Books {
    account: Uuid,
    database: Database,
    n: u64,
    /// Statements, each with its rows.
    rows: [(&'static str, Vec<String>); 5],
}

impl Books {
    /// Makes the account of an installation.
    pub fn new(installed: &Installed) -> Self {
        installed.records(&[
            "account",
            "create",
            "--business-name",
            "Roland Robotics",
            "--email",
            "accounts@example.com",
        ]);
        let account: AccountToken = installed.account().parse().unwrap();
        let rows = [
            "journal_entries (account_id, id, kind, source, created_at)",
            "charges (account_id, id, origin, state, attempt, call, amount, currency, description, email, ip_address, metadata, card, card_id, \
             capture, expires_at, rate, settlement_amount, fees, platform_fees, entitlement, amount_refunded, refunds_pending, search_text, \
             created_at)",
            "refunds (account_id, id, charge_id, state, attempt, announced, amount, currency, settlement_amount, created_at)",
            "disputes (account_id, id, charge_id, category, status, charged_back, amount, currency, settlement_amount, \
             evidence_required_by, received_at)",
            "postings (account_id, id, entry_id, book, amount, currency, available_on)",
        ];
        let rows = rows.map(|table| (table, Vec::new()));
        Self { account: account.id(), database: installed.database, n: 0, rows }
    }

    /// Draws an id as a server does at this time.
    fn id(&mut self, at: i64) -> Uuid {
        self.n += 1;
        let time = u128::from(at.unsigned_abs()) << 80;
        Uuid::from_u128(time | (7 << 76) | (0b10 << 62) | u128::from(self.n))
    }

    fn literal(&self, id: Uuid) -> String {
        match self.database {
            Database::Sqlite => format!("X'{}'", id.simple()),
            Database::Postgres => format!("'{id}'"),
        }
    }

    fn add(&mut self, table: usize, ids: &[Uuid], values: &str) {
        let mut row = format!("({}", self.literal(self.account));
        for id in ids {
            write!(row, ", {}", self.literal(*id)).unwrap();
        }
        write!(row, ", {values})").unwrap();
        self.rows[table].1.push(row);
    }

    fn entry(&mut self, at: i64, kind: &str, source: &str) -> Uuid {
        let id = self.id(at);
        // The account's clock may be anywhere.
        self.add(0, &[id], &format!("'{kind}', '{source}', {}", at + 7 * 86_400_000));
        id
    }

    /// Adds a captured charge.
    pub fn charge(&mut self, at: i64, amount: i64, currency: &'static str) -> Moved {
        let id = self.id(at);
        let token = ChargeToken::new(id).to_string();
        let card = self.literal(id);
        let values = format!(
            "'payment', 'captured', 1, 0, {amount}, '{currency}', '', '', '', '{{}}', '{{}}', {card}, TRUE, 0, 1000000, {amount}, 0, 0, \
             {amount}, 0, 0, '', {at}"
        );
        self.add(1, &[id], &values);
        self.entry(at, "charge", &token);
        Moved { kind: "capture", token, amount, currency, day: at / 86_400_000 }
    }

    /// Adds a refund of a charge.
    pub fn refund(&mut self, at: i64, charge: &Moved, amount: i64) -> Moved {
        let id = self.id(at);
        let token = RefundToken::new(id).to_string();
        let of: ChargeToken = charge.token.parse().unwrap();
        let currency = charge.currency;
        let values = format!("'succeeded', 2, 'succeeded', {amount}, '{currency}', {amount}, {at}");
        self.add(2, &[id, of.id()], &values);
        self.entry(at, "refund", &token);
        Moved { kind: "refund", token, amount, currency, day: at / 86_400_000 }
    }

    /// Adds a dispute of a charge.
    pub fn dispute(&mut self, at: i64, charge: &Moved, amount: i64) -> Moved {
        let id = self.id(at);
        let of: ChargeToken = charge.token.parse().unwrap();
        let values =
            format!("'general', 'lost', TRUE, {amount}, '{}', {amount}, {at}, {at}", charge.currency);
        self.add(3, &[id, of.id()], &values);
        let entry = self.entry(at, "chargeback_recovery", &DisputeToken::new(id).to_string());
        for (book, amount) in [("merchant", -amount), ("disputes", amount)] {
            let posting = self.id(at);
            self.add(4, &[posting, entry], &format!("'{book}', {amount}, 'AUD', 0"));
        }
        Moved { kind: "chargeback", amount, day: at / 86_400_000, ..charge.clone() }
    }

    /// Writes them.
    pub async fn save(&mut self, installed: &Installed) {
        for (table, rows) in &mut self.rows {
            for rows in rows.chunks(500) {
                installed.execute(&format!("INSERT INTO {table} VALUES {}", rows.join(", "))).await;
            }
            rows.clear();
        }
    }
}

/// How many lines a statement has: `CARD_PAYMENTS_RECONCILE_LINES`.
fn lines() -> usize {
    std::env::var("CARD_PAYMENTS_RECONCILE_LINES").map_or(2_500, |lines| lines.parse().unwrap())
}

/// What was seeded: kind and reference of the exceptions.
type Expected = Vec<(String, String)>;

/// Adds the lines of a movement with or without a fault.
fn seed(random: &mut Random, moved: &Moved, file: &mut File, expected: &mut Expected) {
    let fault = if random.below(10) == 0 { random.below(6) } else { 6 };
    let mut expect = |kind: &str, reference: &str| expected.push((kind.into(), reference.into()));
    let mut line = moved.clone();
    match fault {
        0 => return expect("missing", moved.subject()),
        1 => {
            file.lines.push(moved.line());
            expect("doubled", &moved.reference());
        }
        2 => {
            line.token = ChargeToken::new(Uuid::from_u128(u128::from(random.below(u64::MAX)))).to_string();
            file.lines.push(moved.line());
            expect("foreign", &line.reference());
        }
        3 => {
            line.amount += 1 + i64::try_from(random.below(1_000)).unwrap();
            expect("amount", &moved.reference());
        }
        4 => {
            let others =
                Currency::ALL.iter().map(|currency| currency.code()).filter(|other| *other != moved.currency);
            let others: Vec<_> = others.collect();
            line.currency = others[usize::try_from(random.below(others.len() as u64)).unwrap()];
            expect("currency", &moved.reference());
        }
        5 => {
            line.day -= 1 + i64::try_from(random.below(5)).unwrap();
            expect("day", &moved.reference());
        }
        _ => {}
    }
    file.lines.push(line.line());
}

/// Makes books of three days and the statement of them, in any order.
fn seeded(installed: &Installed, random: &mut Random) -> (Books, File, Expected) {
    let mut books = Books::new(installed);
    let (mut file, mut expected) = (File::new("seeded", 0, 2), Vec::new());
    let at = |random: &mut Random, day: i64| {
        midnight(day) + 3_600_000 + i64::try_from(random.below(22 * 3_600_000)).unwrap()
    };
    while file.lines.len() < lines() {
        let day = i64::try_from(random.below(3)).unwrap();
        let currency = ["AUD", "USD", "JPY"][usize::try_from(random.below(3)).unwrap()];
        let amount = 1_000 + i64::try_from(random.below(100_000)).unwrap();
        let charge = books.charge(at(random, day), amount, currency);
        seed(random, &charge, &mut file, &mut expected);
        match random.below(4) {
            0 => {
                for amount in [100, 200] {
                    let refund = books.refund(at(random, day), &charge, amount);
                    seed(random, &refund, &mut file, &mut expected);
                }
            }
            1 => {
                let dispute = books.dispute(at(random, day), &charge, amount);
                seed(random, &dispute, &mut file, &mut expected);
            }
            2 => {
                // Two disputes of a charge have one reference: what is exact matches first, and one of them may be missing.
                let [first, second] =
                    [300, 500].map(|amount| books.dispute(at(random, day), &charge, amount));
                match random.below(20) {
                    0 => {
                        file.lines.push(second.line());
                        expected.push(("missing".into(), first.subject().into()));
                    }
                    _ => file.lines.extend([second.line(), first.line()]),
                }
            }
            _ => {}
        }
    }
    // Other days are no business of this statement.
    for day in [-1, 3] {
        for _ in 0..lines() / 20 {
            books.charge(at(random, day), 400, "AUD");
        }
    }
    for last in (1..file.lines.len()).rev() {
        file.lines.swap(last, usize::try_from(random.below(last as u64 + 1)).unwrap());
    }
    expected.sort();
    (books, file, expected)
}

operated! {
    async fn exactly_the_seeded_faults_are_found_wherever_the_import_is_killed(installed) {
        let seed = u64::from(std::process::id());
        let mut random = Random(seed);
        let (mut books, file, expected) = seeded(installed, &mut random);
        books.save(installed).await;
        let path = file.write(installed);
        let kinds: HashSet<_> = expected.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds.len(), 6, "each kind is seeded: {seed}");
        let began = Instant::now();
        // The last batch of a stage begins the next one, so each is killed there and inside.
        for stage in ["lines", "lines", "books", "books", "rest", "rest"] {
            installed.with("CRASH_AT", &format!("reconcile.{stage}"));
            assert_eq!(installed.run(&["reconcile", &path]).0, None, "it is killed at {stage}");
            if stage == "lines" {
                // As if the file had been another one when its lines were stored.
                installed.execute("UPDATE statement_lines SET amount = amount + 1").await;
            }
        }
        installed.without("CRASH_AT");
        let result = reconciled(installed, &path);
        let taken = began.elapsed();
        assert_eq!(exceptions(installed, "open"), expected, "seed {seed}");
        let found: i64 = result["exceptions"].as_array().unwrap().iter().map(|count| count["n"].as_i64().unwrap()).sum();
        assert_eq!(usize::try_from(found).unwrap(), expected.len());
        let unmatched = expected.iter().filter(|(kind, _)| kind == "foreign" || kind == "doubled").count();
        assert_eq!(result["matched"].as_u64().unwrap(), (file.lines.len() - unmatched) as u64);
        assert_eq!(installed.number("SELECT COUNT(*) FROM statement_lines").await, i64::try_from(file.lines.len()).unwrap());
        assert_eq!(reconciled(installed, &path)["imported_before"], true);
        println!("{} lines with {} faults in {taken:?} on {:?}", file.lines.len(), expected.len(), installed.database);
        // The same import again, which is not killed.
        for table in ["reconciliation_exceptions", "statement_lines", "acquirer_statements"] {
            installed.execute(&format!("DELETE FROM {table}")).await;
        }
        let began = Instant::now();
        assert_eq!(reconciled(installed, &path)["imported_before"], false);
        let whole = began.elapsed();
        // A limit for a build without optimisation, and where that is too little because others share the machine, one for seven
        // starts.
        let limit = Duration::from_secs(30 + lines() as u64 / 500).max(10 * whole);
        assert!(taken < limit, "{taken:?}, where {limit:?} would do");
    }

    async fn an_import_that_was_killed_gives_way_to_another_statement(installed) {
        let mut random = Random(1);
        let (mut books, file, _) = seeded(installed, &mut random);
        books.save(installed).await;
        let path = file.write(installed);
        let other = File::new("other", 10, 10).write(installed);
        // Its lines are not all there: it is dropped, and can be imported afterwards.
        installed.with("CRASH_AT", "reconcile.lines");
        assert_eq!(installed.run(&["reconcile", &path]).0, None);
        installed.without("CRASH_AT");
        reconciled(installed, &other);
        assert_eq!(installed.number("SELECT COUNT(*) FROM statement_lines").await, 0);
        // They are all there: it is finished before the other one.
        installed.with("CRASH_AT", "reconcile.books");
        assert_eq!(installed.run(&["reconcile", &path]).0, None);
        installed.without("CRASH_AT");
        let another = File::new("another", 11, 11).write(installed);
        reconciled(installed, &another);
        assert_eq!(installed.number("SELECT COUNT(*) FROM acquirer_statements WHERE stage = 'done'").await, 3);
        assert_eq!(reconciled(installed, &path)["imported_before"], true);
    }
}
