//! Extractors that all endpoints share: they read the path, the query and the body.

pub mod body;
mod form;
mod json;
mod part;
mod query;
mod unreadable;
pub mod upload;

use std::pin::pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRef, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use base::permits::Permit;
use base::request_context;
use base::request_permits::release_permit;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;
use validator::Validate;
use web::connections::unless_wanted;
use web::limits::SMALL_BODY_BYTES;

use self::unreadable::Unreadable;
use super::known_parameters::{KnownParameters, OperationParameters};
use super::metrics::{ShedKind, count_shed};
use super::request_log_data::log;
use super::state::AppState;
use crate::error::{Error, ErrorCode};
use crate::limits::{BODY_BYTES_MAX, BODY_STALL_TIMEOUT, LARGE_BODY_TIMEOUT};
use crate::params::{self, FieldErrors, Paging, ParameterTree, Params, Search, Sorting};

/// The tokens in a path.
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Default + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(tokens)) => Ok(Self(tokens)),
            // A malformed token is an unknown one (`docs/decisions.md`, 15), and one that is not even UTF-8 is as
            // malformed as an empty one.
            Err(PathRejection::FailedToDeserializePathParams(error))
                if matches!(error.kind(), ErrorKind::InvalidUtf8InPathParam { .. }) =>
            {
                Ok(Self(T::default()))
            }
            Err(error) => Err(Error::internal(error.to_string())),
        }
    }
}

/// The parameters of a request, from its body and its query, as one tree.
#[derive(Clone)]
pub struct Input {
    tree: Arc<Value>,
    operations: Arc<OperationParameters>,
    // Held while the parameters of a large body are in memory.
    _memory: Option<Arc<Permit>>,
}

impl Input {
    /// Refuses unknown parameters at once where the operation has no parameters: nothing would read them.
    fn new(app: &AppState, tree: Value, memory: Option<Permit>) -> Result<Self, Error> {
        let tree = Arc::new(tree);
        log(|data| data.parameters = Some(Arc::clone(&tree)));
        let input = Self { tree, operations: Arc::clone(&app.parameters), _memory: memory.map(Arc::new) };
        if request_context::is_strict() && input.known().is_some_and(KnownParameters::is_empty) {
            input.refuse_unknown()?;
        }
        Ok(input)
    }

    fn known(&self) -> Option<&KnownParameters> {
        self.operations.of_request()
    }

    /// Returns a fault for each unknown parameter, if the request is handled strictly.
    fn unknown(&self) -> Option<FieldErrors> {
        let known = if request_context::is_strict() { self.known() } else { None };
        known.map(|known| known.faults(&self.tree))
    }

    /// Refuses unknown parameters where the faults of parameters do not count.
    ///
    /// Refusals: `invalid_resource`.
    pub fn refuse_unknown(&self) -> Result<(), FieldErrors> {
        match self.unknown() {
            Some(faults) if !faults.is_empty() => Err(faults),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the tree as it was read.
    pub fn tree(&self) -> &Value {
        &self.tree
    }

    /// Reads a request struct from the parameters, with every fault; the request log may show what it has read.
    pub fn params<T: DeserializeOwned + Validate>(&self) -> Params<T> {
        let (mut params, read) = params::decode(&self.tree);
        log(|data| data.read.append(read));
        if let Some(unknown) = self.unknown() {
            params.faults.append(unknown);
        }
        params
    }

    /// Reads the sort order and the page of a list.
    pub fn sorting(&self, sorts: &'static [&'static str]) -> Params<Sorting> {
        Sorting::read(self, sorts, None)
    }

    /// Reads the page of a list.
    pub fn paging(&self) -> Params<Paging> {
        Paging::read(self)
    }

    /// Reads the parameters of a search.
    pub fn search(
        &self,
        sorts: &'static [&'static str],
        default_sort: &'static str,
    ) -> Result<Search, FieldErrors> {
        Search::read(self, sorts, default_sort).valid()
    }
}

impl ParameterTree for Input {
    fn params<T: DeserializeOwned + Validate>(&self) -> Params<T> {
        self.params()
    }
}

impl<S: Send + Sync> FromRequest<S> for Input
where
    AppState: FromRef<S>,
{
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let app = AppState::from_ref(state);
        // Boxed, because the request keeps the memory of its largest part for as long as it runs, and some wait.
        Box::pin(read_input(request, &app)).await.inspect_err(|_| log(|data| data.is_unreadable = true))
    }
}

async fn read_input(request: Request, app: &AppState) -> Result<Input, Error> {
    let (parts, body) = request.into_parts();
    let (body, memory) = read_body(app, &parts.headers, body, BODY_BYTES_MAX).await?;
    // An empty body is an empty form, whatever its type.
    let content_type = if body.is_empty() { None } else { content_type(&parts.headers)? };
    let tree = body::tree(&parts.method, parts.uri.query(), content_type, body).await;
    let input = Input::new(app, tree.map_err(refusal)?, memory)?;
    if matches!(parts.method, Method::GET | Method::HEAD) {
        app.admission.long_answer(Paging::records_max(input.tree())).await?;
    }
    Ok(input)
}

/// Reads a body of so many bytes at most. One that comes slowly holds no permit of the request meanwhile, and gives way where its
/// connection is wanted.
///
/// Refusals: `payload_too_large`, `bad_request` if it is cut off, `gateway_timeout`, `service_unavailable`.
pub async fn read_body(
    app: &AppState,
    headers: &HeaderMap,
    body: Body,
    max: usize,
) -> Result<(Bytes, Option<Permit>), Error> {
    refuse_announced(headers, max)?;
    let mut whole = pin!(whole(body, app, max));
    if let Ok(whole) = timeout(BODY_STALL_TIMEOUT, &mut whole).await {
        return whole;
    }
    release_permit();
    let whole = unless_wanted(whole).await.ok_or_else(|| {
        count_shed(ShedKind::SlowBody);
        request_context::mark_shed();
        ErrorCode::ServiceUnavailable
    })??;
    app.admission.enter(request_context::account()).await?;
    Ok(whole)
}

/// Reads a whole body. A large one needs a permit, and may hold it only for a short time.
async fn whole(body: Body, app: &AppState, max: usize) -> Result<(Bytes, Option<Permit>), Error> {
    let (mut body, mut bytes) = (Limited::new(body, max), BytesMut::new());
    if read(&mut body, &mut bytes, SMALL_BODY_BYTES).await? {
        return Ok((bytes.freeze(), None));
    }
    let memory = app.admission.large_body().await?;
    let rest = timeout(LARGE_BODY_TIMEOUT, read(&mut body, &mut bytes, max)).await;
    rest.map_err(|_| ErrorCode::GatewayTimeout)??;
    Ok((bytes.freeze(), Some(memory)))
}

/// Reads until there are more than `enough` bytes. Returns whether the body ended before.
async fn read(body: &mut Limited<Body>, bytes: &mut BytesMut, enough: usize) -> Result<bool, Error> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            if error.is::<LengthLimitError>() {
                return ErrorCode::PayloadTooLarge.into();
            }
            Error::explained(ErrorCode::BadRequest, CUT_OFF)
        })?;
        let Ok(piece) = frame.into_data() else { continue };
        bytes.extend_from_slice(&piece);
        if bytes.len() > enough {
            return Ok(false);
        }
    }
    Ok(true)
}

const CUT_OFF: &str = "The body was cut off";

/// Refuses a body whose Content-Length is too long, without reading it.
fn refuse_announced(headers: &HeaderMap, max: usize) -> Result<(), Error> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > max) {
        return Err(ErrorCode::PayloadTooLarge.into());
    }
    Ok(())
}

fn content_type(headers: &HeaderMap) -> Result<Option<&str>, Error> {
    let sent = headers.get(header::CONTENT_TYPE).map(|value| value.to_str()).transpose();
    sent.map_err(|_| ErrorCode::UnsupportedMediaType.into())
}

fn refusal(unreadable: Unreadable) -> Error {
    match unreadable {
        Unreadable::MediaType => ErrorCode::UnsupportedMediaType.into(),
        Unreadable::Malformed(why) => Error::explained(ErrorCode::BadRequest, why),
    }
}
