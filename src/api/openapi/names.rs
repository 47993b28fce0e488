//! Schema names: what generated clients call their types, in place of every inlined copy.

use serde_json::{Map, Value, json};

/// Replaces inlined schemas by references: utoipa inlines the arguments of a generic type.
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

/// The path of named schemas.
pub(super) const SCHEMAS: &str = "#/components/schemas/";

/// Renames the schemas of generic types: `Envelope_Charge` becomes `ChargeResponse`.
pub(super) fn renamed(document: &mut Value) {
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        let mut named: Vec<_> =
            std::mem::take(schemas).into_iter().map(|(name, schema)| (schema_name(&name), schema)).collect();
        named.sort_by(|(one, _), (other, _)| one.cmp(other));
        *schemas = Map::from_iter(named);
    }
    point_to_them(document);
    alternatives(document);
}

/// Removes what stands beside the references of a `oneOf`: with a description there, TypeScript clients do not import the schema.
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
    if let Some(name) = name.map(schema_name) {
        value["$ref"] = format!("{SCHEMAS}{name}").into();
    }
    each(value).for_each(point_to_them);
}

/// Names that do not follow the rules of `body`.
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

/// Names that say too little outside of the code, and one that Java and TypeScript have already.
const NOUNS: &[(&str, &str)] = &[
    ("Annotation", "SubscriptionAnnotation"),
    ("Country", "MerchantCountry"),
    ("Decline", "DeclineCode"),
    ("Direction", "EntryDirection"),
    ("File", "UploadedFile"),
    ("Right", "KeyRight"),
    ("Scheme", "CardScheme"),
];

/// Returns the name of a request body: an input, or changes. A Go client creates a `Charge` by its function `NewCharge`, so no schema
/// may have that name.
fn body(name: &str) -> Option<String> {
    let known = BODIES.iter().find(|(code, _)| *code == name).map(|(_, body)| (*body).to_owned());
    known
        .or_else(|| name.strip_prefix("New").map(|noun| format!("{noun}Input")))
        .or_else(|| name.strip_prefix("Changed").map(|noun| format!("{noun}Changes")))
        .or_else(|| name.starts_with("Browser").then(|| format!("{name}Input")))
}

fn schema_name(name: &str) -> String {
    let other =
        |noun: &str| NOUNS.iter().find(|(code, _)| *code == noun).map_or(noun, |(_, named)| named).to_owned();
    match name.split_once('_') {
        Some(("Envelope", noun)) => format!("{}Response", other(noun).replace("Vec_", "")),
        Some(("EnvelopeWithIp", noun)) => format!("{}ResponseWithIp", other(noun)),
        Some(("LongList", noun)) => format!("{}Page", other(noun)),
        Some(("ShortList", noun)) => format!("{}ShortPage", other(noun)),
        Some(("ShortListWithCount", noun)) => format!("{}ShortPageWithCount", other(noun)),
        _ => body(name).unwrap_or_else(|| other(name)),
    }
}

/// Returns the values of an object or array; nothing for any other value.
pub(super) fn each(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Object(fields) => Box::new(fields.values_mut()),
        Value::Array(items) => Box::new(items.iter_mut()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Box::new(std::iter::empty()),
    }
}
