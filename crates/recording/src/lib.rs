//! Recordings of requests with their answers, without secrets and card numbers (`docs/decisions.md`, 376): the file in both of its forms,
//! and what takes secrets out of answers. The server writes recordings, and tools read them. It knows `base` and the tokens of `entity`.

mod file;
mod har;
mod holes;
pub mod secrets;

use chrono::DateTime;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use self::file::{RecordingFile, RecordingWriter};
use self::har::Har;
pub use self::holes::{Piece, pieces};
pub use self::secrets::{has_card_number, is_drawn, nested_object, without_card_numbers, without_secrets};

/// The name and version of the first line of JSON lines.
const HEAD: &str = "card_payments_recording";
const VERSION: u64 = 1;

/// The secret key of the first account.
pub const KEY: &str = "{key}";
/// The publishable key of the first account.
pub const PUBLISHABLE_KEY: &str = "{publishable_key}";
/// The address of the server.
pub const SERVER: &str = "{server}";

/// Stands for a value that the recording does not hold.
pub const HIDDEN: &str = "{hidden}";
/// Stands for an Idempotency-Key that is refused, and is refused likewise.
pub const REFUSED_IDEMPOTENCY_KEY: &str = "{no valid key}";
/// The name of a body that could not be read, among the hidden parameters.
pub const UNREAD_BODY: &str = "body";
/// The name of a query that could not be read.
pub const UNREAD_QUERY: &str = "query";

/// A request with its answer. A text in braces stands for what a recording does not hold, or what each run draws again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The time, by the wall clock.
    pub at: String,
    /// HTTP method.
    pub method: String,
    /// The path, with its tokens.
    pub path: String,
    /// The text that stands for the key in the Authorization header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The Idempotency-Key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The Sandbox-Outcome header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_outcome: Option<String>,
    /// The Sandbox-Challenge header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_challenge: Option<String>,
    /// The preference of the Prefer header that counts: `handling=strict` or `handling=lenient`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefer: Option<String>,
    /// The parameters, of body and query.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// The names of the parameters whose values the recording does not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// HTTP status; 499 if the client had disconnected.
    pub status: u16,
    /// Whether the answer is that of an earlier request with the same Idempotency-Key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// The Location header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Milliseconds; 0 with a seed.
    pub duration_ms: u64,
    /// The body; null if there is none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
    /// Whether it is of a request log, which keeps of answers only errors, and nothing of hidden parameters.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_log: bool,
}

impl Exchange {
    /// Refuses what is no request of a server's: an address that begins otherwise may lead to another server.
    fn validate(&self) -> Result<(), String> {
        if !self.path.starts_with('/') {
            return Err(format!("{} is no path", self.path));
        }
        self.method.parse::<Method>().map_err(|error| format!("{}: {error}", self.method))?;
        DateTime::parse_from_rfc3339(&self.at).map_err(|error| format!("{}: {error}", self.at))?;
        Ok(())
    }

    /// Returns whether the parameters stand in the query.
    pub fn reads(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }
}

/// Returns parameters as a query has them, nested ones in brackets.
pub fn query(parameters: &Map<String, Value>) -> Vec<(String, String)> {
    let mut query = Vec::new();
    for (name, value) in parameters {
        add_to_query(name, value, &mut query);
    }
    query
}

fn add_to_query(name: &str, value: &Value, query: &mut Vec<(String, String)>) {
    match value {
        Value::Null => query.push((name.to_owned(), String::new())),
        Value::String(text) => query.push((name.to_owned(), text.clone())),
        Value::Bool(_) | Value::Number(_) => query.push((name.to_owned(), value.to_string())),
        Value::Array(items) => {
            for item in items {
                add_to_query(&format!("{name}[]"), item, query);
            }
        }
        Value::Object(fields) => {
            for (field, value) in fields {
                add_to_query(&format!("{name}[{field}]"), value, query);
            }
        }
    }
}

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// HTTP Archive 1.2.
    Har,
    /// A line that names the format, then a JSON object a line.
    JsonLines,
}

/// Reads a recording of either form. A copy of a request log is none.
///
/// Errors: one line that says where it is wrong.
pub fn read(text: &str) -> Result<Vec<Exchange>, String> {
    let exchanges = read_with_logs(text)?;
    if exchanges.iter().any(|exchange| exchange.of_log) {
        return Err("a copy of a request log, which has no answers to go on with; `record` keeps them".into());
    }
    Ok(exchanges)
}

/// Reads a recording of either form, or a log, which keeps of answers only errors.
///
/// Errors: one line that says where it is wrong.
pub fn read_with_logs(text: &str) -> Result<Vec<Exchange>, String> {
    let exchanges = parse(text)?;
    for (exchange, number) in exchanges.iter().zip(1..) {
        exchange.validate().map_err(|error| format!("request {number}: {error}"))?;
    }
    Ok(exchanges)
}

fn parse(text: &str) -> Result<Vec<Exchange>, String> {
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let head = lines.next().and_then(|(line, _)| serde_json::from_str::<Value>(line).ok());
    let Some(head) = head.filter(|head| head.get(HEAD).is_some()) else {
        let har: Har = serde_json::from_str(text)
            .map_err(|error| format!("neither HAR 1.2 nor JSON lines of card-payments: {error}"))?;
        return har.exchanges();
    };
    if head[HEAD] != VERSION {
        return Err(format!("its version is {}, and this program reads {VERSION}", head[HEAD]));
    }
    let read = lines
        .map(|(line, number)| serde_json::from_str(line).map_err(|error| format!("line {number}: {error}")));
    read.collect()
}

fn head() -> Value {
    json!({ HEAD: VERSION })
}
