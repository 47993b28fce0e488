//! Every operation of the document, with every kind of key that is not the owner's: another account's records do not exist,
//! and without the right key every request is refused (specification, Authentication; `docs/decisions.md`, 54 and 55).
//!
//! Nothing here is listed by operation: paths, bodies and refusals are the document's own, records are made by
//! tests/it/harness/records.rs.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use card_payments::api::rights::everywhere;
use entity::AccountToken;
use entity::section::Right;
use http::Method;
use serde_json::{Value, json};

use crate::accounts::restricted_keys::rights_of;
use crate::answers::{Operation, operations};
use crate::document::documents::resolved;
use crate::harness::app::{DOCUMENT, another_account};
use crate::harness::{Answer, App, Client, rules, token_of};

/// Parameters of queries that name no record which must exist. Those of the log of requests narrow it (`request_waits.rs`).
const OF_NO_RECORD: [&str; 19] = [
    "at",
    "page",
    "per_page",
    "query",
    "start_date",
    "end_date",
    "sort",
    "direction",
    "status",
    "method",
    "route",
    "error",
    "token",
    "since",
    "count",
    "wait",
    "type",
    // They find nothing of another account: event_sequence.rs.
    "about",
    "after",
];

/// The requests that a key allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyScope {
    Nothing,
    /// The endpoints of browsers, for its own account.
    Browsers,
    /// Its own account.
    Account {
        partner: bool,
    },
    /// Of its own account what this right in every section allows.
    Restricted(Right),
}

/// A client that is not the owner.
struct Stranger {
    /// The name of its key.
    with: &'static str,
    client: Client,
    /// Among the parameters.
    publishable: Option<String>,
    opens: KeyScope,
}

/// The expected answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedAnswer {
    /// 401.
    NotIn,
    /// 403: the key lacks a right, whatever exists.
    Forbidden,
    /// 404: the record does not exist.
    Unknown,
    /// A success, with records of its own.
    Served,
}

impl Stranger {
    fn new(with: &'static str, client: Client, opens: KeyScope) -> Self {
        Self { with, client, publishable: None, opens }
    }

    fn path(&self, path: &str) -> String {
        let Some(key) = &self.publishable else { return path.to_owned() };
        format!("{path}{}publishable_api_key={key}", if path.contains('?') { '&' } else { '?' })
    }

    fn expected_answer(&self, operation: &Operation) -> ExpectedAnswer {
        let is_for_partners =
            ["/1/merchants", "/1/sandbox/merchants"].iter().any(|path| operation.path.starts_with(path));
        let opened = match self.opens {
            KeyScope::Nothing => false,
            KeyScope::Browsers => is_for_browsers(operation),
            KeyScope::Account { partner } => partner || !is_for_partners,
            KeyScope::Restricted(right) => {
                if rights_of(operation).values().any(|needed| *needed > right) {
                    return ExpectedAnswer::Forbidden;
                }
                !is_for_partners
            }
        };
        if !opened {
            ExpectedAnswer::NotIn
        } else if names_a_record(operation) {
            ExpectedAnswer::Unknown
        } else {
            ExpectedAnswer::Served
        }
    }
}

fn is_for_browsers(operation: &Operation) -> bool {
    operation.described["security"].to_string().contains("publishable_key")
}

/// The parameters of its query.
fn query_parameters(operation: &Operation) -> impl Iterator<Item = &str> {
    let parameters = operation.described["parameters"].as_array().into_iter().flatten();
    let of_query = parameters.filter(|parameter| parameter["in"] == "query");
    of_query.map(|parameter| parameter["name"].as_str().expect("a name"))
}

fn names_a_record(operation: &Operation) -> bool {
    operation.takes_token() || query_parameters(operation).any(|name| !OF_NO_RECORD.contains(&name))
}

/// The path with records of the owner's, and the query that names them.
async fn of_the_owner(app: &App, owner: &Client, operation: &Operation) -> String {
    let mut path = app.path_of(owner, &operation.path).await;
    for name in query_parameters(operation).filter(|name| !OF_NO_RECORD.contains(name)) {
        let value = if name == "domain_name" {
            let domain = json!({ "domain_name": "owner.example.com" });
            // It may be registered already.
            owner.post("/1/walletA_pay/domains", &domain).await;
            "owner.example.com".to_owned()
        } else {
            app.record_of(owner, name).await
        };
        path = format!("{path}{}{name}={value}", if path.contains('?') { '&' } else { '?' });
    }
    path
}

/// Everything stored that belongs to one account, ids without their dashes.
async fn rows_of(app: &App, account: AccountToken) -> String {
    let rows = app.rows().await.replace('-', "").to_lowercase();
    let account = account.id().simple().to_string();
    rows.lines().filter(|row| row.contains(&account)).fold(String::new(), |rows, row| rows + row + "\n")
}

/// No token in the answer is of a record of the owner's.
fn shows_nothing_of(rows: &str, answer: &Answer, of: &str) {
    let words = answer.text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_-".contains(letter));
    for (prefix, id) in words.filter_map(|word| word.split_once('_')) {
        let Some(id) = URL_SAFE_NO_PAD.decode(id).ok().filter(|id| id.len() == 16) else { continue };
        let id = id.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        assert!(!rows.contains(&id), "{of}: a {prefix} of the owner's: {}", answer.text);
    }
}

/// One of the codes that the document names for this status.
fn is_documented(operation: &Operation, answer: &Answer, of: &str) {
    let described = &operation.described["responses"][answer.status.to_string()];
    let described = &resolved(&DOCUMENT, described)["description"];
    let code = answer.json()["error"].as_str().expect("a code").to_owned();
    let named = described.as_str().is_some_and(|codes| {
        codes.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_').any(|word| word == code)
    });
    assert!(named, "{of}: {code} is none of: {described}");
}

fn check(operation: &Operation, expected_answer: ExpectedAnswer, answer: &Answer, rows: &str, of: &str) {
    let status = match expected_answer {
        ExpectedAnswer::NotIn => 401..402,
        ExpectedAnswer::Forbidden => 403..404,
        ExpectedAnswer::Unknown => 404..405,
        ExpectedAnswer::Served => 200..300,
    };
    assert!(
        status.contains(&answer.status),
        "{of}: {expected_answer:?}, but {}: {}",
        answer.status,
        answer.text
    );
    if operation.method == Method::HEAD {
        assert_eq!(answer.text, "", "{of}");
    } else if expected_answer == ExpectedAnswer::NotIn {
        let unauthorized =
            json!({ "error": "unauthorized", "error_description": "Not authorised. (Check API Key)" });
        assert_eq!(answer.json(), unauthorized, "{of}");
    } else if expected_answer == ExpectedAnswer::Forbidden {
        assert_eq!(answer.json()["error"], "forbidden", "{of}");
    } else if expected_answer == ExpectedAnswer::Unknown {
        is_documented(operation, answer, of);
    } else if operation.path != "/1/sandbox/requests" {
        // There the other one finds what it has asked for itself, the owner's tokens among it.
        shows_nothing_of(rows, answer, of);
    }
}

/// A merchant that a partner refers, as its detail shows it: once the document knows merchants.
async fn referred(app: &App, partner: &Client) -> Option<Value> {
    operations().iter().find(|operation| operation.path == "/1/merchants")?;
    let merchant = app.record_of(partner, "merchant_token").await;
    Some(partner.get(&format!("/1/merchants/{merchant}")).await.ok(200))
}

async fn others(app: &App, live: &App) -> Vec<Stranger> {
    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(another_account(app.ctx()).await);
    }
    let [stranger, partner, granter] = [0, 1, 2].map(|n: usize| app.with_key(keys[n].secret.expose()));
    stranger.set(json!({ "partner": false })).await;
    granter.set(json!({ "partner": false })).await;
    let mut restricted = Vec::new();
    for right in [Right::Read, Right::Write] {
        let made = granter.restricted_key(&json!({ "rights": everywhere(right) })).await;
        restricted.push((right, app.with_key(made["secret_key"].as_str().expect("a key"))));
    }
    let own = app.client().restricted_key(&json!({ "rights": { "charges": "none" } })).await;
    restricted.push((Right::None, app.with_key(own["secret_key"].as_str().expect("a key"))));
    let browser = |key: &str| Some(key.to_owned());
    let mut others = vec![
        Stranger::new("no key", app.anonymous(), KeyScope::Nothing),
        Stranger::new("a wrong key", app.with_key("nobody-has-this-key"), KeyScope::Nothing),
        Stranger::new("a key of the other environment", app.with_key(live.secret_key()), KeyScope::Nothing),
        Stranger::new(
            "the owner's publishable key as the user",
            app.with_key(app.publishable_key()),
            KeyScope::Nothing,
        ),
        Stranger::new(
            "another account's publishable key as the user",
            app.with_key(keys[0].publishable.expose()),
            KeyScope::Nothing,
        ),
        Stranger {
            publishable: browser(keys[0].publishable.expose()),
            ..Stranger::new("another account's publishable key", app.anonymous(), KeyScope::Browsers)
        },
        Stranger {
            publishable: browser(live.publishable_key()),
            ..Stranger::new("a publishable key of the other environment", app.anonymous(), KeyScope::Nothing)
        },
        Stranger::new("another account's key", stranger, KeyScope::Account { partner: false }),
    ];
    if let Some(merchant) = referred(app, &partner).await {
        let key = |key: &Value| app.with_key(key.as_str().expect("a key"));
        let [own, elsewhere] = [&merchant["test_secret_api_key"], &merchant["api_keys"]["secret"]].map(key);
        // It opens with nothing.
        own.post("/1/sandbox/deposits", &json!({ "amount": 1_000_000 })).await.ok(201);
        others.push(Stranger::new("a referred merchant's key", own, KeyScope::Account { partner: false }));
        others.push(Stranger::new("a referred merchant's key elsewhere", elsewhere, KeyScope::Nothing));
    }
    for (right, client) in restricted {
        let with = match right {
            Right::None => "the owner's restricted key without rights",
            Right::Read => "another account's restricted key that may read",
            Right::Write => "another account's restricted key that may write",
        };
        others.push(Stranger::new(with, client, KeyScope::Restricted(right)));
    }
    others.push(Stranger::new("a partner's key", partner, KeyScope::Account { partner: true }));
    others
}

/// The tokens that a body may name, by their parameters.
fn named_in_body(operation: &Operation) -> Vec<String> {
    let schema = &operation.described["requestBody"]["content"]["application/json"]["schema"];
    let mut named = Vec::new();
    tokens_of(schema, 0, &operation.path, &mut named);
    named
}

fn tokens_of(schema: &Value, depth: usize, of: &str, named: &mut Vec<String>) {
    let schema = match schema["$ref"].as_str() {
        Some(reference) => DOCUMENT.pointer(reference.trim_start_matches('#')).expect("a schema"),
        None => schema,
    };
    let one_of = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|kind| schema[kind].as_array()).flatten();
    for schema in one_of {
        tokens_of(schema, depth, of, named);
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if name.ends_with("_token") || name.ends_with("_file") || name == "recipient" {
            assert_eq!(
                depth, 0,
                "{of}: {name} is nested: say in tests/it/accounts/isolation.rs how it is named"
            );
            named.push(name.clone());
        }
        tokens_of(schema, depth + 1, of, named);
    }
}

/// A body that is the other one's own but for one parameter, which names a record of the owner's.
async fn naming(app: &App, other: &Client, owner: &Client, operation: &Operation, name: &str) -> Value {
    let mut body = other.body_of(&operation.described).await;
    let fields = body.as_object_mut().expect("an object");
    // What would be said twice: the card itself, a bank account itself.
    fields.retain(|field, _| field != "card" && format!("{field}_token") != name);
    if name == "certificate_token" {
        fields.insert("type".into(), json!("walletApay"));
    }
    let record = if name.ends_with("_file") { "file_token" } else { name };
    fields.insert(name.to_owned(), app.record_of(owner, record).await.into());
    body
}

/// 422 on the parameter; where the operation lists another refusal for a record that does not exist, that one.
fn is_refused_for(operation: &Operation, name: &str, answer: &Answer, of: &str) {
    is_documented(operation, answer, of);
    let body = answer.json();
    let (params, code) = (&body["messages"], body["error"].as_str());
    match (answer.status, code) {
        (422, Some("invalid_resource")) => {
            assert_eq!(params[0]["code"], format!("{name}_invalid"), "{of}");
            assert_eq!(params.as_array().map(Vec::len), Some(1), "{of}: {params}");
        }
        (400, Some("invalid_request")) => assert_eq!(params[0]["param"], *name, "{of}"),
        (404, Some("not_found" | "resource_not_found")) => {}
        _ => panic!("{of}: {}", answer.text),
    }
}

rules! {
    async fn no_operation_serves_anybody_else_with_an_accounts_records(app) {
        let Some(live) = App::live(app.database).await else { return };
        let (owner, account) = (app.client(), app.account().await);
        let others = others(app, &live).await;
        let (mut covered, mut sent) = (0, [0; 4]);
        for operation in operations() {
            let path = of_the_owner(app, &owner, &operation).await;
            let body = owner.body_of(&operation.described).await;
            let before = rows_of(app, account).await;
            for other in &others {
                let expected_answer = other.expected_answer(&operation);
                let body = match (expected_answer, other.opens) {
                    (ExpectedAnswer::Served, KeyScope::Account { .. } | KeyScope::Restricted(_)) => {
                        &other.client.body_of(&operation.described).await
                    }
                    _ => &body,
                };
                let answer = other.client.perform(&operation.method, &other.path(&path), body).await;
                check(&operation, expected_answer, &answer, &before, &format!("{} {path} with {}", operation.method, other.with));
                sent[expected_answer as usize] += 1;
            }
            assert_eq!(rows_of(app, account).await, before, "{} {path} has changed the owner's rows", operation.method);
            covered += 1;
        }
        let [not_in, forbidden, unknown, served] = sent;
        assert_eq!(sent.iter().sum::<usize>(), covered * others.len());
        println!(
            "{covered} operations with {} kinds of keys: {not_in} not let in, {forbidden} without a right, {unknown} for records that are unknown, \
             {served} served with their own",
            others.len()
        );
    }

    async fn no_search_finds_anything_of_another_account(app) {
        let (owner, account, stranger) = (app.client(), app.account().await, app.stranger().await);
        let charge = token_of(&owner.captured(4321).await);
        let customer = owner.customer("4200000000000000").await;
        let recipient = owner.recipient("987654321").await;
        let transfer = token_of(&owner.transfer(1234, &token_of(&recipient)).await.ok(201));
        let dispute = token_of(&owner.dispute(&charge).await);
        let words = [&charge, &transfer, &dispute, &token_of(&customer), "4321", "1234", "roland", "test", "AUD"];
        let rows = rows_of(app, account).await;
        let mut searches = 0;
        for search in operations() {
            if search.method != Method::GET || query_parameters(&search).all(|name| name != "query") {
                continue;
            }
            for word in words {
                let answer = app.unchanged(stranger.get(&format!("{}?query={word}", search.path))).await;
                answer.ok(200);
                shows_nothing_of(&rows, &answer, &search.path);
            }
            searches += 1;
        }
        assert!(searches >= 3, "the document names its searches");
    }

    async fn no_body_can_name_a_record_of_another_account(app) {
        let (owner, stranger) = (app.client(), app.stranger().await);
        let mut named = Vec::new();
        for operation in operations() {
            for name in named_in_body(&operation) {
                let path = app.path_of(&stranger, &operation.path).await;
                let of = format!("{} {path} with {name}", operation.method);
                let body = naming(app, &stranger, &owner, &operation, &name).await;
                let answer = app.unchanged(stranger.perform(&operation.method, &path, &body)).await;
                is_refused_for(&operation, &name, &answer, &of);
                named.push(of);
            }
        }
        println!("{} tokens in bodies", named.len());
        assert!(named.len() >= 20, "the document says what bodies may name: {named:?}");
    }
}
