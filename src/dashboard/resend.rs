//! Sends a logged request once more: with the account's own key and a new Idempotency-Key, through the whole of the API.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Request, header};
use axum::response::Redirect;
use base::random::random;
use base::request_permits::release_permit;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use maud::{Markup, html};
use serde_json::Value;
use tower::ServiceExt;
use url::form_urlencoded;

use super::auth::{AccountSession, VerifiedForm};
use super::layout::{self, FormResult};
use super::record::Record;
use super::state::DashboardState;
use crate::api::extract::Path;
use crate::error::{Error, ErrorCode};
use crate::limits::LOGGED_CHARACTERS_MAX;
use crate::services::accounts::shown_keys;
use crate::services::sandbox::requests;

/// The operation whose body is a form with a file, which no log keeps.
pub const FILES: &str = "/1/files";

/// Renders the button that sends a request again, or why it cannot be sent.
pub fn offer(user: &AccountSession, id: &str, request: &Record) -> Markup {
    html! {
        h2 { "Send it again" }
        @match obstacle(request) {
            Some(obstacle) => p.hint { (obstacle) },
            None => section.actions aria-label="Send it again" {
                p {
                    "With the account's secret key and " @if is_write(request) { "a new Idempotency-Key" } @else { "the same parameters" }
                    ". The log does not keep a Sandbox-Outcome header, so a forced outcome is not forced again."
                }
                form method="post" action={ "/dashboard/requests/" (id) "/send" } {
                    (layout::hidden_fields(&user.session))
                    button { "Send it again" }
                }
            }
        }
    }
}

/// Returns why a request cannot be sent again, if it cannot: the log does not hold all of it.
fn obstacle(request: &Record) -> Option<String> {
    let hidden: Vec<_> = request.all("/hidden").iter().map(Record::word).collect();
    if request.text("/route") == FILES && request.text("/method") == "POST" {
        Some("It cannot be sent again: the log does not keep files.".to_owned())
    } else if !hidden.is_empty() {
        Some(format!(
            "It cannot be sent again: secrets and cards are not in the log, nor is what could not be read. Left out: {}.",
            hidden.join(", ")
        ))
    } else if is_cut(request.value("/parameters")) {
        Some(format!("It cannot be sent again: the log keeps {LOGGED_CHARACTERS_MAX} characters of a text."))
    } else if !request.text("/path").starts_with("/1/") || request.text("/path").contains('{') {
        Some("It cannot be sent again: the log shows of its address only what is a token.".to_owned())
    } else if !matches!(request.text("/method"), "GET" | "HEAD" | "POST" | "PUT" | "DELETE") {
        Some("It cannot be sent again: no operation has this method.".to_owned())
    } else {
        None
    }
}

/// Returns whether the log has cut a text off.
fn is_cut(parameters: &Value) -> bool {
    match parameters {
        Value::String(text) => text.ends_with('…') && text.chars().count() > LOGGED_CHARACTERS_MAX,
        Value::Array(items) => items.iter().any(is_cut),
        Value::Object(fields) => fields.values().any(is_cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_write(request: &Record) -> bool {
    matches!(request.text("/method"), "POST" | "PUT" | "DELETE")
}

/// Sends a request again, and shows the new one.
pub async fn send(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    let account = &form.caller.account;
    let logged = Record::new(account.now, &requests::show(&app, account, &id).await?)?;
    if let Some(obstacle) = obstacle(&logged) {
        return Err(Error::explained(ErrorCode::BadRequest, obstacle).into());
    }
    let keys = shown_keys(&app, account.id()).await?;
    let request = repeated(&logged, keys.secret.expose())?;
    // The request gets a permit of its own.
    release_permit();
    let answer = match app.api().oneshot(request).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    };
    let sent = answer.headers().get("x-request-id").and_then(|id| id.to_str().ok());
    let sent = sent.ok_or_else(|| Error::internal("an answer without an id"))?;
    Ok(Redirect::to(&format!("/dashboard/requests/{sent}")))
}

/// Builds the request that a logged one repeats.
fn repeated(logged: &Record, key: &str) -> Result<Request<Body>, Error> {
    let method = Method::from_bytes(logged.text("/method").as_bytes()).unwrap_or_default();
    let parameters = logged.value("/parameters");
    let has_body = matches!(method, Method::POST | Method::PUT);
    let query = if has_body { String::new() } else { query(parameters) };
    let authorisation = format!("Basic {}", STANDARD.encode(format!("{key}:")));
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{}{query}", logged.text("/path")))
        .header(header::AUTHORIZATION, authorisation);
    if is_write(logged) {
        let key = format!("dashboard-{}", URL_SAFE_NO_PAD.encode(random::<16>()));
        request = request.header("idempotency-key", key);
    }
    let body = if has_body {
        request = request.header(header::CONTENT_TYPE, "application/json");
        Body::from(parameters.to_string())
    } else {
        Body::empty()
    };
    request.body(body).map_err(|error| Error::internal(error.to_string()))
}

/// Writes parameters as a query.
fn query(parameters: &Value) -> String {
    let pairs = parameters.as_object().map(recording::query).unwrap_or_default();
    if pairs.is_empty() {
        return String::new();
    }
    format!("?{}", form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
}
