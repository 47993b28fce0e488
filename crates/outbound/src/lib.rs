//! Calls of the server to others. To addresses from clients: which may be called, how long a call takes, how much of the response is
//! read, and how a webhook is signed. To what the operator names: a bucket for [`blobs`], an [`identity_provider`], and a collector of
//! traces ([`trace_export`]). It knows `base` and tokens and roles of `entity`, and nothing of payments.
//!
//! A literal address is judged before the call. A name is looked up once, each address is judged, and the connection goes to one that
//! passed, so a different second answer of a name server changes nothing. A kept connection was judged when it was opened, and serves
//! only its own host.

mod address_policy;
pub mod blobs;
pub mod identity_provider;
pub mod limits;
mod lookup;
pub mod signature;
pub mod tls;
pub mod trace_export;
mod unreached;

use std::cell::Cell;
use std::mem::take;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base::request_permits::release_permit;
use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Request};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use rustls::ClientConfig;
use tokio::time::{Instant, timeout_at};
use tower::util::MapRequestLayer;
use url::Url;

pub use address_policy::{AddressPolicy, Allowed};
pub use lookup::{OpenResolver, Resolver, SystemResolver};
pub use tls::{Identity, NoIdentity, platform, read_platform};
pub use unreached::{ExchangeError, OutboundError};

use self::limits::OUTBOUND_ANSWER_BYTES_MAX;
use self::lookup::GuardedResolver;

/// The User-Agent of outbound calls.
pub const USER_AGENT: &str = concat!("card-payments/", env!("CARGO_PKG_VERSION"));

/// The time for which an unused connection is kept: less than the five seconds after which common servers close it, because a
/// request that meets the close is lost.
pub const IDLE: Duration = Duration::from_secs(4);

/// The time that a connection may take after its call has been given up.
const CONNECT: Duration = Duration::from_secs(15);

/// Returns a client for the one server that the operator names: it calls any address.
pub fn client() -> Client {
    Client::builder()
        .tls_backend_preconfigured(tls::platform_config())
        .redirect(Policy::none())
        .no_proxy()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT)
        .build()
        .expect("a client of which nothing is read from the machine")
}

/// Made for the first call, because it needs the platform's roots.
type LazyClient = Arc<LazyLock<Client, Box<dyn FnOnce() -> Client + Send>>>;

tokio::task_local! {
    /// Whether a call has begun to connect, instead of taking a kept connection.
    static CONNECTS: Cell<bool>;
}

/// A client for addresses from clients. Clones share their connections.
#[derive(Clone)]
pub struct Outbound {
    client: LazyClient,
    /// Keeps no connections.
    fresh: LazyClient,
    policy: AddressPolicy,
}

impl Outbound {
    /// Returns a client with the platform's root certificates and resolver.
    pub fn new(policy: AddressPolicy) -> Self {
        Self::with(policy, Arc::<SystemResolver>::default(), tls::platform_config)
    }

    /// Returns a client that trusts one more root certificate, in DER, and shows a client certificate, if there are any.
    pub fn with_certificates(
        policy: AddressPolicy,
        extra_root: Option<&[u8]>,
        identity: Option<Identity>,
    ) -> Result<Self, rustls::Error> {
        let config = tls::config(extra_root.map(|root| root.to_vec().into()), identity)?;
        Ok(Self::with(policy, Arc::<SystemResolver>::default(), move || config.clone()))
    }

    /// Returns a client with another resolver.
    pub fn with_resolver(policy: AddressPolicy, lookup: Arc<dyn Resolver>) -> Self {
        Self::with(policy, lookup, tls::platform_config)
    }

    fn with(
        policy: AddressPolicy,
        lookup: Arc<dyn Resolver>,
        tls: impl Fn() -> ClientConfig + Clone + Send + 'static,
    ) -> Self {
        let resolver = GuardedResolver { policy: policy.clone(), lookup };
        let client = move |kept: usize| {
            Client::builder()
                .tls_backend_preconfigured(tls())
                .dns_resolver(resolver.clone())
                .connector_layer(MapRequestLayer::new(note_connection))
                .pool_max_idle_per_host(kept)
                .redirect(Policy::none())
                .no_proxy()
                .user_agent(USER_AGENT)
                .connect_timeout(CONNECT)
                .pool_idle_timeout(IDLE)
                .build()
                .expect("a client of which nothing is read from the machine")
        };
        let lazy = |kept| -> LazyClient {
            let client = client.clone();
            Arc::new(LazyLock::new(Box::new(move || client(kept))))
        };
        Self { client: lazy(usize::MAX), fresh: lazy(0), policy }
    }

    /// Returns which addresses may be called.
    pub fn policy(&self) -> &AddressPolicy {
        &self.policy
    }

    /// Sends a POST, and returns the status of the response, or why there is none. It follows no redirects, uses no proxy of the
    /// environment and verifies TLS; it reads at most 64 KiB of the body and discards them.
    ///
    /// `within` bounds all of it: look-up, connection, TLS, headers and body. A status that came in time counts, even if the body
    /// fails.
    pub async fn post(
        &self,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
        within: Duration,
    ) -> Result<u16, OutboundError> {
        let end = Instant::now() + within;
        self.status_of(self.client.post(self.callable(url)?).headers(headers).body(body), end).await
    }

    /// Sends a GET, as [`Self::post`].
    pub async fn get(&self, url: &str, within: Duration) -> Result<u16, OutboundError> {
        let end = Instant::now() + within;
        self.status_of(self.client.get(self.callable(url)?), end).await
    }

    async fn status_of(&self, call: RequestBuilder, end: Instant) -> Result<u16, OutboundError> {
        let mut answer = self.answered(call, end).await?;
        // A body read to its end lets the connection carry the next call; otherwise it is closed.
        let _ = timeout_at(end, read(&mut answer, OUTBOUND_ANSWER_BYTES_MAX)).await;
        Ok(answer.status().as_u16())
    }

    /// Sends a POST of JSON, and returns status and body, which must be whole and have at most 64 KiB.
    pub async fn post_json(
        &self,
        url: &str,
        body: Bytes,
        within: Duration,
    ) -> Result<(u16, Bytes), OutboundError> {
        let end = Instant::now() + within;
        let call = self.client.post(self.callable(url)?).header(CONTENT_TYPE, "application/json").body(body);
        let mut answer = self.answered(call, end).await?;
        let body = timeout_at(end, read(&mut answer, OUTBOUND_ANSWER_BYTES_MAX))
            .await
            .map_err(|_| OutboundError::Timeout)?;
        Ok((answer.status().as_u16(), body.ok_or(OutboundError::ConnectionFailed)?))
    }

    /// Sends any request, as [`Self::post`], and returns the response, whose body must be whole and have at most so many bytes.
    pub async fn exchange(
        &self,
        request: Request<Vec<u8>>,
        most: usize,
        within: Duration,
    ) -> Result<http::Response<Vec<u8>>, ExchangeError> {
        let end = Instant::now() + within;
        let (head, body) = request.into_parts();
        let url = self.callable(&head.uri.to_string())?;
        let call = self.client.request(head.method, url).headers(head.headers).body(body);
        let mut answer = self.answered(call, end).await?;
        let body = timeout_at(end, read(&mut answer, most)).await.map_err(|_| OutboundError::Timeout)?;
        let mut response = http::Response::new(body.ok_or(ExchangeError::NotWhole(most))?.to_vec());
        (*response.status_mut(), *response.headers_mut()) = (answer.status(), take(answer.headers_mut()));
        Ok(response)
    }

    /// Sends a call. If a kept connection turns out to be closed, sends it once more, on a new one (`docs/decisions.md`, 410).
    async fn answered(&self, call: RequestBuilder, end: Instant) -> Result<Response, OutboundError> {
        // The request waits for another server now, so it releases its permit.
        release_permit();
        let call = call.build().map_err(|error| OutboundError::from_error(&error))?;
        let again = call.try_clone();
        let sent = CONNECTS.scope(Cell::new(false), async {
            let answer = self.client.execute(call).await;
            (answer, CONNECTS.with(Cell::get))
        });
        let answer = match (timeout_at(end, sent).await.map_err(|_| OutboundError::Timeout)?, again) {
            ((Err(error), false), Some(again)) if unreached::is_closed(&error) => {
                timeout_at(end, self.fresh.execute(again)).await.map_err(|_| OutboundError::Timeout)?
            }
            ((answer, _), _) => answer,
        };
        answer.map_err(|error| OutboundError::from_error(&error))
    }

    fn callable(&self, url: &str) -> Result<Url, OutboundError> {
        let url = Url::parse(url).ok().filter(|url| is_callable(url) && self.policy.permits_literal(url));
        url.ok_or(OutboundError::ForbiddenAddress)
    }
}

/// Returns whether a URL has the parts of a call, and no other.
fn is_callable(url: &Url) -> bool {
    let http = ["http", "https"].contains(&url.scheme());
    http && url.username().is_empty() && url.password().is_none() && url.fragment().is_none()
}

/// Notes that a connection is opened for the call of this task.
fn note_connection<T>(connection: T) -> T {
    // What is opened in the background is for no call.
    let _ = CONNECTS.try_with(|connects| connects.set(true));
    connection
}

/// Returns the body of a response; none if it breaks off or has more bytes than `most`.
pub async fn read(answer: &mut Response, most: usize) -> Option<Bytes> {
    let mut body = BytesMut::new();
    while let Some(chunk) = answer.chunk().await.ok()? {
        if body.len() + chunk.len() > most {
            return None;
        }
        body.extend_from_slice(&chunk);
    }
    Some(body.freeze())
}
