//! Snapshots of an account in the sandbox: what it held is put back as it was (`docs/decisions.md`, 283 to 289).

mod in_flight;
mod parts;

use card_payments::services::accounts::snapshot_rows::SnapshotTable;
use card_payments::services::accounts::wipe;
use card_payments::services::data_keys::rotate::rotate;
use entity::TimeSpan;
use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};

use crate::harness::sending::post_with;
use crate::harness::{
    App, Client, Database, at_once, card, charge, charge_with, fields, rounds, rules, token, token_of,
};
use crate::sandbox::accounts::{fill, made, with_key};

const SNAPSHOTS: &str = "/1/sandbox/snapshots";

/// What no snapshot holds: keys go on working, numbers of events are not given again, where they were used and what was asked for is not undone, attacks that were noticed stay known, merchants are
/// accounts of their own, blobs are held by their files, and snapshots hold no snapshots.
const KEPT: [&str; 10] = [
    "api_keys",
    "card_attacks",
    "event_sequences",
    "key_uses",
    "logged_requests",
    "merchants",
    "snapshot_files",
    "snapshot_parts",
    "snapshots",
    "stray_blobs",
];

async fn snapshot(client: &Client) -> String {
    token_of(&client.post(SNAPSHOTS, &json!({})).await.ok(201))
}

fn path(snapshot: &str) -> String {
    format!("{SNAPSHOTS}/{snapshot}")
}

fn restoring(snapshot: &str) -> String {
    format!("{SNAPSHOTS}/{snapshot}/restore")
}

async fn restore(client: &Client, snapshot: &str) -> Value {
    client.put(&restoring(snapshot), &json!({})).await.ok(200)
}

/// Every row of every table, but for ciphertexts, which are others each time, the numbers of a clock's moves and of calls of
/// the acquirer, which never come again, and where SQLite's words lie.
async fn rows_of(app: &App) -> Vec<String> {
    const COLUMNS: &str = "c.name NOT LIKE '%sealed' AND c.name NOT IN ('sealed_by', 'clock_moves') \
                           AND NOT (c.in_table = 'charges' AND c.name = 'attempt') AND c.in_table <> 'event_sequences'";
    let tables = match app.database {
        Database::Sqlite => format!(
            "SELECT group_concat(one, ' UNION ALL ') FROM (
                 SELECT 'SELECT ''' || m.name || ' '' || ' || group_concat('quote(' || c.name || ')', ' || '','' || ')
                     || ' AS row FROM ' || m.name AS one
                 FROM sqlite_master m, (SELECT s.name AS in_table, i.name AS name FROM sqlite_master s, pragma_table_info(s.name) i) c
                 WHERE m.type = 'table' AND m.name NOT LIKE 'charges_search%' AND c.in_table = m.name AND {COLUMNS} GROUP BY m.name)"
        ),
        Database::Postgres => format!(
            "SELECT string_agg(one, ' UNION ALL ') FROM (
                 SELECT format('SELECT %L || concat_ws('','', %s) AS row FROM %I', in_table || ' ',
                     string_agg(format('quote_nullable(%I)', name), ', '), in_table) AS one
                 FROM (SELECT table_name AS in_table, column_name AS name FROM information_schema.columns
                     WHERE table_schema = current_schema()) AS c
                 WHERE {COLUMNS} GROUP BY in_table) AS every_table"
        ),
    };
    let together = match app.database {
        Database::Sqlite => "group_concat(row, char(10))",
        Database::Postgres => "string_agg(row, chr(10))",
    };
    let all = app.text(&tables).await;
    let rows = format!("SELECT {together} FROM (SELECT row FROM ({all}) AS every ORDER BY row) AS ordered");
    app.text(&rows).await.lines().map(str::to_owned).collect()
}

#[track_caller]
fn equal(before: &[String], after: &[String]) {
    let gone: Vec<_> = before.iter().filter(|row| !after.contains(row)).collect();
    let come: Vec<_> = after.iter().filter(|row| !before.contains(row)).collect();
    assert!(gone.is_empty() && come.is_empty(), "gone: {gone:#?}\ncome: {come:#?}");
}

/// Lets nothing be due that has happened so far.
async fn settled(app: &App) {
    app.do_due_work().await;
    app.clock.advance(TimeSpan::seconds(60));
    app.do_due_work().await;
}

/// Something becomes of everything.
async fn change(app: &App, client: &Client) {
    let of = async |path: &str| client.get(path).await.ok(200);
    for customer in of("/1/customers").await.as_array().unwrap() {
        client.delete(&format!("/1/customers/{}", token(customer))).await.ok(204);
    }
    for endpoint in of("/1/webhook_endpoints").await.as_array().unwrap() {
        client.delete(&format!("/1/webhook_endpoints/{}", token(endpoint))).await.ok(204);
    }
    for recipient in of("/1/recipients").await.as_array().unwrap() {
        client.put(&format!("/1/recipients/{}", token(recipient)), &json!({ "name": "Other" })).await.ok(200);
    }
    for dispute in of("/1/disputes").await.as_array().unwrap() {
        client.post(&format!("/1/disputes/{}/accept", token(dispute)), &json!({})).await;
    }
    client.set(json!({ "transfers_schedule": "daily", "settlement_delay_days": 0, "wallet": false })).await;
    client.put("/1/sandbox/acquirer", &json!({ "decline": "lost_card" })).await.ok(200);
    client.put("/1/sandbox/acquirer", &json!({ "decline": "" })).await.ok(200);
    client.endpoint("http://127.0.0.1:2/").await;
    let paid = client.captured(700).await;
    client.refund(token(&paid), 100).await.ok(201);
    client.file().await;
    client.move_clock("40d").await;
    app.do_due_work().await;
}

rules! {
    async fn every_table_of_an_account_is_held_or_kept_for_a_reason(app) {
        let tables = match app.database {
            Database::Sqlite =>
                "SELECT group_concat(m.name, ' ') FROM sqlite_master m WHERE m.type = 'table' \
                 AND EXISTS (SELECT 1 FROM pragma_table_info(m.name) c WHERE c.name = 'account_id')",
            Database::Postgres =>
                "SELECT string_agg(table_name, ' ') FROM information_schema.columns \
                 WHERE table_schema = current_schema() AND column_name = 'account_id'",
        };
        let tables = app.text(tables).await;
        let mut tables: Vec<_> = tables.split(' ').collect();
        let mut known: Vec<_> = wipe::copied().map(SnapshotTable::name).chain(KEPT).collect();
        tables.sort_unstable();
        known.sort_unstable();
        assert_eq!(tables, known);
    }

    async fn an_account_is_put_back_as_it_was_and_no_other_one_changes(app) {
        let (_, client) = made(app).await;
        let (_, other) = made(app).await;
        fill(&client).await;
        fill(&other).await;
        settled(app).await;
        let snapshot = client.post(SNAPSHOTS, &json!({})).await.ok(201);
        assert_eq!(fields(&snapshot), ["token", "rows", "bytes", "created_at", "expires_at"]);
        assert!(snapshot["rows"].as_i64() > Some(60) && snapshot["bytes"].as_i64() > Some(20_000), "{snapshot}");
        let (before, blobs) = (rows_of(app).await, app.blobs());
        let searched = client.get("/1/charges/search?query=roland").await.text;
        change(app, &client).await;
        assert_ne!(rows_of(app).await, before);
        assert_eq!(restore(&client, token(&snapshot)).await, snapshot);
        // The blob of the file that came later goes by itself.
        app.do_due_work().await;
        equal(&before, &rows_of(app).await);
        assert_eq!(app.blobs(), blobs);
        assert_eq!(client.get("/1/charges/search?query=roland").await.text, searched);
        assert_eq!(client.get(SNAPSHOTS).await.ok(200), json!([snapshot]));
        // Once more, from where it is.
        restore(&client, token(&snapshot)).await;
        app.do_due_work().await;
        equal(&before, &rows_of(app).await);
    }

    async fn a_row_that_could_not_be_read_afterwards_is_not_put_back(app) {
        let (_, client) = made(app).await;
        client.captured(400).await;
        for [spoil, mend] in [
            ["UPDATE charges SET card = REPLACE(card, '\"scheme\"', '\"x\"')", "UPDATE charges SET card = REPLACE(card, '\"x\"', '\"scheme\"')"],
            ["UPDATE charges SET metadata = '[]'", "UPDATE charges SET metadata = '{}'"],
        ] {
            app.execute(spoil).await;
            let snapshot = snapshot(&client).await;
            app.execute(mend).await;
            let before = rows_of(app).await;
            client.put(&restoring(&snapshot), &json!({})).await.refused(400, "invalid_state");
            equal(&before, &rows_of(app).await);
        }
    }

    async fn the_time_after_a_snapshot_passes_again_as_it_did(app) {
        let (_, client) = made(app).await;
        let customer = token_of(&client.customer("4200000000000000").await);
        let plan = client.plan(&json!({ "setup_amount": 150 })).await;
        let subscription = client.subscribed(&plan, &customer).await;
        client.move_clock("45d").await;
        let snapshot = snapshot(&client).await;
        let year = async || {
            let moved = client.move_clock("1year").await;
            let events = client.get("/1/events?per_page=500").await.ok(200);
            let events: Vec<_> = events.as_array().unwrap().iter().map(|event| json!([event["type"], event["created_at"]])).collect();
            let state = client.subscription(&subscription).await;
            (moved["now"].clone(), events, client.charged(&customer).await, client.counts(&plan).await, state, client.balance().await)
        };
        let first = year().await;
        assert_eq!(first.2.len(), 14);
        restore(&client, &snapshot).await;
        assert_eq!(client.charged(&customer).await.len(), 2);
        assert_eq!(year().await, first);
    }

    async fn an_event_has_the_number_again_that_it_had_in_the_snapshot(app) {
        let (_, client) = made(app).await;
        client.customer("4200000000000000").await;
        let snapshot = snapshot(&client).await;
        let numbered = async || client.get("/1/events?after=0").await.ok(200).as_array().unwrap().clone();
        let first = numbered().await;
        assert!(!first.is_empty());
        client.customer("5520000000000000").await;
        restore(&client, &snapshot).await;
        assert_eq!(numbered().await, first);
    }

    async fn ciphertexts_are_good_after_a_rotation_and_a_restore(app) {
        let (_, client) = made(app).await;
        let (card, customer) = (client.card_token("4200000000000000").await, client.customer("5520000000000000").await);
        let endpoint = client.endpoint("http://127.0.0.1:1/").await;
        let paid = with_paid(&client).await;
        let snapshot = snapshot(&client).await;
        client.charge_by(&card).await.ok(201);
        client.delete(&format!("/1/customers/{}", token(&customer))).await.ok(204);
        client.delete(&format!("/1/webhook_endpoints/{}", token(&endpoint))).await.ok(204);
        rotate(app.ctx()).await.unwrap();
        app.clock.advance(TimeSpan::seconds(3_600));
        app.do_due_work().await;
        assert_eq!(app.number("SELECT COUNT(*) FROM vault_keys WHERE purpose = 'data'").await, 1, "the former key is gone");
        restore(&client, &snapshot).await;
        client.charge_by(&card).await.ok(201);
        let by_customer = charge_with(500, json!({ "card": null, "customer_token": token(&customer) }));
        client.post("/1/charges", &by_customer).await.ok(201);
        let shown = client.get(&format!("/1/webhook_endpoints/{}", token(&endpoint))).await.ok(200);
        assert_eq!(shown, endpoint);
        assert_eq!(with_paid(&client).await, paid, "answers that were kept are");
    }

    async fn keys_that_were_used_later_are_free_again_and_the_restore_is_repeated_under_its_own(app) {
        let (_, client) = made(app).await;
        let before = with_paid(&client).await;
        let snapshot = snapshot(&client).await;
        let headers = [("Idempotency-Key", "later")];
        let later = post_with(&client, "/1/charges", &headers, &charge(500)).await.ok(201);
        let first = with_key(&client, Method::PUT, &restoring(&snapshot), "back").await;
        first.ok(200);
        assert_eq!(client.listed().await, 1);
        let again = app.unchanged(with_key(&client, Method::PUT, &restoring(&snapshot), "back")).await;
        assert_eq!((again.text, again.headers["idempotent-replayed"].to_str().unwrap()), (first.text, "true"));
        assert_eq!(with_paid(&client).await, before);
        assert_ne!(token(&post_with(&client, "/1/charges", &headers, &charge(500)).await.ok(201)), token(&later));
        // A key that the snapshot holds may be the one of the restore.
        let rows_of = token_of(&post_with(&client, SNAPSHOTS, &[("Idempotency-Key", "made")], &json!({})).await.ok(201));
        let second = token_of(&client.post(SNAPSHOTS, &json!({})).await.ok(201));
        restore(&client, &rows_of).await;
        with_key(&client, Method::PUT, &restoring(&second), "made").await.ok(200);
        with_key(&client, Method::PUT, &restoring(&second), "made").await.ok(200);
    }

    async fn of_restores_at_once_under_one_key_one_is_done(app) {
        let (account, client) = made(app).await;
        let snapshot = snapshot(&client).await;
        let moves = "SELECT MAX(clock_moves) FROM accounts";
        for round in 0..rounds() {
            let before = app.number(moves).await;
            let answers = at_once((0..3).map(|_| {
                let (client, path, key) = (client.clone().patient(), restoring(&snapshot), format!("{account}-{round}"));
                async move { with_key(&client, Method::PUT, &path, &key).await }
            })).await;
            for answer in &answers {
                assert_eq!(answer.ok(200), answers[0].ok(200));
            }
            let replayed = answers.iter().filter(|answer| answer.headers.contains_key("idempotent-replayed")).count();
            assert_eq!((replayed, app.number(moves).await), (2, before + 1));
        }
    }

    async fn a_restored_account_is_opened_by_the_keys_that_opened_it_before(app) {
        let (_, client) = made(app).await;
        let merchant = client.merchant().await;
        let snapshot = snapshot(&client).await;
        let later = client.merchant().await;
        client.decide_merchant(&merchant, "active").await.ok(200);
        restore(&client, &snapshot).await;
        assert_eq!(client.merchant_of(&merchant).await["status"], "active", "a merchant is an account of its own");
        assert_eq!(client.get("/1/merchants").await.json()["pagination"]["count"], 2);
        client.decide_merchant(&later, "active").await.ok(200);
    }

    async fn a_webhook_that_waited_waits_again(app) {
        let (_, client) = made(app).await;
        client.endpoint("http://127.0.0.1:1/").await;
        client.captured(400).await;
        let waiting = client.newest_webhook().await;
        let snapshot = snapshot(&client).await;
        app.do_due_work().await;
        assert_eq!(client.newest_webhook().await["status"], "retrying");
        restore(&client, &snapshot).await;
        assert_eq!(client.newest_webhook().await, waiting);
        app.do_due_work().await;
        assert_eq!(client.newest_webhook().await["status"], "retrying");
    }

    async fn a_file_stays_as_long_as_a_snapshot_holds_it(app) {
        let (_, client) = made(app).await;
        let file = client.file().await;
        let snapshots = [snapshot(&client).await, snapshot(&client).await];
        client.delete(&format!("/1/files/{file}")).await.ok(204);
        app.do_due_work().await;
        assert_eq!(app.blobs().len(), 1);
        restore(&client, &snapshots[0]).await;
        client.get(&format!("/1/files/{file}")).await.ok(200);
        client.delete(&format!("/1/files/{file}")).await.ok(204);
        client.delete(&path(&snapshots[0])).await.ok(204);
        app.do_due_work().await;
        assert_eq!(app.blobs().len(), 1, "the other one holds it, too");
        client.delete(&path(&snapshots[1])).await.ok(204);
        app.do_due_work().await;
        assert_eq!(app.blobs(), Vec::<String>::new());
    }

    async fn a_snapshot_is_its_accounts_alone(app) {
        let (_, client) = made(app).await;
        let snapshot = snapshot(&client).await;
        let (_, sibling) = made(app).await;
        for stranger in [app.client(), sibling, app.stranger().await] {
            app.unchanged(stranger.put(&restoring(&snapshot), &json!({}))).await.not_found();
            app.unchanged(stranger.delete(&path(&snapshot))).await.not_found();
            assert_eq!(stranger.get(SNAPSHOTS).await.ok(200), json!([]));
        }
        for unknown in ["snap_AAAAAAAAAAAAAAAAAAAAAA", "snap_x", "ch_AAAAAAAAAAAAAAAAAAAAAA", "x"] {
            app.unchanged(client.put(&restoring(unknown), &json!({}))).await.not_found();
            app.unchanged(client.delete(&path(unknown))).await.not_found();
        }
        app.unchanged(app.anonymous().post(SNAPSHOTS, &json!({}))).await.refused(401, "unauthorized");
        client.delete(&path(&snapshot)).await.ok(204);
        app.unchanged(client.put(&restoring(&snapshot), &json!({}))).await.not_found();
    }

    async fn an_account_has_ten_snapshots_at_most_each_for_thirty_days(app) {
        let (_, client) = made(app).await;
        let nothing = json!({});
        let answers = join_all((0..14).map(|_| client.post(SNAPSHOTS, &nothing))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 10);
        assert_eq!(answers.iter().filter(|answer| answer.status == 403).count(), 4);
        let eleventh = app.unchanged(client.post(SNAPSHOTS, &json!({}))).await;
        assert_eq!(
            eleventh.refused(403, "limit_reached")["error_description"],
            "An account may have 10 snapshots. Delete one before you make another."
        );
        let listed = client.get(&format!("{SNAPSHOTS}?per_page=4&page=3")).await.json();
        assert_eq!((listed["count"].as_i64(), listed["pagination"]["count"].as_i64()), (Some(2), Some(10)));
        app.clock.advance(TimeSpan::days(29));
        let young = snapshot_after_one_went(&client).await;
        app.clock.advance(TimeSpan::days(1));
        app.do_due_work().await;
        let left = client.get(SNAPSHOTS).await.ok(200);
        assert_eq!(left.as_array().unwrap().iter().map(token).collect::<Vec<_>>(), [young]);
        assert_eq!(app.number("SELECT COUNT(DISTINCT snapshot_id) FROM snapshot_parts").await, 1);
    }

    async fn an_account_that_holds_too_much_is_refused(app) {
        let (account, client) = made(app).await;
        app.execute(Box::leak(payloads(app.database, &account, 50_001).into_boxed_str())).await;
        let refused = client.post(SNAPSHOTS, &json!({})).await;
        refused.refused(413, "snapshot_too_large");
        assert_eq!(client.get(SNAPSHOTS).await.ok(200), json!([]));
    }

    async fn events_that_go_with_a_restore_use_up_their_numbers_however_soon_it_comes(app) {
        let (_, client) = made(app).await;
        let numbers = async || -> Vec<u64> {
            let events = client.get("/1/events?after=0").await.ok(200);
            events.as_array().unwrap().iter().map(|event| event["sequence"].as_u64().unwrap()).collect()
        };
        client.captured(400).await;
        let snapshot = snapshot(&client).await;
        client.captured(500).await;
        restore(&client, &snapshot).await;
        client.captured(600).await;
        let found = numbers().await;
        let captured = found.len() / 2;
        assert_eq!(found[captured] - found[captured - 1], 1 + captured as u64, "{found:?}");
    }

    async fn nothing_is_copied_or_put_back_while_a_payment_is_under_way(app) {
        let (_, client) = made(app).await;
        let snapshot = snapshot(&client).await;
        client.authorised(400).await;
        app.execute("UPDATE charges SET settle_after = 9999999999999").await;
        app.unchanged(client.post(SNAPSHOTS, &json!({}))).await.refused(409, "payments_under_way");
        app.unchanged(client.put(&restoring(&snapshot), &json!({}))).await.refused(409, "payments_under_way");
        app.execute("UPDATE charges SET settle_after = NULL").await;
        restore(&client, &snapshot).await;
        assert_eq!(client.listed().await, 0);
    }

    async fn nothing_is_put_back_while_somebody_moves_the_clock(app) {
        let (_, client) = made(app).await;
        let snapshot = snapshot(&client).await;
        app.execute("UPDATE accounts SET moving_until = 9999999999999").await;
        app.unchanged(client.put(&restoring(&snapshot), &json!({}))).await.refused(409, "clock_moving");
        app.execute("UPDATE accounts SET moving_until = NULL").await;
        restore(&client, &snapshot).await;
    }

    async fn a_snapshot_of_another_release_is_refused(app) {
        let (_, client) = made(app).await;
        let snapshot = snapshot(&client).await;
        app.execute("UPDATE snapshots SET schema_steps = schema_steps + 1").await;
        app.unchanged(client.put(&restoring(&snapshot), &json!({}))).await.refused(400, "invalid_state");
    }

    async fn whatever_is_asked_for_meanwhile_the_books_are_right_afterwards(app) {
        for _ in 0..rounds() {
            let (_, client) = made(app).await;
            let customer = token_of(&client.customer("4200000000000000").await);
            let authorised = client.authorised(400).await;
            let paid = token_of(&client.captured(900).await);
            let snapshot = snapshot(&client).await;
            let requests = (0..24).map(|n| {
                let (client, customer, authorised, paid, snapshot) =
                    (client.clone(), customer.clone(), authorised.clone(), paid.clone(), snapshot.clone());
                tokio::spawn(async move {
                    match n % 6 {
                        0 => client.post("/1/charges", &charge(400)).await,
                        1 => client.put_charge(&authorised, "capture").await,
                        2 => client.refund(&paid, 10).await,
                        3 => client.post("/1/charges", &charge_with(500, json!({ "card": null, "customer_token": customer }))).await,
                        4 => client.put(&restoring(&snapshot), &json!({})).await,
                        _ => client.post("/1/cards", &card("4200000000000000")).await,
                    }
                })
            });
            for answer in join_all(requests.collect::<Vec<_>>()).await.into_iter().map(Result::unwrap) {
                assert!(answer.status < 500 || [502, 503].contains(&answer.status), "{}: {}", answer.status, answer.text);
            }
            app.clock.advance(TimeSpan::seconds(60));
            app.do_due_work().await;
            app.check_books().await;
            restore(&client, &snapshot).await;
            assert_eq!(client.listed().await, 2);
        }
    }
}

/// The statement that gives an account so many used payloads of wallets.
fn payloads(database: Database, account: &str, count: u32) -> String {
    let account: entity::AccountToken = account.parse().unwrap();
    match database {
        Database::Sqlite => format!(
            "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
             INSERT INTO wallet_payloads SELECT X'{}', randomblob(32), 9999999999999 FROM n",
            account.id().simple()
        ),
        Database::Postgres => format!(
            "INSERT INTO wallet_payloads SELECT '{}', sha256(i::text::bytea), 9999999999999 FROM generate_series(1, {count}) i",
            account.id()
        ),
    }
}

/// A payment that is answered alike, however often it is asked for.
async fn with_paid(client: &Client) -> String {
    let headers = [("Idempotency-Key", "paid")];
    let answer = post_with(client, "/1/charges", &headers, &charge(400)).await;
    answer.ok(201);
    answer.text
}

/// A snapshot in the place of the oldest one.
async fn snapshot_after_one_went(client: &Client) -> String {
    let listed = client.get(SNAPSHOTS).await.ok(200);
    client.delete(&path(token(listed.as_array().unwrap().last().unwrap()))).await.ok(204);
    snapshot(client).await
}
