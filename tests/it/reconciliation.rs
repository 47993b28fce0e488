//! The acquirer's statements against the books (`docs/decisions.md`, 383).

mod acquirers;
mod seeded;

use std::fmt::Write as _;
use std::io::{Seek, Write as _};
use std::process::Stdio;

use base::clock::Clock;
use card_payments::limits::RECONCILIATION_BATCH;
use card_payments::services::reconciliation::{ReconcileError, reconcile};
use futures::join;
use serde_json::{Value, json};

use self::seeded::{Books, DAY, Moved, day_of, midnight};
use crate::harness::process::peak_memory;
use crate::harness::{Database, Installed, operated, postgres, rounds, rules};

/// A statement as a file.
pub(crate) struct File {
    name: String,
    first: i64,
    last: i64,
    lines: Vec<String>,
}

impl File {
    /// A statement of days that are counted from [`DAY`].
    fn new(name: &str, first: i64, last: i64) -> Self {
        Self { name: name.into(), first: DAY + first, last: DAY + last, lines: Vec::new() }
    }

    /// Adds the line of a movement.
    fn line(mut self, moved: &Moved) -> Self {
        self.lines.push(moved.line());
        self
    }

    fn text(&self) -> String {
        let Self { name, first, last, lines } = self;
        let mut text = String::from("type,reference,amount,currency,day\n");
        writeln!(text, "statement,{name},,,{}", day_of(*first)).unwrap();
        for line in lines {
            writeln!(text, "{line}").unwrap();
        }
        writeln!(text, "end,{name},{},,{}", lines.len(), day_of(*last)).unwrap();
        text
    }

    /// Writes it beside the database, and returns where.
    fn write(&self, installed: &Installed) -> String {
        write(installed, &self.name, &self.text())
    }
}

/// Returns a statement as camt.053, of a period with the offsets of its zone.
fn camt(name: &str, [from, to]: &[String; 2], entries: &str) -> String {
    format!(
        "<Document><BkToCstmrStmt><Stmt><Id>{name}</Id><FrToDt><FrDtTm>{from}</FrDtTm><ToDtTm>{to}</ToDtTm></FrToDt>\
         {entries}</Stmt></BkToCstmrStmt></Document>"
    )
}

/// Returns the entry of a capture as camt.053, with a day of its own.
fn entry(moved: &Moved, day: i64) -> String {
    format!(
        "<Ntry><Amt Ccy=\"AUD\">{}.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><BookgDt><Dt>{}</Dt></BookgDt>\
         <BkTxCd><Prtry><Cd>capture</Cd></Prtry></BkTxCd>\
         <NtryDtls><TxDtls><Refs><EndToEndId>{}</EndToEndId></Refs></TxDtls></NtryDtls></Ntry>",
        moved.amount / 100,
        day_of(day),
        moved.reference(),
    )
}

fn write(installed: &Installed, name: &str, text: &str) -> String {
    let path = installed.data.path().join(format!("{name}.csv"));
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

// A field of 64 MB, wherever it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_without_end_in_a_row_or_an_element_is_refused_in_little_memory() {
    const MEMORY_KIB: u64 = 24 << 10;
    let installed = Installed::on(Database::Sqlite).await.unwrap();
    installed.serve().stopped();
    let long = "x".repeat(64 << 20);
    let begin = "type,reference,amount,currency,day\n";
    let xml = "<Document><BkToCstmrStmt><Stmt>";
    for (name, text) in [
        ("field", format!("{begin}statement,{long},,,2026-11-25\n")),
        ("quoted", format!("{begin}statement,\"{long}\n\",,,2026-11-25\n")),
        ("header", long.clone()),
        ("blank", " ".repeat(long.len())),
        ("text", format!("{xml}<Id>{long}</Id></Stmt></BkToCstmrStmt></Document>")),
        ("data", format!("{xml}<Id><![CDATA[{long}]]></Id></Stmt></BkToCstmrStmt></Document>")),
        (
            "parts",
            format!("{xml}<Id>{}</Id></Stmt></BkToCstmrStmt></Document>", "&amp;".repeat(long.len() / 5)),
        ),
        ("name", format!("{xml}<{long}/></Stmt></BkToCstmrStmt></Document>")),
        ("attribute", format!("{xml}<Amt Ccy=\"{long}\">1</Amt></Stmt></BkToCstmrStmt></Document>")),
        ("comment", format!("{xml}<!-- {long} --></Stmt></BkToCstmrStmt></Document>")),
    ] {
        let path = write(&installed, name, &text);
        let mut command = installed.program();
        let command = command.args(["reconcile", &path]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let reading = command.spawn().unwrap();
        let (done, peak) = peak_memory(reading.id(), || reading.wait_with_output().unwrap());
        let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        assert_eq!(done.status.code(), Some(1), "{name}: {said}");
        assert!(said.len() < 1000 && said.contains("is longer than 16384 bytes"), "{name}: {said}");
        if let Some(peak) = peak {
            assert!(peak < MEMORY_KIB, "{name}: {peak} KiB");
        }
    }
    assert_eq!(installed.number("SELECT COUNT(*) FROM acquirer_statements").await, 0);
}

/// Reconciles a statement and returns what came of it.
#[track_caller]
fn reconciled(installed: &Installed, path: &str) -> Value {
    let mut records = installed.records(&["reconcile", path]);
    assert_eq!(records.len(), 1);
    records.remove(0)
}

/// Returns the exceptions in a state, as kind and reference.
#[track_caller]
fn exceptions(installed: &Installed, state: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for page in 1.. {
        let page = page.to_string();
        let records =
            installed.records(&["reconcile", "list", "--state", state, "--per-page", "500", "--page", &page]);
        if records.is_empty() {
            break;
        }
        let text = |record: &Value, field: &str| record[field].as_str().unwrap().to_owned();
        all.extend(records.iter().map(|record| (text(record, "kind"), text(record, "reference"))));
    }
    all.sort();
    all
}

fn pairs<const N: usize>(expected: [(&str, &str); N]) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = expected.map(|(kind, of)| (kind.to_owned(), of.to_owned())).into();
    pairs.sort();
    pairs
}

/// Returns the token of the only exception in a state.
#[track_caller]
fn only(installed: &Installed, state: &str) -> String {
    let [record] = &installed.records(&["reconcile", "list", "--state", state])[..] else { panic!("one") };
    record["token"].as_str().unwrap().to_owned()
}

const HOUR: i64 = 3_600_000;

rules! {
    async fn of_two_imports_at_once_each_is_done_or_refused(app) {
        let import = async |name: String| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(File::new(&name, 0, 0).text().as_bytes()).unwrap();
            file.rewind().unwrap();
            reconcile(&app.ctx().store, file, app.clock.now(), &()).await
        };
        for round in 0..rounds() {
            for other in ["same", "other"] {
                let (first, second) = (format!("same-{other}-{round}"), format!("{other}-{other}-{round}"));
                let (one, other) = join!(import(first), import(second));
                for result in [&one, &other] {
                    assert!(matches!(result, Ok(_) | Err(ReconcileError::Taken(_) | ReconcileError::Dropped(_))), "{result:?}");
                }
                assert!(one.is_ok() || other.is_ok());
                assert_eq!(app.number("SELECT COUNT(*) FROM acquirer_statements WHERE stage <> 'done'").await, 0);
            }
        }
    }

    async fn an_import_that_another_one_has_dropped_says_so_and_can_begin_again(app) {
        // A table that is whole on every node takes no trigger.
        if postgres::is_distributed() {
            return;
        }
        let mut statement = File::new("monday", 0, 0);
        statement.lines = vec!["fee,scheme,250,AUD,2026-11-23".to_owned(); RECONCILIATION_BATCH + 1];
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(statement.text().as_bytes()).unwrap();
        let mut import = async || {
            file.rewind().unwrap();
            reconcile(&app.ctx().store, file.try_clone().unwrap(), app.clock.now(), &()).await
        };
        // The other import comes right after the first batch.
        match app.database {
            Database::Sqlite => {
                app.execute(
                    "CREATE TRIGGER another AFTER UPDATE ON acquirer_statements
                     BEGIN DELETE FROM acquirer_statements; DELETE FROM statement_lines; END",
                ).await;
            }
            Database::Postgres => {
                app.execute(
                    "CREATE FUNCTION another() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                         DELETE FROM acquirer_statements; DELETE FROM statement_lines; RETURN NULL; END $$",
                ).await;
                app.execute("CREATE TRIGGER another AFTER UPDATE ON acquirer_statements EXECUTE FUNCTION another()").await;
            }
        }
        let dropped = import().await.unwrap_err();
        assert!(matches!(&dropped, ReconcileError::Dropped(name) if name == "monday"), "{dropped}");
        match app.database {
            Database::Sqlite => app.execute("DROP TRIGGER another").await,
            Database::Postgres => app.execute("DROP FUNCTION another CASCADE").await,
        }
        app.execute("DELETE FROM statement_lines").await;
        let imported = serde_json::to_value(import().await.unwrap()).unwrap();
        assert_eq!((&imported["lines"], &imported["imported_before"]), (&json!(RECONCILIATION_BATCH + 1), &json!(false)));
    }
}

operated! {
    async fn a_statement_is_imported_once_and_a_changed_one_never(installed) {
        let mut books = Books::new(installed);
        let [first, second] = [books.charge(midnight(0) + HOUR, 400, "AUD"), books.charge(midnight(0) + 2 * HOUR, 400, "JPY")];
        books.save(installed).await;
        let file = File::new("monday", 0, 0).line(&first).line(&second);
        let path = file.write(installed);
        let mut expected = json!({
            "statement": "monday", "from": day_of(DAY), "to": day_of(DAY), "lines": 2, "matched": 2, "exceptions": [],
            "resolved": 0, "fees": [], "imported_before": false,
        });
        assert_eq!(reconciled(installed, &path), expected);
        let rows = installed.rows().await;
        expected["imported_before"] = true.into();
        assert_eq!(reconciled(installed, &path), expected);
        let (code, text, stderr) = installed.run(&["reconcile", &path]);
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        assert_eq!(text, format!("monday, {}: 2 lines, 2 matched. It was imported before: nothing has changed\n", day_of(DAY)));
        let changed = File::new("monday", 0, 0).line(&first).write(installed);
        installed.refuses(
            &["reconcile", &changed], "the statement monday is imported already, from a file with other contents",
        );
        assert_eq!(installed.rows().await, rows, "nothing has changed");
    }

    async fn every_fault_of_a_file_is_printed_with_its_line_and_nothing_is_imported(installed) {
        let mut books = Books::new(installed);
        let charge = books.charge(midnight(0) + HOUR, 400, "AUD");
        books.save(installed).await;
        let mut file = File::new("monday", 0, 0).line(&charge);
        file.lines.push("capture,ch_1:charge,4.00,AUD,2026-11-23".into());
        file.lines.push("payment,,1,EURO,yesterday".into());
        file.lines.push("capture,4200 0000 0000 0000,1,AUD,2026-11-23".into());
        let path = file.write(installed);
        let rows = installed.rows().await;
        let (code, stdout, stderr) = installed.run(&["reconcile", &path]);
        assert_eq!((code, stderr.as_str()), (Some(1), "error: 6 faults: nothing is imported\n"));
        let lines: Vec<_> = stdout.lines().map(|line| line.split_once(": ").unwrap().0).collect();
        assert_eq!(lines, ["line 4", "line 5", "line 5", "line 5", "line 5", "line 6"], "{stdout}");
        let (code, stdout, _) = installed.run(&["reconcile", &path, "--json"]);
        let first: Value = serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
        assert_eq!((code, &first["line"]), (Some(1), &json!(4)));
        let text = file.text();
        for cut in [0, 20, 60, text.len() / 2, text.len() - 20] {
            let cut = write(installed, "cut", &text[..cut]);
            assert_eq!(installed.run(&["reconcile", &cut]).0, Some(1));
        }
        assert_eq!(installed.run(&["reconcile", "/nowhere.csv"]).0, Some(1));
        assert_eq!(installed.rows().await, rows, "nothing has changed");
    }

    async fn a_line_that_comes_with_a_later_statement_resolves_what_was_missing(installed) {
        let mut books = Books::new(installed);
        let [there, late, later] = [1, 2, 3].map(|hour| books.charge(midnight(0) + hour * HOUR, 400, "AUD"));
        let tuesday = books.charge(midnight(1) + HOUR, 500, "AUD");
        books.save(installed).await;
        let monday = File::new("monday", 0, 0).line(&there).write(installed);
        assert_eq!(reconciled(installed, &monday)["exceptions"], json!([{ "kind": "missing", "n": 2 }]));
        let missing = pairs([("missing", late.subject()), ("missing", later.subject())]);
        assert_eq!(exceptions(installed, "open"), missing);
        let file = File::new("tuesday", 1, 1).line(&tuesday).line(&late).write(installed);
        let reconciled = reconciled(installed, &file);
        assert_eq!((&reconciled["matched"], &reconciled["resolved"]), (&json!(2), &json!(1)));
        assert_eq!(reconciled["exceptions"], json!([]));
        assert_eq!(exceptions(installed, "open"), pairs([("missing", later.subject())]));
        let resolved = installed.records(&["reconcile", "show", &only(installed, "resolved")]).remove(0);
        assert_eq!((&resolved["resolved_by"], &resolved["reference"]), (&json!("tuesday"), &json!(late.subject())));
        // A week later, dated to the day on which the acquirer moved it.
        let file = File::new("next-monday", 7, 7).line(&Moved { day: DAY + 7, ..later.clone() }).write(installed);
        assert_eq!(self::reconciled(installed, &file)["resolved"], 1);
        assert_eq!(exceptions(installed, "open"), pairs([("day", &later.reference())]), "it is another day");
    }

    async fn a_line_that_comes_before_its_movement_is_foreign_until_then(installed) {
        let mut books = Books::new(installed);
        let charge = books.charge(midnight(5) + HOUR, 400, "AUD");
        let file = File::new("monday", 0, 0).line(&Moved { day: DAY, ..charge.clone() }).write(installed);
        assert_eq!(reconciled(installed, &file)["exceptions"], json!([{ "kind": "foreign", "n": 1 }]));
        books.save(installed).await;
        let file = File::new("saturday", 5, 5).write(installed);
        let reconciled = reconciled(installed, &file);
        assert_eq!((&reconciled["lines"], &reconciled["resolved"]), (&json!(0), &json!(1)));
        assert_eq!(exceptions(installed, "open"), pairs([("day", &charge.reference())]));
    }

    async fn a_line_that_comes_again_with_a_later_statement_is_doubled(installed) {
        let mut books = Books::new(installed);
        let charge = books.charge(midnight(0) + HOUR, 400, "AUD");
        books.save(installed).await;
        reconciled(installed, &File::new("monday", 0, 0).line(&charge).write(installed));
        let again = File::new("tuesday", 1, 1).line(&charge).write(installed);
        assert_eq!(reconciled(installed, &again)["exceptions"], json!([{ "kind": "doubled", "n": 1 }]));
        assert_eq!(exceptions(installed, "open"), pairs([("doubled", &charge.reference())]));
    }

    async fn near_midnight_a_movement_may_have_either_day(installed) {
        let mut books = Books::new(installed);
        let just_after = books.charge(midnight(1) + 60_000, 400, "AUD");
        let long_after = books.charge(midnight(1) + 600_000, 400, "AUD");
        books.save(installed).await;
        let on_monday = |moved: &Moved| Moved { day: DAY, ..moved.clone() };
        let file = File::new("monday", 0, 0).line(&on_monday(&just_after)).line(&on_monday(&long_after));
        assert_eq!(reconciled(installed, &file.write(installed))["matched"], 2);
        assert_eq!(exceptions(installed, "open"), pairs([("day", &long_after.reference())]));
        assert_eq!(reconciled(installed, &File::new("tuesday", 1, 1).write(installed))["exceptions"], json!([]));
    }

    async fn a_period_within_days_claims_only_what_it_covers_in_its_own_zone(installed) {
        let mut books = Books::new(installed);
        // By the clocks of a bank ten hours ahead of UTC: late on Monday, and early on Tuesday.
        let late = books.charge(midnight(0) + 13 * HOUR, 400, "AUD");
        let early = books.charge(midnight(0) + 15 * HOUR, 500, "AUD");
        let next = books.charge(midnight(1) + 15 * HOUR, 600, "AUD");
        books.save(installed).await;
        let statement = |name: &str, day: i64, entries: &str| {
            let day = day_of(day);
            let period = [format!("{day}T00:00:00+10:00"), format!("{day}T23:59:59+10:00")];
            reconciled(installed, &write(installed, name, &camt(name, &period, entries)))
        };
        let tuesday = statement("tuesday", DAY + 1, &entry(&early, DAY + 1));
        assert_eq!((&tuesday["matched"], &tuesday["exceptions"]), (&json!(1), &json!([])), "the others are of other days there");
        let monday = statement("monday", DAY, "");
        assert_eq!(monday["exceptions"], json!([{ "kind": "missing", "n": 1 }]));
        assert_eq!(exceptions(installed, "open"), pairs([("missing", late.subject())]));
        // Booked a day too early.
        let wednesday = statement("wednesday", DAY + 2, &entry(&next, DAY + 1));
        assert_eq!(wednesday["exceptions"], json!([{ "kind": "day", "n": 1 }]));
    }

    async fn in_a_statement_whose_clocks_are_changed_a_movement_may_have_the_day_of_the_old_time_or_the_new(installed) {
        let mut books = Books::new(installed);
        // Half past eleven on Monday by the old time, half past twelve on Tuesday by the new.
        let between = midnight(0) + 13 * HOUR + HOUR / 2;
        let [old, new, wrong] = [400, 500, 600].map(|amount| books.charge(between, amount, "AUD"));
        books.save(installed).await;
        let entries = [entry(&old, DAY), entry(&new, DAY + 1), entry(&wrong, DAY + 2)].concat();
        let period = [format!("{}T00:00:00+10:00", day_of(DAY)), format!("{}T23:59:59+11:00", day_of(DAY + 2))];
        let reconciled = reconciled(installed, &write(installed, "spring", &camt("spring", &period, &entries)));
        assert_eq!(reconciled["matched"], 3);
        assert_eq!(exceptions(installed, "open"), pairs([("day", &wrong.reference())]));
    }

    async fn fees_of_the_acquirer_are_summed_up_and_matched_with_nothing(installed) {
        let mut file = File::new("monday", 0, 0);
        for line in ["fee,scheme,250,AUD,2026-11-23", "fee,scheme,250,AUD,2026-11-23", "fee,scheme,7,JPY,2026-11-23"] {
            file.lines.push(line.into());
        }
        installed.records(&["migrate"]);
        let reconciled = reconciled(installed, &file.write(installed));
        assert_eq!((&reconciled["matched"], &reconciled["exceptions"]), (&json!(0), &json!([])));
        assert_eq!(reconciled["fees"], json!([{ "currency": "AUD", "amount": 500 }, { "currency": "JPY", "amount": 7 }]));
    }

    async fn exceptions_are_explained_and_resolved_with_a_note_and_an_author(installed) {
        let mut books = Books::new(installed);
        let charge = books.charge(midnight(0) + HOUR, 400, "AUD");
        books.save(installed).await;
        let entries = installed.number("SELECT COUNT(*) FROM journal_entries").await;
        reconciled(installed, &File::new("monday", 0, 0).write(installed));
        let token = only(installed, "open");
        let rows = installed.rows().await;
        for (note, word) in [("", "characters"), ("a\nb", "characters"), ("4200 0000 0000 0000", "card number")] {
            let (code, _, stderr) = installed.run(&["reconcile", "explain", &token, "--note", note]);
            assert!(code == Some(2) && stderr.contains(word), "{stderr}");
        }
        installed.refuses(&["reconcile", "show", "exc_1"], "there is no exception exc_1");
        let nobody = "exc_AZqYv3rVcBKUQ1mHn7tKRw";
        for command in [&["show", nobody][..], &["resolve", nobody, "--note", "Paid"]] {
            assert_eq!(installed.run(&[&["reconcile"], command].concat()).0, Some(1));
        }
        assert_eq!(installed.rows().await, rows, "nothing has changed");
        let explained = installed.records(&["reconcile", "explain", &token, "--note", "The bank was closed"]).remove(0);
        assert_eq!((&explained["state"], &explained["note"]), (&json!("explained"), &json!("The bank was closed")));
        assert!(explained["author"].as_str().unwrap().contains("(user "), "{explained}");
        assert_eq!(explained["ours"], json!({ "amount": 400, "currency": "AUD", "day": day_of(DAY) }));
        assert_eq!((&explained["theirs"], &explained["account"]), (&Value::Null, &json!(installed.account())));
        installed.records(&["reconcile", "explain", &token, "--note", "It opens on Friday"]);
        let resolved = installed.records(&["reconcile", "resolve", &token, "--note", "Paid on Friday"]).remove(0);
        assert_eq!((&resolved["state"], &resolved["resolved_by"]), (&json!("resolved"), &Value::Null));
        assert_eq!(installed.run(&["reconcile", "list"]).1, "");
        for action in ["explain", "resolve"] {
            let (code, _, stderr) = installed.run(&["reconcile", action, &token, "--note", "Again"]);
            assert!(code == Some(1) && stderr.starts_with("error: "), "{stderr}");
        }
        // The line comes all the same: the statement is named as well.
        reconciled(installed, &File::new("friday", 4, 4).line(&charge).write(installed));
        let matched = installed.records(&["reconcile", "show", &token]).remove(0);
        assert_eq!((&matched["resolved_by"], &matched["note"]), (&json!("friday"), &json!("Paid on Friday")));
        let actions: Vec<_> = installed.records(&["audit"]).iter().map(|act| act["action"].as_str().unwrap().to_owned()).collect();
        let count = |action: &str| actions.iter().filter(|known| *known == action).count();
        assert_eq!(["exception.explained", "exception.resolved", "statement.imported"].map(count), [2, 1, 2]);
        assert_eq!(installed.number("SELECT COUNT(*) FROM journal_entries").await, entries, "the books are as before");
    }
}
