//! Whole lists as CSV, for `Accept: text/csv` (`docs/decisions.md`, 379). A list is read page after page by its own operation. Each
//! page is admitted, and counted against the account's rate, as any request, and no more than two are in memory at a time.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::uri::InvalidUri;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header, request, response};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base::request_context::{self, RequestContext};
use csv::{Terminator, WriterBuilder};
use futures::{StreamExt, stream};
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded;

use super::accept;
use super::admission::AdmissionControl;
use super::admission_layer::held;
use super::observe::catch_panic_and_timeout;
use super::openapi::Columns;
use super::state::AppState;
use crate::error::{Error, ErrorCode};
use crate::limits::{PER_PAGE_MAX, SMALL_ANSWER_BYTES};

/// The number of times that a page that is shed or over the rate is tried, a second apart.
const TRIES: u32 = 60;
/// People open a file of the dashboard in a spreadsheet, which takes text without this mark for that of an old code page.
const BYTE_ORDER_MARK: &str = "\u{feff}";
const HTML: &str = "text/html; charset=utf-8";
const PAUSE: Duration = Duration::from_secs(1);

/// Middleware around the routes, which answer in any case: answers a GET of a list with all its records, if the client wants CSV.
pub async fn export_lists(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let is_whole = *request.method() == Method::GET && request.body().is_end_stream();
    let route = request.extensions().get::<MatchedPath>().filter(|_| is_whole);
    let list = route.and_then(|route| exported_list(route.as_str(), request.headers()));
    let Some(columns) = list.and_then(|list| app.document.columns(&list)) else {
        return catch_panic_and_timeout(request, next).await;
    };
    let is_for_spreadsheet = dashboard_list(route.map_or("", MatchedPath::as_str)).is_some();
    let beginning = if is_for_spreadsheet { BYTE_ORDER_MARK } else { "" };
    Box::pin(export(
        ListReader::new(request.into_parts().0, next, columns, Arc::clone(&app.admission)),
        beginning,
    ))
    .await
}

/// Answers with the whole list, after a beginning. Requests for anything else do not hold its memory.
async fn export(mut list: ListReader, beginning: &'static str) -> Response {
    let (mut head, first) = match list.read_page().await {
        Ok(first) => first,
        Err(refusal) => return refusal,
    };
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    let context = request_context::current();
    let rest = stream::try_unfold(list, move |mut list| {
        let context = Arc::clone(&context);
        async move {
            if list.is_complete() {
                return Ok(None);
            }
            let rows = list.read_on(context).await?;
            Ok::<_, io::Error>(Some((rows, list)))
        }
    });
    Response::from_parts(head, Body::from_stream(stream::iter([Ok(beginning.into()), Ok(first)]).chain(rest)))
}

/// Returns the path of the API's list that a client wants as CSV: that of the route, or the one that a link of the dashboard names.
fn exported_list(route: &str, headers: &HeaderMap) -> Option<String> {
    match dashboard_list(route) {
        Some("requests") => Some("/1/sandbox/requests".to_owned()),
        Some(list) => Some(format!("/1/{list}")),
        None => wants_csv(headers).then(|| route.to_owned()),
    }
}

/// Returns the list that a link of the dashboard names.
fn dashboard_list(route: &str) -> Option<&str> {
    route.strip_prefix("/dashboard/")?.strip_suffix(".csv")
}

/// Returns whether the client names CSV, and wants it more than JSON: any other `Accept` gets JSON.
fn wants_csv(headers: &HeaderMap) -> bool {
    accept::weight(headers, &["text/csv"]) > accept::weight(headers, accept::JSON)
}

#[derive(Deserialize)]
struct ListedPage {
    response: Vec<Value>,
    pagination: Position,
}

#[derive(Deserialize)]
struct Position {
    count: u64,
}

/// Reads a list page by page.
struct ListReader {
    head: request::Parts,
    next: Next,
    columns: Columns,
    admission: Arc<AdmissionControl>,
    progress: ExportProgress,
}

/// How much of a list was read.
#[derive(Default)]
struct ExportProgress {
    pages: u64,
    /// The size of the list, as of the last page.
    count: u64,
    /// The tokens of the last page.
    tokens: HashSet<String>,
}

impl ListReader {
    fn new(mut head: request::Parts, next: Next, columns: Columns, admission: Arc<AdmissionControl>) -> Self {
        for name in [header::CONTENT_LENGTH, header::CONTENT_TYPE] {
            head.headers.remove(name);
        }
        Self { head, next, columns, admission, progress: ExportProgress::default() }
    }

    fn is_complete(&self) -> bool {
        self.progress.pages * PER_PAGE_MAX.unsigned_abs() >= self.progress.count
    }

    /// Reads the next page as rows: without records of the last one, which new records have moved; and with those that deletions have
    /// moved up to the last page. Returns the response if it is a refusal. Rows for which there is no memory are not kept: the page is
    /// then the next one still.
    async fn read_page(&mut self) -> Result<(response::Parts, Bytes), Response> {
        let ExportProgress { pages, count: before, tokens: known_tokens } = &self.progress;
        let (head, ListedPage { response: mut records, pagination: Position { count } }) =
            self.request(pages + 1).await?;
        let found = tokens(&records);
        if count < *before && !known_tokens.is_empty() {
            let (_, ListedPage { response: mut last, .. }) = self.request(*pages).await?;
            let known = last.iter().rposition(|record| is_one_of(record, known_tokens));
            let moved = last.split_off(known.map_or(0, |known| known + 1));
            // Those that were moved between the two requests are on both pages.
            let repeated = tokens(&moved);
            records.retain(|record| !is_one_of(record, &repeated));
            records.splice(..0, moved);
        } else {
            let mut moved = if *pages == 0 { 0 } else { count.saturating_sub(*before) };
            records.retain(|record| {
                let is_moved = moved > 0 && is_one_of(record, known_tokens);
                moved -= u64::from(is_moved);
                !is_moved
            });
        }
        let rows = self.write(records, *pages == 0).map_err(|error| internal(error.to_string()))?;
        let rows = self.held(rows).map_err(IntoResponse::into_response)?;
        self.progress = ExportProgress { pages: pages + 1, count, tokens: found };
        Ok((head, rows))
    }

    /// Requests a page. Returns the response if it is a refusal.
    async fn request(&self, page: u64) -> Result<(response::Parts, ListedPage), Response> {
        let query = page_query(self.head.uri.query().unwrap_or_default(), page);
        let mut head = self.head.clone();
        head.uri = format!("{}?{query}", self.head.uri.path())
            .parse()
            .map_err(|error: InvalidUri| internal(error.to_string()))?;
        let request = Request::from_parts(head, Body::empty());
        let response = catch_panic_and_timeout(request, self.next.clone()).await;
        // The dashboard answers 200 with a page where it has no session.
        let is_page = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == HTML);
        if response.status() != StatusCode::OK || is_page {
            return Err(response);
        }
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| internal(error.to_string()))?.to_bytes();
        Ok((head, serde_json::from_slice(&body).map_err(|error| internal(error.to_string()))?))
    }

    /// Reads a page after the first one, as a request of its own. An error cuts the response off.
    async fn read_on(&mut self, context: Arc<RequestContext>) -> io::Result<Bytes> {
        for _ in 0..TRIES {
            match request_context::scope(Arc::clone(&context), self.read_page()).await {
                Ok((_, rows)) => return Ok(rows),
                Err(refusal) if is_transient(refusal.status()) => tokio::time::sleep(PAUSE).await,
                Err(refusal) => {
                    return Err(io::Error::other(format!("a page was refused: {}", refusal.status())));
                }
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Returns rows that wait for a slow reader as other long answers do.
    ///
    /// Refusals: `service_unavailable`.
    fn held(&self, rows: Bytes) -> Result<Bytes, ErrorCode> {
        if rows.len() <= SMALL_ANSWER_BYTES {
            return Ok(rows);
        }
        let memory = self.admission.memory(None, rows.len())?;
        Ok(held(rows, memory))
    }

    /// Writes records as rows, with or without a heading.
    fn write(&self, records: Vec<Value>, heading: bool) -> io::Result<Bytes> {
        let mut rows = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
        if heading {
            rows.write_record(&*self.columns)?;
        }
        for record in records {
            rows.write_record(self.columns.iter().map(|column| cell(&record, column)))?;
        }
        Ok(rows.into_inner().map_err(|error| io::Error::other(error.to_string()))?.into())
    }
}

fn internal(error: String) -> Response {
    Error::internal(error).into_response()
}

fn is_transient(status: StatusCode) -> bool {
    [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&status)
}

/// Returns the query of a page: the client's, but for its page. Nothing waits for a page that follows another one.
fn page_query(query: &str, page: u64) -> String {
    let named =
        |pair: &str| form_urlencoded::parse(pair.as_bytes()).next().map(|(name, _)| name.into_owned());
    let is_kept = |name: &str| !["page", "per_page"].contains(&name) && (page == 1 || name != "wait");
    let kept = query.split('&').filter(|pair| named(pair).is_some_and(|name| is_kept(&name)));
    let own = [format!("page={page}"), format!("per_page={PER_PAGE_MAX}")];
    kept.map(str::to_owned).chain(own).collect::<Vec<_>>().join("&")
}

fn tokens(records: &[Value]) -> HashSet<String> {
    records.iter().filter_map(|record| record["token"].as_str()).map(str::to_owned).collect()
}

fn is_one_of(record: &Value, tokens: &HashSet<String>) -> bool {
    record["token"].as_str().is_some_and(|token| tokens.contains(token))
}

/// Returns a field as a cell.
fn cell(record: &Value, column: &str) -> String {
    match column.split('.').fold(record, |record, field| &record[field]) {
        Value::Null => String::new(),
        Value::String(text) => defused(text),
        other @ (Value::Array(_) | Value::Object(_)) => defused(&other.to_string()),
        other @ (Value::Bool(_) | Value::Number(_)) => other.to_string(),
    }
}

/// Returns a text that no spreadsheet runs. They run a cell that begins like a formula, some of them also after white space; and
/// where lists are separated by semicolons or tabs, one of those in a text begins another cell.
fn defused(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for piece in text.split_inclusive([';', '\t']) {
        if is_like_a_formula(piece) {
            safe.push('\'');
        }
        safe.push_str(piece);
    }
    safe
}

fn is_like_a_formula(text: &str) -> bool {
    text.starts_with(['\t', '\r', '\n'])
        || text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn csv_is_for_clients_that_name_it_and_want_it_more_than_json() {
        for (accept, wanted) in [
            ("text/csv", true),
            ("TEXT/CSV, */*;q=0.9", true),
            ("application/json;q=0.1, text/csv;header=present;q=0.25", true),
            ("*/*", false),
            ("application/json, text/csv", false),
            ("text/csv;q=0, */*", false),
            ("*/*;q=0.8, text/csv; q=0.75", false),
            ("text/html,text/csv,application/*", false),
            ("text/csv;q=x", false),
            ("text/*", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(wants_csv(&headers), wanted, "{accept}");
        }
    }

    #[test]
    fn a_page_has_the_clients_filters() {
        assert_eq!(page_query("", 1), "page=1&per_page=500");
        assert_eq!(
            page_query("query=a%20b&page=7&per%5Fpage=x&wait=3", 2),
            "query=a%20b&page=2&per_page=500"
        );
        assert_eq!(page_query("wait=3", 1), "wait=3&page=1&per_page=500");
    }

    #[test]
    fn texts_that_begin_like_formulas_are_defused_and_numbers_are_not() {
        let record = json!({
            "a": "=1+1", "b": "@x", "c": "x=1", "n": -5, "none": null, "yes": true, "of": { "it": "+1" }, "list": [1, "-"],
            "after": " \u{a0}=1+1", "line": "\n=1", "blank": " x", "second": "x;=1+1;\t @y;z-1", "nested": { "k": ";=1+1;" },
        });
        for (column, text) in [
            ("a", "'=1+1"),
            ("b", "'@x"),
            ("c", "x=1"),
            ("n", "-5"),
            ("none", ""),
            ("yes", "true"),
            ("of.it", "'+1"),
            ("list", "[1,\"-\"]"),
            ("second", "x;'=1+1;'\t' @y;z-1"),
            ("nested", "{\"k\":\";'=1+1;\"}"),
            ("after", "' \u{a0}=1+1"),
            ("line", "'\n=1"),
            ("blank", " x"),
            ("gone.by", ""),
        ] {
            assert_eq!(cell(&record, column), text, "{column}");
        }
    }
}
