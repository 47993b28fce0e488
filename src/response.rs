//! Responses as bytes: the envelopes of the specification, which a replay sends again.

use serde::Serialize;
use utoipa::ToSchema;

use crate::error::Error;

/// One record.
#[derive(Debug, Serialize, ToSchema)]
pub struct Envelope<T> {
    response: T,
}

/// One record, and the address its request came from.
#[derive(Debug, Serialize, ToSchema)]
pub struct EnvelopeWithIp<T> {
    response: T,
    /// The caller's address.
    #[schema(example = "203.192.1.172")]
    ip_address: String,
}

/// Values, also beside their envelope: verifiers of pacts look for them there.
#[derive(Debug, Serialize)]
struct EnvelopeOfValues<T> {
    response: T,
    #[serde(flatten)]
    values: T,
}

/// How an operation wraps its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseKind {
    /// 200 with the record.
    Shown,
    /// 201 with the record.
    Created,
    /// 201 with the record and the client's address.
    CreatedFrom(String),
    /// 201 with values, also beside their envelope.
    CreatedValues,
    /// 204 without a body.
    Deleted,
    /// 200 without a body.
    Done,
}

/// A response, ready to send or store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiResponse {
    /// HTTP status.
    pub status: u16,
    /// Compact JSON; empty if there is no body.
    pub body: Vec<u8>,
}

impl ResponseKind {
    /// Builds the response that shows a record.
    pub fn finish<T: Serialize>(&self, record: &T) -> Result<ApiResponse, serde_json::Error> {
        match self {
            Self::Shown => ApiResponse::json(200, &Envelope { response: record }),
            Self::Created => ApiResponse::json(201, &Envelope { response: record }),
            Self::CreatedFrom(ip_address) => {
                ApiResponse::json(201, &EnvelopeWithIp { response: record, ip_address: ip_address.clone() })
            }
            Self::CreatedValues => {
                ApiResponse::json(201, &EnvelopeOfValues { response: record, values: record })
            }
            Self::Deleted => Ok(ApiResponse { status: 204, body: Vec::new() }),
            Self::Done => Ok(ApiResponse { status: 200, body: Vec::new() }),
        }
    }
}

impl ApiResponse {
    /// Builds a response of compact JSON.
    pub fn json(status: u16, body: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { status, body: serde_json::to_vec(body)? })
    }

    pub fn refusal(error: &Error, request_id: &str) -> Result<Self, serde_json::Error> {
        Self::json(error.code().status(), &error.body(request_id))
    }
}
