//! A client of a running server, for commands that ask it by its public API.

use std::time::Duration;

use http::{Method, header};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder};
use serde_json::Value;

use crate::outbound::{Unreached, tls};
use crate::secret::Secret;

/// A server that is there answers a connection sooner.
const CONNECT: Duration = Duration::from_secs(5);
/// And a request, whatever it asks for, within its own sixty seconds.
const ANSWER: Duration = Duration::from_secs(70);
/// A request that meets the closing of an idle connection is lost.
const IDLE: Duration = Duration::from_secs(4);

/// Where a test server shows its first account's key to whoever sits at it.
const PAGE_OF_THE_KEY: &str = "/docs/swagger-initializer.js";

/// A running server, and whose account asks it.
pub struct Server {
    client: Client,
    address: String,
    key: Secret,
}

/// Why a server does not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// There is no answer.
    #[error("{address} does not answer: {why}")]
    Unreached {
        /// The server's address.
        address: String,
        /// Why.
        why: Unreached,
    },
    /// The answer is a refusal.
    #[error("{call}: {status} {}", said(.body))]
    Refused {
        /// Method and path.
        call: String,
        /// The answer's status.
        status: u16,
        /// What it says, where that is JSON; else null.
        body: Value,
    },
    /// The answer is none of this API's.
    #[error("{0}: the answer is not understood")]
    Unintelligible(String),
    /// Nobody has named a key, and the server shows none.
    #[error(
        "name the account's secret key by CARD_PAYMENTS_KEY or --key: {0} shows one only in test, and only on its own machine"
    )]
    NoKey(String),
}

impl ServerError {
    /// Whether the same request may well succeed in a moment.
    pub fn passes(&self) -> bool {
        match self {
            Self::Unreached { .. } => true,
            Self::Refused { status, .. } => *status == 429 || *status >= 500,
            Self::Unintelligible(_) | Self::NoKey(_) => false,
        }
    }
}

impl Server {
    /// The server at an address, asked with this key; without one, with the key that a test server fills into its Swagger
    /// page for whoever sits at its machine.
    pub async fn at(address: &str, key: Option<Secret>) -> Result<Self, ServerError> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls::config(None, None).expect("ring can do TLS 1.2 and 1.3"))
            .redirect(Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .timeout(ANSWER)
            .build()
            .expect("a client of which nothing is read from the machine");
        let address = address.trim_end_matches('/').to_owned();
        let mut server = Self { client, address, key: Secret::default() };
        server.key = match key {
            Some(key) => key,
            None => server.own_key().await?,
        };
        Ok(server)
    }

    /// Its address, without a slash at the end.
    pub fn address(&self) -> &str {
        &self.address
    }

    async fn own_key(&self) -> Result<Secret, ServerError> {
        let (_, script) = self.answer(self.client.get(self.url(PAGE_OF_THE_KEY))).await?;
        let key = script.lines().find_map(|line| line.trim().strip_prefix("const key = "));
        let key = key.and_then(|key| serde_json::from_str::<String>(key).ok());
        key.map(Secret::from).ok_or_else(|| ServerError::NoKey(self.address.clone()))
    }

    /// The text of a success. A body is sent as JSON.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<String, ServerError> {
        let call = format!("{method} {path}");
        let mut request = self.client.request(method, self.url(path)).basic_auth(self.key.expose(), Some(""));
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body.to_string());
        }
        match self.answer(request).await? {
            (200..=299, text) => Ok(text),
            (status, text) => {
                let body = serde_json::from_str(&text).unwrap_or_default();
                Err(ServerError::Refused { call, status, body })
            }
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    async fn answer(&self, request: RequestBuilder) -> Result<(u16, String), ServerError> {
        let unreached = |error: reqwest::Error| ServerError::Unreached {
            address: self.address.clone(),
            why: Unreached::of(&error),
        };
        let answer = request.send().await.map_err(unreached)?;
        Ok((answer.status().as_u16(), answer.text().await.map_err(unreached)?))
    }
}

/// The sentences of an error's body.
fn said(body: &Value) -> String {
    // The body of `insufficient_service_balance` is an array.
    let error = body.get(0).unwrap_or(body);
    let messages = error["messages"].as_array().into_iter().flatten();
    let messages: Vec<_> = messages.filter_map(|message| message["message"].as_str()).collect();
    match error["error_description"].as_str() {
        Some(_) if !messages.is_empty() => messages.join(", "),
        Some(description) => description.to_owned(),
        None => "(no error of this API)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_api() {
        let one = json!({ "error": "unauthorized", "error_description": "Not authorised. (Check API Key)" });
        assert_eq!(said(&one), "Not authorised. (Check API Key)");
        assert_eq!(said(&json!([one])), "Not authorised. (Check API Key)");
        let faults =
            json!({ "error_description": "wrong", "messages": [{ "message": "A" }, { "message": "B" }] });
        assert_eq!(said(&faults), "A, B");
        assert_eq!(said(&Value::Null), "(no error of this API)");
    }
}
