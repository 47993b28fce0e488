//! The server's statements about itself.

use ipnet::IpNet;

use super::base_path;
use crate::config::{Environment, LoadOptions};

/// The server's statements about itself, the proxies that it trusts, and its load limits.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// Its address as clients know it.
    pub base_url: String,
    /// The same address, if the operator has configured it.
    pub named: Option<String>,
    /// Test or live.
    pub environment: Environment,
    /// Proxies whose X-Forwarded-For counts.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether pages fill in the first account's key on the server's own machine, if there is one.
    pub fill_in_key: bool,
    /// Whether /metrics answers on this listener.
    pub metrics: bool,
    pub load: LoadOptions,
}

impl ServerInfo {
    /// Returns the path of the server's address, without a slash at the end; empty for most.
    pub fn base_path(&self) -> &str {
        base_path::path_of(&self.base_url)
    }
}
