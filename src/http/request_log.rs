//! Writes the request log: in the test environment, once a key has opened an account.

use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, Method};
use entity::token::is_token;
use entity::{JsonText, logged_request};
use serde_json::Value;

use super::AppState;
use super::paths::SUFFIX;
use super::request_log_data::{self, RequestLogData, SharedLogData};
use super::write_request::{IDEMPOTENT_REPLAYED, idempotency_key, legible};
use crate::config::Environment;
use crate::params::LoggableParams;
use crate::runtime::request_context::RequestContext;
use crate::services::Ctx;
use crate::views::logged_request::LoggedError;

/// Reading the log must not push out the requests that it is there for.
const OF_THE_LOG: &str = "/1/sandbox/requests";

/// The log's data of a request, known from the start.
pub struct RequestLogWriter {
    ctx: Ctx,
    path: String,
    idempotency_key: Option<String>,
    /// Whether the response is a replayed one.
    replayed: bool,
    data: SharedLogData,
}

impl RequestLogWriter {
    /// Creates the writer; None where there is no log.
    pub fn of(app: &AppState, request: &Request) -> Option<Self> {
        let key = idempotency_key(request);
        (app.info.environment == Environment::Test).then(|| Self {
            ctx: Ctx::clone(&app.ctx),
            path: request.uri().path().to_owned(),
            idempotency_key: legible(key.as_ref()).ok().map(str::to_owned),
            replayed: false,
            data: SharedLogData::default(),
        })
    }

    /// Returns the data that the request records.
    pub fn data(&self) -> SharedLogData {
        SharedLogData::clone(&self.data)
    }

    /// Reads the headers of the response.
    pub fn answers(&mut self, headers: &HeaderMap) {
        self.replayed = headers.contains_key(IDEMPOTENT_REPLAYED);
    }

    /// Adds the request to the log.
    pub fn note(&self, this: &RequestContext, method: &Method, status: u16, took: Duration) {
        if !this.route().starts_with(OF_THE_LOG)
            && let Some(row) = self.row(this, &request_log_data::take(&self.data), method, status, took)
        {
            let account = row.account_id;
            self.ctx.request_log.note(row);
            if self.ctx.request_log.is_awaited(account) {
                let ctx = Ctx::clone(&self.ctx);
                tokio::spawn(async move {
                    if let Err(error) = ctx.request_log.write(&ctx.store, Some(account)).await {
                        tracing::warn!(%error, "the log of requests lacks some requests");
                    }
                });
            }
        }
    }

    fn row(
        &self,
        this: &RequestContext,
        data: &RequestLogData,
        method: &Method,
        status: u16,
        took: Duration,
    ) -> Option<logged_request::Model> {
        let (account_id, created_at) = data.account?;
        let shown = LoggableParams::of(data.parameters.as_deref().unwrap_or(&Value::Null), &data.read);
        let error = data.error.as_deref().and_then(LoggedError::of);
        // With a seed, durations are 0, so that runs are identical.
        let took = if self.ctx.chance.is_seeded() { Duration::ZERO } else { took };
        Some(logged_request::Model {
            account_id,
            id: self.ctx.ids.token(),
            request_id: this.id.clone(),
            method: method.to_string(),
            route: this.route().to_owned(),
            path: path(this.route(), &self.path),
            status: status.into(),
            duration: i64::try_from(took.as_millis()).unwrap_or(i64::MAX),
            idempotency_key: self.idempotency_key.clone(),
            replayed: self.replayed,
            parameters: JsonText::of(&shown.parameters).ok()?,
            hidden: JsonText::of(&shown.hidden).ok()?,
            error: error.map(|error| JsonText::of(&error)).transpose().ok()?,
            created_at,
            logged_at: self.ctx.clock.now(),
        })
    }
}

/// Returns the requested path in the router's spelling. Of each variable segment it shows a token, and otherwise only
/// the placeholder.
fn path(route: &str, requested: &str) -> String {
    let mut requested = requested.split('/').filter(|segment| !segment.is_empty());
    let segments = route.split('/').filter(|segment| !segment.is_empty()).map(|segment| {
        let token = requested.next().unwrap_or_default();
        let token = token.strip_suffix(SUFFIX).unwrap_or(token);
        if segment.starts_with('{') && is_token(token) { token } else { segment }
    });
    segments.fold(String::new(), |path, segment| path + "/" + segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_shows_the_tokens_that_were_asked_for_and_nothing_else() {
        let (route, token) = ("/1/charges/{charge_token}/capture", "ch_AZqYv3rVcBKUQ1mHn7tKRw");
        let whole = format!("/1/charges/{token}/capture");
        for requested in [&whole, &format!("//1/charges//{token}/capture.json/")] {
            assert_eq!(path(route, requested), whole);
        }
        for other in ["4200000000000000", "pk_AZqYv3rVcBKUQ1mHn7tKRw", "ch_4200000000000000", "%00", ""] {
            assert_eq!(path(route, &format!("/1/charges/{other}/capture")), route, "{other}");
        }
        assert_eq!(
            path("/1/charges/{charge_token}", &format!("/1/charges/{token}.json")),
            format!("/1/charges/{token}")
        );
    }
}
