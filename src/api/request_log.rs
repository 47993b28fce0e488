//! Writes the request log: in the test environment, once a key has opened an account. A recording gets every request of
//! the API, and those of cardholders.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, header};
use base::api_path;
use base::request_context::{RequestContext, UNMATCHED};
use base::secret::Secret;
use entity::token::is_token;
use entity::{JsonText, logged_request};
use recording::{HIDDEN, REFUSED_IDEMPOTENCY_KEY, UNREAD_BODY, UNREAD_QUERY};
use serde_json::Value;

use super::auth::basic_user;
use super::handling;
use super::request_log_data::{self, RequestLogData, SharedLogData};
use super::sandbox::{SANDBOX_CHALLENGE, SANDBOX_OUTCOME};
use super::state::AppState;
use super::write_request::{IDEMPOTENT_REPLAYED, idempotency_key, parse_idempotency_key};
use crate::config::Environment;
use crate::params::LoggableParams;
use crate::recorder::{RecordedRequest, Recorder};
use crate::services::Ctx;
use crate::services::sandbox::request_view::LoggedError;

/// Reading the log must not push out the requests that it is there for.
const OF_THE_LOG: &str = "/1/sandbox/requests";
/// The operations, and the page of a cardholder.
const RECORDED: [&str; 2] = ["/1/", "/3d-secure/"];
/// The name of an Idempotency-Key among the parts that a recording does not hold.
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// An unknown path is shown up to so many segments, more than a known one has, and of each no more letters.
const SEGMENTS_SHOWN: usize = 8;
const SEGMENT_LETTERS: usize = 40;

/// The log's data of a request, known from the start.
pub struct RequestLogWriter {
    ctx: Ctx,
    path: String,
    idempotency_key: Option<String>,
    replayed: bool,
    data: SharedLogData,
    recording: Option<RequestRecording>,
}

/// The data of a request that only a recording needs.
struct RequestRecording {
    recorder: Arc<Recorder>,
    key: Option<Secret>,
    has_refused_idempotency_key: bool,
    sandbox_outcome: Option<String>,
    sandbox_challenge: Option<String>,
    prefer: Option<&'static str>,
    location: Option<String>,
}

impl RequestLogWriter {
    /// Creates the writer; None where there is no log.
    pub fn for_request(app: &AppState, request: &Request) -> Option<Self> {
        let sent = idempotency_key(request);
        let idempotency_key = parse_idempotency_key(sent.as_ref()).ok().map(str::to_owned);
        let has_refused_idempotency_key = sent.is_some() && idempotency_key.is_none();
        (app.info.environment == Environment::Test).then(|| Self {
            ctx: Ctx::clone(&app.ctx),
            path: request.uri().path().to_owned(),
            idempotency_key,
            replayed: false,
            data: request_log_data::shared(app.recorder.is_some()),
            recording: app.recorder.as_ref().map(|recorder| RequestRecording {
                recorder: Arc::clone(recorder),
                key: basic_user(request.headers()),
                has_refused_idempotency_key,
                sandbox_outcome: text(request.headers(), &SANDBOX_OUTCOME),
                sandbox_challenge: text(request.headers(), &SANDBOX_CHALLENGE),
                prefer: handling::preferred(request.headers()).map(handling::preference),
                location: None,
            }),
        })
    }

    pub fn data(&self) -> SharedLogData {
        SharedLogData::clone(&self.data)
    }

    /// Reads the headers of the response.
    pub fn answers(&mut self, headers: &HeaderMap) {
        self.replayed = headers.contains_key(IDEMPOTENT_REPLAYED);
        if let Some(recording) = &mut self.recording {
            recording.location = text(headers, &header::LOCATION);
        }
    }

    /// Adds the request to the log and the recording.
    pub fn note(&self, this: &RequestContext, method: &str, status: u16, took: Duration) {
        let route = this.route();
        if route.starts_with(OF_THE_LOG) || (route == UNMATCHED && !self.is_unknown_operation(status)) {
            return;
        }
        let data = request_log_data::take(&self.data);
        // With a seed, durations are 0, so that runs are identical.
        let took = if self.ctx.random.is_seeded() { Duration::ZERO } else { took };
        if let Some(recording) = &self.recording {
            self.record(recording, route, &data, method, status, took);
        }
        if let Some(row) = self.row(this, &data, method, status, took) {
            let account = row.account_id;
            let is_awaited = self.ctx.memory.request_log.is_awaited(&row);
            self.ctx.memory.request_log.note(row);
            if is_awaited {
                let ctx = Ctx::clone(&self.ctx);
                tokio::spawn(async move {
                    if let Err(error) = ctx.memory.request_log.write(&ctx.store, Some(account)).await {
                        tracing::warn!(%error, "the log of requests lacks some requests");
                    }
                });
            }
        }
    }

    /// Returns whether a request that reached no route is one of a client of the API. Before the router, a browser's preflight is
    /// answered.
    fn is_unknown_operation(&self, status: u16) -> bool {
        status == 404 && segments(&self.path).next() == Some("1")
    }

    fn record(
        &self,
        recording: &RequestRecording,
        route: &str,
        data: &RequestLogData,
        method: &str,
        status: u16,
        took: Duration,
    ) {
        if route != UNMATCHED && !RECORDED.iter().any(|path| route.starts_with(path)) {
            return;
        }
        // The answer to HEAD has no body.
        let answer = data.answer.as_ref().filter(|_| method != "HEAD");
        // What a script posts is recorded as a post.
        let (method, key, status) = match answer.filter(|_| data.is_jsonp) {
            Some((status, _)) => ("POST", None, *status),
            None => (method, recording.key.as_ref(), status),
        };
        let unread = (data.is_unreadable && data.parameters.is_none())
            .then_some(if matches!(method, "GET" | "HEAD") { UNREAD_QUERY } else { UNREAD_BODY });
        let refused_key = recording.has_refused_idempotency_key.then_some(IDEMPOTENCY_KEY);
        recording.recorder.record(&RecordedRequest {
            at: self.ctx.clock.now(),
            method,
            route,
            path: &path(route, &self.path),
            requested: &self.path,
            key,
            idempotency_key: refused_key
                .map_or(self.idempotency_key.as_deref(), |_| Some(REFUSED_IDEMPOTENCY_KEY)),
            sandbox_outcome: recording.sandbox_outcome.as_deref(),
            sandbox_challenge: recording.sandbox_challenge.as_deref(),
            prefer: recording.prefer,
            parameters: data.parameters.as_deref().unwrap_or(&Value::Null),
            read: &data.read,
            refused: unread.into_iter().chain(refused_key).collect(),
            status,
            replayed: self.replayed,
            location: recording.location.as_deref(),
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            body: answer.map(|(_, body)| body.as_slice()).unwrap_or_default(),
        });
    }

    fn row(
        &self,
        this: &RequestContext,
        data: &RequestLogData,
        method: &str,
        status: u16,
        took: Duration,
    ) -> Option<logged_request::Model> {
        let (account_id, created_at) = data.account?;
        let shown = LoggableParams::new(data.parameters.as_deref().unwrap_or(&Value::Null), &data.read);
        let error = data.answer.as_ref().filter(|(status, _)| *status >= 400);
        let error = error.and_then(|(_, body)| LoggedError::parse(body));
        Some(logged_request::Model {
            account_id,
            id: self.ctx.ids.token(),
            request_id: this.id.clone(),
            method: method.to_owned(),
            route: this.route().to_owned(),
            path: path(this.route(), &self.path),
            status: status.into(),
            duration: i64::try_from(took.as_millis()).unwrap_or(i64::MAX),
            idempotency_key: self.idempotency_key.clone(),
            replayed: self.replayed,
            parameters: JsonText::encode(&shown.parameters).ok()?,
            hidden: JsonText::encode(&shown.hidden).ok()?,
            error: error.map(|error| JsonText::encode(&error)).transpose().ok()?,
            created_at,
            logged_at: self.ctx.clock.now(),
        })
    }
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Returns the requested path in the router's spelling. Of each variable segment it shows a token, and otherwise only
/// the placeholder.
fn path(route: &str, requested: &str) -> String {
    if route == UNMATCHED {
        let requested = requested.trim_end_matches('/');
        let shown =
            segments(requested.strip_suffix(api_path::SUFFIX).unwrap_or(requested)).take(SEGMENTS_SHOWN);
        return shown.fold(String::new(), |path, segment| path + "/" + unknown(segment));
    }
    let mut requested = segments(requested);
    let segments = segments(route).map(|segment| {
        let token = requested.next().unwrap_or_default();
        let token = token.strip_suffix(api_path::SUFFIX).unwrap_or(token);
        if segment.starts_with('{') && is_token(token) { token } else { segment }
    });
    segments.fold(String::new(), |path, segment| path + "/" + segment)
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Returns a segment of an unknown path if it is a word or a token. A secret or a card number has other letters.
fn unknown(segment: &str) -> &str {
    let is_word = segment.len() <= SEGMENT_LETTERS
        && segment.bytes().all(|letter| letter.is_ascii_lowercase() || matches!(letter, b'_' | b'-'));
    if is_word || segment == "1" || is_token(segment) { segment } else { HIDDEN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_shows_the_tokens_that_were_asked_for_and_nothing_else() {
        let (route, token) = ("/1/charges/{charge_token}/capture", "ch_AZqYv3rVcBKUQ1mHn7tKRw");
        let whole = format!("/1/charges/{token}/capture");
        for requested in [&whole, &format!("//1/charges//{token}/capture.json/")] {
            assert_eq!(path(route, requested), whole);
        }
        for other in ["4200000000000000", "pk_AZqYv3rVcBKUQ1mHn7tKRw", "ch_4200000000000000", "%00", ""] {
            assert_eq!(path(route, &format!("/1/charges/{other}/capture")), route, "{other}");
        }
        assert_eq!(
            path("/1/charges/{charge_token}", &format!("/1/charges/{token}.json")),
            format!("/1/charges/{token}")
        );
    }

    #[test]
    fn an_unknown_path_shows_words_and_tokens() {
        for (requested, shown) in [
            (
                "//1/charge/ch_AZqYv3rVcBKUQ1mHn7tKRw/pay-now.json/",
                "/1/charge/ch_AZqYv3rVcBKUQ1mHn7tKRw/pay-now",
            ),
            ("/1/cards/4200000000000000/x", "/1/cards/{hidden}/x"),
            ("/1/sk_Yq0rQmvbQ0mF9QhJ9iVt7w/%00/pk_AZqYv3rVcBKUQ1mHn7tKRw", "/1/{hidden}/{hidden}/{hidden}"),
            ("/1/charges.json/x", "/1/{hidden}/x"),
            ("/1/a/b/c/d/e/f/g/h/i", "/1/a/b/c/d/e/f/g"),
        ] {
            assert_eq!(path(UNMATCHED, requested), shown);
        }
        assert_eq!(path(UNMATCHED, &format!("/1/{}", "a".repeat(41))), "/1/{hidden}");
    }
}
