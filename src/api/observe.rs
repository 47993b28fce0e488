//! Middleware around every request: its id, its time-out, its headers, its log line, its metrics. It never logs a body,
//! a query string or a key.

use std::fmt::Write;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base::api_path;
use base::clock::SystemClock;
use base::random::RandomStream;
use base::request_context::{self, RateStatus, RequestContext, RequestOutcome, Wait};
use base::trace::{self, Span};
use chrono::DateTime;
use entity::{TimeSpan, Timestamp};
use futures::FutureExt;
use web::limits::REQUEST_TIMEOUT;

use super::client_address::client_address;
use super::request_log::RequestLogWriter;
use super::state::AppState;
use super::{handling, refused_head, request_log_data};
use crate::error::{Error, ErrorCode};
use crate::limits::REQUEST_ID_LENGTH_MAX;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Runs a request and reports it; see the module.
pub async fn observe(app: &AppState, request: Request, next: Next) -> Response {
    let id = given_id(request.headers()).unwrap_or_else(|| fresh_id(app, request.uri().path()));
    let span =
        if is_watching(request.uri().path()) { Span::default() } else { Span::of_request(request.headers()) };
    let context = span.context();
    let logged = RequestLogWriter::for_request(app, &request);
    let mut report = RequestReport {
        began: Instant::now(),
        method: request.method().clone(),
        this: Arc::new(
            RequestContext::new(id)
                .with_address(client_address(&request, app))
                .with_preference(handling::preferred(request.headers())),
        ),
        status: UNANSWERED,
        span,
        logged,
    };
    let data = report.logged.as_ref().map(RequestLogWriter::data);
    let work = request_log_data::scope(data, trace::within(context, refused_head::refuse(request, next)));
    let mut response = request_context::scope(Arc::clone(&report.this), work).await;
    let headers = response.headers_mut();
    finish(headers, &report.this);
    // Otherwise the HTTP library adds the machine's time, which it formats once a second.
    if app.random.is_seeded() || SystemClock::ahead() != TimeSpan::ZERO {
        headers.insert(header::DATE, date(app.clock.now()));
    }
    if !app.random.is_seeded() {
        set_server_timing(headers, &report.this, report.began.elapsed());
    }
    if let Some(logged) = &mut report.logged {
        logged.answers(headers);
    }
    report.status = response.status().as_u16();
    response
}

/// Returns the name of a standard method; any other is the client's own text.
fn known(method: &Method) -> &str {
    let own = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::OPTIONS,
        Method::PATCH,
        Method::CONNECT,
        Method::TRACE,
    ];
    if own.contains(method) { method.as_str() } else { "_OTHER" }
}

/// Returns whether the path is one that monitoring polls; such requests get no trace.
fn is_watching(path: &str) -> bool {
    ["/healthz", "/readyz", "/metrics"].contains(&path)
}

/// The status of a request whose connection ended before the response. No client sees it.
const UNANSWERED: u16 = 499;

/// The report of a request, written when it is dropped, however the request ends.
struct RequestReport {
    began: Instant,
    method: Method,
    this: Arc<RequestContext>,
    status: u16,
    span: Span,
    logged: Option<RequestLogWriter>,
}

impl Drop for RequestReport {
    fn drop(&mut self) {
        let Self { method, this, status, span, logged, .. } = self;
        let (took, route) = (self.began.elapsed(), this.route());
        let method = known(method);
        super::metrics::count_request(method, route, *status, took);
        let RequestOutcome { error, record } = this.outcome();
        tracing::info!(
            request_id = this.id.as_str(),
            method,
            route,
            status,
            error,
            record,
            duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            account = this.account().map(tracing::field::display),
            trace_id = span.context().map(trace::TraceContext::trace_id),
        );
        span.rename(|| format!("{method} {route}"));
        span.set_attribute("http.request.method", method);
        span.set_attribute("http.route", route);
        span.set_number("http.response.status_code", (*status).into());
        span.set_attribute("card_payments.request_id", &this.id);
        if let Some(account) = this.account() {
            span.set_attribute("card_payments.account", account);
        }
        if *status >= UNANSWERED {
            span.fail(*status);
        }
        if let Some(logged) = logged {
            logged.note(this, method, *status, took);
        }
    }
}

/// Runs the routes, and answers in any case. It is around the routes only, so that JSONP wraps its responses as well.
pub async fn catch_panic_and_timeout(request: Request, next: Next) -> Response {
    if let Some(path) = request.extensions().get::<MatchedPath>() {
        request_context::set_operation(request.method(), path.as_str());
    }
    // A panic unwinds only the request's own future; it shares with others only locks that recover, and the database,
    // which rolls back.
    let mut run = pin!(AssertUnwindSafe(next.run(request)).catch_unwind());
    loop {
        let received = request_context::upload_bytes();
        match tokio::time::timeout(REQUEST_TIMEOUT, &mut run).await {
            Ok(Ok(response)) => return response,
            Ok(Err(_)) => return Error::internal("a handler panicked").into_response(),
            // An upload may last as long as it makes progress.
            Err(_) if request_context::upload_bytes() > received => {}
            Err(_) => return ErrorCode::GatewayTimeout.into_response(),
        }
    }
}

/// Returns the client's own id if it is valid: 1 to 128 characters that need no quoting anywhere (`docs/decisions.md`,
/// 14). A path may end in the id, so it must neither be `..`, which leads elsewhere, nor end in the suffix that is cut
/// off there.
fn given_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID)?.to_str().ok()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    let named =
        id.starts_with(|first: char| first.is_ascii_alphanumeric()) && !id.ends_with(api_path::SUFFIX);
    (id.len() <= REQUEST_ID_LENGTH_MAX && named && id.bytes().all(plain)).then(|| id.to_owned())
}

/// Draws a new id. API requests have their own stream: with a seed, their ids do not depend on how often a page or a
/// health check was requested.
fn fresh_id(app: &AppState, path: &str) -> String {
    let draw = if path.trim_start_matches('/').starts_with("1/") {
        RandomStream::Request
    } else {
        RandomStream::PageRequest
    };
    app.random.id(draw).to_string()
}

fn finish(headers: &mut HeaderMap, this: &RequestContext) {
    if let Ok(id) = HeaderValue::from_str(&this.id) {
        headers.insert(REQUEST_ID, id);
    }
    if let Some(rate) = this.rate() {
        set_rate(headers, rate);
    }
    handling::acknowledge(headers, this);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// Says how many requests the account has left (`docs/decisions.md`, 433).
fn set_rate(headers: &mut HeaderMap, rate: RateStatus) {
    let RateStatus { requests, seconds, left, full_after } = rate;
    let policy = format!("\"account\";q={requests};w={seconds}");
    let status = format!("\"account\";r={left};t={full_after}");
    for (name, text) in [(RATE_LIMIT_POLICY, policy), (RATE_LIMIT, status)] {
        if let Ok(text) = HeaderValue::from_str(&text) {
            headers.insert(name, text);
        }
    }
}

/// Formats the Date of a fixed clock; otherwise the connection adds the machine's.
fn date(now: Timestamp) -> HeaderValue {
    let date = DateTime::from_timestamp_millis(now.millis()).unwrap_or_default();
    let text = date.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

/// Adds Server-Timing. Only a client with a secret key learns where the time went, and with a seed nobody does, because
/// responses must repeat.
fn set_server_timing(headers: &mut HeaderMap, this: &RequestContext, took: Duration) {
    if this.account().is_some() {
        let (database, acquirer) = (this.millis(Wait::Database), this.millis(Wait::Acquirer));
        let app = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).saturating_sub(database + acquirer);
        let mut timing = format!("app;dur={app}, db;dur={database}");
        if this.waited(Wait::Acquirer) {
            // Writing to a String cannot fail.
            let _ = write!(timing, ", acquirer;dur={acquirer}");
        }
        if let Ok(timing) = HeaderValue::from_str(&timing) {
            headers.insert(SERVER_TIMING, timing);
        }
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    #[test]
    fn a_request_that_ends_without_an_answer_is_counted() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let report = RequestReport {
            began: Instant::now(),
            method: Method::POST,
            this: Arc::new(RequestContext::new("1".into())),
            status: UNANSWERED,
            span: Span::default(),
            logged: None,
        };
        metrics::with_local_recorder(&recorder, || drop(report));
        let text = recorder.handle().render();
        assert!(text.contains("{method=\"POST\",route=\"unmatched\",status=\"499\"} 1"), "{text}");
    }

    #[test]
    fn a_clients_own_method_is_no_series_of_its_own() {
        let recorder = PrometheusBuilder::new().build_recorder();
        for word in ["BREW", "STEEP"] {
            let report = RequestReport {
                began: Instant::now(),
                method: Method::from_bytes(word.as_bytes()).unwrap(),
                this: Arc::new(RequestContext::new("1".into())),
                status: 405,
                span: Span::default(),
                logged: None,
            };
            metrics::with_local_recorder(&recorder, || drop(report));
        }
        let text = recorder.handle().render();
        assert!(text.contains("{method=\"_OTHER\",route=\"unmatched\",status=\"405\"} 2"), "{text}");
    }
}
