//! Searches of accounts with many charges, which copies of one charge make (`docs/performance.md`, How it grows).

use std::collections::BTreeSet;

use card_payments::services::search_text;
use entity::{AccountToken, ChargeToken, charge};
use sea_orm::{ColumnTrait, EntityTrait, IdenStatic, Iterable, QueryFilter, QueryOrder, QuerySelect};
use serde_json::json;
use url::form_urlencoded::byte_serialize;

use crate::harness::{App, Client, charge_with, rules, token_of};
use crate::http::csv_lists::exported_while_paying;

/// Makes a voided charge, which has moved no money, and copies it. Returns the account.
///
/// The n-th copy is older than the next: order n of buyer n, all at one domain.
pub async fn filled(app: &App, client: &Client, numbers: std::ops::RangeInclusive<u32>) -> AccountToken {
    let kept = json!({ "capture": false, "description": "template", "email": "roland@example.com" });
    let charge = token_of(&client.post("/1/charges", &charge_with(400, kept)).await.ok(201));
    client.put_charge(&charge, "void").await.ok(200);
    let id: ChargeToken = charge.parse().unwrap();
    let row = charge::Entity::find().filter(charge::Column::Id.eq(id)).one(app.ctx().store.read()).await;
    let account = row.unwrap().unwrap().account_id;
    copied(app, account, numbers).await;
    account
}

/// Copies the template.
pub async fn copied(app: &App, account: AccountToken, numbers: std::ops::RangeInclusive<u32>) {
    let columns: Vec<_> = charge::Column::iter().map(|column| column.as_str().to_owned()).collect();
    let values = columns.iter().map(|column| match column.as_str() {
        "id" => id_of_copy(app).to_owned(),
        "description" => "'Order ' || n || ' of lot' || (n % 10)".to_owned(),
        "email" => "'buyer' || n || '@example.com'".to_owned(),
        "search_text" => TEXT.to_owned(),
        // Two hours before, a millisecond apart.
        "created_at" => "t.created_at - 7200000 + n".to_owned(),
        _ => format!("t.{column}"),
    });
    let (first, last) = (numbers.start(), numbers.end());
    let series =
        format!("WITH RECURSIVE s (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM s WHERE n < {last})");
    let template = format!("t.account_id = {} AND t.description = 'template'", id_of(app, account));
    let values = values.collect::<Vec<_>>().join(", ");
    let columns = columns.join(", ");
    execute(
        app,
        format!(
            "INSERT INTO charges ({columns}) {series} SELECT {values} FROM s, charges t WHERE {template}"
        ),
    )
    .await;
    if is_sqlite(app) {
        let (table, code) = (search_text::TABLE, search_text::account_code(account));
        let id = id_of_copy(app);
        execute(
            app,
            format!(
                "INSERT INTO {table} (text, id) {series} SELECT '{code}' || CHAR(10) || {TEXT}, {id} FROM s"
            ),
        )
        .await;
    }
    count(app, account, "charges", i64::from(last - first) + 1).await;
}

/// The words of copy n.
const TEXT: &str = "'order ' || n || ' of lot' || (n % 10) || CHR(10) || 'buyer' || n || '@example.com' || CHR(10) || 'roland robot'";

/// The id of copy n, older than all other charges.
pub fn id_of_copy(app: &App) -> &'static str {
    if is_sqlite(app) {
        "unhex('010000000000700080' || printf('%014x', n))"
    } else {
        "CAST('010000000000700080' || LPAD(TO_HEX(n), 14, '0') AS UUID)"
    }
}

/// Returns an account's id in SQL.
pub fn id_of(app: &App, account: AccountToken) -> String {
    let id = account.id().simple();
    if is_sqlite(app) { format!("X'{id}'") } else { format!("UUID '{id}'") }
}

pub fn is_sqlite(app: &App) -> bool {
    app.database == crate::harness::Database::Sqlite
}

pub async fn execute(app: &App, sql: String) {
    let sql = if is_sqlite(app) { sql.replace("CHR(10)", "CHAR(10)") } else { sql };
    app.execute(sql.leak()).await;
}

/// Adds to a count.
pub async fn count(app: &App, account: AccountToken, kind: &str, n: i64) {
    let own = id_of(app, account);
    execute(
        app,
        format!(
            "INSERT INTO counters (account_id, kind, slot, n) VALUES ({own}, '{kind}', 0, {n}) \
             ON CONFLICT (account_id, kind, slot) DO UPDATE SET n = counters.n + excluded.n"
        ),
    )
    .await;
}

/// Deletes a copy.
pub async fn deleted(app: &App, account: AccountToken, n: u32) {
    let id = id_of_copy(app);
    execute(app, format!("DELETE FROM charges WHERE id = (SELECT {id} FROM (SELECT {n} AS n) AS one)")).await;
    count(app, account, "charges", -1).await;
}

/// The tokens and texts of the account's charges, newest first.
async fn truth(app: &App, account: AccountToken) -> Vec<(String, String)> {
    let rows = charge::Entity::find()
        .filter(charge::Column::AccountId.eq(account))
        .filter(charge::listed())
        .order_by_desc(charge::Column::Id)
        .select_only()
        .columns([charge::Column::Id, charge::Column::SearchText]);
    let rows: Vec<(ChargeToken, String)> = rows.into_tuple().all(app.ctx().store.read()).await.unwrap();
    rows.into_iter().map(|(id, text)| (id.to_string(), text)).collect()
}

/// Compares searches with what the table holds.
async fn searches_are_true(app: &App, client: &Client, account: AccountToken, queries: &[&str]) {
    let all = truth(app, account).await;
    for query in queries {
        let expected: Vec<_> = all.iter().filter(|(_, text)| text.contains(&query.to_lowercase())).collect();
        let encoded: String = byte_serialize(query.as_bytes()).collect();
        let answer = client.get(&format!("/1/charges/search?query={encoded}&per_page=500")).await;
        let shown: BTreeSet<_> = answer.ok(200).as_array().unwrap().iter().map(token_of).collect();
        assert_eq!(answer.json()["pagination"]["count"], expected.len(), "{query}");
        assert_eq!(shown.len(), expected.len().min(500), "{query}");
        assert!(expected.len() > 500 || expected.iter().all(|(token, _)| shown.contains(token)), "{query}");
    }
}

const QUERIES: [&str; 20] = [
    "buyer123@example.com",
    "BUYER123@",
    "yer31",
    "buyer12",
    "order 250 of",
    "der 25",
    "250",
    "99@example.com",
    "buyer1",
    "0 of lot0",
    "nowhere",
    "buyer900@example.com",
    "roland",
    "robot buyer",
    "lot7",
    "er250@e",
    "2",
    "order 1 of",
    "123 of lot3",
    "buyer123@example.com.au",
];

rules! {
    #[dated]
    async fn a_rare_part_among_many_of_one_domain_is_found_exactly(app) {
        let client = app.client();
        let account = filled(app, &client, 1..=400).await;
        searches_are_true(app, &client, account, &QUERIES).await;
        // The same words once more, which are found at once.
        client.post("/1/charges", &charge_with(400, json!({ "email": "buyer123@example.com" }))).await.ok(201);
        searches_are_true(app, &client, account, &QUERIES).await;
        let dated = client.get("/1/charges/search?query=buyer123%40example.com&start_date=2026-03-02T09:00:00Z").await;
        assert_eq!(dated.ok(200).as_array().unwrap().len(), 1);
        assert_eq!(dated.json()["pagination"]["count"], 1);
    }

    async fn a_rare_part_is_found_in_one_account_alone(app) {
        let (client, stranger) = (app.client(), app.stranger().await);
        let theirs = filled(app, &stranger, 1..=900).await;
        let mine = filled(app, &client, 1_001..=1_300).await;
        if !is_sqlite(app) {
            // PostgreSQL knows only now how many charges there are.
            execute(app, "ANALYZE charges".into()).await;
        }
        for (client, account) in [(&client, mine), (&stranger, theirs)] {
            searches_are_true(app, client, account, &QUERIES).await;
            searches_are_true(app, client, account, &["buyer1123@example.com", "1250", "buyer500@", "1299"]).await;
        }
    }

    async fn the_size_of_a_broad_search_is_exact_while_charges_come(app) {
        let client = app.client();
        let account = filled(app, &client, 1..=1_600).await;
        let broad = ["roland", "@example", "robot", "AUD", "ro", "buyer1"];
        for n in 0..3 {
            searches_are_true(app, &client, account, &broad[..3]).await;
            for query in &broad[3..] {
                client.get(&format!("/1/charges/search?query={query}")).await.ok(200);
            }
            client.post("/1/charges", &charge_with(400, json!({ "email": "roland@example.com" }))).await.ok(201);
            searches_are_true(app, &client, account, &broad[..3]).await;
            // One that was approved long after its time.
            copied(app, account, 1_700 + n..=1_700 + n).await;
            searches_are_true(app, &client, account, &broad[..3]).await;
            app.clock.advance(entity::TimeSpan::seconds(40));
        }
    }

    async fn ten_thousand_charges_as_csv_come_in_pieces_each_once_while_others_are_made(app) {
        let client = app.client();
        filled(app, &client, 1..=10_000).await;
        let (tokens, largest) = exported_while_paying(app).await;
        let all: BTreeSet<_> = tokens.iter().collect();
        // Those that were made meanwhile stand on the first page, which had been read.
        assert_eq!((tokens.len(), all.len()), (10_001, 10_001));
        assert!(largest < 500 * 2_000, "{largest} bytes at once");
        let last = client.get("/1/charges?per_page=500&page=21").await.ok(200);
        assert!(last.as_array().unwrap().iter().all(|charge| all.contains(&token_of(charge))));
    }
}
