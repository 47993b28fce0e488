//! Extractors of requests that write: the account, the parameters, and the Idempotency-Key (`docs/decisions.md`, 66).

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use entity::AccountToken;

use super::AppState;
use super::answer::KeptAnswer;
use super::auth::{
    authenticate_partner_key, authenticate_publishable_key, authenticate_secret_key, basic_user, ip_address,
};
use super::extract::{Input, upload};
use crate::blobs::Upload;
use crate::error::{Error, ErrorCode};
use crate::limits::IDEMPOTENCY_KEY_LENGTH_MAX;
use crate::services::Account;
use crate::services::accounts::AuthenticatedAccount;
use crate::services::accounts::access::{Access, access};
use crate::services::idempotency;
use crate::services::idempotency::claim::{IdempotencyClaim, IdempotentRequest};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(super) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A write with a secret key.
pub struct WriteRequest {
    account: Account,
    /// The parameters.
    pub input: Input,
    /// The client's address.
    pub ip_address: String,
}

impl WriteRequest {
    /// Returns the reply of the kind that the handler returns.
    pub fn reply<A: KeptAnswer>(&self) -> Reply<A> {
        let account = self.account.answers(A::kind(&self.ip_address));
        Reply { account, ip_address: self.ip_address.clone(), answer: PhantomData }
    }
}

/// The reply to a write: its kind wraps the record in the first response, and in the one kept for its replays.
pub struct Reply<A> {
    /// The account, for the service that writes.
    pub account: Account,
    ip_address: String,
    answer: PhantomData<A>,
}

impl<A: KeptAnswer> Reply<A> {
    /// Wraps the record.
    pub fn of(&self, record: A::Record) -> A {
        A::of(record, &self.ip_address)
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

/// A write with the secret key of an account that manages an approved partner.
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

/// An upload with a secret key.
pub struct UploadRequest {
    /// The request; its parameters identify the file by its digest.
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

/// A write at one of the endpoints that also take a publishable key (`docs/decisions.md`, 57).
///
/// If there is a Basic user, it decides. Only if it is absent or empty the body is read first, because the publishable
/// key may be in it: an unreadable body is then refused before the 401 (77).
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

/// The head of a request, read before its body.
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

    /// Builds the request, once its account is known, with its claim of the Idempotency-Key; if another request owns
    /// the key, returns that one's response. A merchant cannot write before the operator has approved it
    /// (`docs/decisions.md`, 72).
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
            // Only this call sets it: a request has one extractor.
            let _ = self.rivals.0.set((account.id(), claim.clone()));
        }
        Ok(WriteRequest { account: account.under(claim), input, ip_address: self.ip_address })
    }

    /// Returns the claim of the Idempotency-Key, if there is a key and it is free; or the stored response to replay.
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
        // A fresh key is already known to be free.
        let earlier =
            if claimed { idempotency::find_response(site, account.id(), &claim).await } else { Ok(None) };
        match earlier {
            Ok(None) => Ok(Some(claim)),
            Ok(Some(answer)) => Err(replayed(answer.into_response())),
            Err(error) => Err(error.into_response()),
        }
    }
}

/// Returns the Idempotency-Key; it counts only for methods that write.
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

/// The slot into which the extractor of a request puts its claim.
#[derive(Clone, Default)]
struct ClaimSlot(Arc<OnceLock<(AccountToken, IdempotencyClaim)>>);

/// Middleware around the handlers. A request that is refused without owning its Idempotency-Key may have lost to
/// another request with the same key; it then gets that one's response.
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
