//! The audit trail shows tampering: whatever is done to it in the database is found and named, and nothing is invented
//! (`docs/decisions.md`, 385).

use std::fmt::Write as _;

use card_payments::runtime::clock::Clock;
use card_payments::services::audit::{self, AuditFinding, AuditReport};
use entity::audit_entry::{self, Column};
use entity::{TimeSpan, installation};
use futures::FutureExt;
use futures::future::join_all;
use sea_orm::{ConnectionTrait, EntityTrait, QueryOrder};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::harness::chance::Chance;
use crate::harness::process::Process;
use crate::harness::{App, Database, eventually, operated, postgres, rules};

/// Records so many acts of an operator, now.
async fn record(app: &App, acts: usize) {
    let account = app.account().await;
    for _ in 0..acts {
        audit::record_view(app.ctx(), audit::KEY_HOLDER, account, "203.0.113.7".parse().ok()).await.unwrap();
    }
}

/// Seals what there is. Returns the head.
async fn seal(app: &App) -> String {
    audit::seal(app.ctx()).await.unwrap();
    head(app).await
}

async fn head(app: &App) -> String {
    let head = installation::Entity::find_by_id("audit_head").one(app.ctx().store.read()).await.unwrap();
    head.unwrap().value
}

/// What a verification finds, against these lines of the anchor.
async fn findings(app: &App, anchor: &[String]) -> (AuditReport, Vec<AuditFinding>) {
    let mut found = Vec::new();
    let report =
        audit::verify(app.ctx(), &anchor.join("\n"), |finding| found.push(finding.clone())).await.unwrap();
    assert_eq!(report.findings, found.len() as u64);
    (report, found)
}

/// Verifies an untouched trail. Returns how many entries are sealed, how many are not, and how many were removed.
async fn counts(app: &App, anchor: &[String]) -> (u64, u64, i64) {
    let (report, found) = findings(app, anchor).await;
    assert_eq!(found, []);
    (report.verified, report.unsealed, report.removed)
}

async fn entries(app: &App) -> Vec<audit_entry::Model> {
    audit_entry::Entity::find().order_by_asc(Column::Number).all(app.ctx().store.read()).await.unwrap()
}

/// Runs statements as an intruder in the database.
async fn tamper(app: &App, statements: Vec<String>) {
    let unit = app.ctx().store.write(statements, |tx, statements| {
        async move {
            for statement in statements {
                tx.execute_unprepared(statement).await?;
            }
            Ok(())
        }
        .boxed()
    });
    unit.await.unwrap();
}

/// An id as the database writes it.
fn id(app: &App, id: Uuid) -> String {
    bytes(app, id.as_bytes()).replace("::bytea", "").replace("'\\x", "'")
}

fn bytes(app: &App, bytes: &[u8]) -> String {
    let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    match app.database {
        Database::Sqlite => format!("x'{hex}'"),
        Database::Postgres => format!("'\\x{hex}'::bytea"),
    }
}

rules! {
    async fn entries_are_sealed_in_their_order_and_known_as_unsealed_before(app) {
        assert_eq!(counts(app, &[]).await, (0, 0, 0), "nothing was ever sealed");
        record(app, 3).await;
        assert_eq!(counts(app, &[]).await, (0, 3, 0));
        assert_eq!(audit::seal(app.ctx()).await.unwrap(), 3);
        assert_eq!(audit::seal(app.ctx()).await.unwrap(), 0);
        assert_eq!(counts(app, &[]).await, (3, 0, 0));
        record(app, 1).await;
        assert_eq!(counts(app, &[head(app).await]).await, (3, 1, 0));
        // More than one batch, as after the migration of an older database.
        record(app, 210).await;
        seal(app).await;
        assert_eq!(counts(app, &[head(app).await]).await, (214, 0, 0));
        let out_of_order = "SELECT COUNT(*) FROM audit_entries a \
            WHERE a.number <> (SELECT COUNT(*) FROM audit_entries b WHERE b.id <= a.id)";
        assert_eq!(app.number(out_of_order).await, 0);
    }

    async fn of_several_servers_one_seals_at_a_time(app) {
        let copies = match app.database {
            Database::Sqlite => Vec::new(),
            Database::Postgres => vec![app.copy().await, app.copy().await],
        };
        for _ in 0..10 {
            record(app, 7).await;
            let others = copies.iter().map(|copy| &copy.ctx);
            let sealed = join_all([app.ctx(), app.ctx()].into_iter().chain(others).map(|ctx| audit::seal(ctx))).await;
            assert_eq!(sealed.into_iter().map(Result::unwrap).sum::<u64>(), 7);
        }
        assert_eq!(counts(app, &[head(app).await]).await, (70, 0, 0));
    }

    async fn what_is_removed_by_age_leaves_a_trail_that_verifies(app) {
        let mut anchor = Vec::new();
        for _ in 0..3 {
            record(app, 4).await;
            anchor.push(seal(app).await);
            app.clock.advance(TimeSpan::days(100));
        }
        app.clock.advance(TimeSpan::days(100));
        app.do_due_work().await;
        anchor.push(head(app).await);
        assert_eq!(counts(app, &anchor).await, (8, 0, 4));
        let last = seal(app).await;
        app.clock.advance(TimeSpan::days(1000));
        app.do_due_work().await;
        assert_eq!(counts(app, &anchor).await, (0, 0, 12));
        record(app, 2).await;
        seal(app).await;
        assert_eq!(counts(app, &anchor).await, (2, 0, 12));
        // A head from before: what was removed since is missing.
        tamper(app, vec![format!("UPDATE installation SET value = '{last}' WHERE name = 'audit_head'")]).await;
        assert_eq!(findings(app, &[]).await.1, [AuditFinding::Missing { from: 5, to: 12 }, AuditFinding::Head]);
    }

    async fn an_entry_that_was_made_to_look_old_is_not_removed(app) {
        record(app, 3).await;
        seal(app).await;
        tamper(app, vec!["UPDATE audit_entries SET kept_from = 0 WHERE number = 2".into()]).await;
        let old = entries(app).await.remove(1);
        audit::forget(app.ctx(), old.clone()).await.unwrap_err();
        assert_eq!(entries(app).await.len(), 3);
        assert_eq!(findings(app, &[]).await.1, [AuditFinding::Changed { number: 2, entry: Some(old.id) }]);
    }

    async fn an_entry_of_a_wrong_clock_holds_up_no_removal(app) {
        let now = app.clock.now();
        for ahead in [TimeSpan::days(9000), TimeSpan::days(-9000), TimeSpan::days(0)] {
            record(app, 1).await;
            tamper(app, vec![format!("UPDATE audit_entries SET recorded_at = {} WHERE number IS NULL", (now + ahead).millis())]).await;
            seal(app).await;
        }
        app.do_due_work().await;
        assert_eq!(counts(app, &[]).await, (3, 0, 0));
        app.clock.advance(TimeSpan::days(400));
        app.do_due_work().await;
        assert_eq!(counts(app, &[]).await, (0, 0, 3));
    }

    async fn a_head_that_is_changed_or_gone_is_found_and_extended_no_further(app) {
        record(app, 3).await;
        let right = seal(app).await;
        record(app, 1).await;
        let of = |number: i64| right.replace("\"number\":3", &format!("\"number\":{number}"));
        for wrong in ["{}".to_owned(), of(2), of(4), right.replace("\"removed\":0", "\"removed\":1")] {
            tamper(app, vec![format!("UPDATE installation SET value = '{wrong}' WHERE name = 'audit_head'")]).await;
            assert_eq!(findings(app, &[]).await.1, [AuditFinding::Head], "{wrong}");
            audit::seal(app.ctx()).await.unwrap_err();
        }
        tamper(app, vec!["DELETE FROM installation WHERE name = 'audit_head'".into()]).await;
        assert_eq!(findings(app, &[]).await.1, [AuditFinding::Head]);
        audit::seal(app.ctx()).await.unwrap_err();
        tamper(app, vec![format!("INSERT INTO installation (name, value) VALUES ('audit_head', '{right}')")]).await;
        seal(app).await;
        assert_eq!(counts(app, &[right]).await, (4, 0, 0));
    }

    async fn the_anchor_shows_a_trail_that_was_put_back_or_rewritten(app) {
        record(app, 3).await;
        let first = seal(app).await;
        record(app, 2).await;
        let second = seal(app).await;
        let put_back = vec![
            "DELETE FROM audit_entries WHERE number > 3".to_owned(),
            format!("UPDATE installation SET value = '{first}' WHERE name = 'audit_head'"),
        ];
        tamper(app, put_back).await;
        assert_eq!(counts(app, &[]).await, (3, 0, 0), "it cannot be known from the database alone");
        let anchor = [first, second];
        assert_eq!(findings(app, &anchor).await.1, [AuditFinding::CutOff { line: 2, from: 4, to: 5 }]);
        // The server does not know either, and goes on.
        record(app, 3).await;
        seal(app).await;
        assert_eq!(findings(app, &anchor).await.1, [AuditFinding::Rewritten { line: 2, number: 5 }]);
        tamper(app, vec!["DELETE FROM audit_entries".into(), "DELETE FROM installation WHERE name = 'audit_head'".into()]).await;
        assert_eq!(findings(app, &anchor).await.1, [AuditFinding::CutOff { line: 2, from: 1, to: 5 }]);
    }

    async fn random_mutations_are_found_and_named_and_none_is_invented(app) {
        // Statements of an intruder, which a distributed table does not take.
        if postgres::is_distributed() {
            return;
        }
        let rounds: u64 = std::env::var("CARD_PAYMENTS_AUDIT_MUTATIONS").map_or(200, |rounds| rounds.parse().unwrap());
        let mut chance = Chance(rounds);
        let mut anchor = Vec::new();
        for batch in [3, 5, 4] {
            record(app, batch).await;
            anchor.push(seal(app).await);
        }
        tamper(app, vec!["CREATE TABLE untouched AS SELECT * FROM audit_entries".into()]).await;
        let (entries, whole) = (entries(app).await, head(app).await);
        for round in 0..rounds {
            let mutation = mutation(app, &mut chance, &entries, &anchor);
            tamper(app, mutation.statements.clone()).await;
            let mut found = findings(app, &mutation.anchor).await.1;
            found.sort_by_key(|finding| format!("{finding:?}"));
            assert_eq!(found, mutation.expected, "round {round}: {:?}", mutation.statements);
            tamper(app, vec![
                "DELETE FROM audit_entries".into(),
                "INSERT INTO audit_entries SELECT * FROM untouched".into(),
                format!("UPDATE installation SET value = '{whole}' WHERE name = 'audit_head'"),
            ]).await;
            if round % 10 == 0 {
                assert_eq!(counts(app, &anchor).await, (12, 0, 0));
            }
        }
        tamper(app, vec!["DROP TABLE untouched".into()]).await;
        assert_eq!(counts(app, &anchor).await, (12, 0, 0));
    }
}

/// What an intruder does, and what is found.
struct Mutation {
    statements: Vec<String>,
    anchor: Vec<String>,
    /// In the order of their texts.
    expected: Vec<AuditFinding>,
}

fn mutation(app: &App, chance: &mut Chance, entries: &[audit_entry::Model], anchor: &[String]) -> Mutation {
    let last = entries.len() as u64;
    let at = chance.below(last);
    let entry = &entries[usize::try_from(at).unwrap()];
    let number = entry.number.unwrap();
    let changed = |number: i64, id: Uuid| AuditFinding::Changed { number, entry: Some(id) };
    let set = |column: &str, value: &str| {
        vec![format!("UPDATE audit_entries SET {column} = {value} WHERE number = {number}")]
    };
    let noise: [u8; 32] = std::array::from_fn(|_| u8::try_from(chance.below(256)).unwrap());
    let mut anchor = anchor.to_vec();
    let (statements, mut expected) = match chance.below(8) {
        // Any column.
        0..=2 => {
            let columns = [
                ("action", "'account.changed'".to_owned()),
                ("account", "NULL".into()),
                ("account", id(app, Uuid::from_bytes(*noise.first_chunk().unwrap()))),
                ("subject", "'acct_other'".into()),
                ("detail", "'{}'".into()),
                ("detail", "detail || ' '".into()),
                ("operator", "'rolanb'".into()),
                ("recorded_at", "recorded_at - 1".into()),
                ("kept_from", "kept_from + 1".into()),
                ("kept_from", "NULL".into()),
                ("mac", bytes(app, &noise)),
                ("mac", "NULL".into()),
            ];
            let (column, value) = &columns[usize::try_from(chance.below(columns.len() as u64)).unwrap()];
            (set(column, value), vec![changed(number, entry.id)])
        }
        3 => {
            let value = if chance.below(2) == 0 { "NULL".to_owned() } else { bytes(app, &noise) };
            (set("link", &value), vec![AuditFinding::Unlinked { number, entry: Some(entry.id) }])
        }
        // Out of its place: as if it were not sealed, or at another number.
        4 => {
            let missing = AuditFinding::Missing { from: number, to: number };
            if chance.below(2) == 0 {
                (set("number", "NULL"), vec![missing])
            } else {
                let to = number + 100;
                (set("number", &to.to_string()), vec![changed(to, entry.id), missing])
            }
        }
        5 => {
            let other = &entries[usize::try_from((at + 1 + chance.below(last - 1)) % last).unwrap()];
            let second = other.number.unwrap();
            let swap = format!(
                "UPDATE audit_entries SET number = CASE number WHEN {number} THEN {second} ELSE {number} END \
                 WHERE number IN ({number}, {second})"
            );
            (vec![swap], vec![changed(second, entry.id), changed(number, other.id)])
        }
        6 => {
            let to = number + i64::try_from(chance.below(3)).unwrap();
            let to = to.min(i64::try_from(last).unwrap());
            let delete = format!("DELETE FROM audit_entries WHERE number BETWEEN {number} AND {to}");
            let mut statements = vec![delete];
            // The end, with the head from before it: three entries were sealed first, then five.
            if chance.below(2) == 0 {
                let (kept, head) = if number <= 8 { (3, &anchor[0]) } else { (8, &anchor[1]) };
                statements = vec![
                    format!("DELETE FROM audit_entries WHERE number > {kept}"),
                    format!("UPDATE installation SET value = '{head}' WHERE name = 'audit_head'"),
                ];
                (statements, vec![AuditFinding::CutOff { line: 3, from: kept + 1, to: 12 }])
            } else {
                (statements, vec![AuditFinding::Missing { from: number, to }])
            }
        }
        // A forged one, in a place that is taken or at the end; and a changed line of the anchor.
        _ => {
            let forged = Uuid::from_bytes(*noise.first_chunk().unwrap());
            let place = if chance.below(2) == 0 { number } else { 13 };
            let columns = "action, account, subject, detail, operator, recorded_at";
            let insert = format!(
                "INSERT INTO audit_entries (id, {columns}, number, kept_from, mac, link) \
                 SELECT {}, {columns}, {place}, kept_from, mac, link FROM audit_entries WHERE number = {number}",
                id(app, forged)
            );
            let line = usize::try_from(chance.below(3)).unwrap();
            anchor[line] = anchor[line].replacen("\"signed_at\":1", "\"signed_at\":2", 1);
            (vec![insert], vec![changed(place, forged), AuditFinding::AnchorLine { line: line + 1 }])
        }
    };
    expected.sort_by_key(|finding| format!("{finding:?}"));
    Mutation { statements, anchor, expected }
}

operated! {
    async fn reading_and_verifying_the_trail_are_entries_of_it(installed) {
        installed.records(&["account", "create", "--business-name", "Shop", "--email", "shop@example.com"]);
        let actions = |records: &[Value]| -> Vec<String> {
            records.iter().map(|record| record["action"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(actions(&installed.records(&["audit"])), ["account.created"]);
        let read = installed.records(&["audit", "--per-page", "7"]);
        assert_eq!(actions(&read), ["audit.read", "account.created"]);
        assert_eq!(read[0]["detail"], json!({ "account": null, "since": null, "until": null, "page": 1 }));
        let report = installed.records(&["audit", "verify"]);
        assert_eq!(report, [json!({ "verified": 0, "unsealed": 3, "removed": 0, "anchored": null, "findings": 0 })]);
        let read = installed.records(&["audit"]);
        assert_eq!(actions(&read)[..2], ["audit.verified", "audit.read"]);
        assert_eq!(read[0]["detail"], json!({ "verified": 0, "findings": 0 }));
    }

    async fn a_server_that_is_killed_while_it_seals_leaves_a_trail_that_verifies(installed) {
        let heads = installed.data.path().join("heads.jsonl");
        installed.with("AUDIT_ANCHOR", heads.to_str().unwrap());
        installed.records(&["migrate"]);
        for point in ["seal.before", "seal.written", "seal.after"] {
            for _ in 0..3 {
                installed.records(&["audit"]);
            }
            let mut dying = installed.program();
            let dying = dying.env("CARD_PAYMENTS_CRASH_AT", format!("audit.{point}"));
            let (code, stderr) = Process::start(dying).ended();
            assert_eq!(code, None, "{point}: {stderr}");
            let server = installed.serve();
            let unsealed = "SELECT COUNT(*) FROM audit_entries WHERE number IS NULL";
            eventually(async || installed.number(unsealed).await == 0).await;
            let sealed = installed.number("SELECT COUNT(*) FROM audit_entries").await;
            let anchored = format!("{{\"number\":{sealed},");
            eventually(async || std::fs::read_to_string(&heads).is_ok_and(|text| text.contains(&anchored))).await;
            server.stopped();
        }
        let (code, stdout, stderr) = installed.run(&["audit", "verify", "--anchor", heads.to_str().unwrap()]);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
        assert_eq!(stdout, "9 entries verified, 0 not yet sealed, 0 removed by age; the anchor knows entry 9.\nThe audit trail is as it was sealed.\n");
        // A copy in the other kind of database is as good.
        let other = installed.other_kind().await;
        if let Some(other) = other {
            other.take_along(installed);
            assert_eq!(installed.run(&["copy", "--to", &other.database_url()]).0, Some(0));
            let verified = other.records(&["audit", "verify", "--anchor", heads.to_str().unwrap()]).remove(0);
            assert_eq!((&verified["verified"], &verified["findings"]), (&json!(9), &json!(0)), "{verified}");
        }
        installed.execute("UPDATE audit_entries SET operator = 'nobody' WHERE number = 4").await;
        installed.execute("DELETE FROM audit_entries WHERE number IN (6, 7)").await;
        let (code, stdout, stderr) = installed.run(&["audit", "verify"]);
        assert_eq!((code, stderr.as_str()), (Some(1), "error: the audit trail is not as it was sealed: 2 findings\n"));
        let lines: Vec<_> = stdout.lines().collect();
        assert!(lines[0].starts_with("entry 4 (") && lines[0].ends_with(") was changed, moved or never sealed"), "{stdout}");
        assert_eq!(lines[1], "entries 6 to 7 are missing");
        installed.refuses(&["audit", "verify", "--anchor", "/no/such/file"], "/no/such/file: No such file or directory (os error 2)");
    }
}
