//! The meaning of each error code, for people. The page `/docs/errors/CODE`, `card-payments explain CODE` and
//! `application/problem+json` show it.

mod payments;
mod records;
mod requests;

use self::{payments as pay, records as rec, requests as req};
use super::ErrorCode;

/// The explanation of a code.
#[derive(Debug, Clone, Copy)]
pub struct Explanation {
    pub meaning: &'static str,
    pub causes: &'static [&'static str],
    /// The action to take.
    pub remedy: &'static str,
    /// The party that must act.
    pub actor: Actor,
    /// The rule for repeating the request.
    pub repetition: Repetition,
    /// The way to cause it on a test server.
    pub sandbox: Sandbox,
}

/// The party that must act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// The developer of the client.
    Developer,
    Cardholder,
    /// The operator of the server.
    Operator,
    /// Nobody: it passes.
    Nobody,
}

/// The rule for repeating a refused request, and for its Idempotency-Key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    Never,
    /// Once it is corrected.
    Corrected,
    /// As it is, after a moment.
    Same,
    /// With other payment details.
    OtherCard,
    /// With another Idempotency-Key.
    OtherKey,
}

/// The way to cause a code on a test server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// By these lines of a shell, the last of which prints the body.
    Shell(&'static str),
    /// By no request alone: a sentence.
    Words(&'static str),
}

impl Actor {
    /// Returns who must act, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Developer => "You, the developer of the client.",
            Self::Cardholder => "The cardholder, or you by offering another way to pay.",
            Self::Operator => "The operator of the server.",
            Self::Nobody => "Nobody: it passes by itself.",
        }
    }
}

impl Repetition {
    /// Returns whether to repeat the request, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Never => "No: the same request gets the same answer.",
            Self::Corrected => {
                "Not as it is. The corrected request may have the same Idempotency-Key, because a refusal that changed nothing leaves the key free."
            }
            Self::Same => {
                "Yes, as it is and with the same Idempotency-Key, so that it has one effect. Wait as long as Retry-After says; without that header, a second, and longer each time."
            }
            Self::OtherCard => {
                "Not as it is: a decline spends the card token and is kept under its Idempotency-Key. Another attempt needs other payment details and another key."
            }
            Self::OtherKey => "Yes, with another Idempotency-Key.",
        }
    }
}

impl Sandbox {
    /// Returns whether the lines read the file that [`PAYMENT`] writes.
    pub fn needs_payment(self) -> bool {
        matches!(self, Self::Shell(lines) if lines.contains("payment.json"))
    }
}

/// The lines of a shell that write the payment of which the examples send parts.
pub const PAYMENT: &str = r#"cat > payment.json <<'END'
{
  "email": "roland@example.com", "description": "Test", "amount": 400, "ip_address": "203.192.1.172",
  "card": {
    "number": "4200000000000000", "expiry_month": 5, "expiry_year": 2030, "cvc": "123", "name": "Roland Robot",
    "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "Australia"
  }
}
END"#;

impl ErrorCode {
    /// Returns what the code means, what causes it, and what to do.
    pub const fn explanation(self) -> &'static Explanation {
        match self {
            Self::BadRequest => &req::BAD_REQUEST,
            Self::ApiUnavailable => &req::API_UNAVAILABLE,
            Self::Unauthorized => &req::UNAUTHORIZED,
            Self::Forbidden => &req::FORBIDDEN,
            Self::NotFound => &req::NOT_FOUND,
            Self::RouteNotFound => &req::ROUTE_NOT_FOUND,
            Self::RecordNotFound => &req::RECORD_NOT_FOUND,
            Self::MethodNotAllowed => &req::METHOD_NOT_ALLOWED,
            Self::IdempotencyKeyInUse => &req::IDEMPOTENCY_KEY_IN_USE,
            Self::IdempotencyKeyReused => &req::IDEMPOTENCY_KEY_REUSED,
            Self::PayloadTooLarge => &req::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => &req::UNSUPPORTED_MEDIA_TYPE,
            Self::InvalidResource => &req::INVALID_RESOURCE,
            Self::RateLimited => &req::RATE_LIMITED,
            Self::InternalError => &req::INTERNAL_ERROR,
            Self::ServiceUnavailable => &req::SERVICE_UNAVAILABLE,
            Self::GatewayTimeout => &req::GATEWAY_TIMEOUT,
            Self::InvalidSearchQueryParam => &req::INVALID_SEARCH_QUERY_PARAM,
            Self::ClockMoving => &rec::CLOCK_MOVING,
            Self::PaymentsUnderWay => &rec::PAYMENTS_UNDER_WAY,
            Self::SnapshotTooLarge => &rec::SNAPSHOT_TOO_LARGE,
            Self::TooManyCardParameters => &rec::TOO_MANY_CARD_PARAMETERS,
            Self::UnprocessableEntity => &rec::UNPROCESSABLE_ENTITY,
            Self::CannotDeletePlan => &rec::CANNOT_DELETE_PLAN,
            Self::InvalidSubscription => &rec::INVALID_SUBSCRIPTION,
            Self::InvalidRequest => &rec::INVALID_REQUEST,
            Self::InvalidState => &rec::INVALID_STATE,
            Self::DisputeAlreadyUnderReview => &rec::DISPUTE_ALREADY_UNDER_REVIEW,
            Self::DisputeAlreadyResolved => &rec::DISPUTE_ALREADY_RESOLVED,
            Self::DisputeAlreadyCancelled => &rec::DISPUTE_ALREADY_CANCELLED,
            Self::DisputeEvidenceAlreadySubmitted => &rec::DISPUTE_EVIDENCE_ALREADY_SUBMITTED,
            Self::CannotDeletePrimaryCard => &rec::CANNOT_DELETE_PRIMARY_CARD,
            Self::LimitReached => &rec::LIMIT_REACHED,
            Self::CannotReplayWebhook => &rec::CANNOT_REPLAY_WEBHOOK,
            Self::CardDeclined => &pay::CARD_DECLINED,
            Self::InsufficientFunds => &pay::INSUFFICIENT_FUNDS,
            Self::InvalidCvv => &pay::INVALID_CVV,
            Self::InvalidCard => &pay::INVALID_CARD,
            Self::ProcessingError => &pay::PROCESSING_ERROR,
            Self::SuspectedFraud => &pay::SUSPECTED_FRAUD,
            Self::ExpiredCard => &pay::EXPIRED_CARD,
            Self::LostCard => &pay::LOST_CARD,
            Self::StolenCard => &pay::STOLEN_CARD,
            Self::Unknown => &pay::UNKNOWN,
            Self::GatewayError => &pay::GATEWAY_ERROR,
            Self::TokenAlreadyUsed => &pay::TOKEN_ALREADY_USED,
            Self::InsufficientServiceBalance => &pay::INSUFFICIENT_SERVICE_BALANCE,
            Self::AuthorisationExpired => &pay::AUTHORISATION_EXPIRED,
            Self::AlreadyVoided => &pay::ALREADY_VOIDED,
            Self::AlreadyCaptured => &pay::ALREADY_CAPTURED,
            Self::BadAuthorisation => &pay::BAD_AUTHORISATION,
            Self::InvalidCaptureAmount => &pay::INVALID_CAPTURE_AMOUNT,
            Self::TransactionForbidden => &pay::TRANSACTION_FORBIDDEN,
            Self::ThreeDSecureUnavailable => &pay::THREE_D_SECURE_UNAVAILABLE,
        }
    }

    /// Returns the codes of this spelling: two, where endpoints use one word for two refusals.
    pub fn spelled(code: &str) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |known| known.code() == code)
    }
}
