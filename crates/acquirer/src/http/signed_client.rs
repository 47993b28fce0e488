//! The HTTP client of an acquirer: signs requests and accepts only signed answers.

use std::sync::Arc;

use base::clock::Clock;
use base::environment::Environment;
use base::request_permits::release_permit;
use base::trace;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{HeaderName, StatusCode};
use outbound::{OpenResolver, OutboundError, tls};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, retry};
use serde::de::DeserializeOwned;

use super::signature::{Answer, Request, Secrets, Signed as _};
use super::wire::{self, Refused};
use super::{Address, Call, ENVIRONMENT, KEY, PROTOCOL, SIGNATURE, TIMESTAMP, VERSION};
use crate::limits::{ACQUIRER_BYTES_MAX, ACQUIRER_CONNECT_TIMEOUT};

/// The reason why there is no answer. Holds nothing of the content of messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcquirerClientError {
    /// No connection was made, so nothing was sent.
    #[error("cannot be reached: {0}")]
    Unreached(OutboundError),
    /// The request was sent, and the connection broke or timed out.
    #[error("does not answer: {0}")]
    Broken(OutboundError),
    /// The acquirer, or a proxy in front of it, is out of order.
    #[error("does not answer: HTTP status {0}")]
    OutOfOrder(u16),
    /// The server at the address does not speak the protocol.
    #[error("does not speak the acquirer protocol")]
    Stranger,
    /// The acquirer speaks another version of the protocol.
    #[error("speaks version {0} of the protocol, and this server version {own}", own = VERSION)]
    Version(String),
    /// The acquirer does not accept our signature.
    #[error("does not have the secret in CARD_PAYMENTS_ACQUIRER_SECRET")]
    Unknown,
    /// The acquirer accepts our signature but not its time.
    #[error("has a clock that differs from this machine's by more than a minute")]
    Clocks,
    /// We do not accept the acquirer's signature.
    #[error("does not sign its answers with the secret in CARD_PAYMENTS_ACQUIRER_SECRET")]
    Forged,
    /// The answer is signed, and the protocol does not know it.
    #[error("sent an answer that is not in the protocol")]
    Nonsense,
    /// The answer is signed: the acquirer has not processed the request.
    #[error("refuses the request: {0}")]
    Refused(String),
    /// The acquirer belongs to the other environment: test cards and real ones do not mix.
    #[error("belongs to the {0} environment")]
    Environment(String),
}

impl AcquirerClientError {
    /// Returns whether a later attempt may succeed without an operator's help.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Unreached(_) | Self::Broken(_) | Self::OutOfOrder(_) => true,
            Self::Stranger
            | Self::Version(_)
            | Self::Unknown
            | Self::Clocks
            | Self::Forged
            | Self::Nonsense
            | Self::Refused(_)
            | Self::Environment(_) => false,
        }
    }
}

/// The signing HTTP client of one acquirer.
pub struct SignedClient {
    client: Client,
    address: Address,
    secrets: Secrets,
    environment: Environment,
    clock: Arc<dyn Clock>,
}

impl SignedClient {
    /// Creates a client of an address for a server of this environment. Signatures carry the time of `clock`.
    pub fn to(address: Address, secrets: Secrets, environment: Environment, clock: Arc<dyn Clock>) -> Self {
        let tls = tls::platform_config();
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(OpenResolver::default())
            .redirect(Policy::none())
            // Callers repeat calls themselves: under the same key, or after settling it.
            .retry(retry::never())
            .no_proxy()
            .user_agent(outbound::USER_AGENT)
            .connect_timeout(ACQUIRER_CONNECT_TIMEOUT)
            .pool_idle_timeout(outbound::IDLE)
            .build()
            .expect("a client of which nothing is read from the machine");
        Self { client, address, secrets, environment, clock }
    }

    /// The acquirer's address.
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// The environment of this server.
    pub const fn environment(&self) -> Environment {
        self.environment
    }

    /// Sends a request; the caller sets the timeout. Logs why there is no answer, and nothing of the content.
    pub async fn send<A: DeserializeOwned>(
        &self,
        call: Call,
        key: &str,
        body: Bytes,
    ) -> Result<A, AcquirerClientError> {
        // The wait may be long: other requests can use this request's permit.
        release_permit();
        let answer = self.exchange(call, key, body).await;
        let answer = answer.and_then(|body| wire::read(&body).ok_or(AcquirerClientError::Nonsense));
        answer.inspect_err(|why| tracing::warn!(path = call.path(), %why, "the acquirer gave no answer"))
    }

    async fn exchange(&self, call: Call, key: &str, body: Bytes) -> Result<Bytes, AcquirerClientError> {
        let timestamp = self.clock.now().seconds().to_string();
        let method = call.method();
        let signed = Request {
            environment: self.environment,
            method: method.as_str(),
            path: call.path(),
            timestamp: &timestamp,
            key,
            body: &body,
        };
        let signature = signed.signature(self.secrets.first());
        let mut headers = headers(&signed, signature.expose()).ok_or(AcquirerClientError::Nonsense)?;
        headers.extend(trace::headers());
        let request =
            self.client.request(method, self.address.operation(call.path())).headers(headers).body(body);
        let mut response = request.send().await.map_err(|error| {
            let why = OutboundError::from_error(&error);
            // A failure while connecting means that nothing was sent.
            if error.is_connect() {
                AcquirerClientError::Unreached(why)
            } else {
                AcquirerClientError::Broken(why)
            }
        })?;
        let body = outbound::read(&mut response, ACQUIRER_BYTES_MAX).await;
        let body = body.ok_or(AcquirerClientError::Broken(OutboundError::ConnectionFailed))?;
        self.believed(&response, signature.expose(), &body)?;
        Ok(body)
    }

    /// Checks that the secret that signed the request signed its answer, too. Our other secret may be out of use
    /// because somebody else knows it.
    fn believed(&self, response: &Response, request: &str, body: &[u8]) -> Result<(), AcquirerClientError> {
        let (status, headers) = (response.status(), response.headers());
        if status.is_server_error() {
            return Err(AcquirerClientError::OutOfOrder(status.as_u16()));
        }
        match text(headers, PROTOCOL) {
            Some(version) if version == VERSION.to_string() => {}
            Some(version) => return Err(AcquirerClientError::Version(version.chars().take(20).collect())),
            None => return Err(AcquirerClientError::Stranger),
        }
        match text(headers, ENVIRONMENT) {
            Some(environment) if environment == self.environment.name() => {}
            Some(environment) => {
                return Err(AcquirerClientError::Environment(environment.chars().take(20).collect()));
            }
            None => return Err(AcquirerClientError::Stranger),
        }
        if status == StatusCode::UNAUTHORIZED {
            let clocks = wire::read::<Refused>(body).is_some_and(|refused| refused.error == "clock");
            return Err(if clocks { AcquirerClientError::Clocks } else { AcquirerClientError::Unknown });
        }
        let answer = Answer { environment: self.environment, status: status.as_u16(), request, body };
        if !answer.is_signed(self.secrets.first(), text(headers, SIGNATURE).unwrap_or_default()) {
            return Err(AcquirerClientError::Forged);
        }
        if status == StatusCode::OK {
            return Ok(());
        }
        let refused = wire::read::<Refused>(body).filter(Refused::is_unseen);
        Err(refused
            .map_or(AcquirerClientError::Nonsense, |refused| AcquirerClientError::Refused(refused.error)))
    }
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn headers(signed: &Request<'_>, signature: &str) -> Option<HeaderMap> {
    let value = |text: &str| HeaderValue::from_str(text).ok();
    let mut signature = value(signature)?;
    signature.set_sensitive(true);
    let mut headers = HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (HeaderName::from_static(PROTOCOL), VERSION.into()),
        (HeaderName::from_static(ENVIRONMENT), HeaderValue::from_static(signed.environment.name())),
        (HeaderName::from_static(TIMESTAMP), value(signed.timestamp)?),
        (HeaderName::from_static(SIGNATURE), signature),
    ]);
    if !signed.key.is_empty() {
        headers.insert(HeaderName::from_static(KEY), value(signed.key)?);
    }
    Some(headers)
}
