//! The request log: the account's latest requests, and their responses.

use axum::extract::State;
use maud::{Markup, html};

use super::auth::AccountSession;
use super::layout::{PageContent, PageResult};
use super::record::{self, Address, Column, Record, facts, words};
use crate::http::AppState;
use crate::http::extract::{Input, Path};
use crate::params::logged_request::RequestSearch;
use crate::services::page::AwaitedList;
use crate::services::sandbox::requests;

const COLUMNS: [Column; 6] = [
    ("Request", request),
    ("Time", |request| request.time("/created_at")),
    ("Method", |request| words(request.text("/method"))),
    ("Path", |request| words(request.text("/path"))),
    ("Status", |request| html! { (request.number("/status").unwrap_or_default()) }),
    ("Error", |request| words(request.text("/error/error"))),
];

/// Renders a request's id as a link to its page.
fn request(request: &Record) -> Markup {
    let id = request.text("/request_id");
    html! { a.token href={ "/dashboard/requests/" (id) } { (id) } }
}

/// Lists the requests, newest first.
pub async fn list(State(app): State<AppState>, user: AccountSession, input: Input) -> PageResult {
    let page = requests::search(&app, &user.account, RequestSearch::read(&input)).await?.page(&app).await?;
    let same = Address::of("/1/sandbox/requests").page(page.paging).to_string();
    let here = Address::of("/dashboard/requests");
    Ok(PageContent::of(same, "Requests", record::list("Requests, newest first", &COLUMNS, page, &here)?))
}

/// Shows one request.
pub async fn show(State(app): State<AppState>, user: AccountSession, Path(id): Path<String>) -> PageResult {
    let request = Record::of(&requests::show(&app, &user.account, &id).await?)?;
    let content = html! {
        (facts(&[
            ("Method", words(request.text("/method"))),
            ("Path", words(request.text("/path"))),
            ("Status", html! { (request.number("/status").unwrap_or_default()) }),
            ("Error", words(request.text("/error/error_description"))),
            ("Time", request.time("/created_at")),
            ("Took", html! { (request.number("/duration_ms").unwrap_or_default()) " ms" }),
            ("Idempotency-Key", words(request.text("/idempotency_key"))),
        ]))
        (request.whole())
    };
    Ok(PageContent::of(format!("/1/sandbox/requests/{id}"), format!("Request {id}"), content))
}
