//! The audit trail shows tampering: whatever is done to it in the database is found and named, and nothing is invented
//! (`docs/decisions.md`, 385).

mod mutations;
mod servers;

use std::fmt::Write as _;

use base::clock::Clock;
use card_payments::services::audit::{self, AuditFinding, AuditReport, TrailWatch};
use entity::audit_entry::{self, Column};
use entity::installation::vault_key;
use entity::{TimeSpan, installation};
use futures::future::join_all;
use sea_orm::{ConnectionTrait, EntityTrait, QueryOrder};
use serde_json::{Value, json};
use uuid::Uuid;
use vault::Wrapped;

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
    let unit = app.ctx().store.write(statements, async |tx, statements| {
        for statement in statements {
            tx.execute_unprepared(statement).await?;
        }
        Ok(())
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

    async fn removal_by_age_leaves_a_trail_that_verifies(app) {
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
        let cut_off = AuditFinding::CutOff { line: 2, from: 1, to: 5 };
        assert_eq!(findings(app, &anchor).await.1, [AuditFinding::Head, cut_off]);
    }

    async fn an_entry_is_kept_from_its_sealing_on_whatever_time_it_was_recorded_with(app) {
        record(app, 2).await;
        tamper(app, vec!["UPDATE audit_entries SET recorded_at = recorded_at - 43200000000".into()]).await;
        seal(app).await;
        for _ in 0..2 {
            app.do_due_work().await;
            assert_eq!(counts(app, &[]).await, (2, 0, 0));
            app.clock.advance(TimeSpan::from_millis(TimeSpan::days(200).millis() - 1));
        }
        app.clock.advance(TimeSpan::from_millis(2));
        app.do_due_work().await;
        assert_eq!(counts(app, &[]).await, (0, 0, 2));
    }

    async fn a_server_that_has_seen_a_head_seals_no_older_trail(app) {
        let mut watch = TrailWatch::default();
        record(app, 3).await;
        watch.seal(app.ctx()).await.unwrap();
        let first = head(app).await;
        record(app, 2).await;
        watch.seal(app.ctx()).await.unwrap();
        watch.seal(app.ctx()).await.unwrap();
        let second = head(app).await;
        let taken = entries(app).await.split_off(3);
        let head_is = |head: &str| format!("UPDATE installation SET value = '{head}' WHERE name = 'audit_head'");
        tamper(app, vec!["DELETE FROM audit_entries WHERE number > 3".into(), head_is(&first)]).await;
        record(app, 1).await;
        watch.seal(app.ctx()).await.unwrap_err();
        assert_eq!(counts(app, &[]).await, (3, 1, 0), "nothing was sealed");
        let back = app.ctx().store.write(taken, async |tx, taken| {
                for entry in taken {
                    tx.append(entry);
                }
                Ok(())
            });
        back.await.unwrap();
        tamper(app, vec![head_is(&second)]).await;
        watch.seal(app.ctx()).await.unwrap();
        assert_eq!(counts(app, &[]).await, (6, 0, 0));
    }

    async fn a_trail_whose_end_was_changed_is_extended_no_further(app) {
        // Statements of an intruder, which a distributed table does not take.
        if postgres::is_distributed() {
            return;
        }
        record(app, 3).await;
        seal(app).await;
        record(app, 1).await;
        tamper(app, vec!["CREATE TABLE untouched AS SELECT * FROM audit_entries".into()]).await;
        let copy = format!(
            "INSERT INTO audit_entries SELECT {}, action, account, subject, detail, operator, recorded_at, 4, kept_from, mac, link \
             FROM untouched WHERE number = 3",
            id(app, Uuid::from_u128(1))
        );
        for change in [
            "DELETE FROM audit_entries WHERE number = 3",
            "UPDATE audit_entries SET number = NULL, kept_from = NULL, mac = NULL, link = NULL WHERE number = 3",
            "UPDATE audit_entries SET operator = 'nobody' WHERE number = 3",
            "UPDATE audit_entries SET link = mac WHERE number = 3",
            &copy,
        ] {
            tamper(app, vec![change.into()]).await;
            audit::seal(app.ctx()).await.unwrap_err();
            assert_ne!(findings(app, &[]).await.1, [], "{change}");
            tamper(app, vec!["DELETE FROM audit_entries".into(), "INSERT INTO audit_entries SELECT * FROM untouched".into()]).await;
        }
        tamper(app, vec!["DROP TABLE untouched".into()]).await;
        seal(app).await;
        assert_eq!(counts(app, &[]).await, (4, 0, 0));
    }

    async fn nothing_is_removed_by_age_behind_an_entry_that_was_changed(app) {
        record(app, 4).await;
        seal(app).await;
        tamper(app, vec!["UPDATE audit_entries SET operator = 'nobody' WHERE number = 2".into()]).await;
        app.clock.advance(TimeSpan::days(400));
        let last = entries(app).await.remove(3);
        audit::forget(app.ctx(), last.clone()).await.unwrap();
        audit::forget(app.ctx(), last).await.unwrap_err();
        let left = entries(app).await;
        assert_eq!(left.len(), 3);
        assert_eq!(findings(app, &[]).await.1, [AuditFinding::Changed { number: 2, entry: Some(left[0].id) }]);
    }

    async fn the_anchor_shows_that_entries_were_removed_too_young(app) {
        record(app, 2).await;
        let mut anchor = vec![seal(app).await];
        record(app, 2).await;
        anchor.push(seal(app).await);
        // A clock that was wrong for a moment.
        app.clock.advance(TimeSpan::days(500));
        app.do_due_work().await;
        app.clock.advance(TimeSpan::days(-500));
        assert_eq!(counts(app, &[]).await, (0, 0, 4));
        assert_eq!(findings(app, &anchor).await.1, [AuditFinding::RemovedYoung { line: 2, number: 4 }]);
        app.clock.advance(TimeSpan::days(400));
        assert_eq!(counts(app, &anchor).await, (0, 0, 4));
    }

    async fn lines_of_the_anchor_contradict_each_other_also_about_removed_entries(app) {
        let born = head(app).await;
        record(app, 3).await;
        let mut anchor = vec![seal(app).await];
        tamper(app, vec!["DELETE FROM audit_entries".into(), format!("UPDATE installation SET value = '{born}' WHERE name = 'audit_head'")]).await;
        for acts in [3, 1] {
            record(app, acts).await;
            anchor.push(seal(app).await);
        }
        assert_eq!(findings(app, &anchor).await.1, [AuditFinding::Rewritten { line: 1, number: 3 }]);
        app.clock.advance(TimeSpan::days(400));
        app.do_due_work().await;
        assert_eq!(findings(app, &anchor).await.1, [AuditFinding::Rewritten { line: 2, number: 3 }]);
    }
}
