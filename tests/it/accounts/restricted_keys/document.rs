//! What the document says of the rights of keys.

use super::*;

/// The section that a record belongs to, by the name of its schema.
fn section_of(schema: &str) -> Option<Section> {
    Some(match schema {
        "Charge" | "ChargeInShort" | "PendingCharge" | "VerifiedCharge" => Section::Charges,
        "Refund" => Section::Refunds,
        "Authorisation" => Section::Authorisations,
        "Customer" => Section::Customers,
        "Plan" => Section::Plans,
        "Subscription" | "SubscriptionEntry" => Section::Subscriptions,
        "Transfer" | "LineItem" => Section::Transfers,
        "Recipient" => Section::Recipients,
        "Deposit" => Section::Deposits,
        "Balance" => Section::Balance,
        "MerchantSummary" | "MerchantDetail" => Section::Merchants,
        "ApiKey" | "SandboxKeys" | "ShownKeys" => Section::Keys,
        "Dispute" | "Activity" => Section::Disputes,
        "UploadedFile" => Section::Files,
        "WebhookEndpoint" | "RotatedKey" => Section::WebhookEndpoints,
        "Webhook" => Section::Webhooks,
        "Event" => Section::Events,
        _ => return None,
    })
}

/// The schemas that a part of the document leads to.
fn schemas(part: &Value, found: &mut Vec<String>) {
    match part {
        Value::Object(fields) => {
            for (name, value) in
                fields.iter().filter(|(name, _)| !["examples", "links"].contains(&name.as_str()))
            {
                let reference = value.as_str().filter(|_| name == "$ref");
                let Some(reference) = reference else {
                    schemas(value, found);
                    continue;
                };
                let name = reference.rsplit('/').next().unwrap_or_default().to_owned();
                if !found.contains(&name) {
                    found.push(name);
                    schemas(DOCUMENT.pointer(reference.trim_start_matches('#')).expect("a component"), found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| schemas(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn a_key_that_may_not_read_a_section_is_shown_no_record_of_it() {
    let mut checked = 0;
    for operation in operations() {
        let mut shown = Vec::new();
        let answers = operation.described["responses"].as_object().expect("responses");
        for (_, answer) in answers.iter().filter(|(status, _)| status.starts_with('2')) {
            schemas(answer, &mut shown);
        }
        for section in shown.iter().filter_map(|schema| section_of(schema)) {
            let right = rights_of(&operation).get(&section).copied();
            let why = format!("{} {} shows {}", operation.method, operation.path, section.name());
            assert!(right >= Some(Right::Read), "{why}");
            checked += 1;
        }
    }
    assert!(checked > 80, "{checked}");
}

#[test]
fn the_document_says_which_rights_an_operation_needs_beside_its_sections() {
    for operation in operations() {
        let own = Section::from_tag(operation.described["tags"][0].as_str().unwrap()).unwrap();
        let wanted = if operation.method == Method::GET || operation.method == Method::HEAD {
            Right::Read
        } else {
            Right::Write
        };
        let rights = rights_of(&operation);
        assert_eq!(rights[&own], wanted, "{} {}", operation.method, operation.path);
        let description = operation.described["description"].as_str().unwrap();
        let named = |(section, right): (&Section, &Right)| {
            description.contains(&format!("`{}: {}`", section.code(), right.code()))
        };
        let beside = rights.iter().filter(|(section, _)| **section != own);
        let everywhere = rights.len() == Section::ALL.len() && description.contains("everywhere");
        assert!(
            everywhere || beside.clone().all(named),
            "{} {}: {description}",
            operation.method,
            operation.path
        );
        assert!(operation.described["responses"]["403"].to_string().contains("forbidden"));
    }
}
