//! Authentication of requests (specification, Authentication; `docs/decisions.md`, 55).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use entity::api_key::KeyKind;

use super::AppState;
use super::extract::{Input, Path};
use super::rate_limit::RateLimitKey;
use crate::error::{Error, ErrorCode};
use crate::params;
use crate::params::card::BrowserKey;
use crate::runtime::request_context;
use crate::sensitive::secret::Secret;
use crate::services::Account;
use crate::services::accounts::{self, AccountJoin, AuthenticatedAccount};

/// The account of a request's secret key.
pub struct Caller(pub Account);

impl FromRequestParts<AppState> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, site: &AppState) -> Result<Self, Error> {
        authenticate_secret_key(site, &parts.headers, None).await.map(|opened| Self(opened.account))
    }
}

/// Authenticates the secret key, and finds out whether the Idempotency-Key is a fresh one.
pub async fn authenticate_secret_key(
    site: &AppState,
    headers: &HeaderMap,
    idempotency_key: Option<&str>,
) -> Result<AuthenticatedAccount, Error> {
    let key = basic_user(headers).ok_or(ErrorCode::Unauthorized)?;
    let opened = accounts::authenticate(site, &key, idempotency_key).await?;
    admitted(site, &opened).await?;
    Ok(opened)
}

/// Refuses a key that is not a secret key, and an account over its rate limit.
async fn admitted(site: &AppState, opened: &AuthenticatedAccount) -> Result<(), Error> {
    if opened.kind != KeyKind::Secret {
        return Err(ErrorCode::Unauthorized.into());
    }
    request_context::set_account(opened.account.id());
    request_context::log_account(opened.account.id(), opened.account.now);
    site.rate.count(RateLimitKey::Account(opened.account.id())).await
}

/// The account of a request's secret key, and the record that the path names if the account has it. One statement finds
/// both, because the round trip to the database is most of the time of a small request.
pub struct CallerWith<B: AccountJoin>(pub Account, pub Option<B::Record>);

impl<B: AccountJoin> FromRequestParts<AppState> for CallerWith<B> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, site: &AppState) -> Result<Self, Error> {
        let path = Path::<String>::from_request_parts(parts, site).await;
        let Some(asked) = path.as_ref().ok().and_then(|Path(token)| B::named(token)) else {
            let opened = authenticate_secret_key(site, &parts.headers, None).await?;
            // Authentication comes first.
            return path.map(|_| Self(opened.account, None));
        };
        let key = basic_user(&parts.headers).ok_or(ErrorCode::Unauthorized)?;
        let (opened, record) = accounts::authenticate_and_find(site, &key, &asked).await?;
        admitted(site, &opened).await?;
        Ok(Self(opened.account, record))
    }
}

/// The account of a secret key, which manages an approved partner.
pub struct Partner(pub Account);

impl FromRequestParts<AppState> for Partner {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, site: &AppState) -> Result<Self, Error> {
        authenticate_partner_key(site, &parts.headers, None).await.map(|opened| Self(opened.account))
    }
}

/// Authenticates the secret key of an account that manages an approved partner (specification, Authentication 3).
pub async fn authenticate_partner_key(
    site: &AppState,
    headers: &HeaderMap,
    idempotency_key: Option<&str>,
) -> Result<AuthenticatedAccount, Error> {
    let opened = authenticate_secret_key(site, headers, idempotency_key).await?;
    if opened.account.settings().partner { Ok(opened) } else { Err(ErrorCode::Unauthorized.into()) }
}

/// Authenticates the publishable key among the parameters.
pub async fn authenticate_publishable_key(
    site: &AppState,
    input: &Input,
    idempotency_key: Option<&str>,
) -> Result<AuthenticatedAccount, Error> {
    let key = params::read::<BrowserKey>(input.tree()).value.publishable_api_key;
    let opened = accounts::authenticate(site, &key.ok_or(ErrorCode::Unauthorized)?, idempotency_key).await?;
    if opened.kind != KeyKind::Publishable {
        return Err(ErrorCode::Unauthorized.into());
    }
    request_context::log_account(opened.account.id(), opened.account.now);
    site.rate.count(RateLimitKey::Account(opened.account.id())).await?;
    Ok(opened)
}

/// Returns the Basic user. The colon may be missing, or follow the encoded text; a password is ignored; an empty user
/// is none.
pub fn basic_user(headers: &HeaderMap) -> Option<Secret> {
    let (scheme, credentials) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let credentials = credentials.trim();
    let credentials = credentials.strip_suffix(':').unwrap_or(credentials);
    let decoded = STANDARD.decode(credentials).or_else(|_| STANDARD_NO_PAD.decode(credentials)).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let user = decoded.split_once(':').map_or(decoded.as_str(), |(user, _)| user);
    (!user.is_empty()).then(|| user.into())
}

/// Returns the address of the client; X-Forwarded-For counts only from trusted proxies.
pub fn ip_address(request: &Request, site: &AppState) -> IpAddr {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    // A request without a socket comes from this process.
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)).to_canonical();
    let trusted =
        |address: &IpAddr| site.index.trusted_proxies.iter().any(|network| network.contains(address));
    let forwarded =
        request.headers().get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let hops: Vec<IpAddr> =
        forwarded.flat_map(|value| value.split(',')).filter_map(|hop| hop.trim().parse().ok()).collect();
    // From the nearest hop outwards: the first one that is not a trusted proxy is the client.
    let mut caller = peer;
    for hop in hops.into_iter().rev() {
        if !trusted(&caller) {
            break;
        }
        caller = hop.to_canonical();
    }
    caller
}
