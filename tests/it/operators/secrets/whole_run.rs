//! One run of everything that the document offers, and all that it leaves, searched for secrets: any card
//! number at all, and every secret that the run has got or sent.

use std::collections::BTreeSet;

use base::card_number::CardNumber;
use base::secret::Secret;
use serde_json::{Value, json};

use crate::harness::app::DOCUMENT;
use crate::harness::wallets::network_token;
use crate::harness::{Answer, App, bank_account, rules, with};

/// A number of a bank account, and what proves a network token: in no other test.
const BANK_ACCOUNT: &str = "918273645";
const CRYPTOGRAM: &str = "AgAAAAAABk4DWZ4C28yUQSECRET=";

/// Fields in which answers return secrets to their owners, and requests send them.
const SECRETS: [&str; 7] = [
    "secret_key",
    "publishable_key",
    "test_secret_api_key",
    "test_publishable_api_key",
    "secret",
    "publishable",
    "password",
];

/// The answers of a run.
pub struct WholeRun {
    answers: Vec<(String, Answer)>,
    secrets: BTreeSet<String>,
}

/// Runs everything.
pub async fn run_everything(app: &App) -> WholeRun {
    let client = app.client();
    let mut answers = app.whole_run().await;
    let source =
        with(network_token("4200000000000000")["source"].clone(), &json!({ "cryptogram": CRYPTOGRAM }));
    let source = json!({ "type": "network_token", "source": source });
    answers.push(("a network token".into(), client.post("/1/payment_sources", &source).await));
    let recipient = json!({ "email": "payee@example.com", "bank_account": bank_account(BANK_ACCOUNT) });
    answers.push(("a recipient".into(), client.post("/1/recipients", &recipient).await));
    for path in ["/1/events", "/1/webhooks", "/1/sandbox/requests"] {
        answers.push((path.into(), client.get(&format!("{path}?per_page=500")).await));
    }
    let rest = "/1/sandbox/requests?per_page=500&page=2";
    answers.push((rest.into(), client.get(rest).await));
    let mut secrets = BTreeSet::from([BANK_ACCOUNT.to_owned(), CRYPTOGRAM.to_owned()]);
    secrets.extend([app.secret_key().to_owned(), app.publishable_key().to_owned()]);
    for (_, answer) in &answers {
        if let Ok(body) = serde_json::from_str(&answer.text) {
            secrets_of(&body, &mut secrets);
        }
    }
    // What the examples send: passwords.
    secrets_of(&DOCUMENT["paths"], &mut secrets);
    WholeRun { answers, secrets }
}

/// The keys of webhook endpoints among them, and the addresses of pages.
fn secrets_of(value: &Value, secrets: &mut BTreeSet<String>) {
    for (name, field) in value.as_object().into_iter().flatten() {
        if let Some(text) = field.as_str().filter(|text| text.len() >= 8) {
            if SECRETS.contains(&name.as_str()) || text.starts_with("whsec_") {
                secrets.insert(text.to_owned());
            }
            if let Some((_, page)) = text.split_once("/3d-secure/") {
                secrets.insert(page.to_owned());
            }
        }
        secrets_of(field, secrets);
    }
    for item in value.as_array().into_iter().flatten() {
        secrets_of(item, secrets);
    }
}

impl WholeRun {
    /// The secrets and the card numbers that stand there.
    pub fn found_in(&self, bytes: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(bytes);
        let mut found: Vec<_> =
            self.secrets.iter().filter(|secret| text.contains(*secret)).cloned().collect();
        found.extend(card_numbers(bytes));
        found
    }
}

/// Runs of digits that are card numbers: of a known scheme, as long as its numbers are, their last digit right. Times in
/// milliseconds begin like none.
fn card_numbers(bytes: &[u8]) -> Vec<String> {
    let runs = bytes.split(|byte| !byte.is_ascii_digit()).filter(|run| (12..=19).contains(&run.len()));
    let texts = runs.filter_map(|run| String::from_utf8(run.to_vec()).ok());
    texts.filter(|text| CardNumber::parse(&Secret::from(text.as_str())).is_some()).collect()
}

/// PostgreSQL writes bytes as `\x6162`: what they are.
fn bytes_written_out(text: &[u8]) -> Vec<u8> {
    let mut rest = text;
    let mut bytes = Vec::new();
    while let Some(at) = rest.windows(2).position(|pair| pair == b"\\x") {
        rest = &rest[at + 2..];
        let end = rest.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(rest.len());
        let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default();
        let pairs = rest[..end].chunks_exact(2);
        bytes
            .extend(pairs.map(|pair| u8::try_from(digit(pair[0]) * 16 + digit(pair[1])).unwrap_or_default()));
        bytes.push(b' ');
        rest = &rest[end..];
    }
    bytes
}

/// The same without what PostgreSQL has written as hexadecimal digits, in which long runs of decimal ones are common.
fn without_bytes(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text).into_owned();
    let mut parts = text.split("\\x");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit()));
    rest.fold(first, |all, part| all + " " + part).into_bytes()
}

rules! {
    async fn nothing_that_a_whole_run_leaves_tells_a_secret(app) {
        let run_everything = run_everything(app).await;
        assert!(run_everything.secrets.len() >= 8, "keys, endpoints' keys and pages were told");
        let stored = app.everything().await;
        let found = match app.database {
            crate::harness::Database::Sqlite => run_everything.found_in(&stored),
            crate::harness::Database::Postgres => {
                [run_everything.found_in(&without_bytes(&stored)), run_everything.found_in(&bytes_written_out(&stored))].concat()
            }
        };
        assert_eq!(found, [""; 0], "in the database");
        let (status, _, metrics) = app.anonymous().bytes("/metrics").await;
        assert_eq!(status, 200);
        assert_eq!(run_everything.found_in(&metrics), [""; 0], "in the metrics");
        for (request, answer) in &run_everything.answers {
            let whole = format!("{:?} {}", answer.headers, answer.text);
            let may_show_secrets = request.starts_with('/') || answer.status >= 400;
            let found = if may_show_secrets { run_everything.found_in(whole.as_bytes()) } else { card_numbers(whole.as_bytes()) };
            assert_eq!(found, [""; 0], "in the answer to {request}: {}", answer.text);
        }
        for name in app.blobs() {
            assert_eq!(card_numbers(name.as_bytes()), [""; 0]);
        }
    }
}

#[test]
fn a_card_number_is_told_from_other_digits() {
    let number = "4200000000000000";
    for text in [number, &format!("x{number}y"), &format!("{{\"number\":\"{number}\"}}"), "374000000000099"] {
        assert_eq!(card_numbers(text.as_bytes()).len(), 1, "{text}");
    }
    // A time, a wrong last digit, one more digit, no scheme's.
    for text in ["1772445600000", "4200000000000001", "42000000000000000000", "9999999999999995", "987654321"]
    {
        assert_eq!(card_numbers(text.as_bytes()), [""; 0], "{text}");
    }
    let hexadecimal = number.bytes().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    assert_eq!(card_numbers(&bytes_written_out(format!("(1,\"\\\\x{hexadecimal}\",2)").as_bytes())).len(), 1);
    assert_eq!(card_numbers(&without_bytes(format!("(\\x{number}ab,2)").as_bytes())), [""; 0]);
}
