//! Every statement starts from an account (design, Data and The store; docs/architecture.md). What the server sends
//! while every operation of the document is asked for, and while time passes, is read word by word.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use card_payments::services::audit;
use migration::{Migrator, MigratorTrait};
use sea_orm::{DbBackend, Statement};

use crate::accounts::large::filled;
use crate::harness::steps::sql_of;
use crate::harness::{App, Database};
use crate::operators::secrets::alone;
use crate::store::query_plans;

/// Tables found by something else than an account: the key of a request, the secret of a page.
const BY_HASH: [&str; 3] = ["api_keys", "challenge_pages", "ended_sessions"];
/// Tables of the database itself.
const OF_NOBODY: [&str; 3] = ["audit_entries", "installation", "vault_keys"];

/// What is due by these is looked for among all accounts: a batch at a time, each item then claimed by its own key.
const DUE_BY: [&str; 27] = [
    "accounts.purge_at",
    "accounts.settles_at",
    "accounts.wipe_at",
    "api_keys.valid_until",
    "bank_accounts.expires_at",
    "card_attacks.recorded_at",
    "cards.expires_at",
    "charges.settle_after",
    "disputes.expires_at",
    "ended_sessions.ends_at",
    "scheduled_disputes.arrives_at",
    "erasures.due_at",
    "idempotency_keys.created_at",
    "key_uses.last_at",
    "person_sessions.ends_at",
    "plans.deleted_at",
    "refunds.settles_at",
    "refunds.submit_after",
    "snapshots.remove_at",
    "stray_blobs.remove_at",
    "subscriptions.ends_at",
    "subscriptions.next_billing_at",
    "three_d_secure_sessions.expires_at",
    "transfers.returns_at",
    "wallet_payloads.expires_at",
    "webhook_endpoints.former_key_until",
    "webhooks.due_at",
];

/// What else looks at all accounts, by the words in which it does, and why it may.
const OVER_ALL: [(&str, &str); 4] = [
    (
        "select accounts.id , ( select max ( charges.created_at ) from charges where charges.account_id = accounts.id and",
        "the last charges of the merchants on a page, each by its account",
    ),
    ("from inboxes where inboxes.id =", "a sender to an inbox knows its URL alone"),
    ("delete from charges_search where", "SQLite: words bear a short code, which two accounts may share"),
    (
        "select accounts.id from accounts",
        "SQLite: whether another account shares a code, before words are deleted",
    ),
];

/// What a distributed PostgreSQL lacks, and a pool of connections forgets.
const UNUSED: [&str; 9] = [
    "skip locked",
    "listen",
    "notify",
    "pg_advisory",
    "nextval",
    "trigger",
    "lock table",
    "serial",
    "foreign key",
];

/// What follows a table that has no other name.
const AFTER_TABLES: [&str; 18] = [
    "where",
    "set",
    "on",
    "join",
    "inner",
    "left",
    "cross",
    "(",
    ")",
    ",",
    "values",
    "select",
    "order",
    "limit",
    "group",
    "for",
    "indexed",
    "returning",
];

static RECORDS: AtomicBool = AtomicBool::new(false);
/// By its text, the first of each.
static SENT: Mutex<BTreeMap<String, Statement>> = Mutex::new(BTreeMap::new());

fn record(statement: &Statement) {
    if RECORDS.load(Ordering::Relaxed) {
        let backend = if statement.db_backend == DbBackend::Postgres { "postgres" } else { "sqlite" };
        let text = format!("{backend}: {}", statement.sql);
        SENT.lock().unwrap_or_else(PoisonError::into_inner).entry(text).or_insert_with(|| statement.clone());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_statement_starts_from_an_account() {
    // The watcher sees what the whole process sends.
    if !alone("store::statements::every_statement_starts_from_an_account") {
        return;
    }
    store::watch(record);
    let mut planned = Vec::new();
    for database in [Database::Sqlite, Database::Postgres] {
        let Some(app) = App::start(database).await else { continue };
        RECORDS.store(true, Ordering::Relaxed);
        app.whole_run().await;
        audit::write_key_uses(app.ctx()).await.unwrap();
        RECORDS.store(false, Ordering::Relaxed);
        filled(&app, &app.client(), 1..=1_300).await;
        RECORDS.store(true, Ordering::Relaxed);
        query_plans::send_rare_requests(&app).await;
        RECORDS.store(false, Ordering::Relaxed);
        app.check_books().await;
        let sent: Vec<_> = SENT.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        planned.extend(query_plans::wrong_plans(&app, sent.clone()).await);
        planned.extend(query_plans::plans_without_statistics(&app, &sent).await);
    }
    assert!(planned.is_empty(), "{} plans:\n{}", planned.len(), planned.join("\n"));
    let sent = std::mem::take(&mut *SENT.lock().unwrap_or_else(PoisonError::into_inner));
    let sent: BTreeSet<_> = sent.into_keys().collect();
    let wrong: Vec<_> = sent.iter().flat_map(|sql| wrong_with(sql)).collect();
    assert!(wrong.is_empty(), "{} of {} statements:\n{}", wrong.len(), sent.len(), wrong.join("\n"));
    assert!(sent.len() > 200, "{} statements were seen", sent.len());
    let was_sent = |words: &str| sent.iter().any(|sql| plain(sql).contains(words));
    for (words, why) in OVER_ALL {
        assert!(was_sent(words), "nothing says any more: {words} ({why})");
    }
    for column in DUE_BY {
        assert!(was_sent(&format!("{column} < ")), "nothing is due any more by {column}");
    }
}

pub fn may_look_at_all(text: &str) -> bool {
    let mut end = text.rsplit(' ').skip(1);
    let a_batch = text.starts_with("select ") && end.next() == Some("limit");
    a_batch && DUE_BY.iter().any(|column| text.contains(&format!("{column} < ")))
        || OVER_ALL.iter().any(|(words, _)| text.contains(words))
}

fn wrong_with(sent: &str) -> Vec<String> {
    let (backend, sql) = sent.split_once(": ").expect("a backend");
    let text = plain(sql);
    let mut wrong: Vec<_> = UNUSED
        .into_iter()
        .filter(|words| format!(" {text} ").contains(&format!(" {words} ")))
        .map(|words| format!("it says {words}: {text}"))
        .collect();
    for query in queries(&text) {
        if let Some(why) = query.wrong(backend == "postgres")
            && (query.locks() || !may_look_at_all(&text))
        {
            wrong.push(format!("{why}: {text}"));
        }
    }
    wrong
}

/// Lower-case words and marks, a space between any two.
pub fn plain(sql: &str) -> String {
    let mut words = Vec::<String>::new();
    let mut rest = sql.replace('"', "").to_lowercase();
    while let Some(first) = rest.trim_start().chars().next() {
        rest = rest.trim_start().to_owned();
        let end = if first == '\'' {
            rest[1..].find('\'').map_or(rest.len(), |end| end + 2)
        } else {
            let is_word = |letter: char| letter.is_alphanumeric() || "_.$?".contains(letter);
            let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            end.max(first.len_utf8())
        };
        words.push(rest[..end].to_owned());
        rest.replace_range(..end, "");
    }
    words.join(" ")
}

/// One SELECT, INSERT, UPDATE or DELETE without those inside it.
#[derive(Debug, Default)]
struct Subquery<'a> {
    words: Vec<&'a str>,
}

/// The parts of a statement. Brackets around anything else belong to the part that they stand in.
fn queries(text: &str) -> Vec<Subquery<'_>> {
    let (mut open, mut done) = (vec![(Subquery::default(), true)], Vec::new());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let apart = |word: Option<&&str>| {
            word.is_some_and(|word| ["select", "insert", "update", "delete", "with", "values"].contains(word))
        };
        match word {
            "(" => {
                let is_query = apart(words.peek());
                if !is_query {
                    open.last_mut().expect("a part").0.words.push(word);
                }
                open.push((Subquery::default(), is_query));
            }
            ")" => {
                let (part, is_query) = open.pop().expect("balanced");
                if is_query {
                    done.push(part);
                    open.last_mut().expect("balanced").0.words.push("()");
                } else {
                    let outer = &mut open.last_mut().expect("balanced").0.words;
                    outer.extend(part.words);
                    outer.push(word);
                }
            }
            // Whatever follows has tables of its own.
            "union" | ";" => {
                let at = open.iter().rposition(|(_, is_query)| *is_query).expect("the statement");
                done.push(std::mem::take(&mut open[at].0));
            }
            _ => open.last_mut().expect("a part").0.words.push(word),
        }
    }
    done.extend(open.into_iter().map(|(part, _)| part));
    done
}

/// How much a table's rows are narrowed down to those of accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Narrowing {
    Not,
    /// To the account of another table's rows.
    Beside,
    /// To an account that is named.
    Named,
}

impl<'a> Subquery<'a> {
    fn before(&self, at: usize) -> &'a str {
        at.checked_sub(1).and_then(|at| self.words.get(at)).copied().unwrap_or_default()
    }

    fn after(&self, at: usize) -> &'a str {
        self.words.get(at + 1).copied().unwrap_or_default()
    }

    fn locks(&self) -> bool {
        let ends = |at: usize| matches!(self.after(at), "update" | "share" | "no" | "key");
        self.words.iter().enumerate().any(|(at, word)| *word == "for" && ends(at))
    }

    /// The tables with the names that they go by.
    fn tables(&self) -> Vec<(&'a str, &'a str)> {
        let mut tables = Vec::new();
        for (at, word) in self.words.iter().enumerate() {
            let names = match *word {
                "from" => self.before(at) != "distinct",
                "join" => self.after(at) != "lateral",
                "update" => !matches!(self.before(at), "for" | "key" | "do"),
                "into" => true,
                _ => false,
            };
            let table = self.after(at);
            if !names || table.is_empty() || table == "()" || table == "(" {
                continue;
            }
            let next = self.after(at + 1);
            let alias = match next {
                "as" => self.after(at + 2),
                _ if next.is_empty() || AFTER_TABLES.contains(&next) => table,
                _ => next,
            };
            tables.push((table, alias));
        }
        tables
    }

    /// By the comparisons of a column with something.
    fn narrowed(&self, alias: &str, column: &str, alone: bool) -> Narrowing {
        let (long, mut narrowed) = (format!("{alias}.{column}"), Narrowing::Not);
        for (at, word) in self.words.iter().enumerate() {
            if *word != long && !(alone && *word == column) {
                continue;
            }
            let other = match (self.before(at), self.after(at)) {
                (_, "=") => self.after(at + 1),
                ("=", _) => self.before(at - 1),
                (_, "in") => return Narrowing::Named,
                // (account_id, id) in (...)
                ("(", ",") if self.words[at..].windows(2).take(6).any(|pair| pair == [")", "in"]) => {
                    return Narrowing::Named;
                }
                _ => continue,
            };
            let named = other.starts_with('$') || other == "?" || other.starts_with('\'') || other == "()";
            narrowed = narrowed.max(if named { Narrowing::Named } else { Narrowing::Beside });
        }
        narrowed
    }

    /// Returns whether rows are added to the table, with these columns.
    fn adds_to(&self, table: &str) -> Option<&[&'a str]> {
        let at = self.words.windows(3).position(|words| words == ["insert", "into", table])?;
        let columns = &self.words[at + 3..];
        columns.get(..columns.iter().position(|word| *word == ")")?)
    }

    /// Returns whether it says that something belongs to the account of what stands outside of it.
    fn follows_an_outer_part(&self, tables: &[(&str, &str)]) -> bool {
        let known = |name: &str| tables.iter().any(|(_, alias)| *alias == name);
        self.words.iter().filter_map(|word| word.strip_suffix(".account_id")).any(|name| !known(name))
    }

    /// Why it does not start from an account.
    fn wrong(&self, distributed: bool) -> Option<String> {
        let tables = self.tables();
        // Rows that come with the statement, or of an outer part, name the account.
        let mut named =
            tables.iter().any(|(table, _)| !is_owned(table)) || self.follows_an_outer_part(&tables);
        let (mut looked_at, mut in_plain_sight) = (false, false);
        for &(table, alias) in tables.iter().filter(|(table, _)| is_owned(table)) {
            let key = if table == "accounts" { "id" } else { "account_id" };
            if let Some(columns) = self.adds_to(table) {
                if !columns.contains(&key) {
                    return Some(format!("{table} gets rows of no account"));
                }
                named = true;
                continue;
            }
            looked_at = true;
            let alone = tables.len() == 1;
            let mut narrowed = self.narrowed(alias, key, alone);
            if BY_HASH.contains(&table) {
                narrowed = narrowed.max(self.narrowed(alias, "hash", alone));
            }
            if narrowed == Narrowing::Not && (table != "accounts" || alone) {
                return Some(format!("{table} is looked at without its account"));
            }
            in_plain_sight |= narrowed == Narrowing::Named;
        }
        // A row of nobody is in a table that is whole on every node.
        if distributed && looked_at && self.locks() && !in_plain_sight {
            return Some("it locks without an account in plain sight".into());
        }
        (looked_at && !named && !in_plain_sight).then(|| "no account is named".into())
    }
}

/// Returns whether rows of the table belong to accounts, or are accounts: whatever this program's schema holds.
pub fn is_owned(table: &str) -> bool {
    !OF_NOBODY.contains(&table) && TABLES.contains(table)
}

/// The tables of the schema, by what the steps of the migration say.
static TABLES: std::sync::LazyLock<BTreeSet<String>> = std::sync::LazyLock::new(|| {
    let steps: String =
        Migrator::migrations().iter().map(|step| sql_of(&**step, DbBackend::Postgres)).collect();
    let tables = steps.split("CREATE TABLE ").skip(1);
    tables.map(|rest| rest.split(' ').next().unwrap_or_default().to_owned()).collect()
});

#[test]
fn a_statement_that_starts_from_no_account_is_noticed() {
    for good in [
        "SELECT \"cards\".\"id\" FROM \"cards\" WHERE \"cards\".\"account_id\" = $1 AND \"cards\".\"id\" = $2",
        "SELECT id FROM cards WHERE account_id = ? AND (state = 'unused' OR id IN (SELECT primary_card_id FROM customers c WHERE c.account_id = cards.account_id))",
        "INSERT INTO cards (account_id, id) VALUES ($1, $2), ($3, $4)",
        "WITH w0 AS (INSERT INTO cards (account_id, id) VALUES ($1, $2)) INSERT INTO counters (account_id, kind, slot, n) VALUES ($3, $4, 1, 1) ON CONFLICT (account_id, kind, slot) DO UPDATE SET n = counters.n + excluded.n",
        "SELECT a.id FROM accounts a JOIN cards c ON c.account_id = a.id WHERE a.id = $1 FOR NO KEY UPDATE",
        "DELETE FROM api_keys WHERE hash = ?",
        "SELECT value FROM installation WHERE name = $1",
    ] {
        assert_eq!(wrong_with(&format!("postgres: {good}")), [""; 0], "{good}");
    }
    for bad in [
        "SELECT id FROM cards WHERE id = $1",
        "UPDATE cards SET state = 'used' WHERE id = $1",
        "DELETE FROM cards WHERE customer_id IN (SELECT id FROM customers WHERE account_id = $1)",
        "SELECT c.id FROM cards c JOIN customers u ON u.id = c.customer_id WHERE c.account_id = $1",
        "SELECT c.id FROM cards c JOIN customers u ON u.account_id = c.account_id",
        "SELECT id FROM cards WHERE account_id = $1 UNION ALL SELECT id FROM cards",
        "INSERT INTO cards (id) VALUES ($1)",
        "SELECT id FROM accounts WHERE email = $1",
        "SELECT id FROM cards WHERE account_id = $1 FOR UPDATE SKIP LOCKED",
    ] {
        assert!(!wrong_with(&format!("postgres: {bad}")).is_empty(), "{bad}");
    }
}
