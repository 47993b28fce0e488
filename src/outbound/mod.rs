//! Calls to addresses that strangers gave: what may be called, how long, and how much of the answer is read.
//!
//! A literal address is judged before the call. A name is looked up once, each address of the answer is judged,
//! and the connection goes to one that passed; so nobody gains by answering the next look-up differently. What
//! is kept open was judged when it was opened, and serves only the host it was opened for.

mod lookup;
mod reach;
pub(crate) mod tls;
mod unreached;
mod zone;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use rustls::ClientConfig;
use tokio::time::{Instant, timeout_at};
use url::Url;

pub use lookup::{Lookup, SystemLookup};
pub use reach::{Allowed, Reach};
pub use unreached::Unreached;

use crate::limits::OUTBOUND_ANSWER_BYTES_MAX;
use lookup::GuardedLookup;

/// How the server introduces itself; decisions 11.
const USER_AGENT: &str = concat!("card-payments/", env!("CARGO_PKG_VERSION"));

/// How long an unused connection is kept: less than the five seconds after which common servers close it,
/// because a request that meets the closing is lost.
const IDLE: Duration = Duration::from_secs(4);

/// How long a connection may take that nobody waits for any more.
const CONNECT: Duration = Duration::from_secs(15);

/// A client for addresses that strangers gave. Clones share their connections.
#[derive(Clone)]
pub struct Outbound {
    client: Client,
    reach: Reach,
}

impl Outbound {
    /// A client that trusts the platform's root certificates and asks its resolver.
    pub fn new(reach: Reach) -> Self {
        Self::with(
            reach,
            Arc::<SystemLookup>::default(),
            tls::config(None).expect("ring can do TLS 1.2 and 1.3"),
        )
    }

    /// A client that trusts one more root certificate, in DER.
    pub fn trusting(reach: Reach, root: &[u8]) -> Result<Self, rustls::Error> {
        let config = tls::config(Some(root.to_vec().into()))?;
        Ok(Self::with(reach, Arc::<SystemLookup>::default(), config))
    }

    /// A client that asks somebody else for the addresses of names.
    pub fn asking(reach: Reach, lookup: Arc<dyn Lookup>) -> Self {
        Self::with(reach, lookup, tls::config(None).expect("ring can do TLS 1.2 and 1.3"))
    }

    fn with(reach: Reach, lookup: Arc<dyn Lookup>, tls: ClientConfig) -> Self {
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(GuardedLookup { reach: reach.clone(), lookup })
            .redirect(Policy::none())
            .no_proxy()
            .user_agent(USER_AGENT)
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .build()
            .expect("a client of which nothing is read from the machine");
        Self { client, reach }
    }

    /// Which addresses may be called.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// POST, and the status of the answer, or why there is none. Redirects are not followed, no proxy of the
    /// environment is used, TLS is verified; at most 64 KiB of the answer's body are read and thrown away.
    ///
    /// `within` bounds all of it: look-up, connection, TLS, headers and body. A status that came in time counts,
    /// whatever becomes of the body.
    pub async fn post(
        &self,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
        within: Duration,
    ) -> Result<u16, Unreached> {
        let end = Instant::now() + within;
        let url = Url::parse(url).ok().filter(|url| is_callable(url) && self.reach.permits_literal(url));
        let url = url.ok_or(Unreached::ForbiddenAddress)?;
        let call = self.client.post(url).headers(headers).body(body).send();
        let answer = timeout_at(end, call).await.map_err(|_| Unreached::Timeout)?;
        let answer = answer.map_err(|error| Unreached::of(&error))?;
        let status = answer.status().as_u16();
        // Read to its end, a connection can carry the next call; cut short, it is closed.
        let _ = timeout_at(end, discard(answer)).await;
        Ok(status)
    }
}

/// Whether a URL has the parts that a call is made of, and no other.
fn is_callable(url: &Url) -> bool {
    let http = ["http", "https"].contains(&url.scheme());
    http && url.username().is_empty() && url.password().is_none() && url.fragment().is_none()
}

async fn discard(mut answer: Response) {
    let mut left = OUTBOUND_ANSWER_BYTES_MAX;
    while let Ok(Some(chunk)) = answer.chunk().await {
        match left.checked_sub(chunk.len()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}
