//! Names of schemas, as clients are to call their types, in the place of every copy.

use serde_json::{Map, Value, json};

/// utoipa writes the arguments of a generic in line. Where such a schema equals a named one, name it.
pub(super) fn references(document: &mut Value) {
    let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
    let named: Vec<(String, Value)> = schemas
        .filter(|(_, schema)| schema.get("properties").is_some() || schema.get("oneOf").is_some())
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    if let Some(paths) = document.get_mut("paths") {
        name_known(paths, &named);
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        for schema in schemas.values_mut() {
            for inner in schema.as_object_mut().into_iter().flat_map(|schema| schema.values_mut()) {
                name_known(inner, &named);
            }
        }
    }
}

fn name_known(value: &mut Value, named: &[(String, Value)]) {
    if let Some((name, _)) = named.iter().find(|(_, schema)| schema == value) {
        *value = json!({ "$ref": format!("{SCHEMAS}{name}") });
        return;
    }
    each(value).for_each(|inner| name_known(inner, named));
}

/// Where schemas are.
pub(super) const SCHEMAS: &str = "#/components/schemas/";

/// `Envelope_Charge` is what the code calls a `ChargeResponse`.
pub(super) fn renamed(document: &mut Value) {
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        let mut named: Vec<_> =
            std::mem::take(schemas).into_iter().map(|(name, schema)| (said(&name), schema)).collect();
        named.sort_by(|(one, _), (other, _)| one.cmp(other));
        *schemas = Map::from_iter(named);
    }
    point_to_them(document);
    alternatives(document);
}

/// One of several named schemas is only named: with a description beside its name, clients in TypeScript do not import it.
fn alternatives(value: &mut Value) {
    if let Some(schemas) = value.get_mut("oneOf").and_then(Value::as_array_mut) {
        let is_named = |schema: &&mut Value| schema.get("$ref").is_some();
        let named: Vec<_> = schemas.iter_mut().filter(is_named).filter_map(Value::as_object_mut).collect();
        if named.len() > 1 {
            for schema in named {
                schema.retain(|key, _| key == "$ref");
            }
        }
    }
    each(value).for_each(alternatives);
}

fn point_to_them(value: &mut Value) {
    let name =
        value.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix(SCHEMAS));
    if let Some(name) = name.map(said) {
        value["$ref"] = format!("{SCHEMAS}{name}").into();
    }
    each(value).for_each(point_to_them);
}

/// What the code calls otherwise than by the rules of `body`.
const BODIES: &[(&str, &str)] = &[
    ("AddedCard", "CustomerCardInput"),
    ("Capture", "ChargeCaptureInput"),
    ("DecidedDispute", "DisputeDecisionInput"),
    ("DecidedMerchant", "MerchantDecisionInput"),
    ("DecidedRefund", "RefundDecisionInput"),
    ("IssuedCertificate", "WalletCertificateInput"),
    ("MoveClock", "ClockMoveInput"),
    ("NamedDomain", "WalletDomainInput"),
    ("NewSession", "WalletSessionInput"),
    ("Reactivation", "ReactivationInput"),
];

/// What a request sends is an input, or changes: a client in Go makes a `Charge` by its function `NewCharge`, so no schema is
/// called that.
fn body(name: &str) -> Option<String> {
    let known = BODIES.iter().find(|(code, _)| *code == name).map(|(_, body)| (*body).to_owned());
    known
        .or_else(|| name.strip_prefix("New").map(|noun| format!("{noun}Input")))
        .or_else(|| name.strip_prefix("Changed").map(|noun| format!("{noun}Changes")))
        .or_else(|| name.starts_with("Browser").then(|| format!("{name}Input")))
}

fn said(name: &str) -> String {
    // What clients in Java and TypeScript have already.
    let other = |noun: &str| if noun == "File" { "UploadedFile".to_owned() } else { noun.to_owned() };
    match name.split_once('_') {
        Some(("Envelope", noun)) => format!("{}Response", other(noun).replace("Vec_", "")),
        Some(("EnvelopeWithIp", noun)) => format!("{}ResponseWithIp", other(noun)),
        Some(("LongList", noun)) => format!("{}Page", other(noun)),
        Some(("ShortList", noun)) => format!("{}ShortPage", other(noun)),
        Some(("ShortListWithCount", noun)) => format!("{}ShortPageWithCount", other(noun)),
        _ => match name.strip_suffix("Form").and_then(body) {
            Some(form) => form + "Form",
            None => body(name).unwrap_or_else(|| other(name)),
        },
    }
}

/// The values of an object or array; none of anything else.
fn each(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Object(fields) => Box::new(fields.values_mut()),
        Value::Array(items) => Box::new(items.iter_mut()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Box::new(std::iter::empty()),
    }
}
