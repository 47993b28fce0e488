//! Whoever sits at a test server's own machine: he has read the first account's key on the screen, so a page may fill it in.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::header;
use axum::http::request::Parts;
use axum::http::uri::Authority;

use super::Site;
use crate::secret::Secret;

/// The first account's secret key, where there is one, for a browser on this machine and for nobody else (decisions 1).
pub fn test_key<'a>(site: &'a Site, request: &Parts) -> Option<&'a Secret> {
    site.test_key.as_deref().filter(|_| from_this_machine(request))
}

/// Nobody stands between the browser and us, and both are on one machine.
fn from_this_machine(request: &Parts) -> bool {
    let peer = request.extensions.get::<ConnectInfo<SocketAddr>>();
    let forwarded =
        ["forwarded", "x-forwarded-for", "via"].iter().any(|name| request.headers.contains_key(*name));
    peer.is_some_and(|peer| peer.0.ip().to_canonical().is_loopback()) && !forwarded && by_own_name(request)
}

/// Whether the browser has asked for this machine: a name of somebody else's may be made to lead here.
fn by_own_name(request: &Parts) -> bool {
    let named =
        request.headers.get(header::HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    named.is_some_and(|named| {
        let host = named.host().trim_matches(['[', ']']);
        host.eq_ignore_ascii_case("localhost")
            || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    })
}
