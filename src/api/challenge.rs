//! The page on which a cardholder verifies a payment: HTML without scripts, found by the secret in its URL.

mod page;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use url::form_urlencoded;

use super::answer::without_log;
use super::extract::{Path, read_body};
use super::pages;
use super::request_log_data::log;
use super::state::AppState;
use crate::error::Error;
use crate::limits::CHALLENGE_BODY_BYTES_MAX;
use crate::params::ReadValues;
use crate::services::three_d_secure::state::ChallengeDecision;
use crate::services::three_d_secure::{self, ChallengeView};

/// Returns the routes outside of /1.
pub fn routes() -> Router<AppState> {
    Router::new().route("/3d-secure/{secret}", get(show).head(view).post(decide))
}

async fn show(State(app): State<AppState>, Path(secret): Path<String>) -> Response {
    match three_d_secure::show(&app.ctx, &secret).await {
        Ok(shown) => answer(StatusCode::OK, &app, shown, false),
        Err(error) => refused(&error),
    }
}

/// Answers HEAD: a program that checks a link in a message has not opened the page.
async fn view(State(app): State<AppState>, Path(secret): Path<String>) -> Response {
    match three_d_secure::view(&app.ctx, &secret).await {
        Ok(shown) => answer(StatusCode::OK, &app, shown, false),
        Err(error) => refused(&error),
    }
}

/// Records the decision. The first one stands; every later post redirects to the merchant as well.
async fn decide(
    State(app): State<AppState>,
    Path(secret): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let decision = match read_body(&app, &headers, body, CHALLENGE_BODY_BYTES_MAX).await {
        Ok((body, _memory)) => decision(&body),
        // What was shed is no fault.
        Err(error) if error.code().status() >= 500 => return without_log(&error),
        Err(_) => None,
    };
    match three_d_secure::press(&app.ctx, &secret, decision).await {
        Ok(shown) => answer(StatusCode::UNPROCESSABLE_ENTITY, &app, shown, true),
        Err(error) => refused(&error),
    }
}

/// Returns the decision of the pressed button, if there is one.
fn decision(body: &[u8]) -> Option<ChallengeDecision> {
    let (_, pressed) = form_urlencoded::parse(body).find(|(name, _)| name == "decision")?;
    let decision = match &*pressed {
        "approve" => ChallengeDecision::Approve,
        "fail" => ChallengeDecision::Fail,
        _ => return None,
    };
    log(|data| {
        let tree = Arc::new(json!({ "decision": pressed }));
        data.read.append(ReadValues::open(&tree["decision"]));
        data.parameters = Some(tree);
    });
    Some(decision)
}

fn answer(status: StatusCode, app: &AppState, shown: ChallengeView, undecided: bool) -> Response {
    match shown {
        ChallengeView::Question(question) => {
            pages::answer(status, &page::question(&question, app.info.environment, undecided))
        }
        ChallengeView::Return(url) => back(&url),
    }
}

/// Redirects to the address that the merchant gave with the charge, and to no other.
fn back(url: &str) -> Response {
    match HeaderValue::from_str(url) {
        Ok(url) => pages::guarded((StatusCode::SEE_OTHER, [(header::LOCATION, url)]).into_response()),
        Err(_) => refused(&Error::internal("a callback_url that is no header")),
    }
}

/// Returns the same page for an unknown secret and an expired session.
fn refused(error: &Error) -> Response {
    pages::refused(
        error,
        "This page does not exist, or it has expired. Please go back to the merchant and try again.",
        "Your decision may not have been recorded. Please load this page again.",
    )
}
