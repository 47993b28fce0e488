//! Erasures that an operator orders, by a time or by a command.

use super::*;
use crate::harness::flaky_acquirer::CallFault;

async fn a_deleted_customer_is_erased_after_the_operators_time(app: &mut App) {
    let client = app.client();
    let kept = token_of(&client.customer("4200000000000000").await);
    delete(&client, &kept).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM erasures").await, 0, "not without the setting");
    app.erases_after(TimeSpan::days(30)).await;
    let client = app.client();
    let person = lives(app, &client).await;
    delete(&client, &person.customer).await;
    app.clock.advance(TimeSpan::days(29));
    app.do_due_work().await;
    assert!(words_in(&app.everything().await).len() > 15);
    app.clock.advance(TimeSpan::days(1));
    app.do_due_work().await;
    nothing_is_left(app, &client, &person).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM erasures WHERE erased_at IS NOT NULL").await, 1);
}
on_both!(a_deleted_customer_is_erased_after_the_operators_time, crate::harness::App, |app| {
    super::a_deleted_customer_is_erased_after_the_operators_time(app)
});

rules! {
    async fn a_restored_snapshot_with_a_running_subscription_does_not_bring_a_person_back(app) {
        let client = app.client();
        let customer = token_of(&client.customer("4200000000000000").await);
        let subscription = client.subscribed(&client.plan(&json!({})).await, &customer).await;
        let snapshot = token_of(&client.post("/1/sandbox/snapshots", &json!({})).await.ok(201));
        client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        erase(app, &customer).await.unwrap();
        ends(app).await;
        client.put(&format!("/1/sandbox/snapshots/{snapshot}/restore"), &json!({})).await.ok(200);
        app.do_due_work().await;
        client.get(&format!("/1/customers/{customer}")).await.not_found();
        let subscription = client.get(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        assert_eq!((&subscription["state"], &subscription["customer_token"]), (&json!("cancelled"), &json!(customer)));
        ends(app).await;
        assert_eq!(app.number("SELECT COUNT(*) FROM erasures WHERE erased_at IS NOT NULL").await, 1);
    }
}

rules! {
    async fn a_snapshot_that_is_restored_again_and_again_brings_nobody_back(app) {
        let client = app.client();
        let customer = token_of(&client.customer("4200000000000000").await);
        let by = json!({ "card": null, "customer_token": customer, "email": "again@example.com", "capture": false });
        let charge = token_of(&client.post("/1/charges", &charge_with(400, by)).await.ok(201));
        let snapshot = token_of(&client.post("/1/sandbox/snapshots", &json!({})).await.ok(201));
        client.put_charge(&charge, "void").await.ok(200);
        erase(app, &customer).await.unwrap();
        ends(app).await;
        for _ in 0..3 {
            client.put(&format!("/1/sandbox/snapshots/{snapshot}/restore"), &json!({})).await.ok(200);
            // It waits, because the reserved money is back, too.
            app.do_due_work().await;
            assert_eq!(client.charge(&charge).await["email"], "again@example.com");
        }
        client.put_charge(&charge, "void").await.ok(200);
        app.clock.advance(TimeSpan::days(1));
        app.do_due_work().await;
        ends(app).await;
        assert_eq!(client.charge(&charge).await["email"], "erased@erased.invalid");
        client.get(&format!("/1/customers/{customer}")).await.not_found();
    }
}

async fn a_deleted_customer_waits_until_its_dispute_is_decided(app: &mut App) {
    app.erases_after(TimeSpan::days(0)).await;
    let client = app.client();
    let customer = token_of(&client.customer("4200000000000000").await);
    let by = json!({ "card": null, "customer_token": customer, "email": "waits@example.com" });
    let charge = token_of(&client.post("/1/charges", &charge_with(400, by)).await.ok(201));
    let dispute = token_of(&client.dispute(&charge).await);
    delete(&client, &customer).await;
    ends(app).await;
    assert_eq!(client.charge(&charge).await["email"], "waits@example.com");
    client.post(&format!("/1/disputes/{dispute}/evidence"), &json!({})).await;
    client.decide(&dispute, "cancelled").await.ok(200);
    app.clock.advance(TimeSpan::days(1));
    app.do_due_work().await;
    assert_eq!(client.charge(&charge).await["email"], "erased@erased.invalid");
    // A clock that is moved does it, too.
    let customer = token_of(&client.customer("4200000000000000").await);
    delete(&client, &customer).await;
    client.put("/1/sandbox/clock", &json!({ "advance": "1h" })).await.ok(200);
    assert_eq!(app.number("SELECT COUNT(*) FROM erasures WHERE erased_at IS NOT NULL").await, 2);
}
on_both!(a_deleted_customer_waits_until_its_dispute_is_decided, crate::harness::App, |app| {
    super::a_deleted_customer_waits_until_its_dispute_is_decided(app)
});

fn purchase_form(customer: &str) -> String {
    format!(
        "email=xq%40quillfeather.example&description=One+brass+astrolabe&amount=400&ip_address=198.51.100.77&customer_token={customer}"
    )
}

operated! {
    async fn a_command_rewrites_the_tables_of_customers(installed) {
        installed.records(&["account", "create", "--business-name", "Shop", "--email", "shop@example.com"]);
        let rewritten = installed.records(&["customer", "vacuum"]);
        let rewritten: Vec<_> = rewritten.iter().map(|record| record["table"].as_str().unwrap()).collect();
        let expected = match installed.database {
            Database::Sqlite => Vec::new(),
            Database::Postgres => tables_of_customers().collect(),
        };
        assert_eq!(rewritten, expected);
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn an_operator_erases_beside_a_server_which_may_be_killed_and_an_older_copy_forgets_again(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let customer = token_of(&server.ask("POST", "/1/customers", Some(&key), CUSTOMER).ok(201));
        for _ in 0..60 {
            server.ask("POST", "/1/charges", Some(&key), &purchase_form(&customer)).ok(201);
        }
        let account = installed.account();
        // A copy from before, of SQLite's file.
        let copies = tempfile::tempdir().unwrap();
        let older = copies.path().join("older.db");
        if installed.database == Database::Sqlite {
            installed.records(&["backup", older.to_str().unwrap()]);
        }
        let command = ["customer", "erase", &customer, "--account", &account];
        installed.refuses(&["customer", "erase", "cus_AZqYv3rVcBKUQ1mHn7tKRw", "--account", &account], "there is no customer cus_AZqYv3rVcBKUQ1mHn7tKRw");
        installed.refuses(&["customer", "erase", &customer, "--account", "acct_x"], "there is no account acct_x");
        // The command dies after its first batch.
        let died = installed.program().env("CARD_PAYMENTS_CRASH_AT", "erasure.batch.after").args(command).output().unwrap();
        assert!(!died.status.success());
        let left = "SELECT COUNT(*) FROM charges WHERE email <> 'erased@erased.invalid'";
        assert_eq!(installed.number(left).await, 35);
        server.pay(&key).ok(201);
        installed.execute("UPDATE erasures SET due_at = due_at - 120000, quiet_at = quiet_at - 120000").await;
        let done = "SELECT COUNT(*) FROM erasures WHERE erased_at IS NOT NULL";
        eventually(async || installed.number(done).await == 1).await;
        assert_eq!(installed.number(left).await, 1, "the other's");
        let record = installed.records(&command).remove(0);
        assert_eq!((&record["token"], &record["charges"]), (&json!(customer), &json!(60)));
        let log = server.stopped();
        assert_eq!(words_in(log.as_bytes()), NONE, "in the server's log");
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
        assert_eq!(words_in(installed.rows().await.as_bytes()), NONE);
        assert_eq!(installed.records(&["audit"]).iter().filter(|entry| entry["action"] == "customer.erased").count(), 2);
        if installed.database == Database::Postgres {
            return;
        }
        let newer = copies.path().join("newer.db");
        installed.records(&["backup", newer.to_str().unwrap()]);
        assert_eq!(words_in(&std::fs::read(&newer).unwrap()), NONE, "in a backup made afterwards");
        for file in ["card-payments.db", "card-payments.db-wal"] {
            let bytes = std::fs::read(installed.data.path().join(file)).unwrap_or_default();
            assert_eq!(words_in(&bytes), NONE, "in {file}");
        }
        // The older one is put back; the mark lies beside the files.
        assert!(!words_in(&std::fs::read(&older).unwrap()).is_empty());
        let _ = std::fs::remove_file(installed.data.path().join("card-payments.db-wal"));
        std::fs::copy(&older, installed.data.path().join("card-payments.db")).unwrap();
        // It is hours old, so that the server doubts its clock.
        installed.execute(
            "UPDATE installation SET value = json_set(value, '$.trusted', value ->> 'trusted' - 64800000, '$.wall', value ->> 'wall' - 64800000) \
             WHERE name = 'clock'",
        ).await;
        let server = installed.serve();
        let erased = "SELECT COUNT(*) FROM charges WHERE email = 'erased@erased.invalid'";
        eventually(async || installed.number(erased).await == 60).await;
        assert_eq!(server.ask("GET", &format!("/1/customers/{customer}"), Some(&key), "").status, 404);
        server.stopped();
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn a_mark_that_the_vault_has_not_signed_erases_nobody_and_an_operator_is_told(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let [erased, kept, other] =
            std::array::from_fn(|_| token_of(&server.ask("POST", "/1/customers", Some(&key), CUSTOMER).ok(201)));
        let account = installed.account();
        installed.records(&["customer", "erase", &erased, "--account", &account]);
        installed.execute("UPDATE erasures SET due_at = due_at - 120000, quiet_at = quiet_at - 120000").await;
        let done = "SELECT COUNT(*) FROM erasures WHERE erased_at IS NOT NULL";
        eventually(async || installed.number(done).await == 1).await;
        server.stopped();
        let folder = installed.data.path().join("files/erased");
        let marks = || -> BTreeSet<String> {
            let names = std::fs::read_dir(&folder).unwrap();
            names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect()
        };
        let signed = marks().pop_first().unwrap();
        let account: AccountToken = account.parse().unwrap();
        let unsigned = |customer: &str| format!("{}.{}", account.id(), customer.parse::<CustomerToken>().unwrap().id());
        assert!(signed.starts_with(&unsigned(&erased)) && signed != unsigned(&erased), "{signed}");
        // Of an intruder, or of an earlier release; and one that is signed for somebody else.
        let copied = signed.replace(&unsigned(&erased), &unsigned(&other));
        for forged in [&unsigned(&kept), &copied] {
            std::fs::write(folder.join(forged), "").unwrap();
        }
        let refused = |server: &Process| server.ask("GET", "/metrics", None, "").body.contains("card_payments_erasure_marks_refused 2\n");
        let acts = async || installed.number("SELECT COUNT(*) FROM audit_entries WHERE action = 'customer.erased'").await;
        let server = installed.serve();
        eventually(async || refused(&server)).await;
        for customer in [&kept, &other] {
            let shown = server.ask("GET", &format!("/1/customers/{customer}"), Some(&key), "").ok(200);
            assert_eq!(shown["email"], "xq@quillfeather.example");
        }
        let log = server.stopped();
        assert!(log.contains("a mark of an erased customer is not signed") && log.contains(&kept) && log.contains(&other), "{log}");
        assert_eq!((installed.number("SELECT COUNT(*) FROM erasures").await, acts().await), (1, 1));
        // One of an earlier release, which the database bears out, is signed afterwards.
        std::fs::rename(folder.join(&signed), folder.join(unsigned(&erased))).unwrap();
        let server = installed.serve();
        eventually(async || marks().contains(&signed)).await;
        server.stopped();
        // An older database obeys the signed one, also after a rotation, and says so.
        installed.records(&["vault", "rotate"]);
        installed.execute("DELETE FROM erasures").await;
        let server = installed.serve();
        eventually(async || installed.number("SELECT COUNT(*) FROM erasures").await == 1).await;
        server.stopped();
        let entry = installed.records(&["audit"]).into_iter().find(|entry| entry["action"] == "customer.erased").unwrap();
        assert_eq!((&entry["by"], &entry["subject"], acts().await), (&json!("the server"), &json!(erased), 2));
    }
}

#[test]
fn the_page_names_the_tables_that_are_rewritten() {
    let page =
        include_str!("../../../../docs/operating/backup.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let command = format!("`VACUUM (FULL) {}`", tables_of_customers().collect::<Vec<_>>().join(", "));
    assert!(page.contains(&command), "{command}");
}

rules! {
    async fn a_customer_whose_payment_has_an_unknown_outcome_is_not_erased(app, acquirer) {
        let client = app.client();
        let customer = client.customer("4200000000000000").await;
        let by = charge_with(400, json!({ "card": null, "customer_token": token(&customer) }));
        acquirer.carry(CallFault::Call);
        acquirer.settle(false);
        client.post("/1/charges", &by).await.refused(502, "gateway_error");
        assert_eq!(erase(app, token(&customer)).await.unwrap_err(), "InvalidState");
        assert_eq!(app.number("SELECT COUNT(*) FROM erasures").await, 0);
        assert_eq!(client.get(&format!("/1/customers/{}", token(&customer))).await.ok(200), customer);
        acquirer.settle(true);
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        erase(app, token(&customer)).await.unwrap();
    }
}
