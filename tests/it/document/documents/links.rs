//! Where the answers of operations lead, and the collection that goes there.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{operations, resolved};
use crate::harness::app::DOCUMENT;

/// The session's token is not in an answer: the cardholder's browser gets it.
const NOT_LED_TO: [&str; 1] = ["verify_charge"];

#[test]
fn an_answer_leads_to_every_operation_that_takes_a_token() {
    let document = &*DOCUMENT;
    let ids: HashSet<_> =
        operations(document).filter_map(|(_, operation)| operation["operationId"].as_str()).collect();
    let (mut links, mut targets) = (Vec::new(), HashSet::new());
    for (_, operation) in operations(document) {
        for (_, response) in operation["responses"].as_object().unwrap() {
            for link in response["links"].as_object().into_iter().flat_map(|links| links.values()) {
                let target = link["operationId"].as_str().unwrap();
                assert!(ids.contains(target), "{link}");
                links.push(format!("{} -> {target}", operation["operationId"].as_str().unwrap()));
                targets.insert(target);
            }
        }
    }
    for (name, operation) in operations(document).filter(|(name, _)| !name.starts_with("HEAD")) {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let takes_token = parameters.map(|parameter| resolved(document, parameter)).any(|parameter| {
            let is_token = parameter["name"].as_str().unwrap().ends_with("_token");
            parameter["in"] == "path" || (parameter["required"] == true && is_token)
        });
        let id = operation["operationId"].as_str().unwrap();
        assert_eq!(takes_token && !NOT_LED_TO.contains(&id), targets.contains(id), "{name}");
    }
    for link in [
        "create_card -> get_card",
        "create_charge -> get_charge",
        "create_charge -> create_refund",
        "create_refund -> get_refund",
        "create_refund -> decide_sandbox_refund",
        "create_customer -> create_customer_card",
        "create_customer_card -> delete_customer_card",
        "create_subscription -> cancel_customer_subscription",
        "create_plan -> create_plan_subscription",
        "create_webhook_endpoint -> delete_webhook_endpoint",
        "list_events -> get_event",
    ] {
        assert!(links.iter().any(|known| known == link), "{link}: {links:?}");
    }
}

#[test]
fn the_collection_has_every_operation() {
    let document = &*DOCUMENT;
    let collection = card_payments::api::openapi::postman::collection(document);
    let mut requests: Vec<String> = Vec::new();
    for folder in collection["item"].as_array().unwrap() {
        for item in folder["item"].as_array().unwrap() {
            let request = &item["request"];
            // The cardholder's browser asks an address that an answer has.
            if request["url"] == "{{redirect_url}}" {
                continue;
            }
            let raw = request["url"]["raw"].as_str().unwrap().strip_prefix("{{base_url}}").unwrap();
            let variables: Vec<_> = raw.split('/').filter_map(|part| part.strip_prefix(':')).collect();
            let named = request["url"]["variable"].as_array().unwrap().iter().map(|named| &named["key"]);
            assert_eq!(json!(variables), named.cloned().collect::<Value>(), "{raw}");
            if let Some(body) = request["body"]["raw"].as_str() {
                serde_json::from_str::<Value>(body).unwrap();
            }
            if request["body"]["mode"] == "formdata" {
                let parts = request["body"]["formdata"].as_array().unwrap();
                let parts: Vec<_> = parts.iter().map(|part| json!([part["key"], part["type"]])).collect();
                assert_eq!(parts, [json!(["file", "file"]), json!(["purpose", "text"])], "{raw}");
            }
            let path = raw
                .split('/')
                .map(|part| part.strip_prefix(':').map_or(part.to_owned(), |name| format!("{{{name}}}")));
            requests.push(format!(
                "{} {}",
                request["method"].as_str().unwrap(),
                path.collect::<Vec<_>>().join("/")
            ));
        }
    }
    let mut known: Vec<_> =
        operations(document).map(|(name, _)| name).filter(|name| !name.starts_with("HEAD")).collect();
    requests.sort();
    // Some go before others again, with other bodies.
    requests.dedup();
    known.sort();
    assert_eq!(requests, known);
}
