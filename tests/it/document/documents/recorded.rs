//! The answers that the document shows are real ones, each recorded once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};

use crate::answers::{Operation, operations};
use crate::document::site::committed;
use crate::harness::app::DOCUMENT;
use crate::harness::contract::Contract;
use crate::harness::{App, Client, Database};

/// Committed, because ids and keys are other ones each time.
const ANSWERS: &str = "src/api/openapi/answers.json";
const REFUSALS: &str = "src/api/openapi/refusals.json";

/// An operation a line.
fn lines(answers: &BTreeMap<String, Value>) -> String {
    let lines: Vec<_> = answers.iter().map(|(id, answer)| format!("{}: {answer}", json!(id))).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_success_shows_an_answer_that_fits_its_operation() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(ANSWERS);
    let kept = || serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() && !faults(&kept()).is_empty() {
        std::fs::write(&path, lines(&record(&kept()).await)).unwrap();
    }
    let faults = faults(&kept());
    assert!(faults.is_empty(), "{ANSWERS}: UPDATE_DOCUMENTS=1 cargo test --test it: {faults:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_that_refuses_parameters_shows_what_it_answers() {
    committed(REFUSALS, &lines(&refused().await));
}

/// What each operation answers to faulty parameters: the body without the required ones, or with a list where a text or a
/// number stands; of a list, a page that is no number; of the balance, an instant that is none.
async fn refused() -> BTreeMap<String, Value> {
    const OF_PARAMETERS: [&str; 3] = ["invalid_resource", "unprocessable_entity", "invalid_subscription"];
    let app = App::start(Database::Sqlite).await.unwrap();
    let client = app.client();
    let mut refused = BTreeMap::new();
    for operation in operations().into_iter().filter(|operation| operation.method != Method::HEAD) {
        let refusal = &operation.described["responses"]["422"];
        // What only strict handling refuses has one example for all operations.
        if refusal["description"].as_str().is_some_and(|text| text.contains("only under strict handling")) {
            continue;
        }
        let shown = &refusal["content"]["application/json"]["examples"];
        if !OF_PARAMETERS.iter().any(|code| shown.get(code).is_some()) {
            continue;
        }
        let id = operation.described["operationId"].as_str().unwrap();
        let path = app.path_of(&client, &operation.path).await;
        let example = client.body_of(&operation.described).await;
        let bodies = example.as_object().into_iter().flatten().map(|(name, _)| {
            let mut body = example.clone();
            body[name] = json!(["one", "two"]);
            body
        });
        let mut answer = None;
        for body in [json!({})].into_iter().chain(bodies) {
            let response = match operation.method {
                Method::GET => client.get(&format!("{path}?page=x&at=x")).await,
                // As JSON a file may be missing.
                Method::POST => client.post(&path, &body).await,
                _ => client.perform(&operation.method, &path, &body).await,
            };
            if response.status == 422 {
                answer = Some(response);
                break;
            }
        }
        let answer = answer.unwrap_or_else(|| panic!("{id} refuses nothing"));
        refused.insert(id.to_owned(), with_example_tokens(&serde_json::from_str(&answer.text).unwrap()));
    }
    refused
}

/// The operations that answer with JSON, each with its status.
fn answering() -> impl Iterator<Item = (String, u16, Operation)> {
    operations().into_iter().filter(|operation| operation.method != Method::HEAD).filter_map(|operation| {
        let mut responses = operation.described["responses"].as_object().unwrap().iter();
        let status = responses.find_map(|(status, response)| {
            let json = response.pointer("/content/application~1json");
            json.and(status.parse().ok()).filter(|status| *status < 300)
        })?;
        Some((operation.described["operationId"].as_str().unwrap().to_owned(), status, operation))
    })
}

/// What is wrong with kept answers, by their operations.
fn faults(kept: &Value) -> BTreeMap<String, String> {
    let contract = Contract::new(DOCUMENT.clone());
    let headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        ("x-request-id".parse().unwrap(), HeaderValue::from_static("1")),
    ]);
    let mut known = BTreeSet::new();
    let mut faults = BTreeMap::new();
    for (id, status, operation) in answering() {
        let fit = kept.get(&id).ok_or_else(|| "is missing".to_owned()).and_then(|body| {
            let (status, body) = (StatusCode::from_u16(status).unwrap(), body.to_string());
            contract.check(&operation.method, &operation.path, status, &headers, body.as_bytes())
        });
        if let Err(fault) = fit {
            faults.insert(id.clone(), fault);
        }
        known.insert(id);
    }
    let unknown = kept.as_object().unwrap().keys().filter(|id| !known.contains(*id));
    faults.extend(unknown.map(|id| (id.clone(), "answers without a body".to_owned())));
    faults
}

/// Every operation once, lists when there is something to list. What still fits stays as it was kept.
async fn record(kept: &Value) -> BTreeMap<String, Value> {
    let faults = faults(kept);
    let app = App::start(Database::Sqlite).await.unwrap();
    let client = app.client();
    let mut answers = BTreeMap::new();
    let (lists, others): (Vec<_>, Vec<_>) = answering().partition(|(.., operation)| operation.is_list());
    for (id, status, operation) in others.into_iter().chain(lists) {
        let mut path = app.path_of(&client, &operation.path).await;
        if operation.is_list() {
            fill(&client, &path, &operation).await;
            app.do_due_work().await;
            path += "?per_page=1";
        }
        path += &query(&app, &client, &operation).await;
        let body = client.body_of(&operation.described).await;
        let answer = client.perform(&operation.method, &path, &body).await;
        assert_eq!(answer.status, status, "{id}: {}", answer.text);
        let mut answer = serde_json::from_str(&answer.text).unwrap();
        mask("", &mut answer);
        let answer = with_example_tokens(&answer);
        let answer = if faults.contains_key(&id) { answer } else { kept[&id].clone() };
        answers.insert(id, answer);
    }
    answers
}

/// Something below a record for the list of it, where the same path makes it.
async fn fill(client: &Client, path: &str, list: &Operation) {
    let makes = |operation: &Operation| operation.method == Method::POST && operation.path == list.path;
    if let Some(maker) = operations().into_iter().find(makes).filter(Operation::takes_token) {
        let body = client.body_of(&maker.described).await;
        let made = client.post(path, &body).await;
        assert!((200..300).contains(&made.status), "{path}: {}", made.text);
    }
}

/// What an operation wants in its query.
async fn query(app: &App, client: &Client, operation: &Operation) -> String {
    let mut query = String::new();
    for parameter in operation.described["parameters"].as_array().into_iter().flatten() {
        if parameter["in"] == "query" && parameter["required"] == true {
            let value = match parameter["name"].as_str().unwrap() {
                "domain_name" => "shop.example.com".to_owned(),
                name => app.record_of(client, name).await,
            };
            query = format!("{query}?{}={value}", parameter["name"].as_str().unwrap());
        }
    }
    query
}

/// The first record of each kind has the token that the document shows everywhere, so that requests and answers are of one record.
fn with_example_tokens(answer: &Value) -> Value {
    const EXAMPLE: &str = "AZqYv3rVcBKUQ1mHn7tKRw";
    let answer = answer.to_string();
    let mut shown = answer.clone();
    let mut kinds = BTreeSet::new();
    let is_token = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    for word in answer.split(|letter| !is_token(letter)) {
        if let Some((kind, id)) = word.split_once('_')
            && id.len() == EXAMPLE.len()
            && id.starts_with('A')
            && kinds.insert(kind)
        {
            shown = shown.replace(word, &format!("{kind}_{EXAMPLE}"));
        }
    }
    serde_json::from_str(&shown).unwrap()
}

/// What opens something is no example: its letters and digits become x.
fn mask(field: &str, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| mask(name, value)),
        Value::Array(items) => items.iter_mut().for_each(|item| mask(field, item)),
        // A wallet's payment has JSON in texts.
        Value::String(text) if ["signedMessage", "signedKey"].contains(&field) => {
            let mut inner = serde_json::from_str(text).unwrap();
            mask(field, &mut inner);
            *text = inner.to_string();
        }
        Value::String(text) => {
            let after = |mark: &str| text.find(mark).map_or(0, |at| at + mark.len());
            let from = match field {
                "secret"
                | "secret_key"
                | "nonce"
                | "signature"
                | "signatures"
                | "merchantSessionIdentifier"
                | "keyValue"
                | "encryptedMessage"
                | "ephemeralPublicKey"
                | "tag" => 0,
                "key" | "publishable" | "publishable_key" => after("_"),
                "presigned_url" => after("signature="),
                "redirect_url" => after("/3d-secure/"),
                _ => return,
            };
            let secret = text.split_off(from);
            text.extend(
                secret.chars().map(|letter| if letter.is_ascii_alphanumeric() { 'x' } else { letter }),
            );
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
