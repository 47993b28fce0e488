//! Who asks (specification, Authentication; decisions 2).

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

/// A caller with a secret key.
pub struct Caller(pub Account);

impl FromRequestParts<AppState> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, site: &AppState) -> Result<Self, Error> {
        authenticate_secret_key(site, &parts.headers, None).await.map(|opened| Self(opened.account))
    }
}

/// What the secret key opens, and what is known of the Idempotency-Key beside it.
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

/// Whether what was opened was opened by a secret key, and may ask once more.
async fn admitted(site: &AppState, opened: &AuthenticatedAccount) -> Result<(), Error> {
    if opened.kind != KeyKind::Secret {
        return Err(ErrorCode::Unauthorized.into());
    }
    request_context::set_account(opened.account.id());
    request_context::log_account(opened.account.id(), opened.account.now);
    site.rate.count(RateLimitKey::Account(opened.account.id())).await
}

/// A caller with a secret key, and the record that the path names if the account has it. A statement finds both: on its way
/// to the database, a request that asks for little spends most of its time.
pub struct CallerWith<B: AccountJoin>(pub Account, pub Option<B::Record>);

impl<B: AccountJoin> FromRequestParts<AppState> for CallerWith<B> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, site: &AppState) -> Result<Self, Error> {
        let path = Path::<String>::from_request_parts(parts, site).await;
        let Some(asked) = path.as_ref().ok().and_then(|Path(token)| B::named(token)) else {
            let opened = authenticate_secret_key(site, &parts.headers, None).await?;
            // Who asks is looked at first.
            return path.map(|_| Self(opened.account, None));
        };
        let key = basic_user(&parts.headers).ok_or(ErrorCode::Unauthorized)?;
        let (opened, record) = accounts::authenticate_and_find(site, &key, &asked).await?;
        admitted(site, &opened).await?;
        Ok(Self(opened.account, record))
    }
}

/// A caller with the secret key of an account that manages an approved partner.
pub struct Partner(pub Account);

impl FromRequestParts<AppState> for Partner {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, site: &AppState) -> Result<Self, Error> {
        authenticate_partner_key(site, &parts.headers, None).await.map(|opened| Self(opened.account))
    }
}

/// What the secret key of an account that manages an approved partner opens (specification, Authentication 3).
pub async fn authenticate_partner_key(
    site: &AppState,
    headers: &HeaderMap,
    idempotency_key: Option<&str>,
) -> Result<AuthenticatedAccount, Error> {
    let opened = authenticate_secret_key(site, headers, idempotency_key).await?;
    if opened.account.settings().partner { Ok(opened) } else { Err(ErrorCode::Unauthorized.into()) }
}

/// What the publishable key among the parameters opens.
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

/// The Basic user. A missing colon is forgiven, and one behind the encoded text; a password is ignored; an empty user is none.
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

/// The address the request came from; X-Forwarded-For is believed from trusted proxies only.
pub fn ip_address(request: &Request, site: &AppState) -> IpAddr {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    // Without a socket there is only the process itself.
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)).to_canonical();
    let trusted =
        |address: &IpAddr| site.index.trusted_proxies.iter().any(|network| network.contains(address));
    let forwarded =
        request.headers().get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let hops: Vec<IpAddr> =
        forwarded.flat_map(|value| value.split(',')).filter_map(|hop| hop.trim().parse().ok()).collect();
    // From the nearest hop outwards: the first one that is no proxy of ours is the caller.
    let mut caller = peer;
    for hop in hops.into_iter().rev() {
        if !trusted(&caller) {
            break;
        }
        caller = hop.to_canonical();
    }
    caller
}
