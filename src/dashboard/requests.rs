//! The request log: the account's latest requests, and their responses.

use axum::extract::State;
use entity::token::is_token;
use futures::FutureExt;
use maud::{Markup, html};

use super::address::Address;
use super::auth::AccountSession;
use super::format::{self, Tone};
use super::layout::{PageContent, PageResult};
use super::list::{Field, FieldInput, ListView, Listing, column};
use super::record::{self, Record, facts, words};
use super::state::DashboardState;
use super::{figures, resend};
use crate::api::extract::{Input, Path};
use crate::services::Account;
use crate::services::page::AwaitedList;
use crate::services::sandbox::request_params::RequestSearch;
use crate::services::sandbox::request_view::LoggedRequest;
use crate::services::sandbox::requests;

pub static LIST: ListView<LoggedRequest> = ListView {
    title: "Requests",
    name: "requests",
    api: "sandbox/requests",
    search: "sandbox/requests",
    columns: &[
        column("Request", |request| {
            let id = request.text("/request_id");
            html! { a.path href={ "/dashboard/requests/" (id) } { (request.text("/method")) " " (request.text("/path")) } }
        }),
        column("Status", |request| status(request.number("/status").unwrap_or_default())),
        column("Error", |request| words(request.text("/error/error"))),
        column("Time", |request| request.ago("/created_at")).wide(),
        column("Took", |request| html! { (request.number("/duration_ms").unwrap_or_default()) " ms" }).wide(),
    ],
    fields: &[&[
        Field { name: "token", label: "A token in it", input: FieldInput::Text("ch_...") },
        Field {
            name: "method",
            label: "Method",
            input: FieldInput::Choice(|| vec!["GET", "POST", "PUT", "DELETE"]),
        },
        Field { name: "route", label: "Route", input: FieldInput::Text("/1/charges/{charge_token}") },
        Field { name: "status", label: "Status", input: FieldInput::Number },
        Field { name: "error", label: "Error code", input: FieldInput::Text("invalid_resource") },
    ]],
    order: None,
    is_searched_in_live: false,
    find,
};

fn status(status: i64) -> Markup {
    format::toned(Tone::of_http(status), &status.to_string())
}

/// Lists the requests, newest first.
pub async fn list(State(app): State<DashboardState>, user: AccountSession, input: Input) -> PageResult {
    let latencies = figures::requests(&app, &user.account).await?;
    LIST.page(&app, &user, &input, &latencies).await
}

fn find<'r>(app: &'r DashboardState, account: &'r Account, input: &'r Input) -> Listing<'r, LoggedRequest> {
    async move {
        let search = RequestSearch::read(&LIST.parameters(input));
        requests::search(app, account, search).await?.page(app).await
    }
    .boxed()
}

/// Shows one request: its fault first, and what it sent.
pub async fn show(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let request = Record::new(user.account.now, &requests::show(&app, &user.account, &id).await?)?;
    let hidden: Vec<_> = request.all("/hidden").iter().map(Record::word).collect();
    let content = html! {
        @if !request.text("/error/error").is_empty() { (fault(&request)) }
        (facts(&[
            ("Request", html! { (request.text("/method")) " " span.path { (request.text("/path")) } }),
            ("Status", status(request.number("/status").unwrap_or_default())),
            ("Time", request.time("/created_at")),
            ("Took", html! { (request.number("/duration_ms").unwrap_or_default()) " ms" }),
            ("Idempotency-Key", words(request.text("/idempotency_key"))),
            ("Records", records(&request)),
            ("Replayed", html! { @if request.is("/idempotent_replayed") { "yes" } @else { "no" } }),
        ]))
        h2 { "What it sent" }
        (request.json("/parameters"))
        @if !hidden.is_empty() { p.hint { "Left out: " (hidden.join(", ")) } }
        (resend::offer(&user, &id, &request))
        @if request.text("/route") != resend::FILES {
            h2 { "As a command" }
            pre tabindex="0" { code { (command(&app.info.base_url, &request)) } }
            @if !hidden.is_empty() { p.hint { "Add what was left out." } }
        }
        (request.whole())
    };
    Ok(PageContent::new(format!("/1/sandbox/requests/{id}"), format!("Request {id}"), content))
}

/// Renders the records that a request names in its path or its error, as links to their pages.
fn records(request: &Record) -> Markup {
    let named = request.text("/path").split(['/', '?']);
    let refused = ["/error/charge_token", "/error/authorisation_token"].map(|pointer| request.text(pointer));
    let tokens: Vec<_> = named.chain(refused).filter(|text| is_token(text)).collect();
    html! {
        @if tokens.is_empty() { (words("")) }
        @for token in tokens { (record::token(token)) " " }
    }
}

/// Returns the command that sends the request again, with the key in a variable.
fn command(base_url: &str, request: &Record) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let method = request.text("/method");
    let url = quoted(&format!("{base_url}{}", request.text("/path")));
    let option = if method == "HEAD" { "-I".to_owned() } else { format!("-X {method}") };
    let mut lines = vec![format!("curl -u \"$KEY:\" {option} {url}")];
    if matches!(method, "POST" | "PUT") {
        let body = request.value("/parameters");
        if body.as_object().is_some_and(|fields| !fields.is_empty()) {
            lines.push("-H 'Content-Type: application/json'".to_owned());
            lines.push(format!("-d {}", quoted(&format!("{body:#}"))));
        }
    } else {
        let fields = request.entries("/parameters").into_iter();
        let fields = fields.map(|(name, value)| quoted(&format!("{name}={}", value.word())));
        lines.extend(fields.map(|field| format!("-G --data-urlencode {field}")));
    }
    lines.join(" \\\n  ")
}

/// Renders the error of a request: its code, its sentence, and the invalid parameters.
fn fault(request: &Record) -> Markup {
    let messages = request.all("/error/messages");
    html! {
        section.alert aria-label="Its error" {
            @let code = request.text("/error/error");
            p { strong { a href={ "/docs/errors/" (code) } { code { (code) } } } ": " (request.text("/error/error_description")) }
            @if !messages.is_empty() {
                ul {
                    @for message in &messages {
                        @let param = message.text("/param");
                        li {
                            code { (param) } ": " (message.text("/message")) " "
                            a href=(Address::new("/docs/search").with("q", &param.replace(['.', '_'], " "))) { "About " (param.replace(['.', '_'], " ")) }
                        }
                    }
                }
            }
        }
    }
}
