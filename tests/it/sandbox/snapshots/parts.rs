//! A snapshot is made, put back and removed in parts, between which other accounts are served, and nobody sees a part.

use std::collections::BTreeSet;

use card_payments::limits::SNAPSHOT_PARTS_AT_ONCE;
use entity::TimeSpan;
use serde_json::json;

use super::{SNAPSHOTS, path, payloads, restore, restoring, snapshot};
use crate::harness::process::{PAYMENT, Process, request, try_to_ask};
use crate::harness::{Client, Database, operated, rules, token_of};
use crate::sandbox::accounts::made;

/// What a request sees while its account may be put back: a number of records, or nothing.
async fn seen(client: &Client, path: &str) -> Option<u64> {
    let answer = client.get(path).await;
    if answer.status == 503 {
        assert_eq!(answer.headers["retry-after"], "1");
        return None;
    }
    answer.json()["pagination"]["count"].as_u64()
}

rules! {
    async fn nobody_sees_an_account_that_is_half_put_back_and_others_are_served_meanwhile(app) {
        let ((_, client), (_, other)) = (made(app).await, made(app).await);
        for amount in 400..440 {
            client.captured(amount).await;
        }
        app.do_due_work().await;
        let snapshot = snapshot(&client).await;
        let paths = ["/1/charges?per_page=1", "/1/charges?per_page=1&page=30"];
        let mut either = paths.map(|_| BTreeSet::new());
        for (path, either) in paths.iter().zip(&mut either) {
            either.extend(seen(&client, path).await);
        }
        for amount in 500..510 {
            client.captured(amount).await;
        }
        for (path, either) in paths.iter().zip(&mut either) {
            either.extend(seen(&client, path).await);
        }
        let putting_back = tokio::spawn({
            let client = client.clone();
            async move { restore(&client, &snapshot).await }
        });
        let mut served = 0;
        while !putting_back.is_finished() {
            for (path, either) in paths.iter().zip(&either) {
                let count = seen(&client, path).await;
                assert!(count.is_none_or(|count| either.contains(&count)), "{path}: {count:?} of {either:?}");
            }
            other.captured(400).await;
            served += 1;
        }
        putting_back.await.unwrap();
        assert!(served > 0);
        assert_eq!(seen(&client, paths[0]).await, Some(40));
        app.do_due_work().await;
    }

    async fn a_large_snapshot_is_made_and_removed_in_parts_and_is_none_in_between(app) {
        const PARTS: &str = "SELECT COUNT(*) FROM snapshot_parts";
        let (account, client) = made(app).await;
        app.execute(Box::leak(payloads(app.database, &account, 20_000).into_boxed_str())).await;
        let large = snapshot(&client).await;
        assert!(app.number(PARTS).await > 2 * i64::try_from(SNAPSHOT_PARTS_AT_ONCE).unwrap());
        client.captured(400).await;
        restore(&client, &large).await;
        assert_eq!(seen(&client, "/1/charges").await, Some(0));
        // As while it is made, or after a server was stopped.
        app.execute("UPDATE snapshots SET bytes = 0, remove_at = remove_at - CAST(30 AS BIGINT) * 86400000 + 3600000").await;
        assert_eq!(client.get(SNAPSHOTS).await.ok(200), json!([]));
        app.unchanged(client.put(&restoring(&large), &json!({}))).await.not_found();
        app.unchanged(client.delete(&path(&large))).await.not_found();
        app.clock.advance(TimeSpan::seconds(3600));
        app.do_due_work().await;
        assert_eq!(app.number(PARTS).await, 0);
        assert_eq!(app.number("SELECT COUNT(*) FROM snapshots").await, 0);
        // So is one that is deleted.
        let large = snapshot(&client).await;
        client.delete(&path(&large)).await.ok(204);
        assert_eq!((app.number(PARTS).await, app.number("SELECT COUNT(*) FROM snapshots").await), (0, 0));
    }

    async fn an_account_that_is_put_back_again_and_again_by_several_is_put_back_whole(app) {
        let (_, client) = made(app).await;
        let empty = snapshot(&client).await;
        for _ in 0..20 {
            client.captured(400).await;
        }
        app.do_due_work().await;
        let full = snapshot(&client).await;
        let putting_back = (0..4).map(|n| {
            let (client, snapshot) = (client.clone(), [&empty, &full][n % 2].clone());
            tokio::spawn(async move {
                let mut done = 0;
                for _ in 0..5 {
                    let answer = client.put(&restoring(&snapshot), &json!({})).await;
                    assert!([200, 503].contains(&answer.status), "{}", answer.text);
                    done += usize::from(answer.status == 200);
                }
                done
            })
        });
        let mut done = 0;
        for putting_back in putting_back.collect::<Vec<_>>() {
            done += putting_back.await.unwrap();
        }
        assert!(done > 0);
        let count = seen(&client, "/1/charges").await.unwrap();
        assert!([0, 20].contains(&count), "{count}");
        restore(&client, &full).await;
        assert_eq!(seen(&client, "/1/charges").await, Some(20));
        assert_eq!(app.number("SELECT COUNT(*) FROM installation WHERE name LIKE 'restoring%'").await, 0);
    }
}

operated! {
    async fn rows_that_a_killed_server_was_restoring_are_back_when_the_next_one_serves(installed) {
        // On PostgreSQL it is one transaction.
        if installed.database == Database::Postgres {
            return;
        }
        installed.serve().stopped();
        let account = installed.account();
        for point in ["restore.mark.after", "restore.part.after", "restore.finish.before"] {
            let server = installed.serve();
            let (key, _) = server.keys();
            let charge = token_of(&server.pay(&key).ok(201));
            let charges = |server: &Process| server.ask("GET", "/1/charges", Some(&key), "").json()["pagination"]["count"].as_u64();
            let before = charges(&server);
            let snapshot = token_of(&server.ask("POST", "/1/sandbox/snapshots", Some(&key), "").ok(201));
            server.pay(&key).ok(201);
            server.stopped();
            let server = Process::start(installed.program().env("CARD_PAYMENTS_CRASH_AT", point));
            let path = format!("/1/sandbox/snapshots/{snapshot}/restore");
            assert!(try_to_ask(server.address, &request("PUT", &path, Some(&key), "")).is_err(), "{point}");
            assert_eq!(server.ended().0, None, "{point}");
            assert_eq!(installed.number("SELECT COUNT(*) FROM installation WHERE name LIKE 'restoring%'").await, 1, "{point}");
            // An operator who looks meanwhile finds no difference that is none.
            assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0), "{point}");
            let deposit = installed.run(&["deposit", "create", &account, "--amount", "100"]);
            assert!(deposit.0 == Some(1) && deposit.2.contains("a snapshot of the account is being restored"), "{deposit:?}");
            let dispute = installed.run(&["dispute", "open", &charge]);
            assert!(dispute.0 == Some(1) && dispute.2.contains("unavailable for the moment"), "{dispute:?}");
            let folder = tempfile::tempdir().unwrap();
            let copied = installed.run(&["copy", "--to", &format!("sqlite:{}", folder.path().join("copy.db").display())]);
            assert!(copied.0 == Some(1) && copied.2.contains("a snapshot is being restored"), "{copied:?}");
            let server = installed.serve();
            assert_eq!(charges(&server), before, "{point}");
            assert_eq!(installed.number("SELECT COUNT(*) FROM installation WHERE name LIKE 'restoring%'").await, 0, "{point}");
            server.ask("POST", "/1/charges", Some(&key), PAYMENT).ok(201);
            server.stopped();
            assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0), "{point}");
        }
    }
}
