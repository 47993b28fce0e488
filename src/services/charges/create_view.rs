//! The response of POST /charges (specification, Charge).

use entity::ChargeToken;
use macros::view;
use serde::Serialize;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::services::charges::view::Charge;

/// A charge that waits for its cardholder.
#[view]
pub struct PendingCharge {
    /// The charge's token, `ch_...`, which the final charge keeps.
    pub token: ChargeToken,
    /// Always `Pending`.
    #[schema(example = "Pending")]
    pub status_message: &'static str,
    /// The page on which the cardholder verifies the payment; absent unless 3-D Secure is asked for.
    #[schema(example = "http://127.0.0.1:8080/3d-secure/AZqYv3rVcBKUQ1mHn7tKRw")]
    pub redirect_url: String,
}

/// The response of POST /charges. The document shows one object, because many generators cannot tell one of two apart.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "it is made once, and answered")]
pub enum ChargeMade {
    /// A charge without 3-D Secure.
    Charge(Charge),
    Pending(PendingCharge),
}

impl PartialSchema for ChargeMade {
    fn schema() -> RefOr<Schema> {
        let mut schema = Charge::schema();
        if let (RefOr::T(Schema::Object(made)), RefOr::T(Schema::Object(pending))) =
            (&mut schema, PendingCharge::schema())
        {
            made.description = Some(MADE.to_owned());
            made.required.retain(|name| pending.required.contains(name));
            let own = pending.properties.into_iter().filter(|(name, _)| !made.properties.contains_key(name));
            made.properties.extend(own.collect::<Vec<_>>());
        }
        schema
    }
}

impl ToSchema for ChargeMade {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Charge::schemas(schemas);
    }
}

const MADE: &str = "The charge that was created: all fields of a Charge. With 3-D Secure it is pending, and has only `token`, \
                    `status_message` and `redirect_url`; fetch the charge once the cardholder has verified the payment.";
