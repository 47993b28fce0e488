//! Card numbers, security codes and keys are nowhere in plain text (`docs/decisions.md`, 56, 107 and 108).

mod whole_run;

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use base::card_number::CardNumber;
use base::random::RandomSource;
use base::secret::Secret;
use card_payments::services::accounts::ApiKeyPair;
use serde_json::{Value, json};

use crate::customers::{charge_by, path};
use crate::harness::{
    Answer, App, Client, Database, PASSWORD, application, card, charge, rules, token, with,
};

/// Numbers of every way that a card can come in, and one code that is in no number.
const NUMBERS: [&str; 7] = [
    "372000000000000",
    "371000000000001",
    "373000000000009",
    "378282246310005",
    "370000000000002",
    "374000000000099",
    "372001800000000",
];
const CVC: &str = "7391";

fn secret_card(number: &str) -> Value {
    with(card(number), &json!({ "cvc": CVC }))
}

/// Requests of all kinds, approved, declined, failed and refused; with their answers.
async fn all_kinds_of_requests(app: &App, client: &Client) -> Vec<Answer> {
    let [accepted, declined, failing, inline, short, unknown, replacing] = NUMBERS.map(secret_card);
    let mut answers = Vec::new();
    let mut tokens = Vec::new();
    for card in [&accepted, &declined, &failing, &accepted, &accepted] {
        let stored = client.post("/1/cards", card).await;
        tokens.push(token(&stored.ok(201)).to_owned());
        answers.push(stored);
    }
    for token in &tokens[..3] {
        answers.push(client.post("/1/charges", &charge_by("card_token", token)).await);
    }
    for card in [&inline, &short, &unknown] {
        answers.push(client.post("/1/charges", &with(charge(400), &json!({ "card": card }))).await);
        answers.push(client.post_form("/1/charges", &with(charge(400), &json!({ "card": card }))).await);
    }
    let customer = client.post("/1/customers", &json!({ "email": "a@example.com", "card": accepted })).await;
    let owner = path(&customer.ok(201));
    answers.push(client.post(&format!("{owner}/cards"), &json!({ "card_token": tokens[3] })).await);
    answers.push(client.post(&format!("{owner}/cards"), &inline).await);
    answers.push(client.put(&owner, &json!({ "card": replacing })).await);
    answers.push(client.post("/1/charges", &charge_by("customer_token", token(&customer.ok(201)))).await);
    answers.push(customer);
    let key = json!({ "publishable_api_key": app.publishable_key() });
    answers.push(app.anonymous().post("/1/cards", &with(accepted.clone(), &key)).await);
    // Refused, with all of it in the request.
    let faults = json!({ "expiry_month": 13, "address_country": "XX", "name": "" });
    for path in ["/1/cards", &format!("{owner}/cards")] {
        answers.push(client.post(path, &with(accepted.clone(), &faults)).await);
    }
    let nested = json!({ "email": "x", "card": with(accepted.clone(), &faults) });
    answers.push(client.post("/1/customers", &nested).await);
    answers.push(client.post("/1/charges", &nested).await);
    answers.push(client.put(&owner, &nested).await);
    answers.push(client.post("/1/merchants", &application()).await);
    answers.push(client.post("/1/merchants", &with(application(), &json!({ "business": {} }))).await);
    for path in ["/1/customers", "/1/charges", "/1/events", &owner, &format!("{owner}/cards")] {
        answers.push(client.get(&format!("{path}?per_page=500")).await);
    }
    answers
}

/// Which secrets stand in there.
fn secrets_in(app: &App, text: &[u8]) -> Vec<String> {
    let mut secrets: Vec<String> = NUMBERS.map(String::from).into();
    // PostgreSQL shows bytes in hexadecimal digits.
    let hex = |secret: &&str| secret.bytes().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    secrets.extend(NUMBERS.iter().map(hex));
    let own = [app.publishable_key(), app.secret_key(), PASSWORD];
    secrets.extend(own.map(str::to_owned));
    secrets.retain(|secret| text.windows(secret.len()).any(|window| window == secret.as_bytes()));
    if contains_code(text) {
        secrets.push(CVC.to_owned());
    }
    secrets
}

/// Four digits are in many an id by chance, so those among other hexadecimal digits and those within a token do not count.
fn contains_code(text: &[u8]) -> bool {
    let of_an_id = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let found = text.windows(CVC.len()).enumerate().filter(|(_, window)| *window == CVC.as_bytes());
    let mut alone = found.map(|(at, _)| at).filter(|at| {
        !of_an_id(at.checked_sub(1).and_then(|at| text.get(at))) && !of_an_id(text.get(at + CVC.len()))
    });
    alone.any(|at| !is_in_token(text, at))
}

/// Returns whether the code at this place is a part of the 22 letters after a token's underscore.
fn is_in_token(text: &[u8], at: usize) -> bool {
    const LETTERS: usize = 22;
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || [b'_', b'-'].contains(byte);
    let first = (at + CVC.len()).saturating_sub(LETTERS).max(1);
    (first..=at).any(|begin| {
        let letters = text.get(begin..begin + LETTERS);
        text[begin - 1] == b'_' && letters.is_some_and(|letters| letters.iter().all(is_letter))
    })
}

/// Returns how many cards are in these states and hold these secrets.
async fn cards_where(app: &App, condition: &str) -> i64 {
    app.number(&format!("SELECT COUNT(*) FROM cards WHERE {condition}")).await
}

rules! {
    async fn the_database_holds_no_number_code_or_key_in_plain_text(app) {
        let client = app.client();
        all_kinds_of_requests(app, &client).await;
        let everything = app.everything().await;
        let known = b"Roland Robot";
        assert!(everything.windows(known.len()).any(|window| window == known), "this is where the data is");
        assert_eq!(secrets_in(app, &everything), [""; 0]);
        // Erasing leaves none behind either.
        app.clock.advance(entity::TimeSpan::days(40));
        app.do_due_work().await;
        assert_eq!(secrets_in(app, &app.everything().await), [""; 0]);
    }

    async fn no_answer_and_no_event_tells_a_number_or_a_code(app) {
        let client = app.client();
        let mut answers = all_kinds_of_requests(app, &client).await;
        answers.push(client.get("/1/events?per_page=500").await);
        for answer in answers {
            let whole = format!("{:?} {}", answer.headers, answer.text);
            assert_eq!(secrets_in(app, whole.as_bytes()), [""; 0], "{whole}");
        }
    }

    async fn a_used_card_is_erased_from_its_row(app) {
        let client = app.client();
        for number in ["4200000000000000", "4100000000000001"] {
            let stored = client.post("/1/cards", &card(number)).await.ok(201);
            let unused = "state = 'unused' AND number_sealed IS NOT NULL AND cvc_sealed IS NOT NULL";
            assert_eq!(cards_where(app, unused).await, 1);
            client.post("/1/charges", &charge_by("card_token", token(&stored))).await;
            assert_eq!(cards_where(app, unused).await, 0);
        }
        let erased = "state = 'used' AND number_sealed IS NULL AND cvc_sealed IS NULL AND sealed_by IS NULL";
        assert_eq!(cards_where(app, erased).await, 2);
    }

    async fn a_card_given_inline_never_has_sealed_digits(app) {
        let client = app.client();
        for number in ["4200000000000000", "4100000000000001", "4300000000000009", "4200800000000011"] {
            client.post("/1/charges", &with(charge(400), &json!({ "card": card(number) }))).await;
        }
        assert_eq!(cards_where(app, "1 = 1").await, 4);
        assert_eq!(
            cards_where(app, "number_sealed IS NULL AND cvc_sealed IS NULL AND sealed_by IS NULL").await,
            4
        );
    }

    async fn a_customers_card_keeps_its_number_and_never_its_code(app) {
        let client = app.client();
        let stored = client.post("/1/cards", &card("4200000000000000")).await.ok(201);
        let further = client.post("/1/cards", &card("4200000000000000")).await.ok(201);
        let customer = client
            .post("/1/customers", &json!({ "email": "a@example.com", "card_token": token(&stored) }))
            .await
            .ok(201);
        let owner = path(&customer);
        client.post(&format!("{owner}/cards"), &json!({ "card_token": token(&further) })).await.ok(201);
        client.post(&format!("{owner}/cards"), &card("4200000000000000")).await.ok(201);
        client
            .post("/1/customers", &json!({ "email": "a@example.com", "card": card("4200000000000000") }))
            .await
            .ok(201);
        let kept =
            "state = 'attached' AND number_sealed IS NOT NULL AND cvc_sealed IS NULL AND expires_at IS NULL";
        assert_eq!(cards_where(app, kept).await, 4);
        client.put(&owner, &json!({ "card": card("4200000000000000") })).await.ok(200);
        client.post("/1/charges", &charge_by("customer_token", token(&customer))).await.ok(201);
        assert_eq!(cards_where(app, kept).await, 4);
        client.delete(&owner).await.ok(204);
        assert_eq!((cards_where(app, kept).await, cards_where(app, "1 = 1").await), (1, 1));
    }
}

#[test]
fn a_debug_print_tells_nothing() {
    let number = CardNumber::parse(&Secret::from(NUMBERS[0])).unwrap();
    let keys = ApiKeyPair::mint(&RandomSource::default());
    let printed = format!("{number:?} {:?} {keys:?}", Secret::from(CVC));
    for secret in [NUMBERS[0], CVC, keys.secret.expose(), keys.publishable.expose()] {
        assert!(!printed.contains(secret), "{printed}");
    }
}

/// Where log lines go.
#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl LogBuffer {
    fn text(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Says that this process runs one test only.
const ALONE: &str = "CARD_PAYMENTS_TEST_ALONE";

/// Returns whether the process runs this test alone; where it does not, another process has done so, and the test has passed
/// there.
pub fn alone(name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let output = again.args([name, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let complains = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}{complains}");
    false
}

/// In a process of its own, because a process has one log; at the most talkative level, libraries included.
#[tokio::test]
async fn the_log_tells_no_number_code_or_key() {
    if !alone("operators::secrets::the_log_tells_no_number_code_or_key") {
        return;
    }
    let lines = LogBuffer::default();
    let writer = lines.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let app = App::start(Database::Sqlite).await.unwrap();
    all_kinds_of_requests(&app, &app.client()).await;
    let run = whole_run::run_everything(&app).await;
    let text = lines.text();
    let line = b"route=\"/1/charges\"";
    assert!(text.windows(line.len()).any(|window| window == line), "there is a log");
    assert_eq!(secrets_in(&app, &text), [""; 0]);
    assert_eq!(run.found_in(&text), [""; 0]);
}
