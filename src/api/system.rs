//! Routes outside of /1: the OpenAPI document, its page, its short form and its workflows, health, metrics.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use tokio::task::spawn_blocking;
use web::handlers::get;
use web::server::ServerPhase;

use super::answer::without_log;
use super::auth::log_account;
use super::document::{Document, DocumentChoice};
use super::representations::Representations;
use super::server_info::ServerInfo;
use super::state::AppState;
use super::swagger;
use crate::config::Environment;
use crate::error::{Error, ErrorCode};
use crate::services::installation;

pub fn routes() -> Router<AppState> {
    Router::new()
        .route(
            "/openapi.yaml",
            get(async |app, headers, choice| document(app, headers, choice, Document::yaml).await),
        )
        .route(
            "/openapi.json",
            get(async |app, headers, choice| document(app, headers, choice, Document::json).await),
        )
        .route("/llms.txt", get(llms))
        .route("/postman.json", get(postman))
        .route("/arazzo.yaml", get(workflows))
        .merge(swagger::routes())
}

/// Serves the document, whole or as the query chooses.
async fn document(
    State(app): State<AppState>,
    headers: HeaderMap,
    choice: Result<Query<DocumentChoice>, QueryRejection>,
    written: for<'a> fn(&'a Document, &ServerInfo, DocumentChoice) -> &'a Representations,
) -> Result<Response, Error> {
    let Query(choice) = choice.map_err(|_| Error::explained(ErrorCode::BadRequest, CHOICES))?;
    written_once(move || written(&app.document, &app.info, choice).respond(&headers)).await
}

const CHOICES: &str = "The document has the choices bodies=all, bodies=json, edition=3.1, edition=3.0, samples=none and samples=code";

async fn llms(State(app): State<AppState>, headers: HeaderMap) -> Result<Response, Error> {
    written_once(move || app.document.llms(&app.info).respond(&headers)).await
}

async fn postman(State(app): State<AppState>, headers: HeaderMap) -> Result<Response, Error> {
    written_once(move || app.document.postman(&app.info).respond(&headers)).await
}

/// Writing and compressing a document takes a while, once, so it runs on a thread that serves no other requests.
async fn written_once(respond: impl FnOnce() -> Response + Send + 'static) -> Result<Response, Error> {
    spawn_blocking(respond).await.map_err(|error| Error::internal(error.to_string()))
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
    let text = app.metrics.render(&app, requests.taken(), connections.taken()).await;
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
