//! Whoever sits at a test server's own machine: he has read the first account's key on the screen, so a page may fill it in.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderName, Version, header};

use super::AppState;
use crate::sensitive::secret::Secret;

/// The first account's secret key, where there is one, for a browser on this machine and for nobody else (decisions 1).
pub fn test_key<'a>(site: &'a AppState, request: &Parts) -> Option<&'a Secret> {
    site.test_key.as_deref().filter(|_| from_this_machine(request))
}

/// Nobody stands between the browser and us, both are on one machine, and no page of somebody else's has sent it here.
fn from_this_machine(request: &Parts) -> bool {
    let peer = request.extensions.get::<ConnectInfo<SocketAddr>>();
    // Browsers do not speak HTTP/1.0; many proxies do.
    request.version > Version::HTTP_10
        && peer.is_some_and(|peer| peer.0.ip().to_canonical().is_loopback())
        && !request.headers.keys().any(is_of_a_proxy)
        && by_own_name(request)
        && !from_another_site(request)
}

/// Whether a header is one that only proxies add.
fn is_of_a_proxy(name: &HeaderName) -> bool {
    const ADDED: [&str; 5] = ["cf-connecting-ip", "forwarded", "true-client-ip", "via", "x-real-ip"];
    let name = name.as_str();
    name.starts_with("x-forwarded-") || ADDED.contains(&name)
}

/// Whether the browser says that a page of another site has asked; older browsers say nothing.
fn from_another_site(request: &Parts) -> bool {
    let site = request.headers.get("sec-fetch-site");
    site.is_some_and(|site| site != "same-origin" && site != "none")
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
