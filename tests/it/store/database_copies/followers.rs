//! Copies that follow a server, and what cancels or completes them.

use sea_orm::{DatabaseTransaction, IsolationLevel};

use super::*;

operated! {
    async fn one_copy_at_a_time_follows_a_database(installed) {
        let Some(one) = Installed::on(Database::Postgres).await else { return };
        let (other, plain) = (Installed::on(Database::Postgres).await.unwrap(), Installed::on(Database::Postgres).await.unwrap());
        let (server, key, _) = used(installed);
        let source = installed.store().await;
        let copy = FollowingCopy::begin(&source, &one.location()).await.unwrap();
        copy.run(&()).await.unwrap();
        server.pay(&key).ok(201);

        let marks = "SELECT COUNT(*) FROM installation WHERE name IN ('followed_by', 'moved_to')";
        let refusal = format!("a copy follows the database into {}: complete that one, or end it with --cancel", one.location().display());
        installed.refuses(&["copy", "--follow", "--to", &other.database_url()], &refusal);
        installed.refuses(&["copy", "--cancel", "--to", &other.database_url()], &refusal);
        assert!(other.has_no_table().await);
        installed.refuses(&["copy", "--follow", "--to", &one.database_url()], "another command copies into the target");
        installed.refuses(&["copy", "--to", &one.database_url()], "another command copies into the target");
        assert_eq!(installed.number(marks).await, 1);
        // It takes none of the recorded changes away.
        installed.copied_to(&plain);

        // What one command has begun, another one for the same target goes on with.
        drop(copy);
        installed.refuses(&["copy", "--to", &one.database_url()], "the target follows the database: go on with --follow, or end that with --cancel");
        installed.refuses(&["copy", "--follow", "--to", &other.database_url()], &refusal);
        let moved = one.moved_from(installed);
        assert_eq!(moved.iter().find(|table| table["table"] == "charges").unwrap()["rows"], 4);
        for option in ["--follow", "--cancel"] {
            let moved = format!("the installation has moved to {}", one.location().display());
            installed.refuses(&["copy", option, "--to", &other.database_url()], &moved);
        }
        server.stopped();
    }

    async fn a_table_that_an_upgrade_has_made_since_is_copied_whole(installed) {
        let Some(one) = Installed::on(Database::Postgres).await else { return };
        let (server, key, _) = used(installed);
        let source = installed.store().await;
        let copy = FollowingCopy::begin(&source, &one.location()).await.unwrap();
        copy.run(&()).await.unwrap();
        drop(copy);
        for event in ["INSERT", "UPDATE", "DELETE"] {
            installed.execute(&match installed.database {
                Database::Sqlite => format!("DROP TRIGGER \"copy_changed_charges_{event}\""),
                Database::Postgres => format!("DROP FUNCTION \"copy_changed_charges_{event}\" CASCADE"),
            }).await;
        }
        installed.execute("DROP TABLE copy_changed_charges").await;
        server.pay(&key).ok(201);
        // It is cut off before it has copied the table.
        drop(FollowingCopy::begin(&source, &one.location()).await.unwrap());
        let moved = one.moved_from(installed);
        assert_eq!(moved.iter().find(|table| table["table"] == "charges").unwrap()["rows"], 4);
        server.stopped();
    }

    async fn of_two_copies_that_begin_to_follow_at_once_one_completes(installed) {
        let Some(one) = Installed::on(Database::Postgres).await else { return };
        let other = Installed::on(Database::Postgres).await.unwrap();
        let (server, key, _) = used(installed);
        let targets = [&one, &other];
        let moved = std::thread::scope(|scope| {
            let moves = targets.map(|target| scope.spawn(|| installed.run(&["copy", "--follow", "--to", &target.database_url()])));
            moves.map(|moving| moving.join().unwrap())
        });
        let completed: Vec<_> = (0..2).filter(|one| moved[*one].0 == Some(0)).collect();
        let [chosen] = completed[..] else { panic!("{moved:?}") };
        assert_eq!(moved[1 - chosen].0, Some(1), "{moved:?}");
        assert_eq!(server.pay(&key).status, 503);
        server.stopped();
        let (chosen, refused) = (targets[chosen], targets[1 - chosen]);
        chosen.take_along(installed);
        chosen.serve().stopped();
        assert!(refused.number("SELECT COUNT(*) FROM pg_tables WHERE tablename = 'accounts'").await == 0 || refused.run(&["account", "list"]).0 == Some(1));
    }

    async fn another_copy_follows_after_the_first_was_cancelled_and_the_first_one_changes_nothing_more(installed) {
        let Some(one) = Installed::on(Database::Postgres).await else { return };
        let other = Installed::on(Database::Postgres).await.unwrap();
        let (server, key, _) = used(installed);
        let source = installed.store().await;
        let first = FollowingCopy::begin(&source, &one.location()).await.unwrap();
        first.run(&()).await.unwrap();
        assert_eq!(installed.run(&["copy", "--cancel", "--to", &one.database_url()]).0, Some(0));
        let second = FollowingCopy::begin(&source, &other.location()).await.unwrap();
        second.run(&()).await.unwrap();
        server.pay(&key).ok(201);
        // The first one still runs: it neither takes the records nor ends writing.
        first.catch_up().await.unwrap();
        assert!(matches!(first.move_over().await, Err(CopyError::Cancelled)));
        server.pay(&key).ok(201);
        let moved = second.move_over().await.unwrap();
        let mut charges = 0;
        moved.compare(|table| if table.table == "charges" { charges = table.rows }).await.unwrap();
        assert_eq!(charges, 5);
        assert_eq!(server.pay(&key).status, 503);
        server.stopped();
    }

    async fn no_transaction_with_an_older_snapshot_writes_after_the_move(installed) {
        if installed.database == Database::Sqlite {
            return;
        }
        let Some(new) = Installed::on(Database::Postgres).await else { return };
        used(installed).0.stopped();
        let outside = sea_orm::Database::connect(installed.database_url()).await.unwrap();
        let with_snapshot = async || {
            let snapshot = outside.begin_with_config(Some(IsolationLevel::RepeatableRead), None).await.unwrap();
            snapshot.execute_unprepared("SELECT COUNT(*) FROM installation").await.unwrap();
            snapshot
        };
        let write = "UPDATE charges SET description = 'late'";
        let is_refused = async |snapshot: DatabaseTransaction| {
            let error = snapshot.execute_unprepared(write).await.unwrap_err().to_string();
            assert!(error.contains("could not serialize") || error.contains("a copy has begun meanwhile"), "{error}");
        };
        let source = installed.store().await;
        let before = with_snapshot().await;
        let copy = FollowingCopy::begin(&source, &new.location()).await.unwrap();
        // Older than the record of changes, and not in time for the first copy.
        is_refused(before).await;
        copy.run(&()).await.unwrap();
        let (writer, idle) = (with_snapshot().await, with_snapshot().await);
        writer.execute_unprepared(write).await.unwrap();
        // The end of writing waits for the one that has written.
        let (moved, ()) = tokio::join!(copy.move_over(), async {
            installed.waits_for_locks(1).await;
            writer.commit().await.unwrap();
        });
        is_refused(idle).await;
        moved.unwrap().compare(|_| ()).await.unwrap();
        assert_eq!(new.number("SELECT COUNT(*) FROM charges WHERE description = 'late'").await, 3);
    }

    async fn a_command_whose_copy_was_cancelled_does_not_complete_it(installed) {
        let Some(new) = Installed::on(Database::Postgres).await else { return };
        used(installed).0.stopped();
        let (source, target) = (installed.store().await, new.location());
        let cancel = async || Copy::cancel(&source, &target).await.unwrap();
        let copy = Copy::begin(&source, &target).await.unwrap();
        copy.run(&(), |_| ()).await.unwrap();
        cancel().await;
        assert!(matches!(copy.finish().await, Err(CopyError::Cancelled)));
        let copy = FollowingCopy::begin(&source, &target).await.unwrap();
        cancel().await;
        assert!(matches!(copy.run(&()).await, Err(CopyError::Cancelled)));
        drop(copy);
        // Each began again where a cancelled one had ended, and so does another one.
        installed.copied_to(&new);
    }

    async fn the_workers_of_a_server_count_their_failures_and_go_on_after_a_move_was_cancelled(installed) {
        let Some(new) = Installed::on(Database::Postgres).await else { return };
        let (server, key, _) = used(installed);
        let card = "number=4200000000000000&expiry_month=5&expiry_year=2030&cvc=123&name=Roland&\
                    address_line1=42+Sevenoaks+St&address_city=Lathlain&address_country=AU";
        server.ask("POST", "/1/cards", Some(&key), card).ok(201);
        let source = installed.store().await;
        let copy = FollowingCopy::begin(&source, &new.location()).await.unwrap();
        copy.run(&()).await.unwrap();
        drop(copy);
        // As a command leaves it that is killed when all writing has ended; something is due, and its worker fails.
        let moved = format!("INSERT INTO installation (name, value) VALUES ('moved_to', '{}')", new.location().display());
        installed.execute(&format!("UPDATE cards SET expires_at = 1 WHERE expires_at IS NOT NULL; {moved}")).await;
        pause(Duration::from_secs(3));
        let due = async || installed.number("SELECT COUNT(*) FROM cards WHERE expires_at = 1").await;
        assert!(due().await > 0);
        assert_eq!(server.pay(&key).status, 503);
        let failures = |kind: &str| {
            let metrics = server.ask("GET", "/metrics", None, "").body;
            let line = format!("card_payments_due_work_failures_total{{kind=\"{kind}\"}} ");
            let count = metrics.lines().find_map(|metric| metric.strip_prefix(&line));
            count.unwrap().parse::<u64>().unwrap()
        };
        eventually(async || failures("expired_card") > 0).await;
        assert_eq!(failures("due_renewal"), 0);

        assert_eq!(installed.run(&["copy", "--to", &new.database_url(), "--cancel"]).0, Some(0));
        eventually(async || due().await == 0).await;
        server.pay(&key).ok(201);
        assert!(server.stopped().contains("due work failed"));
    }
}
