//! A request that changes something: who asks, what was sent, and under which Idempotency-Key (decisions 2).

use std::sync::{Arc, OnceLock};

use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use entity::AccountToken;

use super::AppState;
use super::auth::{
    authenticate_partner_key, authenticate_publishable_key, authenticate_secret_key, basic_user, ip_address,
};
use super::extract::{Input, upload};
use crate::blobs::Upload;
use crate::error::{Error, ErrorCode};
use crate::limits::IDEMPOTENCY_KEY_LENGTH_MAX;
use crate::response::ResponseKind;
use crate::services::Account;
use crate::services::accounts::AuthenticatedAccount;
use crate::services::accounts::access::{Access, access};
use crate::services::idempotency;
use crate::services::idempotency::claim::{IdempotencyClaim, IdempotentRequest};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(super) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A request with a secret key.
pub struct WriteRequest {
    account: Account,
    /// The parameters.
    pub input: Input,
    /// Where the request came from.
    pub ip_address: String,
}

impl WriteRequest {
    /// The account it acts for, 201 with the record being the answer.
    pub fn creates(&self) -> Account {
        self.account.answers(ResponseKind::Created)
    }

    /// The account it acts for, 201 with the record and the caller's address being the answer.
    pub fn creates_from(&self) -> Account {
        self.account.answers(ResponseKind::CreatedFrom(self.ip_address.clone()))
    }

    /// The account it acts for, 200 with the record being the answer.
    pub fn changes(&self) -> Account {
        self.account.answers(ResponseKind::Shown)
    }

    /// The account it acts for, 204 being the answer.
    pub fn deletes(&self) -> Account {
        self.account.answers(ResponseKind::Deleted)
    }

    /// The account it acts for, 200 without a body being the answer.
    pub fn acts(&self) -> Account {
        self.account.answers(ResponseKind::Done)
    }
}

impl FromRequest<AppState> for WriteRequest {
    type Rejection = Response;

    async fn from_request(request: Request, site: &AppState) -> Result<Self, Response> {
        let begun = RequestHead::of(&request, site);
        let opened = authenticate_secret_key(site, request.headers(), begun.key().ok()).await;
        let opened = opened.map_err(Error::into_response)?;
        let input = Input::from_request(request, site).await.map_err(Error::into_response)?;
        begun.call(site, input, opened).await
    }
}

/// A request with the secret key of an account that manages an approved partner.
pub struct PartnerWriteRequest(pub WriteRequest);

impl FromRequest<AppState> for PartnerWriteRequest {
    type Rejection = Response;

    async fn from_request(request: Request, site: &AppState) -> Result<Self, Response> {
        let begun = RequestHead::of(&request, site);
        let opened = authenticate_partner_key(site, request.headers(), begun.key().ok()).await;
        let opened = opened.map_err(Error::into_response)?;
        let input = Input::from_request(request, site).await.map_err(Error::into_response)?;
        begun.call(site, input, opened).await.map(Self)
    }
}

/// A request with a secret key that brings a file.
pub struct UploadRequest {
    /// The request; its parameters tell the file by its digest.
    pub call: WriteRequest,
    /// The file.
    pub upload: Option<Upload>,
}

impl FromRequest<AppState> for UploadRequest {
    type Rejection = Response;

    async fn from_request(request: Request, site: &AppState) -> Result<Self, Response> {
        let begun = RequestHead::of(&request, site);
        let opened = authenticate_secret_key(site, request.headers(), begun.key().ok()).await;
        let opened = opened.map_err(Error::into_response)?;
        let (input, upload) = upload::receive(request, site).await.map_err(Error::into_response)?;
        Ok(Self { call: begun.call(site, input, opened).await?, upload })
    }
}

/// A request at one of the endpoints that also take a publishable key.
///
/// A Basic user decides where there is one. Only where it is absent or empty the body is read first, because
/// the publishable key may be in it: an unreadable one is then refused before the 401 (decisions 3).
pub struct BrowserWriteRequest(pub WriteRequest);

impl FromRequest<AppState> for BrowserWriteRequest {
    type Rejection = Response;

    async fn from_request(request: Request, site: &AppState) -> Result<Self, Response> {
        if basic_user(request.headers()).is_some() {
            return WriteRequest::from_request(request, site).await.map(Self);
        }
        let begun = RequestHead::of(&request, site);
        let input = Input::from_request(request, site).await.map_err(Error::into_response)?;
        let opened = authenticate_publishable_key(site, &input, begun.key().ok()).await;
        begun.call(site, input, opened.map_err(Error::into_response)?).await.map(Self)
    }
}

/// What a request says before its body is read.
struct RequestHead {
    idempotency_key: Option<HeaderValue>,
    ip_address: String,
    method: Method,
    path: String,
    rivals: ClaimSlot,
}

impl RequestHead {
    fn of(request: &Request, site: &AppState) -> Self {
        Self {
            idempotency_key: idempotency_key(request),
            ip_address: ip_address(request, site).to_string(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            rivals: request.extensions().get::<ClaimSlot>().cloned().unwrap_or_default(),
        }
    }

    fn key(&self) -> Result<&str, Error> {
        legible(self.idempotency_key.as_ref())
    }

    /// The request, once its account is known: under its Idempotency-Key, unless a rival was faster. A merchant may not
    /// change anything before the operator says so (decisions 10).
    async fn call(
        self,
        site: &AppState,
        input: Input,
        opened: AuthenticatedAccount,
    ) -> Result<WriteRequest, Response> {
        let claim = self.claim(site, &input, &opened).await?;
        let account = opened.account;
        if access(site.environment, account.settings().status) != Access::Full {
            return Err(Error::from(ErrorCode::ApiUnavailable).into_response());
        }
        if let Some(claim) = &claim {
            // Nobody else sets it: a request has one reader.
            let _ = self.rivals.0.set((account.id(), claim.clone()));
        }
        Ok(WriteRequest { account: account.under(claim), input, ip_address: self.ip_address })
    }

    /// What it claims, where it has a key that is free; or the answer that it gets instead.
    async fn claim(
        &self,
        site: &AppState,
        input: &Input,
        opened: &AuthenticatedAccount,
    ) -> Result<Option<IdempotencyClaim>, Response> {
        if self.idempotency_key.is_none() {
            return Ok(None);
        }
        let &AuthenticatedAccount { ref account, kind, claimed } = opened;
        let key = self.key().map_err(Error::into_response)?;
        let (method, path) = (self.method.as_str(), &self.path);
        let claim = IdempotencyClaim::new(
            &site.vault,
            &IdempotentRequest { kind, key, method, path, parameters: input.tree() },
        );
        // A fresh key is known to be one already.
        let earlier =
            if claimed { idempotency::find_response(site, account.id(), &claim).await } else { Ok(None) };
        match earlier {
            Ok(None) => Ok(Some(claim)),
            Ok(Some(answer)) => Err(replayed(answer.into_response())),
            Err(error) => Err(error.into_response()),
        }
    }
}

/// Only what changes something can be repeated.
pub(super) fn idempotency_key(request: &Request) -> Option<HeaderValue> {
    let changes = matches!(*request.method(), Method::POST | Method::PUT | Method::DELETE);
    request.headers().get(IDEMPOTENCY_KEY).filter(|_| changes).cloned()
}

pub(super) fn legible(key: Option<&HeaderValue>) -> Result<&str, Error> {
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
struct ClaimSlot(Arc<OnceLock<(AccountToken, IdempotencyClaim)>>);

/// Around the handlers: a request that is refused without having its key may have been refused because of a rival
/// with the same one, and gets what that one gets.
pub async fn replay_after_conflict(
    State(site): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    if !request.headers().contains_key(IDEMPOTENCY_KEY) {
        return next.run(request).await;
    }
    let rivals = ClaimSlot::default();
    request.extensions_mut().insert(rivals.clone());
    let response = next.run(request).await;
    match rivals.0.get() {
        Some((account, claim)) if response.status().is_client_error() && !claim.is_held() => {
            match idempotency::find_response(&site, *account, claim).await {
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
