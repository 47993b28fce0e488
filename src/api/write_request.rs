//! Extractors of requests that write: the account, the parameters, and the Idempotency-Key (`docs/decisions.md`, 66).

use std::sync::{Arc, OnceLock};

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base::request_context;
use entity::AccountToken;
use entity::api_key::KeyKind;
use futures::TryFutureExt;
use outbound::blobs::Upload;

use super::answer::KeptAnswer;
use super::auth::{
    admitted, authenticate_partner_key, authenticate_payment_key, authenticate_publishable_key,
    authenticate_secret_key, basic_user, note_account,
};
use super::client_address::client_address;
use super::extract::{Input, upload};
use super::request_log_data::log;
use super::state::AppState;
use crate::error::{Error, ErrorCode};
use crate::limits::IDEMPOTENCY_KEY_LENGTH_MAX;
use crate::services::accounts::access::{Access, access};
use crate::services::accounts::{AuthenticatedAccount, find_changed};
use crate::services::idempotency::claim::{IdempotencyClaim, IdempotentRequest};
use crate::services::idempotency::{self, StoredClaim};
use crate::services::{Account, Caller};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub(super) const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A write with a secret key.
pub struct WriteRequest {
    /// The caller, for the service that writes.
    pub caller: Caller,
    pub input: Input,
    /// The client's address.
    pub ip_address: String,
}

impl WriteRequest {
    /// Runs the service and wraps its record as the handler's return type says. Before the service begins, the
    /// caller's claim learns how, so that the response kept for replays is of the same kind.
    pub fn answer<A: KeptAnswer>(
        &self,
        service: impl Future<Output = Result<A::Record, Error>>,
    ) -> impl Future<Output = Result<A, Error>> {
        if let Some(claim) = &self.caller.claim {
            claim.set_kind(A::kind(&self.ip_address));
        }
        service.map_ok(|record| A::new(record, &self.ip_address))
    }
}

/// A payment's write. Its account may be one that the process has kept: then the first commit requires that the account is
/// still current, and so does every refusal before that. Nobody has looked for its Idempotency-Key then, which may be claimed.
pub struct PaymentRequest(WriteRequest);

impl PaymentRequest {
    /// Runs the service and wraps its record, as [`WriteRequest::answer`] does. If the service refuses, nothing is committed and
    /// the account has changed meanwhile, the service runs again by the account as it is; and so it does if the Idempotency-Key was
    /// claimed longer ago than keys are kept.
    pub async fn answer<A, F>(
        mut self,
        app: &AppState,
        service: impl Fn(Caller, Input) -> F,
    ) -> Result<A, Error>
    where
        A: KeptAnswer,
        F: Future<Output = Result<A::Record, Error>>,
    {
        let WriteRequest { caller, input, .. } = &self.0;
        let answer = self.0.answer(service(caller.clone(), input.clone())).await;
        match &answer {
            // Any other error says nothing of what is committed.
            Err(error) if (400..500).contains(&error.code().status()) => {}
            // [`replay_after_conflict`] may find an earlier answer, which a key that has ended is not shown.
            Err(_) if request_context::has_not_begun() => {
                Box::pin(current_account(app, &caller.account)).await?;
                return answer;
            }
            _ => return answer,
        }
        let changed = Box::pin(current_account(app, &caller.account)).await?;
        let is_free_again = match &answer {
            // A unit that requires a changed account may not have come as far as its key.
            Err(error) if changed.is_some() || may_be_of_the_same_request(error.code()) => {
                Box::pin(is_key_free(app, caller)).await
            }
            _ => false,
        };
        match changed {
            Some(account) => self.0.caller.account = account,
            // It has just been found to be current.
            None if is_free_again => self.0.caller.account.assumed = None,
            None => return answer,
        }
        let WriteRequest { caller, input, .. } = &self.0;
        self.0.answer(service(caller.clone(), input.clone())).await
    }
}

/// Returns whether this refusal may speak of what another request with the same key was doing, which is undone if the key is free.
const fn may_be_of_the_same_request(code: ErrorCode) -> bool {
    use ErrorCode::{AlreadyCaptured, AlreadyVoided, IdempotencyKeyInUse, TokenAlreadyUsed};
    matches!(code, IdempotencyKeyInUse | AlreadyCaptured | AlreadyVoided | TokenAlreadyUsed)
}

impl FromRequest<AppState> for PaymentRequest {
    type Rejection = Rejection;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Rejection> {
        let head = RequestHead::for_request(&request, app);
        let authenticated = authenticate_payment_key(app, request.headers(), head.key().ok()).await?;
        let account = authenticated.account.clone();
        let received = async {
            admitted(app, &authenticated).await?;
            let input = Input::from_request(request, app).await?;
            head.write(app, input, authenticated).await
        };
        match received.await {
            Ok(request) => Ok(Self(request)),
            Err(refusal) => {
                Box::pin(current_account(app, &account)).await?;
                Err(refusal)
            }
        }
    }
}

/// Returns whether the caller's Idempotency-Key is free, and deletes one past its retention. One that is claimed gets its answer from
/// [`replay_after_conflict`].
async fn is_key_free(app: &AppState, caller: &Caller) -> bool {
    let Some(claim) = caller.claim.as_ref().filter(|claim| !claim.is_owned()) else { return false };
    matches!(idempotency::find_response(app, caller.account.id(), claim).await, Ok(None))
}

/// Returns the account of a payment as it is now, if it has changed since the request has read it.
///
/// Refusals: `unauthorized`, `api_unavailable`.
async fn current_account(app: &AppState, seen: &Account) -> Result<Option<Account>, Error> {
    let Some(account) = find_changed(app, seen).await? else { return Ok(None) };
    if access(app.environment, account.settings().status) != Access::Full {
        return Err(ErrorCode::ApiUnavailable.into());
    }
    note_account(&account);
    Ok(Some(account))
}

/// The response in place of the handler's: a refusal, or an earlier response that is replayed.
pub struct Rejection(Response);

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        Self(error.into_response())
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        self.0
    }
}

impl FromRequest<AppState> for WriteRequest {
    type Rejection = Rejection;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Rejection> {
        let head = RequestHead::for_request(&request, app);
        let authenticated = authenticate_secret_key(app, request.headers(), head.key().ok()).await?;
        let input = Input::from_request(request, app).await?;
        head.write(app, input, authenticated).await
    }
}

/// A write with the secret key of an account that manages an approved partner.
pub struct PartnerWriteRequest(pub WriteRequest);

impl FromRequest<AppState> for PartnerWriteRequest {
    type Rejection = Rejection;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Rejection> {
        let head = RequestHead::for_request(&request, app);
        let authenticated = authenticate_partner_key(app, request.headers(), head.key().ok()).await?;
        let input = Input::from_request(request, app).await?;
        head.write(app, input, authenticated).await.map(Self)
    }
}

/// An upload with a secret key.
pub struct UploadRequest {
    /// The request; its parameters identify the file by its digest.
    pub request: WriteRequest,
    pub upload: Option<Upload>,
}

impl FromRequest<AppState> for UploadRequest {
    type Rejection = Rejection;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Rejection> {
        let head = RequestHead::for_request(&request, app);
        let authenticated = authenticate_secret_key(app, request.headers(), head.key().ok()).await?;
        let received = upload::receive(request, app).await;
        let (input, upload) = received.inspect_err(|_| log(|data| data.is_unreadable = true))?;
        Ok(Self { request: head.write(app, input, authenticated).await?, upload })
    }
}

/// A write at one of the endpoints that also take a publishable key (`docs/decisions.md`, 57).
///
/// If there is a Basic user, it decides. Only if it is absent or empty the body is read first, because the publishable
/// key may be in it: an unreadable body is then refused before the 401 (77).
pub struct BrowserWriteRequest(pub WriteRequest);

impl FromRequest<AppState> for BrowserWriteRequest {
    type Rejection = Rejection;

    async fn from_request(request: Request, app: &AppState) -> Result<Self, Rejection> {
        if basic_user(request.headers()).is_some() {
            return WriteRequest::from_request(request, app).await.map(Self);
        }
        let head = RequestHead::for_request(&request, app);
        let input = Input::from_request(request, app).await?;
        let authenticated = authenticate_publishable_key(app, &input, head.key().ok()).await?;
        head.write(app, input, authenticated).await.map(Self)
    }
}

/// The head of a request, read before its body.
struct RequestHead {
    idempotency_key: Option<HeaderValue>,
    /// Empty if it is unknown.
    ip_address: String,
    method: Method,
    path: String,
    claim_slot: ClaimSlot,
}

impl RequestHead {
    fn for_request(request: &Request, app: &AppState) -> Self {
        Self {
            idempotency_key: idempotency_key(request),
            ip_address: client_address(request, app).map_or_else(String::new, |address| address.to_string()),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            claim_slot: request.extensions().get::<ClaimSlot>().cloned().unwrap_or_default(),
        }
    }

    fn key(&self) -> Result<&str, Error> {
        parse_idempotency_key(self.idempotency_key.as_ref())
    }

    /// Builds the write, once its account is known, with its claim of the Idempotency-Key; if another request owns the
    /// key, returns that one's response. A merchant cannot write before the operator has approved it
    /// (`docs/decisions.md`, 72).
    async fn write(
        self,
        app: &AppState,
        input: Input,
        authenticated: AuthenticatedAccount,
    ) -> Result<WriteRequest, Rejection> {
        let AuthenticatedAccount { account, kind, claimed } = authenticated;
        let claim = self.claim(app, &input, (&account, kind), claimed).await?;
        if let Some(claim) = &claim {
            // Only this call sets it: a request has one extractor.
            let _ = self.claim_slot.0.set((account.id(), Arc::clone(claim)));
        }
        if access(app.environment, account.settings().status) != Access::Full {
            return Err(Error::from(ErrorCode::ApiUnavailable).into());
        }
        Ok(WriteRequest {
            caller: Caller { account, claim, condition: None },
            input,
            ip_address: self.ip_address,
        })
    }

    /// Returns the claim of the Idempotency-Key, if there is a key and it is free; or the stored response to replay.
    async fn claim(
        &self,
        app: &AppState,
        input: &Input,
        (account, kind): (&Account, KeyKind),
        claimed: Option<StoredClaim>,
    ) -> Result<Option<Arc<IdempotencyClaim>>, Rejection> {
        if self.idempotency_key.is_none() {
            return Ok(None);
        }
        let (key, method, path) = (self.key()?, self.method.as_str(), &self.path);
        let restriction = app.rights.restriction_of_keys(account);
        let request = IdempotentRequest { kind, key, method, path, parameters: input.tree(), restriction };
        let claim = IdempotencyClaim::new(&app.vault, &request);
        let earlier = match claimed {
            // The commit finds out whether it is still free.
            None => None,
            Some(claimed) if claimed.is_answered() => idempotency::response_of(app, &claim, claimed).await?,
            // It may have been answered or released while the body came.
            Some(_) => idempotency::find_response(app, account.id(), &claim).await?,
        };
        if let Some(earlier) = earlier {
            return Err(Rejection(replayed(earlier.into_response())));
        }
        Ok(Some(Arc::new(claim)))
    }
}

/// Returns the Idempotency-Key; it counts only for methods that write.
pub(super) fn idempotency_key(request: &Request) -> Option<HeaderValue> {
    let changes = matches!(*request.method(), Method::POST | Method::PUT | Method::DELETE);
    request.headers().get(IDEMPOTENCY_KEY).filter(|_| changes).cloned()
}

pub(super) fn parse_idempotency_key(key: Option<&HeaderValue>) -> Result<&str, Error> {
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
struct ClaimSlot(Arc<OnceLock<(AccountToken, Arc<IdempotencyClaim>)>>);

/// Runs the handler. A request that is refused without owning its Idempotency-Key may have lost to another request with
/// the same key; it then gets that one's response, unless its credentials have ended meanwhile.
pub async fn replay_after_conflict(app: &AppState, mut request: Request, next: Next) -> Response {
    if !request.headers().contains_key(IDEMPOTENCY_KEY) {
        return next.run(request).await;
    }
    let slot = ClaimSlot::default();
    request.extensions_mut().insert(slot.clone());
    let response = next.run(request).await;
    let Some((account, claim)) = slot.0.get() else { return response };
    let may_be_shown = response.status() != StatusCode::UNAUTHORIZED;
    let is_refused =
        may_be_shown && (response.status().is_client_error() || request_context::has_not_begun());
    let answer = if is_refused && !claim.is_owned() {
        match idempotency::find_response(app, *account, claim).await {
            // Its key is free.
            Ok(None) => return response,
            Ok(Some(answer)) => replayed(answer.into_response()),
            Err(error) => error.into_response(),
        }
    } else {
        response
    };
    app.memory.claimed_keys.insert(claim.hash());
    answer
}

fn replayed(mut response: Response) -> Response {
    response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    response
}
