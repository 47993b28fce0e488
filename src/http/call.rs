//! A request that changes something: who asks, what was sent, and under which Idempotency-Key (decisions 2).

use std::sync::{Arc, OnceLock};

use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use entity::AccountToken;

use super::Site;
use super::auth::{basic_user, ip_address, opened_by_publishable_key, opened_by_secret_key};
use super::extract::Input;
use crate::answer::Wrap;
use crate::error::{Error, ErrorCode};
use crate::limits::IDEMPOTENCY_KEY_LENGTH_MAX;
use crate::services::Account;
use crate::services::accounts::Opened;
use crate::services::claim::{Asked, Claim};
use crate::services::idempotency;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A request with a secret key.
pub struct Call {
    account: Account,
    /// The parameters.
    pub input: Input,
    /// Where the request came from.
    pub ip_address: String,
}

impl Call {
    /// The account it acts for, 201 with the record being the answer.
    pub fn creates(&self) -> Account {
        self.account.answers(Wrap::Created)
    }

    /// The account it acts for, 201 with the record and the caller's address being the answer.
    pub fn creates_from(&self) -> Account {
        self.account.answers(Wrap::CreatedFrom(self.ip_address.clone()))
    }

    /// The account it acts for, 200 with the record being the answer.
    pub fn changes(&self) -> Account {
        self.account.answers(Wrap::Shown)
    }

    /// The account it acts for, 204 being the answer.
    pub fn deletes(&self) -> Account {
        self.account.answers(Wrap::Deleted)
    }
}

impl FromRequest<Site> for Call {
    type Rejection = Response;

    async fn from_request(request: Request, site: &Site) -> Result<Self, Response> {
        let key = idempotency_key(&request);
        let opened = opened_by_secret_key(site, request.headers(), legible(key.as_ref()).ok()).await;
        read(request, site, key, Some(opened.map_err(Error::into_response)?)).await
    }
}

/// A request at one of the endpoints that also take a publishable key.
///
/// A Basic user decides where there is one. Only where it is absent or empty the body is read first, because
/// the publishable key may be in it: an unreadable one is then refused before the 401 (decisions 3).
pub struct Browser(pub Call);

impl FromRequest<Site> for Browser {
    type Rejection = Response;

    async fn from_request(request: Request, site: &Site) -> Result<Self, Response> {
        if basic_user(request.headers()).is_some() {
            return Call::from_request(request, site).await.map(Self);
        }
        let key = idempotency_key(&request);
        read(request, site, key, None).await.map(Self)
    }
}

/// Read a request whose account is known, or in whose body the publishable key is.
async fn read(
    request: Request,
    site: &Site,
    key: Option<HeaderValue>,
    opened: Option<Opened>,
) -> Result<Call, Response> {
    let ip_address = ip_address(&request, site);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let rivals = request.extensions().get::<Rivals>().cloned().unwrap_or_default();
    let input = Input::from_request(request, site).await.map_err(Error::into_response)?;
    let opened = match opened {
        Some(opened) => Ok(opened),
        None => opened_by_publishable_key(site, &input, legible(key.as_ref()).ok()).await,
    };
    let Opened { account, kind, claimed } = opened.map_err(Error::into_response)?;
    if key.is_none() {
        return Ok(Call { account, input, ip_address });
    }
    let key = legible(key.as_ref()).map_err(Error::into_response)?;
    let asked = Asked { kind, key, method: method.as_str(), path: &path, parameters: input.tree() };
    let claim = Claim::new(&site.vault, &asked);
    // A fresh key is known to be one already.
    let earlier = if claimed { idempotency::look(site, account.id(), &claim).await } else { Ok(None) };
    match earlier {
        Ok(None) => {}
        Ok(Some(answer)) => return Err(replayed(answer.into_response())),
        Err(error) => return Err(error.into_response()),
    }
    // Nobody else sets it: a request has one reader.
    let _ = rivals.0.set((account.id(), claim.clone()));
    Ok(Call { account: account.under(Some(claim)), input, ip_address })
}

/// Only what changes something can be repeated.
fn idempotency_key(request: &Request) -> Option<HeaderValue> {
    let changes = matches!(*request.method(), Method::POST | Method::PUT | Method::DELETE);
    request.headers().get(IDEMPOTENCY_KEY).filter(|_| changes).cloned()
}

fn legible(key: Option<&HeaderValue>) -> Result<&str, Error> {
    let key = key.and_then(|key| key.to_str().ok()).unwrap_or_default();
    if (1..=IDEMPOTENCY_KEY_LENGTH_MAX).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return Ok(key);
    }
    Err(Error::explained(
        ErrorCode::BadRequest,
        "The Idempotency-Key must have 1 to 255 visible ASCII characters",
    ))
}

/// Where the reader of a request leaves its claim.
#[derive(Clone, Default)]
struct Rivals(Arc<OnceLock<(AccountToken, Claim)>>);

/// Around the handlers: a request that is refused without having its key may have been refused because of a rival
/// with the same one, and gets what that one gets.
pub async fn agree_with_rivals(State(site): State<Site>, mut request: Request, next: Next) -> Response {
    if !request.headers().contains_key(IDEMPOTENCY_KEY) {
        return next.run(request).await;
    }
    let rivals = Rivals::default();
    request.extensions_mut().insert(rivals.clone());
    let response = next.run(request).await;
    match rivals.0.get() {
        Some((account, claim)) if response.status().is_client_error() && !claim.is_held() => {
            match idempotency::look(&site, *account, claim).await {
                Ok(None) => response,
                Ok(Some(answer)) => replayed(answer.into_response()),
                Err(error) => error.into_response(),
            }
        }
        _ => response,
    }
}

fn replayed(mut response: Response) -> Response {
    response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    response
}
