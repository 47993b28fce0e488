//! How the databases find what lists, searches and records ask for: by an index that begins with the account, in the
//! order in which it is wanted. What `statements.rs` has seen of a whole run is explained on both databases.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use http::Method;
use sea_orm::sea_query::{PostgresQueryBuilder, QueryBuilder};
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde_json::json;

use crate::harness::browser::Browser;
use crate::harness::postgres;
use crate::harness::{App, charge_with, token_of};
use crate::store::statements::{is_owned, may_look_at_all, plain};

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
        "webhooks?type=charge.authorised",
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

/// Tables of which an account gets many rows, by copies of those that it has.
const COPIED: [&str; 14] = [
    "bank_accounts",
    "cards",
    "customers",
    "deposits",
    "disputes",
    "events",
    "journal_entries",
    "plans",
    "postings",
    "recipients",
    "refunds",
    "subscriptions",
    "transfers",
    "webhooks",
];
/// About so many rows of each. Without statistics PostgreSQL takes an account for a 200th of a table, and where that is less than a
/// page, it may as well sort the account, which then has 5,000 rows at most.
const ROWS: u32 = 8_000;
/// Rows that a page and its index may read whatever the plan.
const FEW_ROWS: u64 = 300;
/// Of so few rows PostgreSQL compares each with words as fast as it looks the words up.
const COMPARED_ROWS: u64 = 1_500;

/// What reads more rows while PostgreSQL knows nothing of its tables than after it has analysed them, whether planned for its values
/// or for all.
pub async fn plans_without_statistics(app: &App, sent: &[Statement]) -> Vec<String> {
    if app.ctx().store.backend() != DbBackend::Postgres || postgres::is_distributed() {
        return Vec::new();
    }
    for table in COPIED {
        app.execute(copy_rows(app, table).await.leak()).await;
    }
    let unknown =
        "SELECT COUNT(*) FROM pg_class WHERE relname IN ('charges', 'events', 'postings') AND reltuples < 0";
    assert_eq!(app.number(unknown).await, 3, "nothing has analysed these tables");
    let queries: Vec<_> = sent
        .iter()
        .filter(|query| query.db_backend == DbBackend::Postgres)
        .filter(|query| query.sql.starts_with("SELECT") && !query.sql.contains(" FOR "))
        .collect();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (analysed, read) in [(false, &mut before), (true, &mut after)] {
        if analysed {
            app.execute("ANALYZE").await;
        }
        for query in &queries {
            let [custom, generic] = [rows_read(app, query, false).await, rows_read(app, query, true).await];
            read.push(if custom.0 > generic.0 { custom } else { generic });
        }
    }
    let of_all = queries.iter().zip(before).zip(after);
    let wrong = of_all.filter(|((query, before), after)| {
        let by_words = u64::try_from(query.sql.matches(r#""search_text" LIKE"#).count()).unwrap();
        before.0 > 2 * after.0 + FEW_ROWS + by_words * COMPARED_ROWS
    });
    wrong
        .map(|((query, (before, plan)), (after, _))| {
            format!(
                "{before} rows are read without statistics, {after} with: {}\n    {plan}",
                plain(&query.sql)
            )
        })
        .collect()
}

/// Returns SQL that copies the rows of a table.
async fn copy_rows(app: &App, table: &str) -> String {
    let columns = format!(
        "SELECT attname::text AS name FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 \
         AND NOT attisdropped ORDER BY attnum"
    );
    let columns = Statement::from_string(DbBackend::Postgres, columns);
    let rows = app.ctx().store.read().query_all_raw(columns).await.unwrap();
    let columns: Vec<String> = rows.iter().map(|row| row.try_get("", "name").unwrap()).collect();
    let values = columns.iter().map(|column| match column.as_str() {
        // In the order of time, as all are: the primary key is the smallest index of a table that nobody has analysed.
        "id" => "CAST('018f' || LPAD(TO_HEX(n), 8, '0') || SUBSTR(MD5(CAST(t.id AS TEXT) || n), 13) AS UUID)"
            .to_owned(),
        "created_at" | "amount" => format!("t.{column} + n"),
        column => format!("t.{column}"),
    });
    let values = values.collect::<Vec<_>>().join(", ");
    let columns = columns.join(", ");
    format!(
        "WITH few AS (SELECT * FROM {table} ORDER BY account_id, id LIMIT 20) \
         INSERT INTO {table} ({columns}) SELECT {values} FROM few AS t, \
         generate_series(1, (SELECT CAST({ROWS} / GREATEST(COUNT(*), 1) AS INT) FROM few)) AS n ORDER BY n ON CONFLICT DO NOTHING"
    )
}

/// Returns how many rows of tables a statement reads, and the plan by which it does, for its values or for all.
async fn rows_read(app: &App, query: &Statement, for_all: bool) -> (u64, String) {
    const PREPARED: &str = "planned_statement";
    let snapshot = app.ctx().store.snapshot().await.unwrap();
    let mode = if for_all { "force_generic_plan" } else { "force_custom_plan" };
    snapshot.execute_unprepared(&format!("SET LOCAL plan_cache_mode = {mode}")).await.unwrap();
    let values = query.values.iter().flat_map(|values| &values.0);
    let values: Vec<_> = values.map(|value| PostgresQueryBuilder.value_to_string(value)).collect();
    let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
    if snapshot.execute_unprepared(&format!("PREPARE {PREPARED} AS {}", query.sql)).await.is_err() {
        // Its parameters have types that only a client says.
        return (0, String::new());
    }
    let explain = format!("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) EXECUTE {PREPARED}{values}");
    let rows = snapshot.query_all_raw(Statement::from_string(DbBackend::Postgres, explain)).await.unwrap();
    snapshot.execute_unprepared(&format!("DEALLOCATE {PREPARED}")).await.unwrap();
    let lines: Vec<String> = rows.iter().map(|row| row.try_get("", "QUERY PLAN").unwrap()).collect();
    (lines_read(&lines), lines.join("\n    "))
}

/// Sums the rows that scans return or discard, and pairs of rows that joins compare.
fn lines_read(plan: &[String]) -> u64 {
    let number = |text: &str, before: &str| -> Option<u64> {
        let rest = text.split_once(before)?.1;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let (mut read, mut loops) = (0, 1);
    for line in plan {
        if let Some(of_each) = number(line, "loops=") {
            loops = of_each;
            let is_of_table = !line.contains("Bitmap Index Scan") && !line.contains("Subquery Scan");
            let scans = line.contains("Scan") && line.contains(" on ") && is_of_table;
            read += if scans { loops * number(line, "(actual rows=").unwrap_or_default() } else { 0 };
        }
        if let Some(removed) = ["Rows Removed by Filter: ", "Rows Removed by Join Filter: "]
            .into_iter()
            .find_map(|removed| number(line, removed))
        {
            read += loops * removed;
        }
    }
    read
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
        // What a subquery has chosen goes by the name of its table.
        let reads = kind.contains("Scan") && !kind.contains("Bitmap") && !kind.contains("Subquery");
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
