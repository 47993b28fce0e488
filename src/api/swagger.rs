//! The Swagger page, which works offline.

use std::sync::{Arc, LazyLock};

use acquirer::test_cards::TABLE;
use acquirer::{SANDBOX_WORDS, SimulatedOutcome};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use entity::failure::Decline;
use entity::three_d_secure::SimulatedChallenge;
use serde_json::{Value, json};
use url::Url;
use web::handlers::get;

use super::representations::Representations;
use super::server_info::ServerInfo;
use super::state::AppState;
use super::{own_machine, pages};
use crate::config::Environment;
use crate::error::ErrorCode;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Returns the routes of the page and its files. One script is built for each request, because it may contain a key.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/docs", get(async || Redirect::to("/docs/")))
        .route("/docs/", get(page))
        .route("/docs/swagger-initializer.js", get(initializer))
        .route("/docs/{file}", get(file))
}

/// Serves the page. Everything comes from this server, scripts and styles from their own files. Requests also go to the
/// address that the operator has configured, which is the document's first server, and a downloaded file is shown as a
/// blob.
async fn page(State(info): State<Arc<ServerInfo>>) -> Response {
    let named = info.named.as_deref().and_then(|named| Url::parse(named).ok());
    let named = named.map(|named| named.origin().ascii_serialization()).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self' {named}; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    pages::guarded_by(Html(include_str!("swagger/page.html")).into_response(), &policy, "no-referrer")
}

/// The page's files by name: Swagger UI's, compressed as they are in the program, and ours.
static FILES: LazyLock<Vec<(&str, Representations)>> = LazyLock::new(|| {
    const SCRIPT: &str = "text/javascript; charset=utf-8";
    const STYLE: &str = "text/css; charset=utf-8";

    let vendored =
        [("swagger-ui-bundle.js", SCRIPT), ("swagger-ui.css", STYLE), ("favicon-32x32.png", "image/png")];
    let vendored = vendored.into_iter().filter_map(|(name, content_type)| {
        let file = utoipa_swagger_ui::serve(name, Arc::default()).ok()??;
        let bytes = file.bytes.into_owned();
        let new = if file.gzpipped { Representations::from_gzip } else { Representations::new };
        Some((name, new(content_type, bytes)))
    });
    let own = [
        ("page.css", STYLE, include_str!("swagger/page.css")),
        ("page.js", SCRIPT, include_str!("swagger/page.js")),
        ("openapi.js", SCRIPT, include_str!("swagger/openapi.js")),
        ("memory.js", SCRIPT, include_str!("swagger/memory.js")),
        ("fields.js", SCRIPT, include_str!("swagger/fields.js")),
        ("body.js", SCRIPT, include_str!("swagger/body.js")),
        ("request.js", SCRIPT, include_str!("swagger/request.js")),
        ("code.js", SCRIPT, include_str!("swagger/code.js")),
        ("sections.js", SCRIPT, include_str!("swagger/sections.js")),
    ];
    let own = own.map(|(name, content_type, text)| (name, Representations::new(content_type, text)));
    vendored.chain(own).collect()
});

async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let file = FILES.iter().find(|(file, _)| *file == name);
    file.map_or_else(|| ErrorCode::RouteNotFound.into_response(), |(_, file)| file.respond(&headers))
}

/// Serves the page's settings: no badge of an external validator, deep links, and the test key for a browser on the
/// server's own machine. In test the page is for trying requests, and remembers the key; in live it is for reading: it
/// sends nothing by itself, and no live key stays in a browser.
async fn initializer(State(app): State<AppState>, request: Parts) -> impl IntoResponse {
    let key = own_machine::test_key(&app, &request);
    let key = key.map_or(Value::Null, |key| key.expose().into());
    let to_be_tried = app.info.environment == Environment::Test;
    // With highlighting an operation takes half as long again to open, and its colours are too faint.
    let settings = json!({
        "url": "../openapi.json", "dom_id": "#swagger-ui", "validatorUrl": "none", "deepLinking": true, "filter": true,
        "tryItOutEnabled": to_be_tried, "persistAuthorization": to_be_tried, "docExpansion": "none",
        "defaultModelsExpandDepth": -1, "syntaxHighlight": false,
    });
    let sandbox =
        if to_be_tried { sandbox() } else { json!({ "cards": [], "outcomes": [], "challenges": [] }) };
    let script = format!(
        "import {{ start }} from './page.js'\n\nconst key = {key}\nstart({settings}, key, {sandbox})\n"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        // No page of another site may run the script and read the key.
        (RESOURCE_POLICY, "same-origin"),
    ];
    (headers, script)
}

/// Returns what the fields of a test server offer, values and what each does: the first card of each kind, and the words of
/// the headers `Sandbox-Outcome` and `Sandbox-Challenge`.
fn sandbox() -> Value {
    let cards = TABLE.iter().filter_map(|row| {
        let verified = row.challenge.map(|challenge| format!("; 3-D Secure: {}", challenge.description()));
        let verified = verified.unwrap_or_default();
        let does = format!("{}, issued in {}{verified}", row.outcome.description(), row.issuing_country);
        Some(json!([row.numbers().next()?, does]))
    });
    let words = SANDBOX_WORDS.into_iter().chain(Decline::ALL.iter().map(|decline| decline.code()));
    let outcomes = words.filter_map(|word| {
        let outcome = SimulatedOutcome::from_sandbox_word(word)?;
        Some(json!([word, outcome.description()]))
    });
    let challenges = SimulatedChallenge::ALL.iter().map(|one| json!([one.code(), one.description()]));
    json!({
        "cards": cards.collect::<Vec<_>>(), "outcomes": outcomes.collect::<Vec<_>>(), "challenges": challenges.collect::<Vec<_>>(),
    })
}
