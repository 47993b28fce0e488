//! Routes outside of /1: a small index, the OpenAPI document, its page, its short form and its workflows, health, metrics.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use tokio::task::spawn_blocking;

use super::answer::without_log;
use super::auth::log_account;
use super::document::Document;
use super::representations::Representations;
use super::server::ServerPhase;
use super::server_info::ServerInfo;
use super::state::AppState;
use super::{base_path, swagger};
use crate::config::Environment;
use crate::error::{Error, ErrorCode};
use crate::services::installation;

/// Returns the routes.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/", get(index))
        .route("/openapi.yaml", get(async |app, headers| document(app, headers, Document::yaml).await))
        .route("/openapi.json", get(async |app, headers| document(app, headers, Document::json).await))
        .route("/llms.txt", get(async |app, headers| document(app, headers, Document::llms).await))
        .route("/arazzo.yaml", get(workflows))
        .merge(swagger::routes())
}

/// Serves the document. Writing and compressing it takes a while, once, so it runs on a thread that serves no other
/// requests.
async fn document(
    State(app): State<AppState>,
    headers: HeaderMap,
    written: for<'a> fn(&'a Document, &ServerInfo) -> &'a Representations,
) -> Result<Response, Error> {
    let answer = spawn_blocking(move || written(&app.document, &app.info).respond(&headers));
    answer.await.map_err(|error| Error::internal(error.to_string()))
}

/// Flows over the operations as an Arazzo document, which is also a file of the repository.
static WORKFLOWS: LazyLock<Representations> =
    LazyLock::new(|| Representations::new("application/yaml", include_str!("../../arazzo.yaml")));

/// Serves the flows in test only: the sandbox decides in them what in life takes time.
async fn workflows(State(app): State<AppState>, headers: HeaderMap) -> Response {
    match app.info.environment {
        Environment::Test => WORKFLOWS.respond(&headers),
        Environment::Live => unknown_operation(State(app), headers).await,
    }
}

/// Returns the routes of monitoring, which work under any load.
pub fn health() -> Router<AppState> {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .method_not_allowed_fallback(wrong_method)
}

async fn index(State(app): State<AppState>) -> Html<String> {
    let ServerInfo { base_url, .. } = &*app.info;
    let environment = app.info.environment.name();
    let page = match app.info.environment {
        Environment::Test => "Try it: the Swagger page",
        Environment::Live => "The Swagger page",
    };
    let dashboard = if app.has_dashboard { "<li><a href=\"/dashboard\">The dashboard</a>" } else { "" };
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>card-payments</title><h1>card-payments</h1><p>A card payments API, {environment} environment, at {base_url}/1.</p>\
         <ul><li><a href=\"/docs/\">{page}</a>{dashboard}<li><a href=\"/openapi.yaml\">openapi.yaml</a>\
         <li><a href=\"/openapi.json\">openapi.json</a><li><a href=\"/llms.txt\">llms.txt</a></ul></html>"
    );
    Html(base_path::link(app.info.base_path(), page))
}

/// The header that names the installation, for `check` on the same machine.
pub const INSTALLATION: &str = "x-installation";

async fn healthz(State(app): State<AppState>) -> impl IntoResponse {
    ([(INSTALLATION, app.installation.to_string())], "ok\n")
}

/// Answers whether the server is ready: it can read its database, can write to it as far as it knows, has created its
/// fixtures, and is not shutting down.
async fn readyz(State(app): State<AppState>) -> Result<&'static str, Response> {
    let unavailable = Error::from(ErrorCode::ServiceUnavailable);
    if *app.phase.borrow() != ServerPhase::Serving {
        // It begins or ends as it should, so this is no fault to log.
        return Err(without_log(&unavailable));
    }
    installation::check_health(&app).await.map_err(|_| unavailable.into_response())?;
    Ok("ready\n")
}

async fn metrics(State(app): State<AppState>) -> Result<Response, Error> {
    if !app.info.metrics {
        return Err(ErrorCode::RouteNotFound.into());
    }
    let (requests, connections) = (app.admission.requests(), app.admission.connections());
    let text = app.metrics.render(&app, requests.taken(), connections.taken()).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

/// Answers 404 for an unknown path.
pub async fn unknown_route() -> Response {
    ErrorCode::RouteNotFound.into_response()
}

/// Does so, and logs the request of a client.
pub async fn unknown_operation(State(app): State<AppState>, headers: HeaderMap) -> Response {
    log_account(&app, &headers).await;
    unknown_route().await
}

/// Answers 405; the router adds `Allow`.
pub async fn wrong_method(State(app): State<AppState>, headers: HeaderMap) -> Response {
    log_account(&app, &headers).await;
    ErrorCode::MethodNotAllowed.into_response()
}
