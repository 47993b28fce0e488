//! The response of GET /charges/verify (specification, Charge).

use entity::Timestamp;
use entity::charge;
use serde::Serialize;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::services::charges::view::Charge;

/// The charge of a 3-D Secure session, without its transfers.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct VerifiedCharge(Charge);

impl VerifiedCharge {
    /// Returns the charge at an instant of the account's clock.
    pub fn at(now: Timestamp, row: charge::Model) -> Self {
        Self(Charge::at(now, row).without_transfer())
    }
}

impl PartialSchema for VerifiedCharge {
    fn schema() -> RefOr<Schema> {
        let mut schema = Charge::schema();
        if let RefOr::T(Schema::Object(charge)) = &mut schema {
            charge.properties.retain(|name, _| name != "transfer");
            charge.required.retain(|name| name != "transfer");
        }
        schema
    }
}

impl ToSchema for VerifiedCharge {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Charge::schemas(schemas);
    }
}
