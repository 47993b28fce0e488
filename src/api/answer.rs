//! Responses: the envelopes of the specification, and errors.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::outcome::outcome;
use super::problem::RefusedBy;
use super::request_log_data::log;
use crate::error::{Error, ErrorCode};
use crate::response::{ApiResponse, ResponseKind};
pub use crate::response::{Envelope, EnvelopeWithIp};
use base::request_context;

use crate::services::page::ListPage;

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct LongList<T> {
    response: Vec<T>,
    /// The records on this page.
    count: usize,
    pagination: Pagination,
}

/// A page of a list with short pagination.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShortList<T> {
    response: Vec<T>,
    pagination: ShortPagination,
}

/// A page of a list with short pagination and its number of records.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShortListWithCount<T> {
    response: Vec<T>,
    /// The records on this page.
    count: usize,
    pagination: ShortPagination,
}

/// The position of a page in its list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pagination {
    /// This page, from 1.
    #[schema(example = 1)]
    current: u64,
    /// The page before.
    #[schema(required)]
    previous: Option<u64>,
    /// The page after.
    #[schema(required)]
    next: Option<u64>,
    /// The records per page.
    #[schema(example = 25)]
    per_page: u64,
    /// The number of pages.
    #[schema(example = 1)]
    pages: u64,
    /// The records on all pages.
    #[schema(example = 1)]
    count: u64,
}

/// The short form.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShortPagination {
    /// The records on all pages.
    #[schema(example = 1)]
    count: u64,
    /// The records per page.
    #[schema(example = 25)]
    per_page: u64,
    /// This page, from 1.
    #[schema(example = 1)]
    current: u64,
}

/// 201 with one record and the client's address.
pub struct CreatedFrom<T>(pub T, pub String);
/// 200 with a page.
pub struct Listed<T>(pub ListPage<T>);
/// 200 with a page in the short form.
pub struct ListedShort<T>(pub ListPage<T>);
/// The same, with the number of records on the page.
pub struct ListedWithCount<T>(pub ListPage<T>);
/// 200 with a page, and the size of the whole list in X-Total-Count (`docs/decisions.md`, 26).
pub struct Counted<T>(pub ListPage<T>);
/// A response that an Idempotency-Key keeps.
pub trait KeptAnswer {
    type Record;

    /// Returns how it wraps the record, by the client's address.
    fn kind(ip_address: &str) -> ResponseKind;

    fn new(record: Self::Record, ip_address: &str) -> Self;
}

/// Defines the answers that a record alone makes, each by the [`ResponseKind`] of its name.
macro_rules! kept_answers {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        pub struct $name<T = ()>(pub T);

        impl<T> KeptAnswer for $name<T> {
            type Record = T;

            fn kind(_: &str) -> ResponseKind {
                ResponseKind::$name
            }

            fn new(record: T, _: &str) -> Self {
                Self(record)
            }
        }

        impl<T: Serialize> IntoResponse for $name<T> {
            fn into_response(self) -> Response {
                finished(ResponseKind::$name.finish(&self.0))
            }
        }
    )*};
}

kept_answers! {
    /// 200 with one record.
    Shown
    /// 201 with one record.
    Created
    /// 201 with values, also beside their envelope.
    CreatedValues
    /// 204.
    Deleted
    /// 200 without a body.
    Done
}

impl<T> KeptAnswer for CreatedFrom<T> {
    type Record = T;

    fn kind(ip_address: &str) -> ResponseKind {
        ResponseKind::CreatedFrom(ip_address.to_owned())
    }

    fn new(record: T, ip_address: &str) -> Self {
        Self(record, ip_address.to_owned())
    }
}

const X_TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");

impl<T: Serialize> IntoResponse for CreatedFrom<T> {
    fn into_response(self) -> Response {
        finished(Self::kind(&self.1).finish(&self.0))
    }
}

impl<T: Serialize> IntoResponse for Listed<T> {
    fn into_response(self) -> Response {
        let ListPage { records, count, paging } = self.0;
        let pages = count.div_ceil(paging.per_page);
        let pagination = Pagination {
            current: paging.page,
            // One less than the requested page, past the end, too (`docs/decisions.md`, 17).
            previous: (paging.page > 1).then(|| paging.page - 1),
            next: (paging.page < pages).then(|| paging.page + 1),
            per_page: paging.per_page,
            pages,
            count,
        };
        finished(ApiResponse::json(200, &LongList { count: records.len(), response: records, pagination }))
    }
}

impl<T> ListPage<T> {
    fn short(&self) -> ShortPagination {
        ShortPagination { count: self.count, per_page: self.paging.per_page, current: self.paging.page }
    }
}

impl<T: Serialize> IntoResponse for Counted<T> {
    fn into_response(self) -> Response {
        let count = self.0.count;
        let mut response = Listed(self.0).into_response();
        response.headers_mut().insert(X_TOTAL_COUNT, count.into());
        response
    }
}

impl<T: Serialize> IntoResponse for ListedShort<T> {
    fn into_response(self) -> Response {
        let pagination = self.0.short();
        finished(ApiResponse::json(200, &ShortList { response: self.0.records, pagination }))
    }
}

impl<T: Serialize> IntoResponse for ListedWithCount<T> {
    fn into_response(self) -> Response {
        let pagination = self.0.short();
        let ListPage { records, .. } = self.0;
        finished(ApiResponse::json(
            200,
            &ShortListWithCount { count: records.len(), response: records, pagination },
        ))
    }
}

/// Builds the first and the replayed response alike, from the same bytes.
fn finished(answer: Result<ApiResponse, serde_json::Error>) -> Response {
    match answer {
        Ok(answer) => answer.into_response(),
        Err(error) => Error::from(error).into_response(),
    }
}

impl IntoResponse for ApiResponse {
    fn into_response(self) -> Response {
        request_context::set_outcome(outcome(&self));
        log(|data| {
            let counts = self.status >= 400 || data.is_recorded;
            data.answer = counts.then(|| (self.status, self.body.clone()));
        });
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if self.body.is_empty() {
            return status.into_response();
        }
        (status, [(header::CONTENT_TYPE, JSON)], self.body).into_response()
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (code, request_id) = (self.code(), request_context::request_id());
        let is_fault = matches!(code, ErrorCode::InternalError | ErrorCode::ServiceUnavailable);
        if is_fault && !request_context::is_shed() {
            tracing::error!(error = %self, %request_id, "request failed");
        }
        without_log(&self)
    }
}

/// The scheme by which clients authenticate, with the realm that browsers and proxies ask for.
pub(crate) const AUTHENTICATE: &str = "Basic realm=\"card-payments\"";

/// Builds the response of an error without logging it.
pub fn without_log(error: &Error) -> Response {
    let answer = ApiResponse::refusal(error, &request_context::request_id());
    let Ok(mut response) = answer.map(ApiResponse::into_response) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let code = error.code();
    response.extensions_mut().insert(RefusedBy { code, key_fault: error.key_fault() });
    if code == ErrorCode::Unauthorized {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(AUTHENTICATE));
    }
    // The rate is at least one request a second, so the next token is never further away.
    if code.is_transient() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

impl IntoResponse for ErrorCode {
    fn into_response(self) -> Response {
        Error::from(self).into_response()
    }
}

/// The exact content type; the JSON is compact (`docs/decisions.md`, 13).
const JSON: &str = "application/json; charset=utf-8";

/// What went wrong: a code for programs and a sentence for people. A list holds the one error of `insufficient_service_balance`.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// The code of the error, for programs.
    #[schema(value_type = ErrorCode)]
    error: String,
    /// A sentence that describes the error, for people.
    #[schema(example = "One or more parameters were missing or invalid")]
    error_description: String,
    /// One item for each fault of a parameter; absent if no parameter is at fault.
    #[schema(nullable = false)]
    messages: Option<Vec<ErrorMessage>>,
    /// The token of the charge that was refused or declined, `ch_...`; absent if the error is about none.
    #[schema(nullable = false)]
    charge_token: Option<String>,
    /// The token of the authorisation that was refused or declined, `auth_...`; absent if the error is about none.
    #[schema(nullable = false)]
    authorisation_token: Option<String>,
}

/// One fault of a parameter.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorMessage {
    /// The name of the parameter; nested ones have a dot.
    #[schema(example = "card.number")]
    param: String,
    /// The code of the fault; absent in a 400 about the parameters of a subscription.
    #[schema(nullable = false, example = "card_number_invalid")]
    code: Option<String>,
    /// A sentence that describes the fault, for people.
    #[schema(example = "Card number can't be blank")]
    message: String,
}
