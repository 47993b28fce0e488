//! A new data key while servers run: what older ones sealed is encrypted again, and nothing is lost on the way
//! (`docs/decisions.md`, 113 to 116).

use std::collections::BTreeMap;
use std::sync::Arc;

use card_payments::limits::SEALED_STRETCH;
use card_payments::services::data_keys::reencrypt::{TABLES, Table};
use card_payments::services::data_keys::rotate::{RotationReport, rotate};
use entity::{TimeSpan, card, vault_key};
use futures::future::{join, join_all};
use http::Method;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use serde_json::{Value, json};
use uuid::Uuid;
use vault::OperatorKeys;

use crate::harness::process::{PAYMENT, repeatable_request, try_to_ask};
use crate::harness::wallets::network_token;
use crate::harness::{Answer, App, Client, Database, bank_account, charge_with, operated, rules, token_of};
use crate::three_d_secure::{pending, press};

const HOUR: TimeSpan = TimeSpan::seconds(3_600);

/// The rows of each table with sealed columns, by the data key that they name.
async fn sealed_by(app: &App) -> BTreeMap<Uuid, Vec<&'static str>> {
    let hex = match app.database {
        Database::Sqlite => "lower(hex(sealed_by))",
        Database::Postgres => "replace(sealed_by::text, '-', '')",
    };
    let mut keys = BTreeMap::<Uuid, Vec<_>>::new();
    for (table, _) in TABLES.iter().map(Table::columns) {
        let together = match app.database {
            Database::Sqlite => "group_concat",
            Database::Postgres => "string_agg",
        };
        let found = format!(
            "SELECT COALESCE({together}(k, ','), '') FROM (SELECT DISTINCT {hex} AS k FROM {table} WHERE sealed_by IS NOT NULL) AS keys"
        );
        for key in app.text(&found).await.split(',').filter(|key| !key.is_empty()) {
            keys.entry(key.parse().unwrap()).or_default().push(table);
        }
    }
    keys
}

async fn keys(app: &App) -> Vec<vault_key::Model> {
    vault_key::Entity::find().all(app.ctx().store.read()).await.unwrap()
}

async fn data_keys(app: &App) -> usize {
    keys(app).await.iter().filter(|key| key.purpose == "data").count()
}

/// A request that may be repeated.
async fn repeat(client: &Client, path: &str, body: &Value) -> Answer {
    let request = client
        .request(Method::POST, path)
        .header("idempotency-key", "once")
        .header("content-type", "application/json");
    client.send(request.body(body.to_string().into()).unwrap()).await
}

/// Something sealed in every table.
struct Filled {
    card: String,
    customer: String,
    /// The page on which a cardholder is asked.
    page: String,
    network: String,
    endpoint: String,
    charge: Answer,
    /// As its detail shows it, with the keys of both environments.
    merchant: Value,
}

async fn challenged(client: &Client) -> String {
    let three_d_secure =
        json!({ "three_d_secure": { "enabled": true, "callback_url": "https://shop.example.com/done" } });
    pending(client, &charge_with(400, three_d_secure)).await.1
}

async fn fill(client: &Client) -> Filled {
    let merchant = client.merchant().await;
    client.post("/1/walletA_pay/certificates", &json!({})).await.ok(201);
    client.post("/1/bank_accounts", &bank_account("987654321")).await.ok(201);
    let network = client.post("/1/payment_sources", &network_token("4200000000000000")).await.ok(201);
    let endpoint = token_of(&client.endpoint("https://example.com/hook").await);
    client.rotate_key(&endpoint, "1w").await.ok(200);
    client.post("/1/sandbox/snapshots", &json!({})).await.ok(201);
    Filled {
        card: client.card_token("4200000000000000").await,
        customer: token_of(&client.customer("5520000000000000").await),
        page: challenged(client).await,
        network: token_of(&network),
        endpoint,
        charge: repeat(client, "/1/charges", &charge_with(400, json!({}))).await,
        merchant: client.get(&format!("/1/merchants/{merchant}")).await.ok(200),
    }
}

/// What was sealed before is used as if nothing had happened.
async fn still_good(app: &App, client: &Client, filled: &Filled, endpoint: &Value) {
    client.charge_by(&filled.card).await.ok(201);
    let by_customer = charge_with(500, json!({ "card": null, "customer_token": filled.customer }));
    client.post("/1/charges", &by_customer).await.ok(201);
    let by_network = charge_with(500, json!({ "card": null, "payment_source_token": filled.network }));
    client.post("/1/charges", &by_network).await.ok(201);
    let shown = client.get(&format!("/1/webhook_endpoints/{}", filled.endpoint)).await.ok(200);
    assert_eq!(&shown, endpoint);
    let merchant = client.get(&format!("/1/merchants/{}", token_of(&filled.merchant))).await.ok(200);
    assert_eq!(merchant, filled.merchant);
    let again = repeat(client, "/1/charges", &charge_with(400, json!({}))).await;
    assert_eq!((again.status, &again.text), (filled.charge.status, &filled.charge.text));
    let decided = press(&app.anonymous(), &filled.page, "decision=approve").await;
    assert_eq!(decided.status, 303, "{}", decided.text);
}

rules! {
    async fn every_sealed_column_of_the_schema_is_on_the_list(app) {
        let columns = match app.database {
            Database::Sqlite =>
                "SELECT COALESCE(group_concat(name, ' '), '') FROM (SELECT m.name || '.' || c.name AS name FROM sqlite_master m, \
                 pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name LIKE '%sealed%' AND m.sql NOT LIKE 'CREATE VIRTUAL%')",
            Database::Postgres =>
                "SELECT string_agg(table_name || '.' || column_name, ' ') FROM information_schema.columns \
                 WHERE table_schema = current_schema() AND column_name LIKE '%sealed%'",
        };
        let found = app.text(columns).await;
        let mut found: Vec<_> = found.split(' ').map(str::to_owned).collect();
        found.sort();
        let listed = TABLES.iter().map(Table::columns).flat_map(|(table, columns)| {
            columns.into_iter().chain(["sealed_by".to_owned()]).map(move |column| format!("{table}.{column}"))
        });
        let mut listed: Vec<_> = listed.collect();
        listed.sort();
        assert_eq!(found, listed);
    }

    async fn a_rotation_encrypts_everything_anew_and_changes_nothing_else(app) {
        let client = app.client();
        let filled = fill(&client).await;
        let endpoint = client.get(&format!("/1/webhook_endpoints/{}", filled.endpoint)).await.ok(200);
        let before = sealed_by(app).await;
        assert_eq!(before.len(), 1);
        let (former, tables) = before.first_key_value().unwrap();
        assert_eq!(tables.len(), TABLES.len(), "something in each: {tables:?}");
        let RotationReport { data_key, rows, damaged, removed, kept } = rotate(app.ctx()).await.unwrap();
        assert!(data_key != *former && rows > 8);
        assert_eq!((damaged, removed, kept), (0, 0, 1));
        assert_eq!(sealed_by(app).await, BTreeMap::from([(data_key, tables.clone())]));
        still_good(app, &client, &filled, &endpoint).await;
        // Who rotates once more finds little to do, and nothing is lost then either.
        let again = rotate(app.ctx()).await.unwrap();
        assert_eq!((again.damaged, again.removed, again.kept), (0, 0, 2));
        assert_eq!(sealed_by(app).await.into_keys().collect::<Vec<_>>(), [again.data_key]);
        client.post("/1/charges", &charge_with(500, json!({ "card": null, "customer_token": filled.customer }))).await.ok(201);
    }

    async fn a_rotation_finds_few_sealed_rows_among_many_others(app) {
        let (client, ctx) = (app.client(), app.ctx());
        let mut customers = vec![token_of(&client.customer("4200000000000000").await)];
        client.captured(400).await;
        let spent = card::Entity::find().filter(card::Column::SealedBy.is_null()).one(ctx.store.read()).await;
        let spent = spent.unwrap().unwrap();
        let others: Vec<_> = (0..2 * SEALED_STRETCH).map(|_| card::Model { id: ctx.ids.token(), ..spent.clone() }).collect();
        let unit = ctx.store.write(others, async |tx, others| {
            for card in others {
                tx.append(card);
            }
            Ok::<_, card_payments::error::Error>(())
        });
        unit.await.unwrap();
        customers.push(token_of(&client.customer("5520000000000000").await));
        let rotation = rotate(ctx).await.unwrap();
        assert_eq!(sealed_by(app).await.into_keys().collect::<Vec<_>>(), [rotation.data_key]);
        for customer in customers {
            client.post("/1/charges", &charge_with(500, json!({ "card": null, "customer_token": customer }))).await.ok(201);
        }
    }

    async fn a_server_that_knows_only_the_former_key_reads_what_is_sealed_anew(app) {
        let client = app.client();
        let filled = fill(&client).await;
        let endpoint = client.get(&format!("/1/webhook_endpoints/{}", filled.endpoint)).await.ok(200);
        let before = app.ctx().vault.data_keys();
        let rotation = rotate(app.ctx()).await.unwrap();
        assert!(app.ctx().vault.replace(&app.ctx().vault.data_keys(), Arc::clone(&before)));
        assert_eq!(app.ctx().vault.data_keys().current(), before.current());
        still_good(app, &client, &filled, &endpoint).await;
        assert_eq!(app.ctx().vault.data_keys().current(), rotation.data_key, "it has read the table again");
    }

    async fn a_former_key_goes_after_an_hour_with_what_it_still_sealed_encrypted_anew(app) {
        let client = app.client();
        let filled = fill(&client).await;
        let endpoint = client.get(&format!("/1/webhook_endpoints/{}", filled.endpoint)).await.ok(200);
        let before = app.ctx().vault.data_keys();
        rotate(app.ctx()).await.unwrap();
        // A server that has not heard of it goes on sealing by the former key for some seconds.
        assert!(app.ctx().vault.replace(&app.ctx().vault.data_keys(), Arc::clone(&before)));
        let late = client.card_token("4200000000000000").await;
        let customer = token_of(&client.customer("4200000000000000").await);
        assert!(sealed_by(app).await.contains_key(&before.current()));
        app.clock.advance(TimeSpan::from_millis(3_599_999));
        app.do_due_work().await;
        assert_eq!(data_keys(app).await, 2);
        assert!(sealed_by(app).await.contains_key(&before.current()));
        app.clock.advance(TimeSpan::from_millis(1));
        app.do_due_work().await;
        assert_eq!(data_keys(app).await, 1);
        let named = sealed_by(app).await;
        assert_eq!(named.into_keys().collect::<Vec<_>>(), [app.ctx().vault.data_keys().current()]);
        client.charge_by(&late).await.ok(201);
        client.post("/1/charges", &charge_with(500, json!({ "card": null, "customer_token": customer }))).await.ok(201);
        still_good(app, &client, &Filled { page: challenged(&client).await, ..filled }, &endpoint).await;
    }

    async fn a_value_erased_during_a_rotation_stays_erased(app) {
        let client = app.client();
        for _ in 0..3 {
            let tokens = join_all((0..12).map(|_| client.card_token("4200000000000000"))).await;
            let customers = join_all((0..4).map(|_| client.card_token("5520000000000000"))).await;
            let spend = join_all(tokens.iter().map(|token| client.charge_by(token)));
            let keep = join_all(customers.iter().map(async |token| {
                client.post("/1/customers", &json!({ "email": "a@example.com", "card_token": token })).await
            }));
            let (rotation, (paid, stored)) = join(rotate(app.ctx()), join(spend, keep)).await;
            assert_eq!(rotation.unwrap().damaged, 0);
            for answer in paid.iter().chain(&stored) {
                answer.ok(201);
            }
        }
        let erased = "SELECT COUNT(*) FROM cards WHERE state = 'used' AND (number_sealed IS NOT NULL OR cvc_sealed IS NOT NULL \
                      OR sealed_by IS NOT NULL) OR state = 'attached' AND cvc_sealed IS NOT NULL";
        assert_eq!(app.number(erased).await, 0);
        app.clock.advance(HOUR);
        app.do_due_work().await;
        assert_eq!(data_keys(app).await, 1);
        assert_eq!(sealed_by(app).await.len(), 1);
        let customers = client.get("/1/customers?per_page=500").await.ok(200);
        for customer in customers.as_array().unwrap() {
            let by = charge_with(500, json!({ "card": null, "customer_token": customer["token"] }));
            client.post("/1/charges", &by).await.ok(201);
        }
    }

    async fn a_damaged_row_keeps_its_key_and_nothing_else_waits_for_it(app) {
        let client = app.client();
        let filled = fill(&client).await;
        app.execute(match app.database {
            Database::Sqlite => "UPDATE webhook_endpoints SET key_sealed = x'00'",
            Database::Postgres => "UPDATE webhook_endpoints SET key_sealed = '\\x00'",
        }).await;
        let rotation = rotate(app.ctx()).await.unwrap();
        assert_eq!((rotation.damaged, rotation.removed, rotation.kept), (1, 0, 1));
        app.clock.advance(HOUR);
        app.do_due_work().await;
        assert_eq!(data_keys(app).await, 2, "needed still");
        client.charge_by(&filled.card).await.ok(201);
        client.delete(&format!("/1/webhook_endpoints/{}", filled.endpoint)).await;
        app.clock.advance(TimeSpan::from_millis(3_599_999));
        app.do_due_work().await;
        assert_eq!(data_keys(app).await, 2);
        app.clock.advance(TimeSpan::from_millis(1));
        app.do_due_work().await;
        assert_eq!(data_keys(app).await, 1);
    }

    async fn rotations_at_once_leave_one_key_that_seals(app) {
        let client = app.client();
        let customer = token_of(&client.customer("4200000000000000").await);
        let rotations = join_all((0..4).map(|_| rotate(app.ctx()))).await;
        for rotation in rotations {
            rotation.unwrap();
        }
        let keys = keys(app).await;
        let sealing = keys.iter().filter(|key| key.purpose == "data" && key.remove_at.is_none());
        assert_eq!((sealing.count(), data_keys(app).await), (1, 5));
        app.clock.advance(HOUR);
        app.do_due_work().await;
        assert_eq!(data_keys(app).await, 1);
        client.post("/1/charges", &charge_with(500, json!({ "card": null, "customer_token": customer }))).await.ok(201);
    }
}

operated! {
    async fn an_operator_rotates_the_vault_beside_a_server_and_a_kill_at_any_point_loses_nothing(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let customer = "email=roland%40example.com&card[number]=4200000000000000&card[expiry_month]=5&card[expiry_year]=2030\
            &card[cvc]=123&card[name]=R&card[address_line1]=S&card[address_city]=L&card[address_country]=AU";
        let customers: Vec<_> =
            (0..3).map(|_| token_of(&server.ask("POST", "/1/customers", Some(&key), customer).ok(201))).collect();
        let charge = |customer: &str| {
            let form = format!("email=a%40b.cd&description=Test&amount=400&ip_address=203.192.1.172&customer_token={customer}");
            server.ask("POST", "/1/charges", Some(&key), &form).ok(201)
        };
        let again = || {
            let text = repeatable_request("POST", "/1/charges", Some(&key), Some("once"), PAYMENT);
            try_to_ask(server.address, &text).unwrap().body
        };
        let answered = again();
        let former = "SELECT COUNT(*) FROM cards c WHERE sealed_by IN (SELECT id FROM vault_keys WHERE remove_at IS NOT NULL)";
        for point in ["vault.key.after", "vault.batch.after"] {
            let mut killed = installed.program();
            let killed = killed.args(["vault", "rotate"]).env("CARD_PAYMENTS_CRASH_AT", point);
            assert_eq!(killed.output().unwrap().status.code(), None, "{point}");
            assert!(installed.number(former).await > 0, "{point}: some of it is not encrypted anew");
            charge(&customers[0]);
            assert_eq!(again(), answered);
        }
        let rotated = installed.records(&["vault", "rotate"]).remove(0);
        assert_eq!((&rotated["damaged"], &rotated["removed"], &rotated["kept"]), (&json!(0), &json!(0), &json!(3)));
        assert_eq!(installed.number(former).await, 0);
        for customer in &customers {
            charge(customer);
        }
        assert_eq!(again(), answered);
        server.stopped();
        let (code, stdout, stderr) = installed.run(&["vault", "rotate"]);
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        assert!(stdout.starts_with("data key ") && stdout.ends_with("former data keys: 0 removed, 4 kept\n"), "{stdout}");
        // The hour that no test waits for.
        installed.execute("UPDATE vault_keys SET remove_at = 0 WHERE remove_at IS NOT NULL").await;
        let rotated = installed.records(&["vault", "rotate"]).remove(0);
        assert_eq!((&rotated["removed"], &rotated["kept"]), (&json!(4), &json!(1)));
        let server = installed.serve();
        assert_eq!(server.ask("GET", "/1/charges", Some(&key), "").json()["pagination"]["count"], 6);
        server.stopped();
    }

    async fn the_operators_key_is_changed_without_a_stop(installed) {
        let [old, new] = ["old", "new"].map(|id| OperatorKeys::generate(id).to_text().expose().to_owned());
        installed.with("VAULT_KEY", &old);
        let server = installed.serve();
        let (key, _) = server.keys();
        server.pay(&key).ok(201);
        server.stopped();
        installed.with("VAULT_KEY", &format!("{new},{old}"));
        let server = installed.serve();
        installed.records(&["vault", "rotate"]);
        server.pay(&key).ok(201);
        server.stopped();
        assert_eq!(installed.number("SELECT COUNT(*) FROM vault_keys WHERE wrapped_by <> 'new'").await, 0);
        installed.with("VAULT_KEY", &new);
        let server = installed.serve();
        assert_eq!(server.keys().0, key);
        server.pay(&key).ok(201);
        server.stopped();
        installed.with("VAULT_KEY", &old);
        installed.refuses(
            &["vault", "rotate"],
            "the vault key does not open this database: the vault has no operator key with the id \"new\"",
        );
    }
}
