//! Isolated accounts for one run of tests each, and the switches of an account (`docs/decisions.md`, 222 and 274 to 276).

use std::time::Duration;

use axum::body::Body;
use card_payments::services::accounts::{find_by_token, wipe};
use card_payments::services::{audit, card_testing, erasures, search_text};
use entity::{AccountToken, TimeSpan, account};
use futures::future::{join, join_all};
use http::{Method, header};
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use crate::harness::sending::post_with;
use crate::harness::{
    Answer, App, Client, Database, card, charge, charge_with, fields, rounds, rules, token, token_of,
};

const ACCOUNTS: &str = "/1/sandbox/accounts";
const ACCOUNT: &str = "/1/sandbox/account";
/// After this, no request that began before a deletion is in flight.
const QUIET: TimeSpan = TimeSpan::seconds(121);

/// An account of its own: its token, and a caller with its key.
pub async fn made(app: &App) -> (String, Client) {
    let made = app.client().post(ACCOUNTS, &json!({})).await.ok(201);
    (token(&made).to_owned(), app.with_key(made["secret_key"].as_str().unwrap()))
}

fn path(account: &str) -> String {
    format!("{ACCOUNTS}/{account}")
}

/// Something of every kind.
pub async fn fill(client: &Client) {
    let endpoint = client.endpoint("http://127.0.0.1:1/").await;
    assert!(endpoint["key"].is_string());
    let inbox = client.post("/1/sandbox/inboxes", &json!({})).await.ok(201);
    let delivery = client.request(Method::POST, &format!("/inboxes/{}", token(&inbox)));
    client.send_unchecked(delivery.body(Body::from("{}")).unwrap()).await.ok(200);
    let customer = client.customer("4200000000000000").await;
    let plan = client.plan(&json!({})).await;
    client.subscribed(&plan, token(&customer)).await;
    client.card_token("4200000000000000").await;
    let headers = [("Idempotency-Key", "fill")];
    let charge = post_with(client, "/1/charges", &headers, &charge(400)).await.ok(201);
    client.authorised(500).await;
    let three_d_secure = json!({ "enabled": true, "callback_url": "https://shop.example.com/" });
    client.post("/1/charges", &charge_with(400, json!({ "three_d_secure": three_d_secure }))).await.ok(201);
    client.refund(token(&charge), 100).await.ok(201);
    let dispute = client.disputed(600).await;
    let evidence = json!({ "additional_evidence_file": client.file().await });
    client.put(&format!("/1/disputes/{}/evidence", token(&dispute)), &evidence).await.ok(200);
    let recipient = client.recipient("987654321").await;
    client.transfer(100, token(&recipient)).await.ok(201);
    let domain = json!({ "domain_name": "shop.example.com" });
    client.post("/1/walletA_pay/domains", &domain).await.ok(201);
    client.merchant().await;
    // Its payload is for a certificate of the account's own.
    client.payment_source(&client.wallet_payload("walletApay", "4200000000000000").await).await;
}

/// Returns how many rows each table has of an account, of those that can have any.
async fn rows_of(app: &App, account: &str) -> Vec<(String, i64)> {
    let account: AccountToken = account.parse().unwrap();
    let (tables, id) = match app.database {
        Database::Sqlite => (
            "SELECT group_concat(m.name, ' ') FROM sqlite_master m WHERE m.type = 'table' AND EXISTS (SELECT 1 FROM pragma_table_info(m.name) c WHERE c.name = 'account_id')",
            format!("X'{}'", account.id().simple()),
        ),
        Database::Postgres => (
            "SELECT string_agg(table_name, ' ') FROM information_schema.columns WHERE table_schema = current_schema() AND column_name = 'account_id'",
            format!("'{}'", account.id()),
        ),
    };
    let mut rows = Vec::new();
    for table in app.text(tables).await.split(' ') {
        let sql = format!("SELECT COUNT(*) FROM {table} WHERE account_id = {id}");
        rows.push((table.to_owned(), app.number(&sql).await));
    }
    rows.push((
        "accounts".into(),
        app.number(&format!("SELECT COUNT(*) FROM accounts WHERE id = {id}")).await,
    ));
    if app.database == Database::Sqlite {
        let code = search_text::account_code(account);
        let sql = format!("SELECT COUNT(*) FROM charges_search WHERE charges_search MATCH '\"{code}\"'");
        rows.push(("charges_search".into(), app.number(&sql).await));
    }
    assert!(rows.len() >= 15, "{rows:?}");
    rows
}

async fn is_gone(app: &App, account: &str) {
    let left: Vec<_> = rows_of(app, account).await.into_iter().filter(|(_, rows)| *rows > 0).collect();
    assert_eq!(left, [], "of {account}");
}

/// The worker's two looks at what was deleted.
async fn wiped(app: &App) {
    app.do_due_work().await;
    app.clock.advance(QUIET);
    app.do_due_work().await;
}

pub async fn with_key(client: &Client, method: Method, path: &str, key: &str) -> Answer {
    let request = || {
        let request = client.request(method.clone(), path).header("Idempotency-Key", key);
        request.header(header::CONTENT_TYPE, "application/json").body(Body::from("{}")).unwrap()
    };
    client.send_patiently(request).await
}

rules! {
    async fn an_account_comes_with_keys_and_an_opening_balance_of_its_own(app) {
        let client = app.client();
        client.captured(400).await;
        let made = client.post(ACCOUNTS, &json!({})).await.ok(201);
        assert_eq!(fields(&made), ["token", "secret_key", "publishable_key"]);
        let key = |name: &str| made[name].as_str().unwrap().to_owned();
        assert!(made["token"].as_str().unwrap().starts_with("acct_"));
        assert_eq!((key("secret_key").len(), key("publishable_key").len()), (22, 25));
        let fresh = app.with_key(&key("secret_key"));
        assert_eq!((fresh.listed().await, fresh.balance().await), (0, (100_000_000, 0)));
        assert_eq!(fresh.get("/1/events").await.json()["pagination"]["count"], 0);
        let mut browser = card("4200000000000000");
        browser["publishable_api_key"] = key("publishable_key").into();
        let stored = app.anonymous().post("/1/cards", &browser).await.ok(201);
        let by_card = charge_with(400, json!({ "card": null, "card_token": token(&stored) }));
        client.post("/1/charges", &by_card).await.faulty(&[("card_token", "Card token is not valid")]);
        fresh.post("/1/charges", &by_card).await.ok(201);
        assert_eq!(client.listed().await, 1);
    }

    async fn switches_of_a_new_account_are_on_where_they_are_not_sent(app) {
        for (params, partner, disputes, wallet) in [
            (json!({}), true, true, true),
            (json!({ "partner": "", "disputes": null }), true, true, true),
            (json!({ "partner": false, "disputes": "false", "wallet": 0 }), false, false, false),
            (json!({ "wallet": "True", "partner": "0" }), false, true, true),
        ] {
            let made = app.client().post_form(ACCOUNTS, &params).await.ok(201);
            let mut switches = app.with_key(made["secret_key"].as_str().unwrap()).get(ACCOUNT).await.ok(200);
            assert_eq!(switches.as_object_mut().unwrap().remove("card_testing").unwrap()["action"], "off");
            let expected = json!({
                "disputes": disputes, "wallet": wallet, "partner": partner,
                "transfers_enabled": true, "transfers_schedule": "manual", "settlement_delay_days": 5,
                "strict_parameters": false,
            });
            assert_eq!(switches, expected, "{params}");
        }
        let wrong = json!({ "wallet": "on", "partner": 2 });
        app.unchanged(app.client().post(ACCOUNTS, &wrong)).await.faulty(&[
            ("partner", "Partner is not included in the list"),
            ("wallet", "Wallet is not included in the list"),
        ]);
        app.unchanged(app.with_key(app.publishable_key()).post(ACCOUNTS, &json!({}))).await.refused(401, "unauthorized");
        app.unchanged(app.anonymous().post(ACCOUNTS, &json!({}))).await.refused(401, "unauthorized");
    }

    async fn a_repeated_creation_shows_the_same_keys(app) {
        let client = app.client();
        let first = with_key(&client, Method::POST, ACCOUNTS, "job-1").await;
        first.ok(201);
        let again = app.unchanged(with_key(&client, Method::POST, ACCOUNTS, "job-1")).await;
        assert_eq!((again.text, again.headers["idempotent-replayed"].to_str().unwrap()), (first.text, "true"));
    }

    async fn a_deleted_accounts_keys_stop_working_at_once(app) {
        let client = app.client();
        for by_itself in [false, true] {
            let (account, fresh) = made(app).await;
            fresh.get("/1/balance").await.ok(200);
            let deleted = if by_itself { &fresh } else { &client }.delete(&path(&account)).await;
            assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
            app.unchanged(fresh.get("/1/balance")).await.refused(401, "unauthorized");
            app.unchanged(fresh.post("/1/charges", &charge(400))).await.refused(401, "unauthorized");
            app.unchanged(client.delete(&path(&account))).await.not_found();
        }
    }

    async fn a_deleted_account_leaves_no_row_in_any_table(app) {
        let (account, fresh) = made(app).await;
        let (kept, other) = made(app).await;
        for filled in [&fresh, &other] {
            fill(filled).await;
            filled.post("/1/sandbox/snapshots", &json!({})).await.ok(201);
        }
        app.do_due_work().await;
        // What is pending is settled, so that nothing of the other account's moves with the clock.
        app.clock.advance(TimeSpan::seconds(60));
        app.do_due_work().await;
        // What workers would take away at once.
        let disputes = fresh.customer("4200300000000012").await;
        fresh.subscribed(&fresh.plan(&json!({})).await, token(&disputes)).await;
        let file = fresh.file().await;
        fresh.delete(&format!("/1/files/{file}")).await.ok(204);
        let (ctx, forgotten) = (app.ctx(), token_of(&fresh.customer("4200000000000000").await));
        let own = find_by_token(&ctx.store, account.parse().unwrap(), ctx.clock.now()).await.unwrap().unwrap();
        erasures::erase(ctx, &own, &forgotten).await.unwrap();
        fresh.set(json!({ "card_testing": { "action": "report", "card_declines": 1 } })).await;
        fresh.post("/1/charges", &charge_with(400, json!({ "card": card("4100000000000001") }))).await.refused(400, "card_declined");
        // What is counted and noted in memory first.
        card_testing::synchronise(app.ctx()).await.unwrap();
        audit::write_key_uses(app.ctx()).await.unwrap();
        app.ctx().memory.request_log.write(&app.ctx().store, None).await.unwrap();
        let filled = rows_of(app, &account).await;
        assert!(filled.iter().all(|(_, rows)| *rows > 0), "a table that nothing fills is not tested: {filled:?}");
        let (neighbour, own) = (rows_of(app, &kept).await, other.get("/1/charges").await.text);
        app.client().delete(&path(&account)).await.ok(204);
        assert!(app.number("SELECT COUNT(*) FROM api_keys").await >= 4);
        app.do_due_work().await;
        let left: Vec<_> = rows_of(app, &account).await.into_iter().filter(|(_, rows)| *rows > 0).collect();
        assert_eq!(left, [("accounts".to_owned(), 1)], "all but what says that more may come");
        app.clock.advance(QUIET);
        app.do_due_work().await;
        is_gone(app, &account).await;
        assert_eq!(other.get("/1/charges").await.text, own);
        let now: Vec<_> = rows_of(app, &kept).await.into_iter().filter(|row| row.0 == "charges" || row.0 == "cards").collect();
        assert!(now.iter().all(|row| neighbour.contains(row)), "{now:?}");
        assert_eq!(other.get("/1/charges/search?query=roland").await.json()["pagination"]["count"], 4);
    }

    async fn an_account_is_deleted_by_its_maker_or_by_itself_alone(app) {
        let client = app.client();
        let (account, fresh) = made(app).await;
        let (_, sibling) = made(app).await;
        let grandchild = fresh.post(ACCOUNTS, &json!({})).await.ok(201);
        for stranger in [&sibling, &app.stranger().await] {
            app.unchanged(stranger.delete(&path(&account))).await.not_found();
        }
        // What its own account has made is not the maker's.
        app.unchanged(client.delete(&path(token(&grandchild)))).await.not_found();
        for unknown in ["acct_AAAAAAAAAAAAAAAAAAAAAA", "acct_x", "ch_AAAAAAAAAAAAAAAAAAAAAA", "x"] {
            app.unchanged(client.delete(&path(unknown))).await.not_found();
        }
        let children = app.with_key(grandchild["secret_key"].as_str().unwrap());
        app.unchanged(children.delete(&path(&account))).await.not_found();
        app.unchanged(app.anonymous().delete(&path(&account))).await.refused(401, "unauthorized");
        fresh.delete(&path(token(&grandchild))).await.ok(204);
    }

    async fn the_first_account_stays(app) {
        let first = app.text("SELECT value FROM installation WHERE name = 'first_account'").await;
        app.unchanged(app.client().delete(&path(&first))).await.not_found();
        let (_, fresh) = made(app).await;
        app.unchanged(fresh.delete(&path(&first))).await.not_found();
    }

    async fn a_deletion_is_repeated_under_its_idempotency_key(app) {
        let (account, _) = made(app).await;
        let client = app.client();
        for replayed in [false, true] {
            let answer = with_key(&client, Method::DELETE, &path(&account), "over").await;
            assert_eq!((answer.status, answer.headers.contains_key("idempotent-replayed")), (204, replayed));
        }
        let (account, fresh) = made(app).await;
        with_key(&fresh, Method::DELETE, &path(&account), "mine").await.ok(204);
        wiped(app).await;
        is_gone(app, &account).await;
    }

    async fn of_many_deletions_at_once_one_is_done(app) {
        for _ in 0..rounds() {
            let (account, fresh) = made(app).await;
            let deletions = (0..64).map(|n| {
                let (client, path) = (if n % 2 == 0 { app.client() } else { fresh.clone() }, path(&account));
                tokio::spawn(async move { client.delete(&path).await.status })
            });
            let answers: Vec<_> = join_all(deletions).await.into_iter().map(Result::unwrap).collect();
            assert_eq!(answers.iter().filter(|status| **status == 204).count(), 1);
            assert!(answers.iter().all(|status| [204, 401, 404].contains(status)), "{answers:?}");
            wiped(app).await;
            is_gone(app, &account).await;
        }
    }

    async fn work_under_way_while_an_account_goes_leaves_nothing_behind(app) {
        for _ in 0..rounds() {
            let (account, fresh) = made(app).await;
            fill(&fresh).await;
            let authorised = fresh.authorised(400).await;
            let requests = (0..48).map(|n| {
                let (client, charge_token) = (fresh.clone(), authorised.clone());
                tokio::spawn(async move {
                    match n % 6 {
                        0 => client.post("/1/charges", &charge(400)).await,
                        1 => client.post("/1/customers", &json!({ "email": "a@example.com", "card": card("4200000000000000") })).await,
                        2 => client.post("/1/cards", &card("4200000000000000")).await,
                        3 => client.put_charge(&charge_token, "capture").await,
                        4 => client.post("/1/webhook_endpoints", &json!({ "url": "http://127.0.0.1:1/" })).await,
                        _ => client.put(ACCOUNT, &json!({ "wallet": n % 4 == 0 })).await,
                    }
                })
            });
            let deletion = async {
                app.client().delete(&path(&account)).await.ok(204);
                app.do_due_work().await;
            };
            let (answers, ()) = join(join_all(requests.collect::<Vec<_>>()), deletion).await;
            for answer in answers.into_iter().map(Result::unwrap) {
                assert!(answer.status < 500, "{}: {}", answer.status, answer.text);
            }
            wiped(app).await;
            is_gone(app, &account).await;
        }
    }

    async fn a_wipe_that_is_interrupted_anywhere_goes_on_later(app) {
        for micros in [0, 200, 800, 2_000, 5_000] {
            let (account, fresh) = made(app).await;
            fill(&fresh).await;
            app.client().delete(&path(&account)).await.ok(204);
            let id: AccountToken = account.parse().unwrap();
            let row = account::Entity::find_by_id(id).one(app.ctx().store.read()).await.unwrap().unwrap();
            let _ = tokio::time::timeout(Duration::from_micros(micros), wipe::wipe(app.ctx(), row)).await;
            assert_eq!(app.differences().await, [], "books of accounts that go are nobody's");
            wiped(app).await;
            is_gone(app, &account).await;
        }
    }

    async fn switches_change_one_by_one(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let mut expected = client.get(ACCOUNT).await.ok(200);
        let names = [
            "disputes", "wallet", "partner", "transfers_enabled", "transfers_schedule", "settlement_delay_days", "card_testing",
            "strict_parameters",
        ];
        assert_eq!(fields(&expected), names);
        for (name, value) in [
            ("disputes", json!(false)), ("wallet", json!(false)), ("partner", json!(false)), ("transfers_enabled", json!(false)),
            ("transfers_schedule", json!("weekly")), ("settlement_delay_days", json!(0)), ("disputes", json!(true)),
            ("settlement_delay_days", json!(365)), ("transfers_schedule", json!("daily")), ("strict_parameters", json!(true)),
        ] {
            expected[name] = value.clone();
            assert_eq!(client.put(ACCOUNT, &json!({ name: value })).await.ok(200), expected);
            assert_eq!(client.get(ACCOUNT).await.ok(200), expected);
        }
        for nothing in [json!({}), json!({ "disputes": "", "transfers_schedule": " ", "settlement_delay_days": null })] {
            assert_eq!(client.put(ACCOUNT, &nothing).await.ok(200), expected);
        }
        assert_eq!(stranger.get(ACCOUNT).await.ok(200)["wallet"], true);
    }

    async fn wrong_switches_are_refused_all_at_once(app) {
        let wrong = json!({
            "settlement_delay_days": 366, "transfers_schedule": "monthly", "transfers_enabled": "maybe", "partner": 7,
            "wallet": {"a": 1}, "disputes": "off",
        });
        app.unchanged(app.client().put(ACCOUNT, &wrong)).await.faulty(&[
            ("disputes", "Disputes is not included in the list"),
            ("wallet", "Wallet is not included in the list"),
            ("partner", "Partner is not included in the list"),
            ("transfers_enabled", "Transfers enabled is not included in the list"),
            ("transfers_schedule", "Transfers schedule is not included in the list"),
            ("settlement_delay_days", "Settlement delay days must be at most 365"),
        ]);
        for (days, message) in [(json!(-1), "must be greater than or equal to 0"), (json!(1.5), "must be an integer"), (json!("x"), "is not a number")] {
            let answer = app.client().put(ACCOUNT, &json!({ "settlement_delay_days": days })).await;
            answer.faulty(&[("settlement_delay_days", &format!("Settlement delay days {message}"))]);
        }
    }

    async fn a_settlement_delay_of_no_days_makes_money_available_today(app) {
        let client = app.client();
        client.put(ACCOUNT, &json!({ "settlement_delay_days": 0 })).await.ok(200);
        client.captured(400).await;
        assert_eq!(client.balance().await, (100_000_363, 0));
        client.put(ACCOUNT, &json!({ "settlement_delay_days": 1 })).await.ok(200);
        client.captured(400).await;
        assert_eq!(client.balance().await, (100_000_363, 363));
    }

    async fn changes_of_different_switches_at_once_are_all_kept(app) {
        let client = app.client();
        let changes = [json!({ "disputes": false }), json!({ "wallet": false }), json!({ "partner": false }), json!({ "transfers_enabled": false })];
        let answers = join_all(changes.iter().map(|change| client.put(ACCOUNT, change))).await;
        for answer in answers {
            answer.ok(200);
        }
        let kept = client.get(ACCOUNT).await.ok(200);
        let off = |name: &str| kept[name] == Value::Bool(false);
        assert!(off("disputes") && off("wallet") && off("partner") && off("transfers_enabled"));
    }
}

rules! {
    async fn two_hundred_accounts_at_once_do_not_disturb_each_other(app, _acquirer) {
        // As many as ask: what is refused where too many ask is a rule of its own.
        app.takes_on(None, 256).await;
        let jobs = (0..200).map(|n| {
            let client = app.client();
            let router = app.anonymous();
            tokio::spawn(async move {
                let made = client.post(ACCOUNTS, &json!({})).await.ok(201);
                let fresh = router.keyed(made["secret_key"].as_str().unwrap());
                let amount = 400 + n;
                let paid = fresh.captured(amount).await;
                let listed = fresh.get("/1/charges").await.json();
                assert_eq!((&listed["response"][0], listed["pagination"]["count"].as_u64()), (&paid, Some(1)));
                assert_eq!(fresh.balance().await.0, 100_000_000);
                client.delete(&path(token(&made))).await.ok(204);
                fresh.get("/1/balance").await.refused(401, "unauthorized");
            })
        });
        for job in join_all(jobs.collect::<Vec<_>>()).await {
            job.unwrap();
        }
        wiped(app).await;
        assert_eq!(app.number("SELECT COUNT(*) FROM accounts").await, 1);
        assert_eq!(app.number("SELECT COUNT(*) FROM charges").await, 0);
    }
}
