//! Finds the addresses of a host name that may be called.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use moka::future::Cache;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{AddressPolicy, OutboundError};
use crate::limits::{LOOKUP_LIFETIME, LOOKUPS_MAX};

/// Resolves host names.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// Returns every address of a host; ports are ignored.
    async fn addresses(&self, host: &str) -> io::Result<Vec<SocketAddr>>;
}

/// The machine's own resolver. A look-up holds a thread, so concurrent calls to one host
/// share it: a name with silent servers must not hold all threads.
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

/// Returns the addresses of a host, at least one.
async fn found(lookup: &dyn Resolver, host: &str) -> Result<Vec<SocketAddr>, OutboundError> {
    let found = lookup.addresses(host).await.map_err(|_| OutboundError::DnsFailed)?;
    if found.is_empty() { Err(OutboundError::DnsFailed) } else { Ok(found) }
}

/// The resolver for a name from the operator: any of its addresses may be called.
#[derive(Clone, Default)]
pub struct OpenResolver(Arc<SystemResolver>);

impl Resolve for OpenResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let Self(lookup) = self.clone();
        Box::pin(async move { Ok(Box::new(found(&*lookup, name.as_str()).await?.into_iter()) as Addrs) })
    }
}

/// The resolver for names from clients: the HTTP client connects to the permitted addresses of this one answer, and to
/// no others.
#[derive(Clone)]
pub struct GuardedResolver {
    /// The policy that decides which addresses may be called.
    pub policy: AddressPolicy,
    /// The resolver behind it.
    pub lookup: Arc<dyn Resolver>,
}

impl GuardedResolver {
    async fn permitted(
        policy: AddressPolicy,
        lookup: Arc<dyn Resolver>,
        host: &str,
    ) -> Result<Vec<SocketAddr>, OutboundError> {
        let found = found(&*lookup, host).await?;
        // Port 0 means the URL's.
        let permitted = found.into_iter().filter(|&address| policy.permits(host, address));
        let permitted: Vec<_> = permitted.map(|address| SocketAddr::new(address.ip(), 0)).collect();
        if permitted.is_empty() { Err(OutboundError::ForbiddenAddress) } else { Ok(permitted) }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, lookup) = (self.policy.clone(), Arc::clone(&self.lookup));
        Box::pin(async move {
            let permitted = Self::permitted(policy, lookup, name.as_str()).await?;
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}
