//! A page for each error code: what it means, what causes it, what to do, and how to cause it in the sandbox.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};

use super::{ERRORS, HOME, layout};
use crate::api::AppState;
use crate::config::Environment;
use crate::error::explanation::{PAYMENT, Sandbox};
use crate::error::{ErrorCode, KeyFault};

/// Serves the list of all codes.
pub async fn index(State(app): State<AppState>) -> Response {
    let content = html! {
        h1 { "Errors" }
        p {
            "The code of an error is in " code { "error" } " of its body. Each has a page, to which the header Link of the answer leads, and which "
            code { "card-payments explain CODE" } " prints. How errors are built is on the page " a href={ (HOME) "errors" } { "Errors" } " of the guides."
        }
        div.scroll tabindex="0" role="group" aria-label="Table" {
            table {
                thead { tr { th { "status" } th { "error" } th { "what it says" } } }
                tbody {
                    @for code in ErrorCode::ALL {
                        tr {
                            td { (code.status()) }
                            td { a href={ (ERRORS) "/" (code.code()) } { code { (code.code()) } } }
                            td { (code.description()) }
                        }
                    }
                }
            }
        }
    };
    layout::page(&app, StatusCode::OK, "Errors", &content)
}

/// Serves the page of a code.
pub async fn page(State(app): State<AppState>, Path(name): Path<String>) -> Response {
    let codes: Vec<_> = ErrorCode::spelled(&name).collect();
    if codes.is_empty() {
        return layout::not_found(&app);
    }
    let content = html! {
        h1 { code { (name) } }
        @for code in &codes { (explained(&app, *code)) }
        @if codes.contains(&ErrorCode::Unauthorized) { (key_faults()) }
        p { a href=(ERRORS) { "All errors" } }
    };
    layout::page(&app, StatusCode::OK, &name, &content)
}

fn explained(app: &AppState, code: ErrorCode) -> Markup {
    let explanation = code.explanation();
    html! {
        p.lead { strong { (code.status()) } " " (code.description()) }
        p { (explanation.meaning) }
        h2 { "What causes it" }
        ul { @for cause in explanation.causes { li { (cause) } } }
        h2 { "What to do" }
        p { (explanation.remedy) }
        dl {
            dt { "Who must act" } dd { (explanation.actor.words()) }
            dt { "Repeat the request?" } dd { (explanation.repetition.words()) }
        }
        @if app.info.environment == Environment::Test { (cause_it(&app.info.base_url, explanation.sandbox)) }
    }
}

/// Renders how to cause a code on a test server.
fn cause_it(base_url: &str, sandbox: Sandbox) -> Markup {
    html! {
        h2 { "Cause it in the sandbox" }
        @match sandbox {
            Sandbox::Words(words) => p { (words) },
            Sandbox::Shell(lines) => {
                p { "With the address of the server and the secret key of a test account:" }
                pre tabindex="0" {
                    code {
                        "URL=" (base_url) " KEY=...\n"
                        @if sandbox.needs_payment() { (PAYMENT) "\n" }
                        (lines)
                    }
                }
            },
        }
    }
}

/// Renders the reasons of `unauthorized`, to which answers lead by their fragments.
fn key_faults() -> Markup {
    html! {
        h2 { "Which key fault it is" }
        dl {
            @for fault in KeyFault::ALL {
                dt id=(fault.code()) { code { "#" (fault.code()) } }
                dd { (fault.sentence()) }
            }
        }
    }
}
