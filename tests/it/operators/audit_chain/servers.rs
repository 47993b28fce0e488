//! The chain under servers that start, seal and are killed.

use super::*;
use crate::harness::process::unread;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_an_earlier_release_gets_a_head_once() {
    for database in [Database::Sqlite, Database::Postgres] {
        let Some(mut app) = App::start(database).await else { continue };
        let link = async |app: &App| {
            let keys = vault_key::Entity::find().all(app.ctx().store.read()).await.unwrap();
            keys.into_iter().find(|key| key.purpose == "link").unwrap()
        };
        let key = link(&app).await;
        let born = head(&app).await;
        // As an earlier release has left it, which had nothing to seal yet.
        let operator = &app.ctx().operator;
        let wrapped = Wrapped { by: key.wrapped_by.clone(), bytes: key.wrapped.clone() };
        let opened = operator.unwrap(format!("link key {}", key.id).as_bytes(), &wrapped).unwrap();
        let earlier = app.ctx().ids.next();
        let wrapped = operator.wrap(format!("link key {earlier}").as_bytes(), &opened);
        let statements = vec![
            format!(
                "UPDATE vault_keys SET id = {}, wrapped = {} WHERE purpose = 'link'",
                id(&app, earlier),
                bytes(&app, &wrapped.bytes)
            ),
            "DELETE FROM installation WHERE name = 'audit_head'".into(),
        ];
        tamper(&app, statements).await;
        record(&app, 2).await;
        app.restart().await;
        assert_ne!(link(&app).await.id, earlier);
        seal(&app).await;
        assert_eq!(counts(&app, &[]).await, (2, 0, 0));
        // Never again, and not with the head of its birth either: what is sealed does not follow it.
        tamper(&app, vec!["DELETE FROM installation WHERE name IN ('audit_head', 'keys')".into()]).await;
        record(&app, 1).await;
        app.restart().await;
        audit::seal(app.ctx()).await.unwrap_err();
        assert_eq!(findings(&app, &[]).await.1, [AuditFinding::Head]);
        tamper(&app, vec![format!("INSERT INTO installation (name, value) VALUES ('audit_head', '{born}')")])
            .await;
        audit::seal(app.ctx()).await.unwrap_err();
        assert_eq!(findings(&app, &[]).await.1, [AuditFinding::Head]);
    }
}

/// Returns whether a server has counted that somebody else changed the trail.
fn tampering_was_met(server: &Process) -> bool {
    let metrics = server.ask("GET", "/metrics", None, "").body;
    let counted = metrics.lines().find_map(|line| line.strip_prefix("card_payments_audit_tampering_total "));
    counted.is_some_and(|times| times != "0")
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
            // The beginning of a line, for whose rest a disk had no room.
            let mut anchor = std::fs::OpenOptions::new().append(true).create(true).open(&heads).unwrap();
            std::io::Write::write_all(&mut anchor, b"{\"number\":42,\"link\":\"ab").unwrap();
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
        let nobody_reads = unread(installed.program().args(["audit", "verify"]));
        assert_eq!(nobody_reads, (Some(1), stderr), "what was found counts all the same");
        let lines: Vec<_> = stdout.lines().collect();
        assert!(lines[0].starts_with("entry 4 (") && lines[0].ends_with(") was changed, moved or never sealed"), "{stdout}");
        assert_eq!(lines[1], "entries 6 to 7 are missing");
        installed.refuses(&["audit", "verify", "--anchor", "/no/such/file"], "/no/such/file: No such file or directory (os error 2)");
    }

    async fn a_server_that_starts_on_an_older_trail_than_its_anchor_knows_seals_nothing(installed) {
        let heads = installed.data.path().join("heads.jsonl");
        let anchored = || std::fs::read_to_string(&heads).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
        installed.with("AUDIT_ANCHOR", heads.to_str().unwrap());
        let server = installed.serve();
        for lines in [1, 2] {
            installed.records(&["audit"]);
            eventually(async || anchored().len() == lines).await;
        }
        server.stopped();
        installed.execute("DELETE FROM audit_entries WHERE number > 1").await;
        let older = anchored().remove(0);
        installed.execute(&format!("UPDATE installation SET value = '{older}' WHERE name = 'audit_head'")).await;
        installed.records(&["audit"]);
        let unsealed = "SELECT COUNT(*) FROM audit_entries WHERE number IS NULL";
        let server = installed.serve();
        eventually(async || tampering_was_met(&server)).await;
        assert!(server.stopped().contains("the audit trail is not the one that this server or its anchor knows"));
        assert_eq!((installed.number(unsealed).await, anchored().len()), (1, 2));
        // As after a restored backup: a new anchor.
        installed.with("AUDIT_ANCHOR", installed.data.path().join("further.jsonl").to_str().unwrap());
        let server = installed.serve();
        eventually(async || installed.number(unsealed).await == 0).await;
        server.stopped();
        assert_eq!(installed.run(&["audit", "verify"]).0, Some(0));
        assert_eq!(installed.run(&["audit", "verify", "--anchor", heads.to_str().unwrap()]).0, Some(1));
    }

    async fn a_trail_that_lost_its_head_and_its_seals_is_never_sealed_anew(installed) {
        let heads = installed.data.path().join("heads.jsonl");
        installed.with("AUDIT_ANCHOR", heads.to_str().unwrap());
        installed.records(&["account", "create", "--business-name", "Shop", "--email", "shop@example.com"]);
        for _ in 0..4 {
            installed.records(&["audit"]);
        }
        let server = installed.serve();
        eventually(async || std::fs::read_to_string(&heads).is_ok_and(|text| text.contains("{\"number\":5,"))).await;
        let columns = "action, account, subject, detail, operator, recorded_at";
        let copy = |id: &str| format!("INSERT INTO audit_entries (id, {columns}) SELECT {id}, {columns} FROM audit_entries WHERE action = 'account.created' LIMIT 1");
        let ids = match installed.database {
            Database::Sqlite => ["x'00000000000000000000000000000001'", "x'00000000000000000000000000000002'"],
            Database::Postgres => ["'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000002'"],
        };
        let statements = [
            "DELETE FROM installation WHERE name = 'audit_head'".to_owned(),
            "UPDATE audit_entries SET number = NULL, kept_from = NULL, mac = NULL, link = NULL, recorded_at = recorded_at - 43200000000".into(),
            copy(ids[0]),
            copy(ids[1]),
        ];
        installed.execute(&statements.join("; ")).await;
        eventually(async || tampering_was_met(&server)).await;
        let log = server.stopped();
        assert!(log.contains("the head of the audit trail is gone"), "{log}");
        // Nor by a server that has never seen the head.
        let server = installed.serve();
        eventually(async || tampering_was_met(&server)).await;
        server.stopped();
        assert_eq!(installed.number("SELECT COUNT(*) FROM audit_entries WHERE number IS NOT NULL").await, 0);
        let (code, stdout, _) = installed.run(&["audit", "verify"]);
        assert_eq!((code, stdout.lines().next()), (Some(1), Some("the head of the trail is gone, changed or too old")));
        let (code, stdout, _) = installed.run(&["audit", "verify", "--anchor", heads.to_str().unwrap()]);
        assert!(code == Some(1) && stdout.contains("the trail is cut off before entry 1: line "), "{stdout}");
    }
}
