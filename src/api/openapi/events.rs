//! The schemas of events: one for each kind of record that their data hold, and the union of all of them.

use std::collections::{BTreeMap, BTreeSet};

use entity::event::EventType;
use serde_json::{Map, Value, json};

use super::names::SCHEMAS;
use super::schema_of;
use crate::services::authorisations::view::Authorisation;
use crate::services::charges::view::Charge;
use crate::services::webhook_endpoints::view::PingedEndpoint;

/// The union of the events that the document knows. Answers show an `Event`, which clients also read if its type is newer than they
/// are (`docs/decisions.md`, 420).
pub(super) const KNOWN: &str = "KnownEvent";

/// The schema of a charge in events, if it may be an authorisation.
const PAYMENT: &str = "ChargeOrAuthorisation";

/// An event's schema, the schema of its data, and what it is about.
type EventSchema = (&'static str, &'static str, &'static str);

/// Returns the schema of the events of a type.
const fn schema(what: EventType) -> EventSchema {
    match what {
        EventType::ChargeCaptured => ("ChargeCapturedEvent", "Charge", "a charge that took its money"),
        EventType::ChargeAuthorised | EventType::ChargeVoided | EventType::ChargeFailed => {
            ("PaymentEvent", PAYMENT, "a charge or an authorisation")
        }
        EventType::CustomerCreated | EventType::CustomerUpdated | EventType::CustomerDeleted => {
            ("CustomerEvent", "Customer", "a customer")
        }
        EventType::RefundCreated | EventType::RefundSucceeded | EventType::RefundFailed => {
            ("RefundEvent", "Refund", "a refund")
        }
        EventType::PlanCreated | EventType::PlanDeleted => ("PlanEvent", "Plan", "a plan"),
        EventType::SubscriptionCreated
        | EventType::SubscriptionUnsubscribed
        | EventType::SubscriptionCancelled
        | EventType::SubscriptionExpired
        | EventType::SubscriptionRenewed
        | EventType::SubscriptionRenewalFailed => ("SubscriptionEvent", "Subscription", "a subscription"),
        EventType::RecipientCreated | EventType::RecipientUpdated => {
            ("RecipientEvent", "Recipient", "a recipient")
        }
        EventType::TransferCreated | EventType::TransferFailed => ("TransferEvent", "Transfer", "a transfer"),
        EventType::DepositCreated => ("DepositEvent", "Deposit", "a deposit"),
        EventType::SubMerchantApplicationSubmitted
        | EventType::SubMerchantApplicationActivated
        | EventType::SubMerchantApplicationDeclined
        | EventType::SubMerchantApplicationOnHold => {
            ("MerchantEvent", "MerchantSummary", "a merchant that you have referred")
        }
        EventType::DisputeEvidenceRequired
        | EventType::DisputeResolved
        | EventType::DisputeCancelled
        | EventType::DisputeEvidenceUnderReview
        | EventType::DisputeLost
        | EventType::DisputeWon
        | EventType::DisputeExpired
        | EventType::DisputeAccepted
        | EventType::DisputeArbitrationUnderReview
        | EventType::DisputeArbitrationWon
        | EventType::DisputeArbitrationLost => ("DisputeEvent", "Dispute", "a dispute"),
        EventType::Ping => {
            ("PingEvent", "PingedEndpoint", "a test of a webhook endpoint, which alone gets it")
        }
    }
}

/// Adds the schemas to those of the document, which has the `Event` of answers.
pub(super) fn add(schemas: &mut Map<String, Value>) {
    let event = schemas["Event"].clone();
    let (pinged, endpoint) = schema_of::<PingedEndpoint>();
    schemas.insert(pinged, endpoint);
    schemas.insert(PAYMENT.to_owned(), payment());
    let mut types: BTreeMap<EventSchema, Vec<&str>> = BTreeMap::new();
    for what in EventType::ALL {
        types.entry(schema(*what)).or_default().push(what.code());
    }
    for ((name, data, about), types) in types {
        let mut known = event.clone();
        known["description"] = format!("An event about {about}.").into();
        known["properties"]["type"] =
            json!({ "type": "string", "description": "What happened to the record.", "enum": types });
        known["properties"]["data"] = json!({
            "$ref": format!("{SCHEMAS}{data}"),
            "description": "The record that it happened to, as the API showed it at that moment.",
        });
        schemas.insert(name.to_owned(), known);
    }
    schemas.insert(KNOWN.to_owned(), union());
}

/// Returns the union of all events. Its discriminator names a schema for each type, by which clients choose.
fn union() -> Value {
    let reference = |what: &EventType| format!("{SCHEMAS}{}", schema(*what).0);
    let mapping: Map<_, _> =
        EventType::ALL.iter().map(|what| (what.code().to_owned(), reference(what).into())).collect();
    let alternatives: BTreeSet<_> = EventType::ALL.iter().map(reference).collect();
    let alternatives: Vec<_> = alternatives.iter().map(|one| json!({ "$ref": one })).collect();
    json!({
        "description": "An event of a type that this document knows: `type` tells which record `data` holds. An `Event` of any other \
                        type is newer than this document; ignore it.",
        "oneOf": alternatives,
        "discriminator": { "propertyName": "type", "mapping": mapping },
    })
}

/// Returns what a charge and an authorisation show, in one object: the fields that both have are required.
fn payment() -> Value {
    let ((_, mut payment), (_, authorisation)) = (schema_of::<Charge>(), schema_of::<Authorisation>());
    payment["description"] = "A charge, or an authorisation: its token begins with `ch_` or with `auth_`. The fields that only the \
                              other one has are absent."
        .into();
    if let Some(required) = payment["required"].as_array_mut() {
        required.retain(|name| authorisation["required"].as_array().is_some_and(|all| all.contains(name)));
    }
    if let Some(fields) = payment["properties"].as_object_mut() {
        for (name, field) in authorisation["properties"].as_object().into_iter().flatten() {
            fields.entry(name.clone()).or_insert_with(|| field.clone());
        }
        fields["token"]["description"] =
            "The token of the charge, `ch_...`, or of the authorisation, `auth_...`.".into();
        fields["token"]["pattern"] = "^(ch|auth)_[A-Za-z0-9_-]{22}$".into();
    }
    payment
}
