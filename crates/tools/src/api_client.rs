//! A client of a running server's public API, for commands.

use std::time::{Duration, Instant};

use base::plain_text::OneLine;
use base::secret::Secret;
use http::header::AsHeaderName;
use http::{HeaderMap, Method, header};
use outbound::{OutboundError, tls};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use tokio::time::sleep;

/// A running server accepts a connection sooner.
const CONNECT: Duration = Duration::from_secs(5);
/// A server answers every request within its own sixty seconds.
const ANSWER: Duration = Duration::from_secs(70);
/// Short, because a request that meets the close of an idle connection is lost.
const IDLE: Duration = Duration::from_secs(4);

/// The time for which a request is repeated that the server is too busy for: longer than one request moves a clock, and than a
/// payment with a lost answer waits for its recovery.
const RETRY_TIMEOUT: Duration = Duration::from_secs(90);

/// The path at which a test server shows its first account's key to its own machine.
const PAGE_OF_THE_KEY: &str = "/docs/swagger-initializer.js";

/// A running server, and the key of the account that calls it.
pub struct ApiClient {
    client: Client,
    address: String,
    key: Secret,
}

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiClientError {
    /// There is no response.
    #[error("{address} does not answer: {why}")]
    Unreached {
        /// The server's address.
        address: String,
        /// The reason.
        why: OutboundError,
    },
    /// The response is a refusal.
    #[error("{call}: {status} {}", OneLine(error_text(.body)))]
    Refused {
        /// Method and path.
        call: String,
        /// The status of the response.
        status: u16,
        /// The body, if it is JSON; else null.
        body: Value,
        /// How long to wait before a repeat, if the server says so.
        retry_after: Option<Duration>,
        /// The X-Request-Id of the response.
        request_id: Option<String>,
    },
    /// The response is not one of this API.
    #[error("{0}: unexpected response")]
    Unintelligible(String),
    /// No key is configured, and the server shows none.
    #[error(
        "name the account's secret key by CARD_PAYMENTS_KEY or --key: {0} shows one only in test, and only on its own machine"
    )]
    NoKey(String),
}

impl ApiClientError {
    /// Returns whether the same request may succeed in a moment.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreached { .. } => true,
            Self::Refused { status, .. } => *status == 429 || *status >= 500,
            Self::Unintelligible(_) | Self::NoKey(_) => false,
        }
    }

    /// Returns how long to wait before a repeat, if the server says so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            Self::Unreached { .. } | Self::Unintelligible(_) | Self::NoKey(_) => None,
        }
    }
}

impl From<ApiClientError> for String {
    fn from(error: ApiClientError) -> Self {
        error.to_string()
    }
}

impl ApiClient {
    /// Returns a client with this key; without one, with the key that a test server fills into its Swagger page on its own machine.
    pub async fn at(address: &str, key: Option<Secret>) -> Result<Self, ApiClientError> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls::platform_config())
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

    /// Returns its address, without a slash at the end.
    pub fn address(&self) -> &str {
        &self.address
    }

    async fn own_key(&self) -> Result<Secret, ApiClientError> {
        let page = self.answer(self.client.get(self.url(PAGE_OF_THE_KEY))).await?;
        let key = page.text.lines().find_map(|line| line.trim().strip_prefix("const key = "));
        let key = key.and_then(|key| serde_json::from_str::<String>(key).ok());
        key.map(Secret::from).ok_or_else(|| ApiClientError::NoKey(self.address.clone()))
    }

    pub const fn key(&self) -> &Secret {
        &self.key
    }

    /// Returns a client of the same server with another key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        Self { client: self.client.clone(), address: self.address.clone(), key: key.into() }
    }

    /// Returns the text of a successful response. A body is sent as JSON.
    pub async fn request_text(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<String, ApiClientError> {
        let call = format!("{method} {path}");
        let raw = self.answer(self.request(method, path, body)).await?;
        if (200..300).contains(&raw.status) { Ok(raw.text) } else { Err(raw.refusal(call)) }
    }

    /// Returns the response, successful or not. A body is sent as JSON. A request that the server is too busy for is repeated when
    /// the server says so; a response that leaves the outcome open is an error.
    pub async fn answer_to(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&'static str, &str)],
    ) -> Result<ClientResponse, ApiClientError> {
        let call = format!("{method} {path}");
        let request = with_headers(self.request(method, path, body), headers);
        let raw = self.send_retrying(&call, request, RETRY_TIMEOUT).await?;
        let Raw { status, is_replayed, request_id, text, .. } = raw;
        let body = if text.is_empty() { Ok(Value::Null) } else { serde_json::from_str(&text) };
        let body = body.map_err(|_| ApiClientError::Unintelligible(call))?;
        Ok(ClientResponse { status, is_replayed, request_id, body })
    }

    /// Returns the response to one try, whatever it is. A body has its content type.
    pub async fn answer_once(
        &self,
        key: Option<&Secret>,
        method: Method,
        path: &str,
        body: Option<(&'static str, String)>,
        headers: &[(&'static str, &str)],
    ) -> Result<ExactResponse, ApiClientError> {
        let mut request = self.client.request(method, self.url(path));
        if let Some(key) = key {
            request = request.basic_auth(key.expose(), Some(""));
        }
        if let Some((content_type, text)) = body {
            request = request.header(header::CONTENT_TYPE, content_type).body(text);
        }
        let request = with_headers(request, headers);
        let Raw { status, is_replayed, headers, text, .. } = self.answer(request).await?;
        Ok(ExactResponse {
            status,
            is_replayed,
            headers,
            body: serde_json::from_str(&text).unwrap_or_default(),
        })
    }

    async fn send_retrying(
        &self,
        call: &str,
        request: RequestBuilder,
        limit: Duration,
    ) -> Result<Raw, ApiClientError> {
        let began = Instant::now();
        loop {
            let again = request.try_clone().expect("a body of text");
            let raw = self.answer(again).await?;
            match raw.retry_after {
                Some(pause) if pause < limit.saturating_sub(began.elapsed()) => sleep(pause).await,
                Some(_) => return Err(raw.refusal(call.to_owned())),
                None if matches!(raw.status, 500 | 504) => return Err(raw.refusal(call.to_owned())),
                None => return Ok(raw),
            }
        }
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

    async fn answer(&self, request: RequestBuilder) -> Result<Raw, ApiClientError> {
        let unreached = |error: reqwest::Error| ApiClientError::Unreached {
            address: self.address.clone(),
            why: OutboundError::from_error(&error),
        };
        let answer = request.send().await.map_err(unreached)?;
        let status = answer.status().as_u16();
        let is_replayed = answer.headers().contains_key("idempotent-replayed");
        let retry_after = retry_after(status, answer.headers());
        let request_id = answer.headers().get("x-request-id");
        let request_id = request_id.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let headers = answer.headers().clone();
        let text = answer.text().await.map_err(unreached)?;
        Ok(Raw { status, is_replayed, retry_after, request_id, headers, text })
    }
}

fn with_headers(request: RequestBuilder, headers: &[(&'static str, &str)]) -> RequestBuilder {
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
}

/// Returns how long to wait for a busy server. This API says it in seconds; for a proxy that says it otherwise, or not at all, a
/// second will do.
fn retry_after(status: u16, headers: &HeaderMap) -> Option<Duration> {
    let named = headers.get(header::RETRY_AFTER).filter(|_| status >= 400);
    if named.is_none() && !matches!(status, 429 | 503) {
        return None;
    }
    let seconds = named.and_then(|text| text.to_str().ok()?.parse().ok());
    Some(Duration::from_secs(seconds.unwrap_or(1)))
}

struct Raw {
    status: u16,
    is_replayed: bool,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    headers: HeaderMap,
    text: String,
}

impl Raw {
    fn refusal(self, call: String) -> ApiClientError {
        let Self { status, retry_after, request_id, text, .. } = self;
        let body = serde_json::from_str(&text).unwrap_or_default();
        ApiClientError::Refused { call, status, body, retry_after, request_id }
    }
}

/// The response to one try.
pub struct ExactResponse {
    pub status: u16,
    /// Whether it is a replay under the same Idempotency-Key.
    pub is_replayed: bool,
    headers: HeaderMap,
    /// The body; null if there is none, or if it is no JSON.
    pub body: Value,
}

impl ExactResponse {
    pub fn header(&self, name: impl AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub fn code(&self) -> &str {
        error_code(&self.body)
    }
}

/// The response of a server.
pub struct ClientResponse {
    pub status: u16,
    /// Whether it is a replay under the same Idempotency-Key.
    pub is_replayed: bool,
    pub request_id: Option<String>,
    /// The body; null if there is none.
    pub body: Value,
}

impl ClientResponse {
    /// Returns the record of a success; otherwise the API's sentence, with status and code.
    pub fn record(&self) -> Result<&Value, String> {
        if (200..300).contains(&self.status) {
            return Ok(&self.body["response"]);
        }
        Err(format!("{} ({} {})", error_text(&self.body), self.status, self.code()))
    }

    pub fn code(&self) -> &str {
        error_code(&self.body)
    }
}

fn error_code(body: &Value) -> &str {
    // The body of `insufficient_service_balance` is an array.
    body.get(0).unwrap_or(body)["error"].as_str().unwrap_or_default()
}

/// Returns the sentences of an error's body.
fn error_text(body: &Value) -> String {
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that answers this, later that, and how often it was asked.
    async fn answering(head: &'static str, later: &'static str) -> (ApiClient, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 1024];
                assert!(stream.read(&mut request).await.unwrap() > 0);
                let head = if counted.fetch_add(1, Ordering::SeqCst) == 0 { head } else { later };
                let answer = format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        (ApiClient::at(&address, Some("sk".into())).await.unwrap(), calls)
    }

    #[tokio::test]
    async fn a_busy_server_is_asked_again_until_a_time_limit() {
        let minute = Duration::from_mins(1);
        for (head, times) in [
            ("503 Unavailable\r\nRetry-After: 1", 2),
            ("409 Conflict\r\nRetry-After: soon", 2),
            ("429 Too Many", 2),
            ("429 Too Many\r\nRetry-After: 60", 1),
            ("504 Timeout", 1),
            ("500 Error", 1),
        ] {
            let (server, calls) = answering(head, "200 Fine").await;
            let request = server.request(Method::PUT, "/", Some(&json!({})));
            let answer = server.send_retrying("PUT /", request, minute).await;
            if times == 1 {
                assert!(matches!(answer, Err(ApiClientError::Refused { .. })), "{head}");
            } else {
                assert!(answer.is_ok_and(|raw| raw.status == 200), "{head}");
            }
            assert_eq!(calls.load(Ordering::SeqCst), times, "{head}");
        }
        // After a second the limit is too short for another one.
        let (server, calls) = answering("429 Too Many", "429 Too Many").await;
        let request = server.request(Method::PUT, "/", Some(&json!({})));
        let answer = server.send_retrying("PUT /", request, Duration::from_millis(1500)).await;
        assert!(matches!(answer, Err(ApiClientError::Refused { .. })));
        assert!(calls.load(Ordering::SeqCst) <= 2);
    }

    #[tokio::test]
    async fn every_other_answer_is_one() {
        for head in ["200 Fine\r\nRetry-After: 1", "409 Conflict", "502 Upstream", "422 Wrong"] {
            let (server, calls) = answering(head, head).await;
            let answer = server.answer_to(Method::GET, "/", None, &[]).await.unwrap();
            assert_eq!((answer.status.to_string().as_str(), calls.load(Ordering::SeqCst)), (&head[..3], 1));
        }
    }

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_api() {
        let one = json!({ "error": "unauthorized", "error_description": "Not authorised. (Check API Key)" });
        assert_eq!(error_text(&one), "Not authorised. (Check API Key)");
        assert_eq!(error_text(&json!([one])), "Not authorised. (Check API Key)");
        let faults =
            json!({ "error_description": "wrong", "messages": [{ "message": "A" }, { "message": "B" }] });
        assert_eq!(error_text(&faults), "A, B");
        assert_eq!(error_text(&Value::Null), "(no error of this API)");
    }
}
