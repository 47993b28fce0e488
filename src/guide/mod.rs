//! The guides in the program: `docs/` as pages, a search over them, and a page for each error code. They work offline and without
//! scripts.

mod errors;
mod layout;
mod pages;
mod render;
mod search;
mod search_page;
mod welcome;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use web::handlers::get;

pub use self::pages::{PAGES, Page};
pub use self::search::{Index, Kind};
use crate::api::AppState;

const HOME: &str = "/docs/guide/";
/// The path of the error pages.
const ERRORS: &str = "/docs/errors";
const SEARCH: &str = "/docs/search";
/// The path of the style sheet.
const STYLE: &str = "/docs/guide.css";

pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/", get(welcome::welcome))
        .route("/docs/guide", get(async || Redirect::to(HOME)))
        .route(HOME, get(contents))
        .route("/docs/guide/{*page}", get(page))
        .route(ERRORS, get(errors::index))
        .route("/docs/errors/{code}", get(errors::page))
        .route(STYLE, get(layout::style))
        .merge(search_page::routes())
}

async fn contents(app: State<AppState>) -> Response {
    page(app, Path(pages::CONTENTS.to_owned())).await
}

/// Serves a guide: as a page, or as its source where the path ends so.
async fn page(State(app): State<AppState>, Path(path): Path<String>) -> Response {
    if let Some(page) = path.strip_suffix(".md").and_then(pages::named) {
        return source(page);
    }
    let path = path.trim_end_matches('/');
    pages::named(path).map_or_else(|| layout::not_found(&app), |page| shown(&app, page))
}

fn shown(app: &AppState, page: &Page) -> Response {
    let source = html! {
        p.source { a href={ (HOME) (page.name) ".md" } { "This page as Markdown" } }
    };
    let content = html! { (render::html(page)) (source) };
    layout::page(app, StatusCode::OK, page.title(), &content)
}

/// Serves the text as it is in `docs/`.
fn source(page: &Page) -> Response {
    ([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], page.text).into_response()
}
