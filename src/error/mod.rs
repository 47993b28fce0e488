//! Errors and their bodies, including the specification's unusual ones. Knows no HTTP framework: `http::answer` turns
//! these into responses.

pub mod catalogue;
pub mod explanation;
mod key_fault;

use std::borrow::Cow;

use entity::{FailureCode, charge};
use outbound::signature::NotSignable;
use sea_orm::DbErr;
use serde::Serialize;
use store::{StoreError, is_unavailable};
use vault::VaultError;

pub use catalogue::ErrorCode;
pub use key_fault::KeyFault;

use crate::params::values::BLANK;
use crate::params::{FieldErrors, FieldMessage};

/// An error of a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A documented refusal.
    #[error("{}", .0.code.code())]
    Refused(Box<Refusal>),
    /// All missing or invalid parameters.
    #[error("invalid_resource")]
    Invalid(FieldErrors),
    /// The database failed.
    #[error("database: {0}")]
    Database(#[from] DbErr),
    /// A ciphertext cannot be decrypted.
    #[error("the vault: {0}")]
    Vault(#[from] VaultError),
    /// An internal error. The text is for the log, never for the client.
    #[error("internal: {0}")]
    Internal(Cow<'static, str>),
}

/// A documented refusal, with the contents of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: ErrorCode,
    /// A more exact sentence than the catalogue's.
    pub description: Option<Cow<'static, str>>,
    /// Faults of parameters, if the body differs from that of [`Error::Invalid`].
    pub messages: Option<Vec<FieldMessage>>,
    /// The refused charge (`docs/decisions.md`, 80).
    pub charge_token: Option<String>,
    /// The refused authorisation (`docs/decisions.md`, 87).
    pub authorisation_token: Option<String>,
    /// The reason why no key opens the request, for `unauthorized` (`docs/decisions.md`, 430).
    pub key_fault: Option<KeyFault>,
}

impl Error {
    pub fn internal(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Internal(what.into())
    }

    /// Returns a refusal with a more exact sentence than the catalogue's.
    pub fn explained(code: ErrorCode, description: impl Into<Cow<'static, str>>) -> Self {
        let mut refusal = Refusal::from(code);
        refusal.description = Some(description.into());
        refusal.into()
    }

    /// Returns faults of a plan's parameters, with their own code and sentence (specification, Errors).
    #[expect(clippy::needless_pass_by_value, reason = "what `map_err` has")]
    pub fn plan(faults: FieldErrors) -> Self {
        Self::with_messages(ErrorCode::UnprocessableEntity, faults.messages().collect())
    }

    /// Returns faults of a subscription's parameters, whose `messages` have no codes (specification, Errors).
    #[expect(clippy::needless_pass_by_value, reason = "what `map_err` has")]
    pub fn subscription(faults: FieldErrors) -> Self {
        let messages = faults.iter().map(|(param, predicate)| {
            let missing = predicate == BLANK;
            FieldMessage::bare(param, if missing { "must be present" } else { predicate })
        });
        Self::with_messages(ErrorCode::InvalidSubscription, messages.collect())
    }

    /// Refuses a card that does not belong to the subscription's customer.
    pub fn not_the_customers_card() -> Self {
        let code = ErrorCode::InvalidRequest;
        Self::with_messages(code, vec![FieldMessage::bare("card_token", code.description())])
    }

    /// Returns a refusal with faults of parameters.
    pub fn with_messages(code: ErrorCode, messages: Vec<FieldMessage>) -> Self {
        let mut refusal = Refusal::from(code);
        refusal.messages = Some(messages);
        refusal.into()
    }

    /// Adds the token of the refused charge or authorisation.
    #[must_use]
    pub fn about(mut self, payment: &charge::Model) -> Self {
        if let Self::Refused(refusal) = &mut self {
            let token = if payment.is_authorisation() {
                &mut refusal.authorisation_token
            } else {
                &mut refusal.charge_token
            };
            *token = Some(payment.token());
        }
        self
    }

    /// Returns the token of the refused charge, where the attempt was recorded.
    pub fn charge_token(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => refusal.charge_token.as_deref(),
            Self::Invalid(_) | Self::Database(_) | Self::Vault(_) | Self::Internal(_) => None,
        }
    }

    /// Returns why no key opens the request, if that is the refusal. A key without a recorded reason is unknown.
    pub fn key_fault(&self) -> Option<KeyFault> {
        match self {
            Self::Refused(refusal) if refusal.code == ErrorCode::Unauthorized => {
                Some(refusal.key_fault.unwrap_or(KeyFault::Unknown))
            }
            Self::Refused(_) | Self::Invalid(_) | Self::Database(_) | Self::Vault(_) | Self::Internal(_) => {
                None
            }
        }
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Invalid(_) => ErrorCode::InvalidResource,
            // A database may come back; a refused statement stays refused.
            Self::Database(error) if is_unavailable(error) => ErrorCode::ServiceUnavailable,
            Self::Database(_) | Self::Vault(_) | Self::Internal(_) => ErrorCode::InternalError,
        }
    }

    /// Returns the body. A 500 discloses the request id and nothing else.
    pub fn body(&self, request_id: &str) -> Body {
        let code = self.code();
        let mut body = ErrorObject {
            error: code.code(),
            error_description: Cow::Borrowed(code.description()),
            messages: None,
            charge_token: None,
            authorisation_token: None,
        };
        match self {
            Self::Refused(refusal) => {
                if let Some(description) = &refusal.description {
                    body.error_description.clone_from(description);
                }
                body.messages.clone_from(&refusal.messages);
                body.charge_token.clone_from(&refusal.charge_token);
                body.authorisation_token.clone_from(&refusal.authorisation_token);
            }
            Self::Invalid(faults) => body.messages = Some(faults.messages().collect()),
            Self::Database(_) | Self::Vault(_) | Self::Internal(_) => {
                if code == ErrorCode::InternalError {
                    body.error_description =
                        format!("{} Request id: {request_id}", code.description()).into();
                }
            }
        }
        if code.body_is_array() { Body::Array([body]) } else { Body::Object(body) }
    }
}

/// The error code of a failed attempt.
impl From<FailureCode> for ErrorCode {
    fn from(failure: FailureCode) -> Self {
        match failure {
            FailureCode::CardDeclined => Self::CardDeclined,
            FailureCode::InsufficientFunds => Self::InsufficientFunds,
            FailureCode::InvalidCvv => Self::InvalidCvv,
            FailureCode::InvalidCard => Self::InvalidCard,
            FailureCode::ProcessingError => Self::ProcessingError,
            FailureCode::SuspectedFraud => Self::SuspectedFraud,
            FailureCode::ExpiredCard => Self::ExpiredCard,
            FailureCode::LostCard => Self::LostCard,
            FailureCode::StolenCard => Self::StolenCard,
            FailureCode::Unknown => Self::Unknown,
            FailureCode::GatewayError => Self::GatewayError,
            // Verify answers this code for an uncompleted session (specification, GET /charges/verify).
            FailureCode::ThreeDSecureNotCompleted => Self::TransactionForbidden,
        }
    }
}

/// Returns the message of a failed record.
pub fn failure_message(failure: FailureCode) -> &'static str {
    if failure == FailureCode::ThreeDSecureNotCompleted {
        "The 3-D Secure verification was not completed"
    } else {
        ErrorCode::from(failure).description()
    }
}

impl ErrorCode {
    /// Returns whether the body is an array of the one error object (specification, Errors).
    pub fn body_is_array(self) -> bool {
        self == Self::InsufficientServiceBalance
    }

    /// Returns whether the same request may be accepted a moment later; the response has `Retry-After`.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::ServiceUnavailable
                | Self::RateLimited
                | Self::IdempotencyKeyInUse
                | Self::ClockMoving
                | Self::PaymentsUnderWay
        )
    }
}

/// The body of an error (specification, Errors).
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Body {
    Object(ErrorObject),
    /// An array, for the codes of [`ErrorCode::body_is_array`].
    Array([ErrorObject; 1]),
}

/// The error object of a body.
#[derive(Debug, Serialize)]
pub struct ErrorObject {
    pub error: &'static str,
    pub error_description: Cow<'static, str>,
    /// One item per fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<FieldMessage>>,
    /// The refused or declined charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge_token: Option<String>,
    /// The refused or declined authorisation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorisation_token: Option<String>,
}

impl From<ErrorCode> for Refusal {
    fn from(code: ErrorCode) -> Self {
        Self {
            code,
            description: None,
            messages: None,
            charge_token: None,
            authorisation_token: None,
            key_fault: None,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<KeyFault> for Error {
    fn from(fault: KeyFault) -> Self {
        Refusal { key_fault: Some(fault), ..Refusal::from(ErrorCode::Unauthorized) }.into()
    }
}

impl From<ErrorCode> for Error {
    fn from(code: ErrorCode) -> Self {
        Refusal::from(code).into()
    }
}

impl From<FieldErrors> for Error {
    fn from(faults: FieldErrors) -> Self {
        Self::Invalid(faults)
    }
}

/// The error of a unit of work comes back from the store as it was.
impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Database(error) => Self::Database(error),
            StoreError::Unavailable => ErrorCode::ServiceUnavailable.into(),
            StoreError::Internal(what) => Self::internal(what),
            StoreError::Refused(error) | StoreError::Failed(error) => error
                .downcast::<Self>()
                .map_or_else(|_| Self::internal("another unit's error"), |error| *error),
        }
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match error {
            Error::Database(error) => Self::Database(error),
            Error::Refused(refusal) if *refusal == ErrorCode::ServiceUnavailable.into() => Self::Unavailable,
            Error::Refused(_) | Error::Invalid(_) => Self::Refused(Box::new(error)),
            Error::Vault(_) | Error::Internal(_) => Self::Failed(Box::new(error)),
        }
    }
}

impl From<ErrorCode> for StoreError {
    fn from(code: ErrorCode) -> Self {
        Error::from(code).into()
    }
}

impl From<NotSignable> for Error {
    fn from(error: NotSignable) -> Self {
        Self::internal(error.to_string())
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(format!("serialising: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use sea_orm::RuntimeErr;
    use sea_orm::sqlx::Error as Sqlx;

    use super::*;

    fn code_of(fault: fn(RuntimeErr) -> DbErr, why: Sqlx) -> ErrorCode {
        Error::from(fault(RuntimeErr::SqlxError(why.into()))).code()
    }

    #[test]
    fn a_database_that_cannot_be_reached_is_unavailable_whatever_it_says() {
        let odd = || Sqlx::Protocol("unexpected response from SSLRequest: 0x45".to_owned());
        assert_eq!(code_of(DbErr::Conn, odd()), ErrorCode::ServiceUnavailable);
        assert_eq!(code_of(DbErr::Query, odd()), ErrorCode::InternalError);
    }

    #[test]
    fn a_connection_that_breaks_is_unavailable_and_a_wrong_statement_is_our_fault() {
        let broken = || Sqlx::Io(std::io::ErrorKind::UnexpectedEof.into());
        for fault in [DbErr::Conn, DbErr::Exec, DbErr::Query] {
            assert_eq!(code_of(fault, broken()), ErrorCode::ServiceUnavailable);
        }
        assert_eq!(code_of(DbErr::Exec, Sqlx::ColumnNotFound("x".to_owned())), ErrorCode::InternalError);
    }
}
