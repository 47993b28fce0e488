//! The search as a page, and as JSON for programs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use base::request_permits::release_permit;
use maud::{Markup, html};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use url::form_urlencoded;
use web::handlers::get;

use super::search::{Found, Index};
use super::{HOME, SEARCH, layout};
use crate::api::metrics::{ShedKind, count_shed};
use crate::api::{AppState, accept};
use crate::error::{Error, ErrorCode};

/// The answer for programs.
#[derive(Serialize)]
struct Answer<'a> {
    query: &'a str,
    results: &'a [Found<'a>],
}

/// The time for which a question waits for those before it.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// The index, which is made at the first question, and the permit to search it: anybody may ask, and payments share the processors, so
/// one question is answered at a time.
struct Search {
    index: OnceLock<Index>,
    permits: Arc<Semaphore>,
}

/// Returns the route.
pub fn routes() -> Router<AppState> {
    let searching = Arc::new(Search { index: OnceLock::new(), permits: Arc::new(Semaphore::new(1)) });
    let search = move |app: State<AppState>, headers: HeaderMap, query: RawQuery| {
        search(app, headers, query, Arc::clone(&searching))
    };
    Router::new().route(SEARCH, get(search))
}

async fn search(
    State(app): State<AppState>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    searching: Arc<Search>,
) -> Result<Response, Error> {
    let question = question(query.as_deref().unwrap_or_default());
    let wants_json = accept::weight(&headers, &["application/json"])
        > accept::weight(&headers, &["text/html", "text/*", "*/*"]);
    let permits = &searching.permits;
    let permit = if let Ok(permit) = Arc::clone(permits).try_acquire_owned() {
        permit
    } else {
        release_permit();
        let waited = timeout(WAIT_MAX, Arc::clone(permits).acquire_owned()).await;
        waited.ok().and_then(Result::ok).ok_or_else(|| {
            count_shed(ShedKind::LongWork);
            ErrorCode::ServiceUnavailable
        })?
    };
    // The index takes a moment, and a long question does. The permit goes with the work, which goes on if the client leaves.
    let answer = spawn_blocking(move || {
        let _permit = permit;
        let index = searching.index.get_or_init(|| Index::new(&app.document.own(&app.info)));
        let results = index.search(&question);
        if wants_json {
            return Json(Answer { query: &question, results: &results }).into_response();
        }
        let title = if question.is_empty() { "Search".to_owned() } else { format!("{question}: search") };
        layout::page_of_search(&app, StatusCode::OK, (&title, &question), &shown(&question, &results))
    });
    answer.await.map_err(|error| Error::internal(error.to_string()))
}

/// Returns the question of a query, its parameter `q`.
fn question(query: &str) -> String {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == "q").map(|(_, question)| question.into_owned()).unwrap_or_default()
}

fn shown(question: &str, results: &[Found]) -> Markup {
    html! {
        h1 { "Search" }
        @if results.is_empty() {
            p { "Nothing fits “" (question) "”. Try other words, or read the " a href=(HOME) { "contents" } "." }
        } @else {
            ol.results {
                @for found in results {
                    li {
                        a href=(found.url) { (found.heading) }
                        p.where { (found.kind.name()) " · " (found.title) }
                        p { (found.excerpt) }
                    }
                }
            }
        }
    }
}
