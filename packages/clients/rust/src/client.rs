use std::fmt;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::HeaderValue;
use reqwest::{Method, Request, RequestBuilder};
use serde::de::DeserializeOwned;

use crate::Error;

const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// A server that asks for a longer pause gets no further request.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(70);
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// A client of the account that a key is of.
///
/// It repeats a request whose connection is lost, and one that is answered by 429, by a status over 499, or by a 409 with
/// `Retry-After`. A change has one `Idempotency-Key` for all its tries, so it happens once. An upload is sent once: its body is a
/// stream. It needs the runtime of tokio.
#[derive(Clone)]
pub struct Client {
    url: String,
    secret_key: String,
    http: reqwest::Client,
}

impl Client {
    /// Each request waits 70 seconds for a response at most.
    ///
    /// # Panics
    ///
    /// Panics if the certificates of this machine cannot be read.
    #[must_use]
    pub fn new(url: &str, secret_key: &str) -> Self {
        let http = reqwest::Client::builder().timeout(TIMEOUT).build().expect("certificates of this machine");
        Self::with_http(url, secret_key, http)
    }

    /// Sends by an HTTP client with settings of its own.
    #[must_use]
    pub fn with_http(url: &str, secret_key: &str, http: reqwest::Client) -> Self {
        Self { url: url.trim_end_matches('/').into(), secret_key: secret_key.into(), http }
    }

    /// Begins a request; the path is after the server's address.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).basic_auth(&self.secret_key, None::<&str>)
    }

    /// Sends a request, repeats it, and reads its response.
    pub(crate) async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        let request = identify(request.build()?);
        let key = request.headers().get(IDEMPOTENCY_KEY).and_then(|key| key.to_str().ok()).map(Into::into);
        self.repeat(request).await.map_err(|failed| failed.under(key))
    }

    async fn repeat<T: DeserializeOwned>(&self, mut request: Request) -> Result<T, Error> {
        let mut number = 0;
        loop {
            number += 1;
            let next = if number < TRIES { request.try_clone() } else { None };
            match (self.try_once(request).await, next) {
                (Ok(body), _) => return Ok(serde_json::from_slice(&body)?),
                (Err(failed), Some(next)) if failed.is_transient() => {
                    let pause = back_off(number).max(failed.retry_after.unwrap_or_default());
                    if pause > LONGEST_PAUSE {
                        return Err(failed);
                    }
                    tokio::time::sleep(pause).await;
                    request = next;
                }
                (Err(failed), _) => return Err(failed),
            }
        }
    }

    /// Returns the JSON of a response, null if it has none.
    async fn try_once(&self, request: Request) -> Result<Vec<u8>, Error> {
        let response = self.http.execute(request).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await?;
        if !status.is_success() {
            return Err(Error::refused(status, &headers, &body));
        }
        Ok(if body.is_empty() { b"null".to_vec() } else { body.to_vec() })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Gives a change an `Idempotency-Key`, if it has none.
fn identify(mut request: Request) -> Request {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let key = || {
            HeaderValue::from_str(&format!("{:032x}", rand::random::<u128>())).expect("digits are a header")
        };
        request.headers_mut().entry(IDEMPOTENCY_KEY).or_insert_with(key);
    }
    request
}

/// Pauses double with each try, half of each is at random.
fn back_off(number: u32) -> Duration {
    (FIRST_PAUSE * 2_u32.pow(number - 1)).mul_f64(rand::random_range(0.5..1.0))
}

/// Writes a part of a path.
pub(crate) fn encode(part: impl AsRef<str>) -> String {
    utf8_percent_encode(part.as_ref(), NON_ALPHANUMERIC).to_string()
}
