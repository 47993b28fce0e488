//! The layout around every guide: the search, the ways to the other pages, and the headers of a page without scripts.

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use super::{ERRORS, HOME, SEARCH, STYLE};
use crate::api::representations::Representations;
use crate::api::{AppState, base_path, pages};

/// The style sheet: the colours of the dashboard, and the forms of these pages.
static SHEET: LazyLock<Representations> = LazyLock::new(|| {
    const TEXT: &str = concat!(include_str!("../dashboard/colours.css"), include_str!("guide.css"));
    Representations::new("text/css; charset=utf-8", TEXT)
});

/// Serves the style sheet.
pub async fn style(headers: HeaderMap) -> Response {
    SHEET.respond(&headers)
}

pub fn page(app: &AppState, status: StatusCode, title: &str, content: &Markup) -> Response {
    page_of_search(app, status, (title, ""), content)
}

/// Builds the response of a page whose form shows what was searched for.
pub fn page_of_search(
    app: &AppState,
    status: StatusCode,
    (title, query): (&str, &str),
    content: &Markup,
) -> Response {
    const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                          frame-ancestors 'none'";
    const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

    let page = document(app, title, query, content).into_string();
    let page = base_path::link(app.info.base_path(), page);
    pages::guarded_by((status, [(header::CONTENT_TYPE, HTML)], page).into_response(), POLICY, "no-referrer")
}

/// Builds the page for an unknown address.
pub fn not_found(app: &AppState) -> Response {
    let content = html! {
        h1 { "Page not found" }
        p { "No guide is at this address. The search above knows all of them; the " a href=(HOME) { "contents" } " list them." }
    };
    page(app, StatusCode::NOT_FOUND, "Page not found", &content)
}

fn document(app: &AppState, title: &str, query: &str, content: &Markup) -> Markup {
    let environment = app.info.environment.name();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · card-payments" }
                link rel="stylesheet" href=(STYLE);
                link rel="icon" type="image/png" href="/docs/favicon-32x32.png";
            }
            body {
                a.skip href="#main" { "Skip to the page" }
                header {
                    p.brand { a href="/" { "card-payments" } " " span class={ "badge " (environment) } { (environment) } }
                    nav aria-label="Pages" {
                        ul {
                            li { a href=(HOME) { "Guides" } }
                            li { a href="/docs/" { "API" } }
                            li { a href=(ERRORS) { "Errors" } }
                            @if app.has_dashboard { li { a href="/dashboard" { "Dashboard" } } }
                        }
                    }
                    form role="search" action=(SEARCH) {
                        label.unseen for="q" { "Search guides, operations and errors" }
                        input #q type="search" name="q" value=(query) placeholder="3ds failure" maxlength="200";
                        " " button { "Search" }
                    }
                }
                main #main { (content) }
            }
        }
    }
}
