//! HTTP Archive 1.2: the form of recordings that other programs read.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

use super::{Exchange, query};

/// The name of this program as the creator.
const CREATOR: &str = "card-payments";
/// No name of a machine, so that the same requests make the same file.
const ORIGIN: &str = "http://localhost";
const JSON: &str = "application/json";
const KEY: &str = "authorization";
const IDEMPOTENCY_KEY: &str = "idempotency-key";
const SANDBOX_OUTCOME: &str = "sandbox-outcome";
const SANDBOX_CHALLENGE: &str = "sandbox-challenge";
const PREFER: &str = "prefer";
const REPLAYED: &str = "idempotent-replayed";
/// Sizes that nobody has measured.
const UNKNOWN: i64 = -1;

#[derive(Serialize, Deserialize)]
pub(super) struct Har {
    log: Log,
}

#[derive(Serialize, Deserialize)]
struct Log {
    version: String,
    creator: Creator,
    entries: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Creator {
    name: String,
    version: String,
}

/// A request with its answer.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    started_date_time: String,
    time: u64,
    request: Request,
    response: Response,
    cache: Map<String, Value>,
    timings: Timings,
    #[serde(rename = "_hidden", default, skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<String>,
    #[serde(rename = "_of_log", default, skip_serializing_if = "std::ops::Not::not")]
    of_log: bool,
}

#[derive(Serialize, Deserialize)]
struct Named {
    name: String,
    value: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    http_version: String,
    cookies: Vec<Named>,
    headers: Vec<Named>,
    query_string: Vec<Named>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    post_data: Option<PostData>,
    headers_size: i64,
    body_size: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    mime_type: String,
    text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    status: u16,
    status_text: String,
    http_version: String,
    cookies: Vec<Named>,
    headers: Vec<Named>,
    content: Content,
    #[serde(rename = "redirectURL")]
    redirect_url: String,
    headers_size: i64,
    body_size: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    size: usize,
    mime_type: String,
    #[serde(default)]
    text: String,
}

#[derive(Serialize, Deserialize)]
struct Timings {
    send: u64,
    wait: u64,
    receive: u64,
}

/// Returns what stands before and behind the entries of a file.
pub(super) fn frame() -> (String, &'static str) {
    let creator = json!({ "name": CREATOR, "version": env!("CARGO_PKG_VERSION") });
    (format!("{{\"log\":{{\"version\":\"1.2\",\"creator\":{creator},\"entries\":[\n"), "\n]}}\n")
}

impl Har {
    pub(super) fn exchanges(self) -> Result<Vec<Exchange>, String> {
        let Log { creator, entries, .. } = self.log;
        if creator.name != CREATOR {
            return Err(format!("a recording of {}, and not of {CREATOR}", creator.name));
        }
        let read = entries
            .into_iter()
            .zip(1..)
            .map(|(entry, number)| entry.exchange().map_err(|error| format!("entry {number}: {error}")));
        read.collect()
    }
}

impl Entry {
    /// Creates the entry of a request.
    pub(super) fn new(exchange: &Exchange) -> Self {
        let named = |name: &str, value: Option<String>| value.map(|value| Named { name: name.into(), value });
        let mut url = Url::parse(ORIGIN).expect("an address");
        url.set_path(&exchange.path);
        let reads = exchange.reads();
        let pairs: Vec<_> = if reads { query(&exchange.parameters) } else { Vec::new() };
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(&pairs);
        }
        let body =
            (!reads && !exchange.parameters.is_empty()).then(|| Value::Object(exchange.parameters.clone()));
        let body = body.map(|body| body.to_string());
        let text = if exchange.body.is_null() { String::new() } else { exchange.body.to_string() };
        let kind = if text.is_empty() { "x-unknown" } else { JSON };
        let key = exchange.key.as_ref().map(|key| format!("Basic {key}"));
        let status = StatusCode::from_u16(exchange.status).ok();
        Self {
            started_date_time: exchange.at.clone(),
            time: exchange.duration_ms,
            request: Request {
                method: exchange.method.clone(),
                url: url.into(),
                http_version: "HTTP/1.1".into(),
                cookies: Vec::new(),
                headers: [
                    named(KEY, key),
                    named(IDEMPOTENCY_KEY, exchange.idempotency_key.clone()),
                    named(SANDBOX_OUTCOME, exchange.sandbox_outcome.clone()),
                    named(SANDBOX_CHALLENGE, exchange.sandbox_challenge.clone()),
                    named(PREFER, exchange.prefer.clone()),
                    named("content-type", body.as_ref().map(|_| JSON.to_owned())),
                ]
                .into_iter()
                .flatten()
                .collect(),
                query_string: pairs.into_iter().map(|(name, value)| Named { name, value }).collect(),
                headers_size: UNKNOWN,
                body_size: UNKNOWN,
                post_data: body.map(|text| PostData { mime_type: JSON.into(), text }),
            },
            response: Response {
                status: exchange.status,
                status_text: status.and_then(|status| status.canonical_reason()).unwrap_or_default().into(),
                http_version: "HTTP/1.1".into(),
                cookies: Vec::new(),
                headers: named(REPLAYED, exchange.replayed.then(|| "true".into())).into_iter().collect(),
                redirect_url: exchange.location.clone().unwrap_or_default(),
                headers_size: UNKNOWN,
                body_size: UNKNOWN,
                content: Content { size: text.len(), mime_type: kind.into(), text },
            },
            cache: Map::new(),
            timings: Timings { send: 0, wait: exchange.duration_ms, receive: 0 },
            hidden: exchange.hidden.clone(),
            of_log: exchange.of_log,
        }
    }

    fn exchange(self) -> Result<Exchange, String> {
        let Self { started_date_time, time, request, response, hidden, of_log, .. } = self;
        let header = |name: &str| {
            let found = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
            found.map(|header| header.value.clone())
        };
        let parameters = match &request.post_data {
            Some(body) => serde_json::from_str(&body.text).map_err(|error| format!("postData: {error}"))?,
            None => {
                request.query_string.iter().map(|one| (one.name.clone(), one.value.clone().into())).collect()
            }
        };
        let url = Url::parse(&request.url).map_err(|error| format!("url: {error}"))?;
        let text = &response.content.text;
        let body = if text.is_empty() { Ok(Value::Null) } else { serde_json::from_str(text) };
        Ok(Exchange {
            at: started_date_time,
            path: braces(url.path()),
            key: header(KEY).and_then(|key| Some(key.strip_prefix("Basic ")?.to_owned())),
            idempotency_key: header(IDEMPOTENCY_KEY),
            sandbox_outcome: header(SANDBOX_OUTCOME),
            sandbox_challenge: header(SANDBOX_CHALLENGE),
            prefer: header(PREFER),
            method: request.method,
            parameters,
            hidden,
            status: response.status,
            replayed: response.headers.iter().any(|header| header.name == REPLAYED),
            location: Some(response.redirect_url).filter(|location| !location.is_empty()),
            duration_ms: time,
            body: body.map_err(|error| format!("content: {error}"))?,
            of_log,
        })
    }
}

/// Returns a path with its placeholders: all that an address encodes in ours.
fn braces(path: &str) -> String {
    path.replace("%7B", "{").replace("%7D", "}").replace("%20", " ")
}
