//! The server of the protocol: offers an acquirer of this process to remote servers that know its secret.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use base::clock::Clock;
use base::environment::Environment;
use base::secret::Secret;
use entity::Currency;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::signature::{self, Secrets, Signed as _};
use super::signed_client::text;
use super::wire::{
    self, Accepted, Answer, Approved, Authorisation, CardLookup, CardLookupAnswer, Completed, FollowUp,
    Greeting, OriginalCall, Rates, Refused, Settled,
};
use super::{ENVIRONMENT, KEY, PROTOCOL, SIGNATURE, TIMESTAMP, VERSION};
use crate::limits::{ACQUIRER_BODY_TIMEOUT, ACQUIRER_BYTES_MAX, ACQUIRER_CLOCKS_APART, ACQUIRER_SILENCE};
use crate::{Acquirer, CallKey};

/// The state that the routes share.
pub(super) struct Served {
    acquirer: Arc<dyn Acquirer>,
    secrets: Secrets,
    environment: Environment,
    clock: Arc<dyn Clock>,
}

/// Builds the routes of every operation of an acquirer, for clients that know one of the secrets. Requests must be
/// signed close to the time of `clock`.
pub fn router(
    acquirer: Arc<dyn Acquirer>,
    secrets: Secrets,
    environment: Environment,
    clock: Arc<dyn Clock>,
) -> Router {
    let served = Arc::new(Served { acquirer, secrets, environment, clock });
    let (routes, _) = operations().split_for_parts();
    routes
        .fallback(|| async { Refusal::Unknown })
        .method_not_allowed_fallback(|| async { Refusal::Unknown })
        .layer(from_fn_with_state(Arc::clone(&served), authenticated))
        .with_state(served)
}

/// Returns the routes with their descriptions.
pub(super) fn operations() -> OpenApiRouter<Arc<Served>> {
    OpenApiRouter::new()
        .routes(routes!(greet))
        .routes(routes!(card))
        .routes(routes!(rates))
        .routes(routes!(authorise))
        .routes(routes!(capture))
        .routes(routes!(void))
        .routes(routes!(refund))
        .routes(routes!(reverse))
        .routes(routes!(settle))
}

/// The reason why a request is not processed.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    /// It names another version of the protocol.
    Protocol,
    /// It belongs to the other environment.
    Environment,
    /// None of our secrets made its signature.
    Signature,
    /// It was signed too long ago, or in the future.
    Clock,
    /// The operation cannot read it.
    Malformed,
    /// No such operation.
    Unknown,
    /// The acquirer does not answer.
    Silent,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, error) = match self {
            Self::Protocol => (StatusCode::BAD_REQUEST, "protocol"),
            Self::Environment => (StatusCode::BAD_REQUEST, "environment"),
            Self::Signature => (StatusCode::UNAUTHORIZED, "signature"),
            Self::Clock => (StatusCode::UNAUTHORIZED, "clock"),
            Self::Malformed => (StatusCode::BAD_REQUEST, "malformed"),
            Self::Unknown => (StatusCode::NOT_FOUND, "unknown"),
            Self::Silent => (StatusCode::SERVICE_UNAVAILABLE, "silent"),
        };
        (status, Json(Refused { error: error.to_owned() })).into_response()
    }
}

/// Middleware: lets only signed requests in, and signs their answers with the same secret.
async fn authenticated(State(served): State<Arc<Served>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let environment = HeaderValue::from_static(served.environment.name());
    let mut response = match timeout(ACQUIRER_BODY_TIMEOUT, to_bytes(body, ACQUIRER_BYTES_MAX)).await {
        Ok(Ok(body)) => served.answer(head, body, next).await,
        // Too long, cut off, or never sent.
        Ok(Err(_)) | Err(_) => Refusal::Malformed.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static(PROTOCOL), VERSION.into());
    headers.insert(HeaderName::from_static(ENVIRONMENT), environment);
    response
}

impl Served {
    async fn answer(&self, head: Parts, body: Bytes, next: Next) -> Response {
        let secret = match self.authenticate(&head, &body) {
            Ok(secret) => secret,
            Err(refusal) => return refusal.into_response(),
        };
        let request = header(&head.headers, SIGNATURE).to_owned();
        let answered = timeout(ACQUIRER_SILENCE, next.run(Request::from_parts(head, Body::from(body))));
        let Ok(response) = answered.await else { return StatusCode::GATEWAY_TIMEOUT.into_response() };
        let (mut head, body) = response.into_parts();
        // The body is in memory already.
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        let answer = signature::Answer {
            environment: self.environment,
            status: head.status.as_u16(),
            request: &request,
            body: &body,
        };
        if let Ok(signature) = HeaderValue::from_str(answer.signature(secret).expose()) {
            head.headers.insert(HeaderName::from_static(SIGNATURE), signature);
        }
        Response::from_parts(head, Body::from(body))
    }

    /// Returns the secret that signed a request of our environment and time.
    fn authenticate(&self, head: &Parts, body: &[u8]) -> Result<&Secret, Refusal> {
        if header(&head.headers, PROTOCOL) != VERSION.to_string() {
            return Err(Refusal::Protocol);
        }
        if header(&head.headers, ENVIRONMENT) != self.environment.name() {
            return Err(Refusal::Environment);
        }
        let timestamp = header(&head.headers, TIMESTAMP);
        let request = signature::Request {
            environment: self.environment,
            method: head.method.as_str(),
            path: head.uri.path(),
            timestamp,
            key: header(&head.headers, KEY),
            body,
        };
        let secret = self.secrets.that_signed(&request, header(&head.headers, SIGNATURE));
        let secret = secret.ok_or(Refusal::Signature)?;
        let apart = timestamp.parse().ok().map(|at: i64| self.clock.now().seconds().abs_diff(at));
        let most = ACQUIRER_CLOCKS_APART.whole_seconds().unsigned_abs();
        if apart.is_some_and(|apart| apart <= most) { Ok(secret) } else { Err(Refusal::Clock) }
    }

    /// Returns whether forced outcomes are accepted.
    fn is_sandbox(&self) -> bool {
        self.environment == Environment::Test
    }
}

/// Returns a header, or an empty text where it is absent.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    text(headers, name).unwrap_or_default()
}

/// A JSON body without a key.
struct Question<T>(T);

impl<T: DeserializeOwned> FromRequest<Arc<Served>> for Question<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, served: &Arc<Served>) -> Result<Self, Refusal> {
        let body = Bytes::from_request(request, served).await.map_err(|_| Refusal::Malformed)?;
        wire::read(&body).map(Self).ok_or(Refusal::Malformed)
    }
}

/// A JSON body with the key of its call.
struct Keyed<T> {
    key: CallKey,
    body: T,
}

impl<T: DeserializeOwned> FromRequest<Arc<Served>> for Keyed<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, served: &Arc<Served>) -> Result<Self, Refusal> {
        let key = CallKey::named(header(request.headers(), KEY)).ok_or(Refusal::Malformed)?;
        let Question(body) = Question::from_request(request, served).await?;
        Ok(Self { key, body })
    }
}

/// Greet the acquirer.
///
/// Returns the acquirer's name. A server calls this when it starts, and does not start if the acquirer speaks another
/// version of the protocol, belongs to the other environment or has another secret.
#[utoipa::path(get, path = "/", tag = "Acquirer", operation_id = "greet",
    responses((status = 200, description = "Who it is", body = Greeting)))]
async fn greet(State(served): State<Arc<Served>>) -> Json<Greeting> {
    Json(Greeting { name: served.acquirer.name().to_owned() })
}

/// Look a card up.
///
/// Returns the schemes' data about a card number, before the card is stored or charged. Servers cache the answer for ten
/// minutes.
#[utoipa::path(post, path = "/card", tag = "Directory", operation_id = "look_up_card", request_body = CardLookup,
    responses((status = 200, description = "What is known", body = CardLookupAnswer)))]
async fn card(
    State(served): State<Arc<Served>>,
    question: Question<CardLookup>,
) -> Result<Json<CardLookupAnswer>, Refusal> {
    let Some(number) = question.0.number() else { return Ok(Json(CardLookupAnswer { card: None })) };
    let known = served.acquirer.card(&number).await.map_err(|_| Refusal::Silent)?;
    Ok(Json(known.into()))
}

/// List the rates.
///
/// Returns the present value in AUD of a unit of each accepted currency. Servers cache the answer for a minute.
#[utoipa::path(get, path = "/rates", tag = "Directory", operation_id = "list_rates",
    responses((status = 200, description = "The rates", body = Rates)))]
async fn rates(State(served): State<Arc<Served>>) -> Result<Json<Rates>, Refusal> {
    let mut taken = Vec::new();
    for &currency in Currency::ALL {
        let rate = served.acquirer.rate(currency).await.map_err(|_| Refusal::Silent)?;
        taken.extend(rate.map(|rate| (currency, rate)));
    }
    Ok(Json(Rates::new(taken)))
}

/// Authorise a payment.
///
/// Takes money from a card, or only reserves it. Repeated under its key, it acts once and answers alike.
#[utoipa::path(post, path = "/authorise", tag = "Payments", operation_id = "authorise", request_body = Authorisation,
    responses((status = 200, description = "What came of it", body = Answer<Approved>)))]
async fn authorise(
    State(served): State<Arc<Served>>,
    call: Keyed<Authorisation>,
) -> Result<Json<Answer<Approved>>, Refusal> {
    let call = call.body.call(call.key, served.is_sandbox()).ok_or(Refusal::Malformed)?;
    Ok(Json(Answer::to(served.acquirer.authorise(call).await, Approved::from_approval)))
}

/// Capture an authorisation.
///
/// Takes the reserved money, or a part of it, and releases the rest. Repeated under its key, it acts once and answers alike.
#[utoipa::path(post, path = "/capture", tag = "Payments", operation_id = "capture", request_body = FollowUp,
    responses((status = 200, description = "What came of it", body = Answer<Completed>)))]
async fn capture(
    State(served): State<Arc<Served>>,
    call: Keyed<FollowUp>,
) -> Result<Json<Answer<Completed>>, Refusal> {
    let call = call.body.call(call.key, served.is_sandbox()).ok_or(Refusal::Malformed)?;
    Ok(Json(Answer::to(served.acquirer.capture(call).await, |()| Some(Completed {}))))
}

/// Void an authorisation.
///
/// Releases the reserved money. Repeated under its key, it acts once and answers alike.
#[utoipa::path(post, path = "/void", tag = "Payments", operation_id = "void", request_body = FollowUp,
    responses((status = 200, description = "What came of it", body = Answer<Completed>)))]
async fn void(
    State(served): State<Arc<Served>>,
    call: Keyed<FollowUp>,
) -> Result<Json<Answer<Completed>>, Refusal> {
    let call = call.body.call(call.key, served.is_sandbox()).ok_or(Refusal::Malformed)?;
    Ok(Json(Answer::to(served.acquirer.void(call).await, |()| Some(Completed {}))))
}

/// Refund a capture.
///
/// Returns the taken money, or a part of it. Done means accepted; the money moves later. Servers repeat it under the same
/// key until it is done or declined, for days if need be, and it acts once.
#[utoipa::path(post, path = "/refund", tag = "Payments", operation_id = "refund", request_body = FollowUp,
    responses((status = 200, description = "What came of it", body = Answer<Accepted>)))]
async fn refund(
    State(served): State<Arc<Served>>,
    call: Keyed<FollowUp>,
) -> Result<Json<Answer<Accepted>>, Refusal> {
    let call = call.body.call(call.key, served.is_sandbox()).ok_or(Refusal::Malformed)?;
    Ok(Json(Answer::to(served.acquirer.refund(call).await, |answer| Some(Accepted::from_answer(answer)))))
}

/// Reverse an authorisation.
///
/// Follows an unanswered authorisation of which the client was told that nothing was charged. A done call is undone; an
/// unknown key is closed: if its call arrives later, it is refused as closed. Repeated, it answers alike.
#[utoipa::path(post, path = "/reverse", tag = "Lost answers", operation_id = "reverse", request_body = OriginalCall,
    responses((status = 200, description = "done: it had been done, and is undone; not_done: it never was, and never will be",
        body = Settled)))]
async fn reverse(
    State(served): State<Arc<Served>>,
    question: Question<OriginalCall>,
) -> Result<Json<Settled>, Refusal> {
    let key = CallKey::named(&question.0.key).ok_or(Refusal::Malformed)?;
    Ok(Json(Settled::from_result(served.acquirer.reverse(&key).await)))
}

/// Settle a key.
///
/// A status inquiry, not clearing or funding. It follows an unanswered call that shall stand if it was done. A key under
/// which nothing was done is closed: if its call arrives later, it is refused as closed. Repeated, it answers alike.
#[utoipa::path(post, path = "/settle", tag = "Lost answers", operation_id = "settle", request_body = OriginalCall,
    responses((status = 200, description = "done: it was done, and stands; not_done: it never was, and never will be",
        body = Settled)))]
async fn settle(
    State(served): State<Arc<Served>>,
    question: Question<OriginalCall>,
) -> Result<Json<Settled>, Refusal> {
    let key = CallKey::named(&question.0.key).ok_or(Refusal::Malformed)?;
    Ok(Json(Settled::from_result(served.acquirer.settle(&key).await)))
}
