//! The error catalogue: one line per code, with its status and its sentence. Nowhere else are these written.

use entity::string_enum;
use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

macro_rules! error_codes {
    ($($variant:ident $status:literal $code:literal $description:literal)*) => {
        /// Every error code this API answers with (specification, Errors). Two codes are spelled alike, so
        /// the lists of refusals (`api::openapi`) are serialised by the names of the variants.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ErrorCode {$(
            #[doc = concat!("`", $code, "`, ", stringify!($status), ": ", $description)]
            $variant,
        )*}

        impl ErrorCode {
            /// Every code, in the order of the catalogue.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub const fn status(self) -> u16 {
                match self {$(Self::$variant => $status),*}
            }

            /// Returns the code of the body's `error`.
            pub const fn code(self) -> &'static str {
                match self {$(Self::$variant => $code),*}
            }

            /// Returns the sentence of the body's `error_description`.
            pub const fn description(self) -> &'static str {
                match self {$(Self::$variant => $description),*}
            }
        }
    };
}

impl ToSchema for ErrorCode {}

impl PartialSchema for ErrorCode {
    fn schema() -> RefOr<Schema> {
        let mut words: Vec<(&str, &str)> = Vec::new();
        for code in Self::ALL {
            // Some codes have several sentences; the first one is about all of them.
            if words.iter().all(|(word, _)| *word != code.code()) {
                words.push((code.code(), code.description()));
            }
        }
        string_enum::open(
            "The code of an error, for programs. More codes may join: accept unknown ones.",
            &words,
        )
        .into()
    }
}

error_codes! {
    BadRequest 400 "bad_request" "The request could not be understood"
    ApiUnavailable 400 "api_unavailable" "The requested API is not available on this account."
    Unauthorized 401 "unauthorized" "Not authorised. (Check API Key)"
    Forbidden 403 "forbidden" "This key may not do this."
    NotFound 404 "not_found" "The requested resource could not be found."
    RouteNotFound 404 "resource_not_found" "No resource was found at this URL."
    RecordNotFound 404 "resource_not_found" "The requested resource could not be found."
    MethodNotAllowed 405 "method_not_allowed" "The method is not allowed at this URL."
    IdempotencyKeyInUse 409 "idempotency_key_in_use" "A request with this Idempotency-Key is still under way. Please try again."
    ClockMoving 409 "clock_moving" "Another request is moving the clock of this account. Please try again."
    PaymentsUnderWay 409 "payments_under_way" "A payment of this account is under way. Please try again."
    IdempotencyKeyReused 422 "idempotency_key_reused" "This Idempotency-Key was used for another request."
    PayloadTooLarge 413 "payload_too_large" "The request body is too large."
    SnapshotTooLarge 413 "snapshot_too_large" "The account holds more than a snapshot may: 50,000 rows, or 32 MiB."
    UnsupportedMediaType 415 "unsupported_media_type" "The request body's content type is not supported: send application/json, application/x-www-form-urlencoded or multipart/form-data."
    InvalidResource 422 "invalid_resource" "One or more parameters were missing or invalid"
    TooManyCardParameters 422 "too_many_card_parameters" "Only one of card, card_token and primary_card_token can be given"

    CardDeclined 400 "card_declined" "The card was declined"
    InsufficientFunds 400 "insufficient_funds" "There are not enough funds available to process the requested amount"
    InvalidCvv 400 "invalid_cvv" "The card verification code (cvc) was not in the correct format"
    InvalidCard 400 "invalid_card" "The card was invalid"
    ProcessingError 400 "processing_error" "An error occurred while processing the card"
    SuspectedFraud 400 "suspected_fraud" "The transaction was flagged as possibly fraudulent and subsequently declined"
    ExpiredCard 400 "expired_card" "The card has expired"
    LostCard 400 "lost_card" "The card was reported lost"
    StolenCard 400 "stolen_card" "The card was reported stolen"
    Unknown 400 "unknown" "Sorry, an unknown error has occurred. This is being investigated"
    GatewayError 502 "gateway_error" "An upstream error occurred while processing the transaction. Please try again."
    TokenAlreadyUsed 400 "token_already_used" "Token already used. Card tokens can only be used once, to create a charge or assign a card to a customer"

    UnprocessableEntity 422 "unprocessable_entity" "Validation failure"
    CannotDeletePlan 400 "cannot_delete_plan" "The plan has active or trial subscriptions"
    InvalidSubscription 400 "invalid_resource" "One or more parameters were missing or invalid"
    InvalidRequest 400 "invalid_request" "Invalid card token"

    InvalidState 400 "invalid_state" "The operation is not allowed in the present state"

    InsufficientServiceBalance 402 "insufficient_service_balance" "There is not enough money available on the account."

    AuthorisationExpired 400 "authorisation_expired" "The authorisation has expired and can not be captured."
    AlreadyVoided 400 "already_voided" "The authorisation has already been voided"
    AlreadyCaptured 400 "already_captured" "The authorisation has already been captured"
    BadAuthorisation 400 "bad_authorisation" "The authorisation was not successful and can not be captured or voided"
    InvalidCaptureAmount 400 "invalid_capture_amount" "You must capture the full amount that was authorised"

    TransactionForbidden 403 "transaction_forbidden" "The 3-D Secure session was not completed successfully"

    ThreeDSecureUnavailable 422 "three_d_secure_unavailable" "3-D Secure is not available for this card"

    InvalidSearchQueryParam 400 "invalid_search_query_param" "The search query must be at least 3 characters"
    DisputeAlreadyUnderReview 400 "dispute_already_under_review" "The dispute is already under review"
    DisputeAlreadyResolved 400 "dispute_already_resolved" "The dispute is already resolved"
    DisputeAlreadyCancelled 400 "dispute_already_cancelled" "The dispute is already cancelled"
    DisputeEvidenceAlreadySubmitted 400 "dispute_evidence_already_submitted" "The file can not be deleted as it is associated with dispute evidence which has been submitted"

    CannotDeletePrimaryCard 400 "cannot_delete_primary_card" "You cannot delete a customer's primary card token"

    LimitReached 403 "limit_reached" "You have reached the maximum number of allowed webhook endpoints."
    CannotReplayWebhook 400 "cannot_replay_webhook" "The webhook is already pending"

    RateLimited 429 "rate_limited" "Too many requests. Please try again in a moment."
    InternalError 500 "internal_error" "Something went wrong on our side."
    ServiceUnavailable 503 "service_unavailable" "The service is unavailable for the moment. Please try again."
    GatewayTimeout 504 "gateway_timeout" "The request took too long. Its outcome is not known."
}
