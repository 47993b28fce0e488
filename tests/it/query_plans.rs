//! How the databases find what lists, searches and records ask for: by an index that begins with the account, in the
//! order in which it is wanted. What `statements.rs` has seen of a whole run is explained on both databases.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use http::Method;
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde_json::json;

use crate::harness::browser::Browser;
use crate::harness::postgres;
use crate::harness::{App, charge_with, token_of};
use crate::statements::{is_owned, may_look_at_all, plain};

/// What is small in any account: at most five endpoints, ten keys.
const SMALL: [&str; 2] = ["webhook_endpoints", "api_keys"];

/// The index of the events of the last second, which have no numbers yet.
const UNNUMBERED: &str = "events_without_sequence";

/// Sends the requests that a whole run sends in one way only: deep pages, and searches of every kind.
pub async fn send_rare_requests(app: &App) {
    let client = app.client();
    let charge = token_of(&client.post("/1/charges", &charge_with(401, json!({}))).await.ok(201));
    for list in [
        "authorisations",
        "charges",
        "customers",
        "deposits",
        "disputes",
        "events",
        "merchants",
        "plans",
        "recipients",
        "refunds",
        "subscriptions",
        "transfers",
        "webhooks",
        "disputes/search?",
        "merchants/search?",
        "transfers/search?",
        "charges/search?",
        "disputes?sort=amount",
        "charges/search?sort=amount",
    ] {
        let joint = if list.contains('?') { "&" } else { "?" };
        client.get(&format!("/1/{list}{joint}page=1")).await.ok(200);
        client.get(&format!("/1/{list}{joint}page=1000")).await.ok(200);
    }
    for query in [
        "ro",
        "roland",
        "401",
        "AUD",
        &charge,
        "nowhere&sort=amount",
        "ro&sort=amount&direction=-1",
        "roland&start_date=2026/01/01",
    ] {
        client.get(&format!("/1/charges/search?query={query}")).await.ok(200);
    }
    for query in ["self", "se", "400"] {
        client.get(&format!("/1/transfers/search?query={query}")).await.ok(200);
    }
    client.get("/1/merchants/search?query=example&sort=name").await.ok(200);
    let mut browser = Browser::with(app, app.secret_key()).await;
    for page in ["", "/disputes", "/requests", &format!("/charges/{charge}")] {
        browser.page(page).await;
    }
    // Pages far back begin at rows that other requests have read, of charges that `statements.rs` has made.
    let dated = "charges/search?start_date=2020/01/01";
    for list in
        ["charges?", "charges/search?", "charges/search?sort=amount", dated, "charges/search?query=roland"]
    {
        for page in [45, 45, 44, 47] {
            client.get(&format!("/1/{list}&page={page}")).await.ok(200);
        }
    }
    let inbox = app.record_of(&client, "inbox_token").await;
    let receiver = client.request(Method::POST, &format!("/inboxes/{inbox}"));
    client.send_unchecked(receiver.body(Body::empty()).expect("a request")).await;
}

/// What of these plans reads more than it must.
pub async fn wrong_plans(app: &App, sent: Vec<Statement>) -> Vec<String> {
    let backend = app.ctx().store.backend();
    // Each worker plans for its shards; the coordinator only says which, and for some statements nothing at all.
    if backend == DbBackend::Postgres && postgres::is_distributed() {
        return Vec::new();
    }
    let queries = sent.into_iter().filter(|statement| statement.db_backend == backend);
    let queries = queries.filter(|Statement { sql, .. }| {
        (sql.starts_with("SELECT") || sql.starts_with("WITH")) && !sql.contains(" FOR ")
    });
    let indexed = if backend == DbBackend::Sqlite { indexed_columns(app).await } else { BTreeSet::new() };
    let mut wrong = Vec::new();
    for query in queries {
        let text = plain(&query.sql);
        let plan = plan(app, query).await;
        let faults = if backend == DbBackend::Postgres {
            postgres_faults(&plan)
        } else {
            sqlite_faults(&plan, &text, &indexed)
        };
        wrong.extend(
            faults
                .into_iter()
                .filter(|_| !may_look_at_all(&text))
                .map(|fault| format!("{fault}: {text}\n    {}", plan.join("\n    "))),
        );
    }
    wrong
}

/// Returns a table's name in the database, where a statement gives it another one.
fn table_of<'a>(text: &'a str, name: &'a str) -> &'a str {
    let words: Vec<_> = text.split(' ').collect();
    let renamed = words.windows(3).find_map(|words| match *words {
        ["from" | "join" | "update", table, alias] | [table, "as", alias] if alias == name => Some(table),
        _ => None,
    });
    renamed.unwrap_or(name)
}

/// A line a step.
async fn plan(app: &App, query: Statement) -> Vec<String> {
    let backend = query.db_backend;
    let explain = if backend == DbBackend::Postgres { "EXPLAIN (COSTS OFF)" } else { "EXPLAIN QUERY PLAN" };
    let explained = Statement { sql: format!("{explain} {}", query.sql), ..query };
    // One connection for both statements: tables as small as these would be read whole.
    let snapshot = app.ctx().store.snapshot().await.unwrap();
    if backend == DbBackend::Postgres {
        snapshot.execute_unprepared("SET LOCAL enable_seqscan = off").await.unwrap();
    }
    let rows = snapshot.query_all_raw(explained).await.unwrap();
    if backend == DbBackend::Postgres {
        return rows.iter().map(|row| row.try_get("", "QUERY PLAN").unwrap()).collect();
    }
    // Steps below others are indented, as PostgreSQL does by itself.
    let mut depths = BTreeMap::from([(0_i64, 0)]);
    let steps = rows.iter().map(|row| {
        let of = |column| row.try_get("", column).unwrap();
        let depth = depths[&of("parent")];
        depths.insert(of("id"), depth + 1);
        format!("{}{}", " ".repeat(depth), row.try_get::<String>("", "detail").unwrap())
    });
    steps.collect()
}

/// Returns the columns that an index has after the account's, as `refunds.charge_id`. With tables as small as these, SQLite may
/// read all of an account in spite of an index.
async fn indexed_columns(app: &App) -> BTreeSet<String> {
    let sql = "SELECT t.name || '.' || c.name AS indexed FROM sqlite_master AS t, pragma_index_list(t.name) AS i, \
               pragma_index_info(i.name) AS c WHERE t.type = 'table' AND c.seqno = 1 AND c.name IS NOT NULL";
    let snapshot = app.ctx().store.snapshot().await.unwrap();
    let rows = snapshot.query_all_raw(Statement::from_string(DbBackend::Sqlite, sql)).await.unwrap();
    rows.iter().map(|row| row.try_get("", "indexed").unwrap()).collect()
}

/// Returns the column of the record whose rows of the table a query wants: `refunds.charge_id`.
fn record_of<'a>(text: &'a str, table: &str) -> Option<&'a str> {
    let words: Vec<_> = text.split(' ').collect();
    let named = words.windows(3).filter(|words| words[1] == "=" && words[2].starts_with('?'));
    named.map(|words| words[0]).find(|column| {
        let column = column.strip_prefix(table).and_then(|rest| rest.strip_prefix('.'));
        column.is_some_and(|column| column.ends_with("_id") && column != "account_id")
    })
}

/// Steps that read a table of accounts without an index that begins with the account, read a whole account where only the rows of
/// one of its records are wanted, or sort all of an account.
fn sqlite_faults(plan: &[String], text: &str, indexed: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    // A page far back that begins at a row finds it by the index, or the few rows that were chosen so.
    let is_bound =
        ["id > = ?", "id < = ?", "id ) > = (", "id ) < = ("].iter().any(|bound| text.contains(bound));
    let begins = |step: &String| {
        let by_place = ["id<?)", "id>?)", "id)<(?,?))", "id)>(?,?))", "id=?)"];
        step.starts_with("SEARCH ") && by_place.iter().any(|place| step.ends_with(place))
    };
    if is_bound && text.contains("row_value") && !plan.iter().any(begins) {
        faults.push("a page far back is not begun at its row".into());
    }
    // Whether what was read last is a whole account, by depth: a sort is of what stands beside it.
    let mut whole_account = BTreeMap::new();
    for indented in plan {
        let step = indented.trim_start();
        let depth = indented.len() - step.len();
        whole_account.retain(|below, _| *below <= depth);
        let words: Vec<_> = step.split(' ').collect();
        if let ["SCAN", table, ..] = words[..] {
            let table = table_of(text, table);
            if is_owned(table) {
                faults.push(format!("{table} is scanned"));
            }
            // A page, which was chosen before.
            whole_account.insert(depth, false);
        }
        // What is asked for by more than its account is a part of it; what is asked for by its account comes in order.
        if let ["SEARCH", table, ..] = words[..] {
            let table = table_of(text, table);
            let small = SMALL.contains(&table) || words.contains(&UNNUMBERED);
            let whole = is_owned(table) && step.ends_with("(account_id=?)") && !small;
            let is_one = step.ends_with(" AND id=?)");
            if words.contains(&UNNUMBERED) && text.contains(&format!("update {} set", words[1])) && !is_one {
                faults.push("all events without numbers are read for each that gets one".into());
            }
            let finds_them = plan.iter().any(|step| step.contains(UNNUMBERED));
            if whole && table == "events" && text.contains("sequence is null") && !finds_them {
                faults.push("events with numbers are read, to find those without".into());
            }
            let column = record_of(text, table).filter(|_| whole);
            if let Some(column) = column.filter(|column| !indexed.contains(*column)) {
                faults.push(format!("no index begins with the account and {column}"));
            }
            whole_account.insert(depth, whole);
        }
        if whole_account.get(&depth) == Some(&true) && step.starts_with("USE TEMP B-TREE FOR ORDER BY") {
            faults.push("a whole account is sorted".into());
        }
    }
    faults
}

/// The same for PostgreSQL: each step that reads a table says what it asks the index for.
fn postgres_faults(plan: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, step) in plan.iter().enumerate() {
        let Some((kind, rest)) = step.trim_start_matches([' ', '-', '>']).split_once(" on ") else {
            continue;
        };
        let table = rest.split(' ').next().unwrap_or_default();
        let reads = kind.contains("Scan") && !kind.contains("Bitmap");
        if !is_owned(table) || !reads {
            continue;
        }
        let asked = plan.get(at + 1).is_some_and(|next| next.contains("Index Cond"));
        if !asked {
            faults.push(format!("{table} is read by no index"));
        }
    }
    faults
}
