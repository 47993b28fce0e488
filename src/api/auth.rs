//! Authentication of requests (specification, Authentication; `docs/decisions.md`, 55).

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use base::request_context;
use base::secret::Secret;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use entity::api_key::KeyKind;
use tokio::time::timeout;

use super::extract::{Input, Path};
use super::rate_limit::RateLimitKey;
use super::request_log_data::log;
use super::state::AppState;
use crate::config::Environment;
use crate::error::{Error, KeyFault};
use crate::services::Account;
use crate::services::accounts::{self, AccountJoin, AuthenticatedAccount};
use crate::services::cards::params::BrowserKey;

/// The account of a request's secret key, for a handler that reads.
impl FromRequestParts<AppState> for Account {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, Error> {
        // Boxed, because the request keeps the memory of its largest part for as long as it runs, and some wait.
        let authenticated = Box::pin(authenticate_secret_key(app, &parts.headers, None)).await?;
        Ok(authenticated.account)
    }
}

/// Authenticates the secret key, and finds out whether the Idempotency-Key is a fresh one.
pub async fn authenticate_secret_key(
    app: &AppState,
    headers: &HeaderMap,
    idempotency_key: Option<&str>,
) -> Result<AuthenticatedAccount, Error> {
    let key = basic_user(headers).ok_or_else(|| no_key(headers))?;
    let authenticated = accounts::authenticate(app, &key, idempotency_key).await?;
    admitted(app, &authenticated).await?;
    Ok(authenticated)
}

/// Authenticates the secret key of a payment, perhaps by an account that is no longer current.
pub async fn authenticate_payment_key(
    app: &AppState,
    headers: &HeaderMap,
    idempotency_key: Option<&str>,
) -> Result<AuthenticatedAccount, Error> {
    let key = basic_user(headers).ok_or_else(|| no_key(headers))?;
    accounts::authenticate_payment(app, &key, idempotency_key).await
}

/// Notes the account of a request: how its parameters are handled, and whose log it is in.
pub fn note_account(account: &Account) {
    request_context::set_account_is_strict(account.settings().strict_parameters.unwrap_or_default());
    log(|data| data.account = Some((account.id(), account.now)));
}

/// Refuses a publishable key, an account over its rate limit, and a restricted key that lacks a right for the operation: the one
/// place where rights are checked.
pub async fn admitted(app: &AppState, authenticated: &AuthenticatedAccount) -> Result<(), Error> {
    if authenticated.kind == KeyKind::Publishable {
        return Err(KeyFault::Publishable.into());
    }
    request_context::set_account(authenticated.account.id());
    note_account(&authenticated.account);
    app.rate.count(RateLimitKey::Account(authenticated.account.id())).await?;
    app.rights.check(&authenticated.account)
}

/// Finds whose secret key a request has that no operation answers, for the request log. It waits for nothing that is scarce: its
/// answer is the same without.
pub async fn log_account(app: &AppState, headers: &HeaderMap) {
    const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);
    if app.environment != Environment::Test {
        return;
    }
    let Some(key) = basic_user(headers) else { return };
    let Some(_permit) = app.admission.requests().try_acquire(None, 1) else { return };
    if let Ok(Ok(authenticated)) = timeout(LOOKUP_TIMEOUT, accounts::authenticate(app, &key, None)).await
        && authenticated.kind != KeyKind::Publishable
    {
        log(|data| data.account = Some((authenticated.account.id(), authenticated.account.now)));
    }
}

/// The account of a request's secret key, and the record that the path names if the account has it. One statement finds
/// both, because the round trip to the database is most of the time of a small request.
pub struct AccountAndRecord<B: AccountJoin>(pub Account, pub Option<B::Record>);

impl<B: AccountJoin> FromRequestParts<AppState> for AccountAndRecord<B> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, Error> {
        let path = Path::<String>::from_request_parts(parts, app).await;
        let Some(named) = path.as_ref().ok().and_then(|Path(token)| B::parse(token)) else {
            let authenticated = authenticate_secret_key(app, &parts.headers, None).await?;
            // Authentication comes first.
            return path.map(|_| Self(authenticated.account, None));
        };
        let key = basic_user(&parts.headers).ok_or_else(|| no_key(&parts.headers))?;
        let (authenticated, record) = accounts::authenticate_and_find(app, &key, &named).await?;
        admitted(app, &authenticated).await?;
        Ok(Self(authenticated.account, record))
    }
}

/// The account of a secret key, which manages an approved partner.
pub struct Partner(pub Account);

impl FromRequestParts<AppState> for Partner {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, Error> {
        authenticate_partner_key(app, &parts.headers, None)
            .await
            .map(|authenticated| Self(authenticated.account))
    }
}

/// Authenticates the secret key of an account that manages an approved partner (specification, Authentication 3).
pub async fn authenticate_partner_key(
    app: &AppState,
    headers: &HeaderMap,
    idempotency_key: Option<&str>,
) -> Result<AuthenticatedAccount, Error> {
    let authenticated = authenticate_secret_key(app, headers, idempotency_key).await?;
    if authenticated.account.settings().partner { Ok(authenticated) } else { Err(KeyFault::NoPartner.into()) }
}

/// Authenticates the publishable key among the parameters.
pub async fn authenticate_publishable_key(
    app: &AppState,
    input: &Input,
    idempotency_key: Option<&str>,
) -> Result<AuthenticatedAccount, Error> {
    let key = input.params::<BrowserKey>().value.publishable_api_key;
    let authenticated = accounts::authenticate(app, &key.ok_or(KeyFault::Missing)?, idempotency_key).await?;
    if authenticated.kind != KeyKind::Publishable {
        return Err(KeyFault::Secret.into());
    }
    note_account(&authenticated.account);
    app.rate.count(RateLimitKey::Account(authenticated.account.id())).await?;
    Ok(authenticated)
}

/// Returns the Basic user. The colon may be missing, or follow the encoded text; a password is ignored; an empty user
/// is none. If the text ends in one colon, all before it is the user, because a configured key may have colons; otherwise the user ends
/// at the first.
pub fn basic_user(headers: &HeaderMap) -> Option<Secret> {
    let (scheme, credentials) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let credentials = credentials.trim();
    let credentials = credentials.strip_suffix(':').unwrap_or(credentials);
    let decoded = STANDARD.decode(credentials).or_else(|_| STANDARD_NO_PAD.decode(credentials)).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let without_password = || decoded.split_once(':').map_or(decoded.as_str(), |(user, _)| user);
    let user = decoded.strip_suffix(':').filter(|user| !user.ends_with(':'));
    let user = user.unwrap_or_else(without_password);
    (!user.is_empty()).then(|| user.into())
}

/// Returns why a request without a Basic user has none.
fn no_key(headers: &HeaderMap) -> KeyFault {
    let Some(sent) = headers.get(header::AUTHORIZATION) else { return KeyFault::Missing };
    let text = sent.to_str().unwrap_or_default().trim();
    let (scheme, credentials) = text.split_once(' ').unwrap_or((text, ""));
    let decoded = STANDARD.decode(credentials.trim()).or_else(|_| STANDARD_NO_PAD.decode(credentials.trim()));
    if sent.is_empty() {
        KeyFault::Missing
    } else if scheme.eq_ignore_ascii_case("bearer") {
        KeyFault::Bearer
    } else if scheme.eq_ignore_ascii_case("basic")
        && decoded.is_ok_and(|user| user.is_empty() || user.starts_with(b":"))
    {
        KeyFault::Missing
    } else {
        KeyFault::Unreadable
    }
}
