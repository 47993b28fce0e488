//! Parameters of the log of requests (`docs/decisions.md`, 280).

use base::request_context::UNMATCHED;
use entity::token::is_token;
use serde::Deserialize;
use validator::{Validate, ValidationError};

use crate::limits::REQUEST_ID_LENGTH_MAX;
use crate::params::rules::check;
use crate::params::{Paging, ParameterTree, Params, Waiting, non_blank};

/// The requests of the log to show, and the number of them to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestSearch {
    /// The filter that a request must fit.
    pub filter: RequestFilter,
    /// Only requests after the newest one with this X-Request-Id.
    pub since: Option<String>,
    /// The number of requests to wait for, and the time.
    pub waiting: Waiting,
    pub paging: Paging,
}

/// The filter that a request of the log must fit; absent parts fit every request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestFilter {
    pub method: Option<&'static str>,
    /// The operation's path with its parameters' names.
    pub route: Option<String>,
    pub status: Option<i32>,
    /// The error code of the response.
    pub error: Option<String>,
    /// A token in the path, the shown parameters or the error.
    pub token: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum LoggedMethod {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Options,
    Patch,
    Connect,
    Trace,
    #[serde(rename = "_OTHER")]
    Other,
}

impl LoggedMethod {
    const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Patch => "PATCH",
            Self::Connect => "CONNECT",
            Self::Trace => "TRACE",
            Self::Other => "_OTHER",
        }
    }
}

#[derive(Deserialize, Validate)]
struct RequestSearchParams {
    method: Option<LoggedMethod>,
    #[validate(custom(function = "route_form"))]
    route: Option<String>,
    #[validate(range(min = 100, max = 599))]
    status: Option<i64>,
    #[validate(custom(function = "error_code_form"))]
    error: Option<String>,
    #[validate(custom(function = "token_form"))]
    token: Option<String>,
    #[validate(custom(function = "request_id_form"))]
    since: Option<String>,
}

impl RequestSearch {
    /// Reads the parameters of GET /sandbox/requests.
    pub fn read(tree: &impl ParameterTree) -> Params<Self> {
        let Params { value: params, mut faults } = tree.params::<RequestSearchParams>();
        let (waiting, paging) = (Waiting::read(tree), Paging::read(tree));
        faults.append(waiting.faults);
        faults.append(paging.faults);
        let text = |text: Option<String>| non_blank(text.as_deref()).map(str::to_owned);
        let filter = RequestFilter {
            method: params.method.map(LoggedMethod::name),
            route: text(params.route),
            status: params.status.and_then(|status| i32::try_from(status).ok()),
            error: text(params.error),
            token: text(params.token),
        };
        let value = Self { filter, since: text(params.since), waiting: waiting.value, paging: paging.value };
        Params { value, faults }
    }
}

fn route_form(text: &str) -> Result<(), ValidationError> {
    well_formed(text, |text| {
        text == UNMATCHED || text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic())
    })
}

fn error_code_form(text: &str) -> Result<(), ValidationError> {
    well_formed(text, |text| {
        text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    })
}

fn token_form(text: &str) -> Result<(), ValidationError> {
    well_formed(text, is_token)
}

fn request_id_form(text: &str) -> Result<(), ValidationError> {
    well_formed(text, |text| {
        text.len() <= REQUEST_ID_LENGTH_MAX && text.bytes().all(|byte| byte.is_ascii_graphic())
    })
}

/// Checks a text that may be blank.
fn well_formed(text: &str, is_well_formed: impl Fn(&str) -> bool) -> Result<(), ValidationError> {
    check(non_blank(Some(text)).is_none_or(is_well_formed), "is not formatted properly")
}
