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

impl From<ServerError> for String {
    fn from(error: ServerError) -> Self {
        error.to_string()
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
        let page = self.answer(self.client.get(self.url(PAGE_OF_THE_KEY))).await?;
        let key = page.text.lines().find_map(|line| line.trim().strip_prefix("const key = "));
        let key = key.and_then(|key| serde_json::from_str::<String>(key).ok());
        key.map(Secret::from).ok_or_else(|| ServerError::NoKey(self.address.clone()))
    }

    /// The same server, asked with another key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        Self { client: self.client.clone(), address: self.address.clone(), key: key.into() }
    }

    /// The text of a success. A body is sent as JSON.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<String, ServerError> {
        let call = format!("{method} {path}");
        match self.answer(self.request(method, path, body)).await? {
            Raw { status: 200..=299, text, .. } => Ok(text),
            Raw { status, text, .. } => {
                let body = serde_json::from_str(&text).unwrap_or_default();
                Err(ServerError::Refused { call, status, body })
            }
        }
    }

    /// What is answered, be it a success or not. A body is sent as JSON.
    pub async fn answer_to(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&'static str, &str)],
    ) -> Result<Answer, ServerError> {
        let call = format!("{method} {path}");
        let mut request = self.request(method, path, body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let Raw { status, is_replayed, text } = self.answer(request).await?;
        let body = if text.is_empty() { Ok(Value::Null) } else { serde_json::from_str(&text) };
        let body = body.map_err(|_| ServerError::Unintelligible(call))?;
        Ok(Answer { status, is_replayed, body })
    }

    fn request(&self, method: Method, path: &str, body: Option<&Value>) -> RequestBuilder {
        let request = self.client.request(method, self.url(path)).basic_auth(self.key.expose(), Some(""));
        match body {
            Some(body) => request.header(header::CONTENT_TYPE, "application/json").body(body.to_string()),
            None => request,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Raw, ServerError> {
        let unreached = |error: reqwest::Error| ServerError::Unreached {
            address: self.address.clone(),
            why: Unreached::of(&error),
        };
        let answer = request.send().await.map_err(unreached)?;
        let status = answer.status().as_u16();
        let is_replayed = answer.headers().contains_key("idempotent-replayed");
        Ok(Raw { status, is_replayed, text: answer.text().await.map_err(unreached)? })
    }
}

struct Raw {
    status: u16,
    is_replayed: bool,
    text: String,
}

/// What a server has answered.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Whether it has answered so before, under the same Idempotency-Key.
    pub is_replayed: bool,
    /// The body; null where there is none.
    pub body: Value,
}

impl Answer {
    /// The record of a success. Err: why it is none, in the words of the API, with its status and code.
    pub fn record(&self) -> Result<&Value, String> {
        if (200..300).contains(&self.status) {
            return Ok(&self.body["response"]);
        }
        Err(format!("{} ({} {})", said(&self.body), self.status, self.code()))
    }

    /// The code of a refusal.
    pub fn code(&self) -> &str {
        self.body.get(0).unwrap_or(&self.body)["error"].as_str().unwrap_or_default()
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
