//! The page of an error, in the words of the API.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use base::request_context;
use maud::html;

use super::layout::PageContent;
use super::refused_form::{Refusal, SentForm};
use crate::error::{Body, Error, ErrorCode};
use crate::params::FieldMessage;

/// A page, or the error page shown instead.
pub type PageResult = Result<PageContent, ErrorPage>;
/// The address to which a form leads, or the error page shown instead.
pub type FormResult = Result<Redirect, ErrorPage>;

/// The page of an error, in the words of the API, and the refusal for the form that has caused it.
pub struct ErrorPage(PageContent, Option<Box<Refusal>>);

impl<E: Into<Error>> From<E> for ErrorPage {
    fn from(error: E) -> Self {
        let error: Error = error.into();
        let (code, request_id) = (error.code(), request_context::request_id());
        let is_fault = matches!(code, ErrorCode::InternalError | ErrorCode::ServiceUnavailable);
        if is_fault && !request_context::is_shed() {
            tracing::error!(error = %error, %request_id, "a page failed");
        }
        let (Body::Object(body) | Body::Array([body])) = error.body(&request_id);
        let refusal = Refusal {
            description: body.error_description.into_owned(),
            code: Some(
                html! { "Error " a href={ "/docs/errors/" (body.error) } { code { (body.error) } } ", status " (code.status()) "." },
            ),
            faults: body.messages.unwrap_or_default(),
        };
        let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let page = PageContent::bare("That did not work", html! {}).with(status);
        Self(SentForm::default().shown_on(page, &refusal), Some(Box::new(refusal)))
    }
}

impl ErrorPage {
    /// Returns the same page, which says beside this field what is wrong, unless it names others.
    #[must_use]
    pub fn with_field(mut self, field: &str) -> Self {
        if let Some(refusal) = self.1.as_mut().filter(|refusal| refusal.faults.is_empty()) {
            refusal.faults.push(FieldMessage::bare(field, &refusal.description));
        }
        self
    }

    /// Returns the page of the form that has caused the error, with the error.
    pub fn on(self, page: PageContent, form: &SentForm) -> PageContent {
        match self {
            Self(error, Some(refusal)) => form.shown_on(page, &refusal).with(error.status()),
            Self(error, None) => error,
        }
    }

    /// Creates the page for a form that the dashboard did not send.
    pub fn foreign() -> Self {
        let content = html! {
            div.alert role="alert" {
                p { strong { "This form was not sent by a page of your session. Nothing has changed." } }
                p { "Please go back, load the page again and try once more." }
            }
        };
        Self(PageContent::bare("That did not work", content).with(StatusCode::FORBIDDEN), None)
    }
}

impl IntoResponse for ErrorPage {
    fn into_response(self) -> Response {
        let Self(page, refusal) = self;
        let passes = page.status() == StatusCode::TOO_MANY_REQUESTS;
        let mut response = page.into_response();
        if let Some(refusal) = refusal {
            response.extensions_mut().insert(*refusal);
        }
        if passes {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
        }
        response
    }
}
