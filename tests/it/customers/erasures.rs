//! A person is forgotten, and the books stay (`docs/decisions.md`, 388).

mod operators;

use std::collections::BTreeSet;

use card_payments::services::accounts::find_by_token;
use card_payments::services::erasures::view::Erasure;
use card_payments::services::erasures::{self, COLUMNS, tables_of_customers};
use entity::{AccountToken, CustomerToken, TimeSpan};
use http::Method;
use serde_json::{Value, json};
use store::{Operator, Rewriting};

use crate::harness::app::another_account;
use crate::harness::postgres::is_distributed;
use crate::harness::process::Process;
use crate::harness::sending::{post_with, request};
use crate::harness::{
    Answer, App, Client, Database, PDF, card, charge_with, eventually, on_both, operated, rules, token,
    token_of, with,
};
use crate::three_d_secure::{pending, press};

/// A person's words, each of which stands in no other test.
const WORDS: [&str; 24] = [
    "Xantippe",
    "Quillfeather",
    "xq@quillfeather.example",
    "xq2@quillfeather.example",
    "0491 570 313",
    "Quillfeather & Daughters",
    "likes ocelots",
    "17 Zanzibar Crescent",
    "Flat Umbrageous",
    "Wollongabba",
    "90210-Q",
    "Ambergrisia",
    "198.51.100.77",
    "2001:db8::beef:77",
    "One brass astrolabe",
    "A gilded astrolabe",
    "birthday-of-xantippe",
    "Thirtieth of Februember",
    "QUILLREF",
    "cavvOfQuillfeather",
    "basket-of-quill",
    "She signed for it: Quill",
    "receipt-of-quill.pdf",
    "her signature in ink",
];

fn person(number: &str) -> Value {
    with(
        card(number),
        &json!({
            "name": "Xantippe Quillfeather", "address_line1": "17 Zanzibar Crescent", "address_line2": "Flat Umbrageous",
            "address_city": "Wollongabba", "address_postcode": "90210-Q", "address_state": "Ambergrisia",
        }),
    )
}

fn purchase(amount: i64, changes: &Value) -> Value {
    let purchase = json!({
        "card": null, "email": "xq@quillfeather.example", "description": "One brass astrolabe", "ip_address": "198.51.100.77",
        "reference": "QUILLREF", "metadata": { "birthday-of-xantippe": "Thirtieth of Februember" },
    });
    charge_with(amount, with(purchase, changes))
}

async fn keyed(client: &Client, key: &str, path: &str, body: &Value) -> Answer {
    post_with(client, path, &[("Idempotency-Key", key)], body).await
}

/// What a person has left.
struct Person {
    customer: String,
    /// What its owner sees, by path.
    paths: Vec<String>,
    inbox: String,
    /// Requests with their Idempotency-Keys.
    repeated: Vec<(&'static str, &'static str, Value)>,
}

/// A person does all that takes a person's words.
async fn lives(app: &App, client: &Client) -> Person {
    let inbox = client.post("/1/sandbox/inboxes", &json!({})).await.ok(201);
    client.endpoint(inbox["url"].as_str().unwrap()).await;
    let stored = ("card", "/1/cards", person("4200000000000000"));
    let card_token = token_of(&keyed(client, stored.0, stored.1, &stored.2).await.ok(201));
    let made = (
        "customer",
        "/1/customers",
        json!({
            "email": "xq@quillfeather.example", "first_name": "Xantippe", "last_name": "Quillfeather", "phone_number": "0491 570 313",
            "company": "Quillfeather & Daughters", "notes": "likes ocelots", "card_token": card_token,
        }),
    );
    let customer = token_of(&keyed(client, made.0, made.1, &made.2).await.ok(201));
    let path = format!("/1/customers/{customer}");
    client.put(&path, &json!({ "email": "xq2@quillfeather.example" })).await.ok(200);
    let by = json!({ "customer_token": customer });
    let bought = ("charge", "/1/charges", purchase(4200, &by));
    let charge = token_of(&keyed(client, bought.0, bought.1, &bought.2).await.ok(201));
    client.refund(&charge, 700).await.ok(201);
    let disputed = token_of(&client.post("/1/charges", &purchase(900, &by)).await.ok(201));
    let dispute = token_of(&client.dispute(&disputed).await);
    let file = token_of(
        &client.upload("receipt-of-quill.pdf", &[PDF, b"her signature in ink"].concat()).await.ok(200),
    );
    let evidence =
        json!({ "additional_evidence_text": "She signed for it: Quill", "additional_evidence_file": file });
    client.put(&format!("/1/disputes/{dispute}/evidence"), &evidence).await.ok(200);
    let results = json!({ "version": "2", "eci": "05", "cavv": "cavvOfQuillfeather", "transaction_id": "1" });
    let further = json!({
        "customer_token": customer, "capture": false, "description": "A gilded astrolabe", "three_d_secure": results,
        "ip_address": "2001:db8::beef:77",
    });
    let authorised = token_of(&client.post("/1/charges", &purchase(500, &further)).await.ok(201));
    client.put_charge(&authorised, "void").await.ok(200);
    let reserved = token_of(&client.post("/1/authorisations", &purchase(800, &by)).await.ok(201));
    client.post(&format!("/1/authorisations/{reserved}/charges"), &json!({ "amount": 300 })).await.ok(200);
    let challenge = json!({
        "customer_token": customer,
        "three_d_secure": { "enabled": true, "callback_url": "https://shop.example.com/done?basket-of-quill" },
    });
    let (_, page) = pending(client, &purchase(600, &challenge)).await;
    press(&app.anonymous(), &page, "decision=approve").await;
    let plan = client.plan(&json!({})).await;
    let subscription = client.subscribed(&plan, &customer).await;
    client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
    // A card that is refused, which later is the customer's primary one.
    client.put(&path, &json!({ "card": person("4100000000000001") })).await.ok(200);
    client.post("/1/charges", &purchase(300, &by)).await.refused(400, "card_declined");
    client.post(&format!("/1/disputes/{dispute}/evidence"), &json!({})).await;
    client.decide(&dispute, "won").await.ok(200);
    app.clock.advance(TimeSpan::seconds(60));
    app.do_due_work().await;
    client.get("/1/charges/search?query=xantippe%20quillfeather").await.ok(200);
    let paths = [
        "/1/charges",
        "/1/refunds",
        "/1/disputes",
        "/1/subscriptions",
        "/1/balance",
        "/1/events",
        "/1/webhooks",
        "/1/authorisations",
    ];
    let mut paths: Vec<_> = paths.iter().map(|path| format!("{path}?per_page=500")).collect();
    paths.push(format!("/1/disputes/{dispute}/evidence"));
    let repeated = vec![stored, made, bought];
    Person { customer, paths, inbox: token(&inbox).to_owned(), repeated }
}

/// The person's words in some bytes, in whatever case.
pub fn words_in(bytes: &[u8]) -> BTreeSet<&'static str> {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    // PostgreSQL shows bytes in hexadecimal digits.
    let hex = |word: &str| word.bytes().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    let stands = |word: &&str| {
        let lower = word.to_lowercase();
        text.contains(&lower) || text.contains(&hex(word)) || text.contains(&hex(&lower))
    };
    WORDS.into_iter().filter(stands).collect()
}

pub const NONE: BTreeSet<&str> = BTreeSet::new();

/// Replaces what is a person's, wherever it stands.
fn mask(record: &mut Value) {
    const PERSONAL: [&str; 17] = [
        "email",
        "description",
        "ip_address",
        "metadata",
        "name",
        "address_line1",
        "address_line2",
        "address_city",
        "address_postcode",
        "address_state",
        "address_country",
        "first_name",
        "last_name",
        "phone_number",
        "company",
        "notes",
        "additional_evidence_text",
    ];
    match record {
        Value::Object(fields) => {
            fields.remove("additional_evidence_file");
            for (name, field) in fields {
                if PERSONAL.contains(&name.as_str()) {
                    *field = Value::Null;
                }
                mask(field);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// All that the person's account shows, without what is personal.
async fn masked(client: &Client, person: &Person) -> Vec<Value> {
    let mut all = Vec::new();
    for path in &person.paths {
        let mut shown = client.get(path).await.ok(200);
        mask(&mut shown);
        all.push(shown);
    }
    all
}

async fn erase(app: &App, customer: &str) -> Result<Erasure, String> {
    let account =
        find_by_token(&app.ctx().store, app.account().await, app.ctx().clock.now()).await.unwrap().unwrap();
    erasures::erase(app.ctx(), &account, customer).await.map_err(|error| format!("{:?}", error.code()))
}

/// The last pass, once nothing can be in flight.
async fn ends(app: &App) {
    app.clock.advance(TimeSpan::seconds(121));
    app.do_due_work().await;
}

/// Searches everything that the server keeps.
async fn nothing_is_left(app: &App, client: &Client, person: &Person) {
    let stored = app.everything().await;
    assert_eq!(words_in(&stored), NONE, "in the database, its log among it");
    assert_eq!(words_in(format!("{:?}", app.blobs()).as_bytes()), NONE, "in names of files");
    let mut paths = person.paths.clone();
    paths.extend([
        "/1/sandbox/requests?per_page=500".into(),
        format!("/1/sandbox/inboxes/{}/deliveries?per_page=500", person.inbox),
        "/1/customers?per_page=500".into(),
    ]);
    for path in paths {
        let answer = client.get(&path).await;
        assert_eq!(words_in(answer.text.as_bytes()), NONE, "{path}");
        let csv = request(client, Method::GET, &path, &[("Accept", "text/csv")]).await;
        assert_eq!(words_in(csv.text.as_bytes()), NONE, "{path} as CSV");
    }
    for query in ["quillfeather", "astrolabe", "zanzibar", "februember"] {
        assert_eq!(
            client.get(&format!("/1/charges/search?query={query}")).await.ok(200),
            json!([]),
            "{query}"
        );
    }
    for (key, path, body) in &person.repeated {
        let replay = keyed(client, key, path, body).await;
        if replay.headers.contains_key("idempotent-replayed") {
            assert_eq!(words_in(replay.text.as_bytes()), NONE, "{key}");
        }
    }
}

rules! {
    async fn a_person_is_forgotten_everywhere_and_the_books_stay(app) {
        let client = app.client();
        let person = lives(app, &client).await;
        let found = words_in(&app.everything().await);
        let missing: Vec<_> = WORDS.iter().filter(|word| !found.contains(*word) && **word != "her signature in ink").collect();
        assert_eq!(missing, [&""; 0], "this is where the data is");
        let other = json!({ "email": "another@example.com", "first_name": "Another", "card": card("4200000000000000") });
        let other = client.post("/1/customers", &other).await.ok(201);
        app.do_due_work().await;
        let before = masked(&client, &person).await;
        let blobs = app.blobs().len();
        app.ctx().store.set_operator(Operator { name: "roland".into(), at: app.ctx().clock.now() });
        let erased = erase(app, &person.customer).await.unwrap();
        assert_eq!((erased.charges, erased.files), (8, 1));
        assert!(erased.events >= 12, "{erased:?}");
        // Already before the last pass.
        for (key, path, body) in &person.repeated {
            let replay = keyed(&client, key, path, body).await;
            assert!(replay.headers.contains_key("idempotent-replayed"), "{key}");
            assert_eq!(words_in(replay.text.as_bytes()), NONE, "{key}: {}", replay.text);
        }
        ends(app).await;
        nothing_is_left(app, &client, &person).await;
        assert_eq!(app.blobs().len(), blobs - 1, "the file is gone");
        let after = masked(&client, &person).await;
        for ((before, after), path) in before.iter().zip(&after).zip(&person.paths) {
            // The deletion has added an event.
            match (before.as_array(), after.as_array()) {
                (Some(before), Some(after)) => {
                    for record in before {
                        assert!(after.contains(record), "{path}: {record} not in {after:#?}");
                    }
                }
                _ => assert_eq!(before, after, "{path}"),
            }
        }
        client.get(&format!("/1/customers/{}", person.customer)).await.not_found();
        assert_eq!(client.get(&format!("/1/customers/{}", token(&other))).await.ok(200), other);
        assert_eq!(app.number("SELECT COUNT(*) FROM erasures WHERE erased_at IS NOT NULL AND due_at IS NULL").await, 1);
        let entry = "SELECT COUNT(*) FROM audit_entries WHERE action = 'customer.erased' AND detail = '{}'";
        assert_eq!(app.number(entry).await, 1);
        // Once more changes nothing.
        let rows = app.text("SELECT CAST(COUNT(*) AS TEXT) || MAX(search_text) FROM charges").await;
        erase(app, &person.customer).await.unwrap();
        ends(app).await;
        assert_eq!(app.text("SELECT CAST(COUNT(*) AS TEXT) || MAX(search_text) FROM charges").await, rows);
    }

    async fn another_customer_with_the_same_words_keeps_them(app) {
        let client = app.client();
        let parameters = json!({ "email": "twin@example.com", "first_name": "Twin", "card": card("4200000000000000") });
        let (one, other) = (client.post("/1/customers", &parameters).await.ok(201), client.post("/1/customers", &parameters).await.ok(201));
        let mut charges = Vec::new();
        for customer in [&one, &other] {
            let by = json!({ "card": null, "customer_token": token(customer), "email": "twin@example.com", "description": "twins" });
            charges.push(client.post("/1/charges", &charge_with(400, by)).await.ok(201));
        }
        // An account of somebody else has the same.
        let stranger = app.with_key(another_account(app.ctx()).await.secret.expose());
        let third = stranger.post("/1/customers", &parameters).await.ok(201);
        app.do_due_work().await;
        erase(app, token(&one)).await.unwrap();
        ends(app).await;
        assert_eq!(client.get(&format!("/1/customers/{}", token(&other))).await.ok(200), other);
        assert_eq!(stranger.get(&format!("/1/customers/{}", token(&third))).await.ok(200), third);
        assert_eq!(client.charge(token(&charges[1])).await, charges[1]);
        let shown = client.charge(token(&charges[0])).await;
        assert_eq!([&shown["email"], &shown["description"]], ["erased@erased.invalid", "Erased"]);
        let found = client.get("/1/charges/search?query=twin@example.com").await.ok(200);
        assert_eq!(found.as_array().unwrap().iter().map(token).collect::<Vec<_>>(), [token(&charges[1])]);
        let erased = client.get("/1/charges/search?query=erased@erased.invalid").await.ok(200);
        assert_eq!(erased.as_array().unwrap().iter().map(token).collect::<Vec<_>>(), [token(&charges[0])]);
    }

    async fn a_search_counts_no_erased_word(app) {
        let client = app.client();
        let customer = client.customer("4200000000000000").await;
        for _ in 0..5 {
            let by = json!({ "card": null, "customer_token": token(&customer), "description": "zq" });
            client.post("/1/charges", &charge_with(400, by)).await.ok(201);
        }
        app.clock.advance(TimeSpan::days(3));
        app.do_due_work().await;
        let mut clients = vec![client];
        let copy = if app.database == Database::Postgres { Some(app.copy().await) } else { None };
        clients.extend(copy.as_ref().map(|copy| Client::new(copy.router.clone(), Some(app.secret_key().to_owned()))));
        let counts = async |query: &str| {
            let mut counts = Vec::new();
            for client in &clients {
                let answer = client.get(&format!("/1/charges/search?query={query}")).await;
                let length = answer.ok(200).as_array().unwrap().len() as u64;
                assert_eq!(answer.json()["pagination"]["count"], length, "{query}");
                counts.push(length);
            }
            counts.dedup();
            counts
        };
        assert_eq!((counts("zq").await, counts("er").await), (vec![5], vec![0]));
        erase(app, token(&customer)).await.unwrap();
        for _ in 0..2 {
            assert_eq!((counts("zq").await, counts("er").await), (vec![0], vec![5]));
        }
    }

    async fn a_customer_with_unfinished_business_is_not_erased(app) {
        let client = app.client();
        let customer = client.customer("4200000000000000").await;
        let by = json!({ "card": null, "customer_token": token(&customer) });
        for unknown in ["cus_AZqYv3rVcBKUQ1mHn7tKRw", "cus_x", "", token(&client.captured(400).await)] {
            assert_eq!(erase(app, unknown).await.unwrap_err(), "NotFound");
        }
        let refused = async || assert_eq!(erase(app, token(&customer)).await.unwrap_err(), "InvalidState");
        let authorised = token_of(&client.post("/1/charges", &charge_with(400, with(by.clone(), &json!({ "capture": false })))).await.ok(201));
        refused().await;
        client.put_charge(&authorised, "capture").await.ok(200);
        client.refund(&authorised, 100).await.ok(201);
        refused().await;
        app.clock.advance(TimeSpan::seconds(30));
        app.do_due_work().await;
        let disputed = token_of(&client.post("/1/charges", &charge_with(500, by)).await.ok(201));
        let dispute = token_of(&client.dispute(&disputed).await);
        refused().await;
        client.decide(&dispute, "cancelled").await.ok(200);
        let plan = client.plan(&json!({})).await;
        let subscription = client.subscribed(&plan, token(&customer)).await;
        refused().await;
        client.delete(&format!("/1/subscriptions/{subscription}")).await.ok(200);
        assert_eq!(app.number("SELECT COUNT(*) FROM erasures").await, 0);
        assert_eq!(client.get(&format!("/1/customers/{}", token(&customer))).await.ok(200), customer);
        erase(app, token(&customer)).await.unwrap();
        ends(app).await;
        client.get(&format!("/1/customers/{}", token(&customer))).await.not_found();
    }

    async fn a_restored_snapshot_does_not_bring_a_person_back(app) {
        let client = app.client();
        let person = lives(app, &client).await;
        let snapshot = token_of(&client.post("/1/sandbox/snapshots", &json!({})).await.ok(201));
        erase(app, &person.customer).await.unwrap();
        ends(app).await;
        client.put(&format!("/1/sandbox/snapshots/{snapshot}/restore"), &json!({})).await.ok(200);
        client.get(&format!("/1/customers/{}", person.customer)).await.ok(200);
        app.do_due_work().await;
        ends(app).await;
        nothing_is_left(app, &client, &person).await;
    }

    async fn a_snapshot_that_is_restored_before_the_last_pass_does_not_bring_a_person_back(app) {
        let client = app.client();
        let person = lives(app, &client).await;
        let snapshot = token_of(&client.post("/1/sandbox/snapshots", &json!({})).await.ok(201));
        erase(app, &person.customer).await.unwrap();
        client.put(&format!("/1/sandbox/snapshots/{snapshot}/restore"), &json!({})).await.ok(200);
        app.do_due_work().await;
        ends(app).await;
        nothing_is_left(app, &client, &person).await;
    }

    async fn the_files_of_postgresql_keep_nothing_of_a_person_once_its_tables_are_rewritten(app) {
        let client = app.client();
        let person = lives(app, &client).await;
        erase(app, &person.customer).await.unwrap();
        ends(app).await;
        let rewrite = |tables: Vec<&'static str>| store::rewrite(app.location(), tables, |_| ());
        if app.database == Database::Sqlite {
            assert_eq!(rewrite(vec!["charges"]).await.unwrap(), Rewriting::NotNeeded);
            return;
        }
        if is_distributed() {
            // The rows are in the workers' files, which their coordinator does not read.
            assert_eq!(rewrite(tables_of_customers().collect()).await.unwrap(), Rewriting::Complete);
            return;
        }
        // The database writes to its files what it has in memory.
        rewrite(Vec::new()).await.unwrap();
        let before = tables_with_words(app).await;
        for table in ["charges", "evidence", "files", "inbox_deliveries", "logged_requests", "three_d_secure_sessions"] {
            assert!(before.contains(table), "{table} is not in {before:?}");
        }
        assert_eq!(rewrite(tables_of_customers().collect()).await.unwrap(), Rewriting::Complete);
        assert_eq!(tables_with_words(app).await, BTreeSet::new());
    }

    async fn every_text_of_the_schema_is_personal_or_not(app) {
        let texts = match app.database {
            Database::Sqlite => {
                "SELECT group_concat(m.name || '.' || c.name, ' ') FROM sqlite_master m, pragma_table_info(m.name) c
                 WHERE m.type = 'table' AND c.type LIKE '%TEXT%' AND m.name NOT LIKE 'charges_search%'"
            }
            Database::Postgres => {
                "SELECT string_agg(table_name || '.' || column_name, ' ') FROM information_schema.columns
                 WHERE table_schema = current_schema() AND data_type = 'text'"
            }
        };
        let texts = app.text(texts).await;
        let texts: BTreeSet<_> = texts.split(' ').map(str::to_owned).collect();
        let known = COLUMNS.iter().flat_map(|table| {
            let columns = table.kept.split_whitespace().chain(table.erased.iter().map(|(column, _)| *column));
            columns.map(|column| format!("{}.{column}", table.table))
        });
        let known: Vec<_> = known.collect();
        assert_eq!(known.len(), known.iter().collect::<BTreeSet<_>>().len(), "a column stands in one list only");
        assert_eq!(texts, known.into_iter().collect::<BTreeSet<_>>());
    }
}

/// The tables of PostgreSQL in whose files words of the person stand, those of their indexes and long values among them.
async fn tables_with_words(app: &App) -> BTreeSet<String> {
    let words = WORDS.map(|word| format!("position(convert_to('{word}', 'UTF8') IN bytes) > 0")).join(" OR ");
    let files = format!(
        "SELECT COALESCE(string_agg(DISTINCT name, ' '), '') FROM (
             SELECT COALESCE(of_index.indrelid, of_toast.oid, c.oid)::regclass::text AS name,
                 pg_read_binary_file(pg_relation_filepath(c.oid)) AS bytes
             FROM pg_class c LEFT JOIN pg_index of_index ON of_index.indexrelid = c.oid LEFT JOIN pg_class of_toast ON of_toast.reltoastrelid = c.oid
             WHERE c.relkind IN ('r', 'i', 't') AND c.oid >= 16384
         ) files WHERE {words}"
    );
    app.text(&files).await.split_whitespace().map(str::to_owned).collect()
}

/// Deletes a customer; the answer is the same as ever.
async fn delete(client: &Client, customer: &str) {
    let answer = client.delete(&format!("/1/customers/{customer}")).await;
    assert_eq!((answer.status, answer.text.as_str()), (204, ""));
}

pub const CUSTOMER: &str = "email=xq%40quillfeather.example&first_name=Xantippe&notes=likes+ocelots&card[number]=4200000000000000&\
    card[expiry_month]=5&card[expiry_year]=2030&card[cvc]=123&card[name]=Xantippe+Quillfeather&\
    card[address_line1]=17+Zanzibar+Crescent&card[address_city]=Wollongabba&card[address_country]=AU";
