//! Lists as CSV (`docs/decisions.md`, 379).

use std::collections::BTreeSet;

use axum::body::Body;
use futures::future::join_all;
use http::{Method, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::answers::operations;
use crate::harness::{Answer, App, Client, charge_with, rules, token_of};

async fn csv(client: &Client, path: &str) -> Answer {
    let request = client.request(Method::GET, path).header(header::ACCEPT, "text/csv");
    client.send_unchecked(request.body(Body::empty()).unwrap()).await
}

/// The heading and the rows of an answer.
fn table(answer: &Answer) -> (Vec<String>, Vec<Vec<String>>) {
    assert_eq!(
        (answer.status, &answer.headers["content-type"]),
        (200, &"text/csv; charset=utf-8".parse().unwrap())
    );
    assert!(!answer.headers.contains_key("content-length"));
    let mut reader = csv::Reader::from_reader(answer.text.as_bytes());
    let owned = |row: &csv::StringRecord| row.iter().map(str::to_owned).collect::<Vec<_>>();
    let heading = owned(reader.headers().unwrap());
    (heading, reader.records().map(|row| owned(&row.unwrap())).collect())
}

/// All records of a list, page after page.
async fn records(client: &Client, path: &str) -> Vec<Value> {
    let (mut records, joint) = (Vec::new(), if path.contains('?') { '&' } else { '?' });
    for page in 1.. {
        let answer = client.get(&format!("{path}{joint}per_page=7&page={page}")).await;
        let found = answer.ok(200).as_array().unwrap().clone();
        if found.is_empty() {
            break;
        }
        records.extend(found);
    }
    records
}

/// What a cell is of a record.
fn cell(record: &Value, column: &str) -> String {
    match column.split('.').fold(record, |record, field| &record[field]) {
        Value::Null => String::new(),
        // A certificate begins as a formula might, and the digest of a key now and then.
        Value::String(text) if text.starts_with(['-', '+']) => format!("'{text}"),
        Value::String(text) => text.clone(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    }
}

async fn is_the_whole_list(client: &Client, path: &str) -> usize {
    let (heading, rows) = table(&csv(client, path).await);
    let records = records(client, path).await;
    let expected: Vec<Vec<_>> =
        records.iter().map(|record| heading.iter().map(|column| cell(record, column)).collect()).collect();
    assert_eq!(rows, expected, "{path}");
    for field in records.iter().flat_map(|record| record.as_object().unwrap().keys()) {
        let nested = format!("{field}.");
        assert!(
            heading.iter().any(|column| column == field || column.starts_with(&nested)),
            "{path}: {field}"
        );
    }
    rows.len()
}

/// The refusal of a request for CSV is JSON.
async fn refused(client: &Client, path: &str, status: u16, code: &str) {
    let answer = csv(client, path).await;
    assert_eq!(answer.headers["content-type"], "application/json; charset=utf-8");
    answer.refused(status, code);
}

rules! {
    async fn each_list_is_as_csv_what_its_pages_are(app) {
        let client = app.client();
        for amount in 400..410 {
            client.captured(amount).await;
        }
        let mut filled = BTreeSet::new();
        let operations = operations();
        // Records of every kind.
        for operation in operations.iter().filter(|operation| operation.method == Method::GET) {
            app.path_of(&client, &operation.path).await;
        }
        for list in operations.iter().filter(|operation| operation.is_list()) {
            let path = app.path_of(&client, &list.path).await;
            if is_the_whole_list(&client, &path).await > 0 {
                filled.insert(list.path.clone());
            }
        }
        assert!(filled.len() >= 20, "{filled:?}");
    }

    async fn a_list_as_csv_has_the_documents_columns_and_defuses_formulas(app) {
        let client = app.client();
        let wicked = charge_with(400, json!({ "description": "=HYPERLINK(\"x\")", "metadata": { "note": "a, b" } }));
        client.post("/1/charges", &wicked).await.ok(201);
        let (heading, rows) = table(&csv(&client, "/1/charges").await);
        assert_eq!(heading[..4], ["token", "success", "amount", "currency"]);
        assert!(heading.contains(&"card.address_line1".into()) && !heading.contains(&"card".into()), "{heading:?}");
        let column = |name: &str| &rows[0][heading.iter().position(|column| column == name).unwrap()];
        assert_eq!(column("description"), "'=HYPERLINK(\"x\")");
        assert_eq!(column("metadata"), r#"{"note":"a, b"}"#);
        assert_eq!(column("card.customer_token"), "");
        let after_space = charge_with(400, json!({ "description": " \u{a0}=1+1" }));
        client.post("/1/charges", &after_space).await.ok(201);
        let csv_of_both = csv(&client, "/1/charges").await;
        assert!(csv_of_both.text.starts_with("token,"), "programs expect no byte order mark: {}", csv_of_both.text);
        assert!(table(&csv_of_both).1[0].contains(&"' \u{a0}=1+1".to_owned()), "{}", csv_of_both.text);
        let plans = csv(&client, "/1/plans").await;
        assert_eq!(table(&plans).1.len(), 0);
        assert!(plans.text.ends_with("\r\n"), "{}", plans.text);
        let plan = client.plan_of(&client.plan(&json!({})).await).await;
        let plans = ["token", "created_at"].iter().fold(csv(&client, "/1/plans").await.text, |text, field| {
            text.replace(plan[field].as_str().unwrap(), &format!("[{field}]"))
        });
        insta::allow_duplicates! {
            insta::assert_snapshot!(plans, @r#"
            token,name,amount,setup_amount,trial_amount,currency,interval,intervals,trial_interval,interval_unit,trial_interval_unit,customer_permissions,created_at,subscription_counts.trial,subscription_counts.active,subscription_counts.cancelling,subscription_counts.cancelled
            [token],Coffee plan,1000,0,0,AUD,1,0,0,month,,"[""cancel""]",[created_at],0,0,0,0
            "#);
        }
    }

    async fn csv_keeps_filters_and_gives_all_pages(app) {
        let client = app.client();
        for amount in [400, 500, 600] {
            client.captured(amount).await;
        }
        for path in ["/1/charges/search?query=500", "/1/charges/search?sort=amount&direction=-1", "/1/disputes?sort=amount"] {
            is_the_whole_list(&client, path).await;
        }
        let (_, rows) = table(&csv(&client, "/1/charges?page=9&per_page=1").await);
        assert_eq!(rows.len(), 3);
        assert_eq!(table(&csv(&client, "/1/charges/search?query=500").await).1.len(), 1);
    }

    async fn a_refusal_or_a_list_that_is_not_asked_for_as_csv_is_json(app) {
        let client = app.client();
        refused(&app.anonymous(), "/1/charges", 401, "unauthorized").await;
        refused(&client, "/1/charges/search?sort=size", 422, "invalid_resource").await;
        refused(&client, "/1/charges/ch_none/refunds", 404, "not_found").await;
        refused(&client, "/1/nowhere", 404, "resource_not_found").await;
        for (accept, path) in [("text/csv", "/1/balance"), ("text/csv;q=0, */*", "/1/charges"), ("*/*", "/1/charges")] {
            let request = client.request(Method::GET, path).header(header::ACCEPT, accept);
            let answer = client.send_unchecked(request.body(Body::empty()).unwrap()).await;
            assert_eq!((answer.status, answer.json()["response"].is_null()), (200, false), "{accept}");
        }
    }

    async fn a_record_that_deletions_move_to_a_page_before_is_in_the_csv(app) {
        let client = app.client();
        let unchanged = json!({});
        for _ in 0..51 {
            join_all((0..10).map(|_| client.plan(&unchanged))).await;
        }
        let mut plans: Vec<_> = records(&client, "/1/plans").await.iter().map(token_of).collect();
        let deleted = [0, 400, 502].map(|plan| format!("/1/plans/{}", plans[plan]));
        let delete = async |pieces: usize| {
            for plan in deleted.iter().filter(|_| pieces == 1) {
                client.delete(plan).await.ok(204);
            }
        };
        let (tokens, _) = exported(&client, "/1/plans", delete).await;
        // Of the deleted ones, two were on the first page.
        plans.remove(502);
        assert_eq!(tokens, plans);
    }

    async fn csv_has_the_accounts_own_records_only(app) {
        let stranger = app.stranger().await;
        let charge = token_of(&stranger.captured(400).await);
        assert_eq!(table(&csv(&app.client(), "/1/charges").await).1.len(), 0);
        refused(&app.client(), &format!("/1/charges/{charge}/refunds"), 404, "not_found").await;
    }
}

/// Reads a list of charges as CSV piece by piece, and pays once more after the first piece. Returns the tokens and the largest piece.
pub async fn exported_while_paying(app: &App) -> (Vec<String>, usize) {
    let client = app.client();
    let pay = async |pieces: usize| {
        if pieces == 1 {
            client.captured(400).await;
            client.captured(500).await;
        }
    };
    exported(&client, "/1/charges", pay).await
}

/// Reads a list as CSV piece by piece, and does something after each. Returns the tokens and the largest piece.
async fn exported(client: &Client, path: &str, mut after: impl AsyncFnMut(usize)) -> (Vec<String>, usize) {
    let request = client.request(Method::GET, path).header(header::ACCEPT, "text/csv");
    let mut body = client.respond(request.body(Body::empty()).unwrap()).await.into_body();
    let (mut text, mut largest, mut pieces) = (Vec::new(), 0, 0);
    while let Some(piece) = body.frame().await {
        let piece = piece.unwrap().into_data().unwrap();
        (largest, pieces) = (piece.len().max(largest), pieces + 1);
        text.extend_from_slice(&piece);
        after(pieces).await;
    }
    let mut reader = csv::Reader::from_reader(&*text);
    (reader.records().map(|row| row.unwrap()[0].to_owned()).collect(), largest)
}
