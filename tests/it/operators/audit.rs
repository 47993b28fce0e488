//! What operators do is recorded with what it changes, and from where keys are used is counted (`docs/decisions.md`, 344 to
//! 348).

use base::clock::Clock;
use base::random::RandomSource;
use card_payments::config::Environment;
use card_payments::limits::KEY_USES_BATCH;
use card_payments::params::{self, Paging};
use card_payments::services::accounts::{ApiKeyPair, create, find_by_token, keys, operator};
use card_payments::services::audit::{self, AuditFilter};
use card_payments::services::data_keys::rotate::rotate;
use card_payments::services::deposits::params::DepositOrder;
use card_payments::services::events::ping::ping;
use card_payments::services::merchants::decide_as_operator;
use card_payments::services::merchants::export::export;
use card_payments::services::webhook_endpoints::keys as signing_keys;
use card_payments::services::{Account, Caller, deposits, disputes};
use entity::dispute::{DisputeCategory, DisputeStatus};
use entity::merchant::MerchantStatus;
use entity::{AccountToken, TimeSpan};
use futures::future::join_all;
use serde_json::{Value, json};
use store::Operator;
use vault::OperatorKeys;

use crate::commands::helps;
use crate::harness::process::{PAYMENT, request, try_to_ask};
use crate::harness::{
    App, Client, Database, Installed, application, operated, postgres, rules, token, token_of,
};
use crate::operators::people::open_session;

/// Who acts, as the commands would find him.
const WHO: &str = "roland (user 1000) on a machine";
const KEY_USED: &str = "key.used";

/// From now on the services' store is an operator's.
fn acts(app: &App) {
    app.ctx().store.set_operator(Operator { name: WHO.into(), at: app.clock.now() });
}

/// The account as a command names it.
async fn named_account(app: &App, token: AccountToken) -> Account {
    find_by_token(&app.ctx().store, token, app.clock.now()).await.unwrap().unwrap()
}

/// The trail, newest first.
async fn trail(app: &App, account: Option<AccountToken>) -> Vec<Value> {
    let filter = AuditFilter { account, since: None, until: None, paging: Paging { page: 1, per_page: 500 } };
    let records = audit::list(&app.ctx().store, filter).await.unwrap();
    records.iter().map(|record| serde_json::to_value(record).unwrap()).collect()
}

/// What was counted by now, the newest first.
async fn uses(app: &App) -> Vec<Value> {
    audit::write_key_uses(app.ctx()).await.unwrap();
    let mut trail = trail(app, None).await;
    trail.retain(|record| record["action"] == KEY_USED);
    trail
}

fn times(uses: &[Value]) -> Vec<i64> {
    uses.iter().map(|uses| uses["detail"]["times"].as_i64().unwrap()).collect()
}

async fn use_key(client: &Client, times: usize) {
    for _ in 0..times {
        client.get("/1/charges").await.ok(200);
    }
}

rules! {
    async fn each_act_of_an_operator_is_recorded_and_an_accounts_own_is_not(app) {
        let client = app.client();
        let ctx = app.ctx();
        let account = app.account().await;
        let [first, second] = [client.merchant().await, client.merchant().await];
        let charge = token(&client.captured(400).await).to_owned();
        client.decide_merchant(&first, "active").await.ok(200);
        client.disputed(600).await;
        assert_eq!(trail(app, None).await, [] as [Value; 0], "that was the account itself");
        acts(app);
        let now = app.clock.now();
        let named = named_account(app, account).await;
        operator::change(&ctx.store, &named, "wallet", "false").await.unwrap();
        operator::change(&ctx.store, &named, "maximum_charge_cents", "5").await.err().unwrap();
        let fresh = keys::rotate(ctx, account, TimeSpan::days(1)).await.unwrap();
        let rotation = rotate(ctx).await.unwrap();
        let merchant = second.parse().unwrap();
        decide_as_operator(&ctx.store, now, merchant, MerchantStatus::Declined).await.unwrap();
        decide_as_operator(&ctx.store, now, merchant, MerchantStatus::Active).await.err().unwrap();
        export(ctx, first.parse().unwrap()).await.unwrap();
        let endpoint = token_of(&client.endpoint("http://127.0.0.1:9/").await);
        let caller = Caller::without_key(named.clone());
        signing_keys::rotate(ctx, &caller, endpoint.parse().unwrap(), TimeSpan::days(1)).await.unwrap();
        let pinged = serde_json::to_value(ping(ctx, &caller, &endpoint).await.unwrap()).unwrap();
        let arrival = DepositOrder { amount: 7, narration: "x".into(), available_at: None };
        let deposit = deposits::arrive(&ctx.store, named, arrival).await.unwrap();
        let opened = disputes::operator::open(&ctx.store, now, &charge, Some(9), DisputeCategory::General).await;
        let dispute = serde_json::to_value(opened.unwrap()).unwrap();
        disputes::operator::resolve(&ctx.store, now, token(&dispute), DisputeStatus::Resolved).await.unwrap();
        let from = "203.0.113.7".parse().ok();
        audit::signed_in(ctx, from).await.unwrap();
        audit::record_view(ctx, audit::KEY_HOLDER, account, from).await.unwrap();

        let trail = trail(app, None).await;
        let end = |key: &str| format!("...{}", &key[key.len() - 4..]);
        let expected = [
            ("account.viewed", json!(account), account.to_string(), json!({ "from": "203.0.113.7" })),
            ("operator.signed_in", json!(null), "dashboard".to_owned(), json!({ "from": "203.0.113.7" })),
            ("dispute.resolved", json!(account), token(&dispute).to_owned(), json!({ "status": "resolved" })),
            ("dispute.opened", json!(account), charge, json!({ "amount": 9, "category": "general" })),
            ("deposit.created", json!(account), deposit.token.to_string(), json!({ "amount": 7 })),
            ("webhook.pinged", json!(account), endpoint.clone(), json!({ "webhook": pinged["token"] })),
            ("webhook.key_rotated", json!(account), endpoint, json!({ "former_key_until": now + TimeSpan::days(1) })),
            ("merchant.exported", json!(account), first, json!({ "to": "live" })),
            ("merchant.decided", json!(account), second, json!({ "status": "declined" })),
            ("vault.rotated", json!(null), rotation.data_key.to_string(), json!({ "wrapped_by": "test" })),
            ("account.keys_rotated", json!(account), account.to_string(), json!({
                "secret_key": end(fresh.secret.expose()), "publishable_key": end(fresh.publishable.expose()),
                "former_keys_end": now + TimeSpan::days(1),
            })),
            ("account.changed", json!(account), account.to_string(), json!({ "wallet": "false" })),
        ];
        assert_eq!(trail.len(), expected.len(), "{trail:#?}");
        for (record, (action, account, subject, detail)) in trail.iter().zip(expected) {
            let by = if ["operator.signed_in", "account.viewed"].contains(&action) { "holder of the operator's key" } else { WHO };
            assert_eq!(*record, json!({
                "at": now, "action": action, "account": account, "subject": subject, "by": by, "detail": detail,
            }));
        }
        let everything = app.everything().await;
        for key in [fresh.secret.expose(), fresh.publishable.expose()] {
            assert!(!everything.windows(key.len()).any(|window| window == key.as_bytes()));
        }
    }

    async fn an_account_that_is_refused_leaves_no_act(app) {
        acts(app);
        let new_account = |email: &str| {
            let new_account = json!({ "business_name": "Shop", "email": email, "partner": false, "bank_account": null });
            create::checked(params::read(&new_account)).unwrap()
        };
        let keys = ApiKeyPair::mint(&RandomSource::default());
        let environment = Environment::Test;
        create::create(app.ctx(), environment, &keys, new_account("a@example.com")).await.unwrap();
        create::create(app.ctx(), environment, &keys, new_account("b@example.com")).await.err().unwrap();
        let trail = trail(app, None).await;
        assert_eq!(trail.len(), 1, "{trail:#?}");
        assert_eq!(trail[0]["detail"], json!({ "business_name": "Shop", "partner": false }));
    }

    #[dated]
    async fn uses_of_a_key_are_counted_by_the_day_beside_the_requests(app) {
        let client = app.client();
        let before = app.rows().await;
        use_key(&client, 3).await;
        let by_browser = format!("/1/cards?publishable_api_key={}", app.publishable_key());
        app.anonymous().post(&by_browser, &json!({})).await.refused(422, "invalid_resource");
        app.with_key("nobodys_key").get("/1/charges").await.refused(401, "unauthorized");
        assert_eq!(app.rows().await, before, "a request only counts");
        assert_eq!(app.number("SELECT COUNT(*) FROM key_uses").await, 0);
        let end = |key: &str| format!("key ...{}", &key[key.len() - 4..]);
        let mut found = uses(app).await;
        found.sort_by_key(|uses| uses["subject"].to_string());
        assert_eq!(times(&found), [1, 3]);
        let [publishable, secret] = &found[..] else { panic!("{found:#?}") };
        assert_eq!(publishable["subject"], format!("publishable {}", end(app.publishable_key())));
        assert_eq!(publishable["by"], json!(null), "browsers are other people's");
        assert_eq!(secret["subject"], format!("secret {}", end(app.secret_key())));
        assert_eq!((&secret["by"], &secret["account"]), (&json!("127.0.0.1"), &json!(app.account().await)));
        let began = secret["at"].clone();
        assert_eq!(secret["detail"], json!({ "times": 3, "first_at": began, "day": "2026-03-02" }));
        app.clock.advance(TimeSpan::seconds(60));
        use_key(&client, 2).await;
        let found = uses(app).await;
        assert_eq!((times(&found), &found[0]["detail"]["first_at"]), (vec![5, 1], &began));
        assert_ne!(found[0]["at"], began, "the last one was later");
        app.clock.advance(TimeSpan::days(1));
        use_key(&client, 1).await;
        assert_eq!(times(&uses(app).await), [1, 5, 1], "each day by itself");
        assert_eq!(times(&uses(app).await), [1, 5, 1], "nothing is counted twice");
        let everything = app.everything().await;
        let key = app.secret_key().as_bytes();
        assert!(!everything.windows(key.len()).any(|window| window == key));
    }

    async fn uses_that_the_database_does_not_take_are_counted_on(app) {
        let client = app.client();
        use_key(&client, 2).await;
        app.execute("ALTER TABLE key_uses RENAME TO away").await;
        audit::write_key_uses(app.ctx()).await.unwrap_err();
        use_key(&client, 1).await;
        audit::write_key_uses(app.ctx()).await.unwrap_err();
        app.execute("ALTER TABLE away RENAME TO key_uses").await;
        assert_eq!(times(&uses(app).await), [3]);
    }

    async fn uses_that_the_database_took_of_many_are_not_counted_again(app) {
        // A trigger is what refuses here, and a distributed table takes none.
        if postgres::is_distributed() {
            return;
        }
        let made = (0..KEY_USES_BATCH + 4).map(|_| async {
            let made = app.client().post("/1/sandbox/accounts", &json!({})).await.ok(201);
            app.with_key(made["secret_key"].as_str().unwrap())
        });
        let clients = join_all(made).await;
        audit::write_key_uses(app.ctx()).await.unwrap();
        app.execute("DELETE FROM key_uses").await;
        for client in &clients {
            use_key(client, 1).await;
        }
        let taken = "SELECT COUNT(*) FROM key_uses";
        match app.database {
            Database::Sqlite => {
                app.execute(
                    "CREATE TRIGGER refuses BEFORE INSERT ON key_uses WHEN (SELECT COUNT(*) FROM key_uses) >= 16
                     BEGIN SELECT RAISE(ABORT, 'full'); END",
                ).await;
            }
            Database::Postgres => {
                app.execute(
                    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                         IF (SELECT COUNT(*) FROM key_uses) >= 16 THEN RAISE 'full'; END IF; RETURN NEW; END $$",
                ).await;
                app.execute("CREATE TRIGGER refuses BEFORE INSERT ON key_uses FOR EACH ROW EXECUTE FUNCTION refuse()").await;
            }
        }
        audit::write_key_uses(app.ctx()).await.unwrap_err();
        assert_eq!((app.number(taken).await, KEY_USES_BATCH), (16, 16), "the first unit stands");
        match app.database {
            Database::Sqlite => app.execute("DROP TRIGGER refuses").await,
            Database::Postgres => app.execute("DROP FUNCTION refuse CASCADE").await,
        }
        assert_eq!(times(&uses(app).await), vec![1; clients.len()]);
    }

    async fn the_trail_is_kept_for_four_hundred_days(app) {
        acts(app);
        use_key(&app.client(), 1).await;
        let account = app.account().await;
        keys::rotate(app.ctx(), account, TimeSpan::days(1000)).await.unwrap();
        uses(app).await;
        audit::seal(app.ctx()).await.unwrap();
        app.clock.advance(TimeSpan::from_millis(TimeSpan::days(400).millis() - 1));
        app.do_due_work().await;
        assert_eq!(trail(app, Some(account)).await.len(), 2);
        app.clock.advance(TimeSpan::from_millis(1));
        app.do_due_work().await;
        assert_eq!(trail(app, None).await, [] as [Value; 0]);
    }

    async fn a_deleted_account_leaves_the_acts_and_no_uses(app) {
        acts(app);
        let made = app.client().post("/1/sandbox/accounts", &json!({})).await.ok(201);
        let client = app.with_key(made["secret_key"].as_str().unwrap());
        let account: AccountToken = token(&made).parse().unwrap();
        let named = named_account(app, account).await;
        operator::change(&app.ctx().store, &named, "wallet", "false").await.unwrap();
        use_key(&client, 1).await;
        audit::write_key_uses(app.ctx()).await.unwrap();
        assert_eq!(trail(app, Some(account)).await.len(), 2);
        use_key(&client, 1).await;
        client.delete(&format!("/1/sandbox/accounts/{account}")).await.ok(204);
        app.do_due_work().await;
        audit::write_key_uses(app.ctx()).await.unwrap();
        let left = trail(app, Some(account)).await;
        assert_eq!((left.len(), &left[0]["action"]), (1, &json!("account.changed")), "{left:#?}");
    }
}

/// The commands that open a database, but the server itself.
fn commands() -> Vec<String> {
    let mut all = Vec::new();
    helps(&[], &mut all);
    let is_one = |help: &str| help.contains("--database-url") && !help.contains("\nCommands:\n");
    let leaves = all.into_iter().filter(|(_, help)| is_one(help)).map(|(path, _)| path.join(" "));
    // A report reads, and needs a server.
    leaves.filter(|command| !["serve", "report"].contains(&command.as_str())).collect()
}

/// Every row but those of the trail, and how many these are.
async fn rows(installed: &Installed) -> (Vec<String>, usize) {
    let rows = installed.rows().await;
    let (acts, others): (Vec<_>, Vec<_>) =
        rows.lines().map(str::to_owned).partition(|row| row.starts_with("audit_entries "));
    (others, acts.len())
}

operated! {
    async fn whatever_a_command_changes_it_leaves_an_act_and_no_other_command_does(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        // Before there are merchants, which have accounts of their own.
        let account = installed.account();
        let made = |path: &str, form: &str| token_of(&server.ask("POST", path, Some(&key), form).ok(201));
        let merchant = serde_qs::Config::new().use_form_encoding(true).serialize_string(&application()).unwrap();
        let [first, second, third] = std::array::from_fn(|_| made("/1/merchants", &merchant));
        let [charge, disputed] = std::array::from_fn(|_| made("/1/charges", PAYMENT));
        let endpoint = made("/1/webhook_endpoints", "url=http://127.0.0.1:9/");
        let customer = "email=a@example.com&card[number]=4200000000000000&card[expiry_month]=5&card[expiry_year]=2030&\
            card[cvc]=123&card[name]=A&card[address_line1]=1&card[address_city]=B&card[address_country]=AU";
        let customer = made("/1/customers", customer);
        server.stopped();
        let dispute = token_of(&installed.records(&["dispute", "open", &disputed])[0]);
        let restricted = ["account", "key", "create", &account, "--name", "A", "--right", "charges:read"];
        let [rolled, revoked] = std::array::from_fn(|_| token_of(&installed.records(&restricted)[0]));
        open_session(installed, 1, ("ada", "ada@example.com")).await;
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (exported, copy, target) = (file("exported"), file("copy"), format!("sqlite:{}", file("target.db")));
        let (shares, statement) = (file("shares"), file("statement.csv"));
        let lines = "type,reference,amount,currency,day\nstatement,First,,,2026-01-01\n\
                     capture,elsewhere,100,AUD,2026-01-01\nend,First,1,,2026-01-01\n";
        std::fs::write(&statement, lines).unwrap();
        let acts = rows(installed).await.1;
        assert_eq!(installed.run(&["reconcile", &statement]).0, Some(0));
        assert_eq!(rows(installed).await.1, acts + 1);
        let exception = token_of(&installed.records(&["reconcile", "list"])[0]);
        assert_eq!(installed.run(&["account", "export", &first, "--out", &exported]).0, Some(0));
        // Where a merchant of the test environment is brought to.
        let mut live = Installed::on(installed.database).await.unwrap();
        live.with("ENVIRONMENT", "live");
        live.with("VAULT_KEY", OperatorKeys::generate("live").to_text().expose());
        live.records(&["account", "create", "--business-name", "Shop", "--email", "shop@example.com"]);
        for command in commands() {
            let further: &[&str] = match command.as_str() {
                "account create" => &["--business-name", "Shop", "--email", "shop@example.com"],
                "account switch" => &[&account, "wallet", "off"],
                "account set" => &[&account, "transfers_schedule", "weekly"],
                "account rotate-keys" | "account key list" => &[&account],
                "account key create" => &[&account, "--name", "Accounting", "--right", "charges:read"],
                "account key roll" => &[&account, &rolled],
                "account key revoke" => &[&account, &revoked],
                "account import" => &[&exported],
                "account export" | "merchant activate" => &[&first],
                "merchant decline" => &[&second],
                "merchant hold" => &[&third],
                "customer erase" => &[&customer, "--account", &account],
                "people end" => &["ada"],
                "deposit create" => &[&account, "--amount", "1"],
                "dispute open" => &[&charge],
                "dispute resolve" => &[&dispute, "resolved"],
                "webhook ping" | "webhook rotate-key" => &[&account, &endpoint],
                "ledger report" => &["--csv"],
                "backup" => &[&copy],
                "copy" => &["--to", &target],
                "reconcile show" => &[&exception],
                "reconcile explain" | "reconcile resolve" => &[&exception, "--note", "Another shop's"],
                "vault split" => &["--shares", "2", "--threshold", "2", "--to", &shares],
                _ => &[],
            };
            // PostgreSQL has its own.
            if command == "backup" && installed.database == Database::Postgres {
                continue;
            }
            let on = if command == "account import" { &live } else { &*installed };
            let (before, acts) = rows(on).await;
            let arguments: Vec<_> = command.split(' ').chain(further.iter().copied()).collect();
            let (code, _, stderr) = on.run(&arguments);
            assert_eq!((code, stderr.as_str()), (Some(0), ""), "{command}");
            let (after, acts_then) = rows(on).await;
            // These change nothing, but one prints keys, and the other reads the trail.
            let acted = before != after || ["account export", "audit verify"].contains(&command.as_str());
            assert_eq!(acts_then - acts, usize::from(acted), "{command}");
        }
    }

    async fn commands_leave_a_trail_that_is_read_page_by_page(installed) {
        let create = ["account", "create", "--business-name", "Shop", "--email", "shop@example.com"];
        let made = installed.records(&create).remove(0);
        let account = token(&made).to_owned();
        installed.records(&["account", "switch", &account, "wallet", "off"]);
        installed.records(&["account", "list"]);
        let fresh = installed.records(&["account", "rotate-keys", &account]).remove(0);
        installed.records(&["deposit", "create", &account, "--amount", "500"]);
        assert_eq!(installed.run(&["account", "set", &account, "maximum_charge_cents", "1"]).0, Some(1));
        installed.records(&["vault", "rotate"]);
        // Reading is an entry, too.
        let audit = |further: &[&str]| {
            let mut records = installed.records(&[&["audit"], further].concat());
            records.retain(|record| record["action"] != "audit.read");
            records
        };
        let records = audit(&[]);
        let actions: Vec<_> = records.iter().map(|record| record["action"].as_str().unwrap()).collect();
        assert_eq!(actions, [
            "vault.rotated", "deposit.created", "account.keys_rotated", "account.changed", "account.created",
        ]);
        for record in &records {
            assert!(record["by"].as_str().unwrap().contains(" (user "), "{record}");
        }
        assert_eq!(audit(&["--account", &account]), records[1..]);
        let page = |n: &str| audit(&["--account", &account, "--page", n, "--per-page", "2"]);
        assert_eq!((page("1"), page("2"), page("3")), (records[1..3].to_vec(), records[3..].to_vec(), Vec::new()));
        assert_eq!(audit(&["--since", "2020-01-01"]), records);
        assert_eq!(audit(&["--until", "2020-01-01"]), [] as [Value; 0]);
        let (code, stdout, stderr) = installed.run(&["audit"]);
        let read = stdout.lines().filter(|line| line.contains(" audit.read ")).count();
        assert_eq!((code, stderr.as_str(), stdout.lines().count() - read), (Some(0), "", 5));
        assert!(stdout.contains(&format!(" account.changed {account} by ")) && stdout.contains(": wallet false\n"), "{stdout}");
        for key in [&made, &fresh] {
            for name in ["secret_key", "publishable_key"] {
                assert!(!stdout.contains(key[name].as_str().unwrap()), "{stdout}");
            }
        }
        for wrong in [["audit", "--account", "acct_x"], ["audit", "--since", "soon"], ["audit", "--per-page", "501"]] {
            assert_eq!(installed.run(&wrong).0, Some(2), "{wrong:?}");
        }
    }

    async fn a_server_that_ends_has_written_from_where_its_keys_were_used(installed) {
        installed.with("TRUSTED_PROXIES", "127.0.0.0/8");
        let server = installed.serve();
        let (key, _) = server.keys();
        // What a client writes before a hop that is no address is its own word: nobody's address is counted.
        for from in ["203.0.113.7", "2001:db8::7", "203.0.113.7", "192.0.2.1, 203.0.113.7:4711", "192.0.2.1, unknown"] {
            let text = request("GET", "/1/balance", Some(&key), "");
            let text = text.replace("Host: test\r\n", &format!("Host: test\r\nX-Forwarded-For: {from}\r\n"));
            try_to_ask(server.address, &text).unwrap().ok(200);
        }
        server.stopped();
        let mut records: Vec<_> = installed.records(&["audit"]);
        records.retain(|record| record["action"] == KEY_USED);
        records.sort_by_key(|record| record["by"].to_string());
        let found: Vec<_> = records.iter().map(|record| (&record["by"], &record["detail"]["times"])).collect();
        let uses = [(json!("2001:db8::7"), 1), (json!("203.0.113.7"), 3), (json!(null), 1)].map(|(by, times)| (by, json!(times)));
        assert_eq!(found, uses.each_ref().map(|(by, times)| (by, times)));
    }
}
