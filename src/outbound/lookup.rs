//! From a host name to the addresses that may be called.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use moka::future::Cache;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{AddressPolicy, OutboundError};
use crate::limits::{LOOKUP_LIFETIME, LOOKUPS_MAX};

/// Who knows the addresses of a host name.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// Every address of a host; their ports mean nothing.
    async fn addresses(&self, host: &str) -> io::Result<Vec<SocketAddr>>;
}

/// The machine's own resolver. It holds a thread for as long as it takes, so calls to one host that begin
/// together share a look-up: a name whose servers are silent must not take everybody's threads.
pub struct SystemResolver(Cache<String, Vec<SocketAddr>>);

impl Default for SystemResolver {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(LOOKUPS_MAX).time_to_live(LOOKUP_LIFETIME).build())
    }
}

#[async_trait]
impl Resolver for SystemResolver {
    async fn addresses(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        let lookup = async { Ok(tokio::net::lookup_host((host, 0)).await?.collect()) };
        self.0.try_get_with_by_ref(host, lookup).await.map_err(|error: Arc<io::Error>| error.kind().into())
    }
}

/// The addresses of a host, of which there is one at least.
async fn found(lookup: &dyn Resolver, host: &str) -> Result<Vec<SocketAddr>, OutboundError> {
    let found = lookup.addresses(host).await.map_err(|_| OutboundError::DnsFailed)?;
    if found.is_empty() { Err(OutboundError::DnsFailed) } else { Ok(found) }
}

/// What the HTTP client asks for a name that the operator has given: any address that it has may be called.
#[derive(Clone, Default)]
pub struct OpenResolver(Arc<SystemResolver>);

impl Resolve for OpenResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let Self(lookup) = self.clone();
        Box::pin(async move { Ok(Box::new(found(&*lookup, name.as_str()).await?.into_iter()) as Addrs) })
    }
}

/// What the HTTP client asks for names that strangers have given: it connects to the addresses of this one answer, and to
/// no other.
pub struct GuardedResolver {
    /// Which of them may be called.
    pub reach: AddressPolicy,
    /// Who knows them.
    pub lookup: Arc<dyn Resolver>,
}

impl GuardedResolver {
    async fn permitted(
        reach: AddressPolicy,
        lookup: Arc<dyn Resolver>,
        host: &str,
    ) -> Result<Vec<SocketAddr>, OutboundError> {
        let found = found(&*lookup, host).await?;
        // Port 0 lets the URL's decide.
        let permitted = found.into_iter().filter(|&address| reach.permits(host, address));
        let permitted: Vec<_> = permitted.map(|address| SocketAddr::new(address.ip(), 0)).collect();
        if permitted.is_empty() { Err(OutboundError::ForbiddenAddress) } else { Ok(permitted) }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (reach, lookup) = (self.reach.clone(), Arc::clone(&self.lookup));
        Box::pin(async move {
            let permitted = Self::permitted(reach, lookup, name.as_str()).await?;
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}
