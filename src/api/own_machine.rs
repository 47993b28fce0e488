//! Browsers on a test server's own machine: their user has seen the first account's key on the screen, so a page may
//! fill it in.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderName, Version, header};
use base::secret::Secret;

use super::state::AppState;

/// Returns the first account's secret key, if there is one, for a browser on this machine and for no other client
/// (`docs/decisions.md`, 35).
pub fn test_key<'a>(app: &'a AppState, request: &Parts) -> Option<&'a Secret> {
    app.test_key.as_deref().filter(|_| from_this_machine(request))
}

/// Returns whether a browser on this machine sends the request, without a proxy and without a page of another site.
fn from_this_machine(request: &Parts) -> bool {
    let peer = request.extensions.get::<ConnectInfo<SocketAddr>>();
    // Browsers do not speak HTTP/1.0; many proxies do.
    request.version > Version::HTTP_10
        && peer.is_some_and(|peer| peer.0.ip().to_canonical().is_loopback())
        && !request.headers.keys().any(is_of_a_proxy)
        && by_own_name(request)
        && !from_another_site(request)
}

/// Returns whether only proxies add the header.
fn is_of_a_proxy(name: &HeaderName) -> bool {
    const ADDED: [&str; 5] = ["cf-connecting-ip", "forwarded", "true-client-ip", "via", "x-real-ip"];
    let name = name.as_str();
    name.starts_with("x-forwarded-") || ADDED.contains(&name)
}

/// Returns whether the browser says that a page of another site sends the request; older browsers say nothing.
fn from_another_site(request: &Parts) -> bool {
    let site = request.headers.get("sec-fetch-site");
    site.is_some_and(|site| site != "same-origin" && site != "none")
}

/// Returns whether the Host names this machine: another site may point a name of its own here.
fn by_own_name(request: &Parts) -> bool {
    let named =
        request.headers.get(header::HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    named.is_some_and(|named| {
        let host = named.host().trim_matches(['[', ']']);
        host.eq_ignore_ascii_case("localhost")
            || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    })
}
