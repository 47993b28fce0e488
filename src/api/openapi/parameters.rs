//! Parameters besides the body: paging, search, and tokens in paths.

use serde_json::{Map, Value, json};
use utoipa::IntoParams;

use super::operations;
use super::refusals::pascal;
use crate::limits::QUERY_CHARACTERS_MIN;

/// Which page of a list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only described here; extract::Input reads them")]
pub struct PageParameters {
    /// Page, from 1; 0 is 1.
    #[param(minimum = 0, example = 1)]
    page: Option<u64>,
    /// Records a page.
    #[param(minimum = 1, maximum = 500, example = 25)]
    per_page: Option<u64>,
}

/// What to search for.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only described here; extract::Input reads them")]
pub struct SearchParameters {
    /// What to look for, in any letter case.
    #[param(max_length = 1000)]
    query: Option<String>,
    /// Only records from this day on, YYYY/MM/DD.
    start_date: Option<String>,
    /// Only records before this day, YYYY/MM/DD.
    end_date: Option<String>,
    /// 1 ascending (default), -1 descending.
    direction: Option<i32>,
}

/// The parameters in paths: the name, the description, and the prefix of an example token if there is one.
const IN_PATHS: &[(&str, &str, Option<&str>)] = &[
    ("account_token", "Account token", Some("acct_")),
    ("auth_token", "Authorisation token", Some("auth_")),
    ("card_token", "Card token", Some("card_")),
    ("certificate_token", "Certificate token", Some("apdp_")),
    ("charge_token", "Charge token", Some("ch_")),
    ("customer_token", "Customer token", Some("cus_")),
    ("deposit_token", "Deposit token", Some("dpo_")),
    ("dispute_token", "Dispute token", Some("dis_")),
    ("domain_token", "Domain token", Some("apmd_")),
    ("event_token", "Event token", Some("evt_")),
    ("file_token", "File token", Some("file_")),
    ("inbox_token", "Inbox token", Some("inb_")),
    ("key_token", "Key token", Some("key_")),
    ("merchant_token", "Merchant token", None),
    ("plan_token", "Plan token", Some("plan_")),
    ("recipient_token", "Recipient token", Some("rp_")),
    ("refund_token", "Refund token", Some("rf_")),
    ("snapshot_token", "Snapshot token", Some("snap_")),
    ("sub_token", "Subscription token", Some("sub_")),
    ("transfer_token", "Transfer token", Some("tfer_")),
    ("webhook_endpoint_token", "Webhook endpoint token", Some("whe_")),
    ("webhook_token", "Webhook token", Some("whr_")),
];

/// Returns an example of a token, by the name of its parameter.
pub(super) fn example_token(parameter: &str) -> Option<String> {
    let (.., prefix) = IN_PATHS.iter().find(|(name, ..)| *name == parameter)?;
    prefix.map(|prefix| format!("{prefix}AZqYv3rVcBKUQ1mHn7tKRw"))
}

/// Describes the parameters in the path, which stand before all others.
pub(super) fn in_path(path: &str, operation: &mut Map<String, Value>) {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let described = names.map(|name| {
        let known = IN_PATHS.iter().find(|(known, ..)| *known == name);
        // The one parameter that is no token.
        let (description, example) = match known {
            Some((_, description, _)) => (*description, example_token(name)),
            None => ("X-Request-Id", Some("order-1001".to_owned())),
        };
        let mut parameter = json!({
            "name": name, "in": "path", "description": description, "required": true, "schema": { "type": "string" },
        });
        if let Some(example) = example {
            parameter["example"] = example.into();
        }
        parameter
    });
    let mut parameters: Vec<_> = described.collect();
    if parameters.is_empty() {
        return;
    }
    let others = operation.shift_remove("parameters").unwrap_or_default();
    let others = others.as_array().into_iter().flatten();
    parameters.extend(others.filter(|parameter| parameter["in"] != "path").cloned());
    let next =
        operation.keys().position(|key| key == "requestBody" || key == "responses").unwrap_or_default();
    operation.shift_insert(next, "parameters".into(), parameters.into());
}

/// Adds the Idempotency-Key to an operation that changes something (`docs/decisions.md`, 63).
pub(super) fn repeatable(operation: &mut Map<String, Value>) {
    let key = json!({ "$ref": "#/components/parameters/IdempotencyKey" });
    if let Some(parameters) = operation.entry("parameters").or_insert_with(|| json!([])).as_array_mut() {
        parameters.push(key);
    }
}

/// The header that forces an outcome in the sandbox.
pub(super) const OUTCOME: &str = "Sandbox-Outcome";

/// Adds to an operation's parameters what annotations cannot express, and CSV to the response of a list.
pub(super) fn described(operation: &mut Map<String, Value>) {
    let parameters = operation.get("parameters").and_then(Value::as_array).into_iter().flatten();
    if parameters.into_iter().any(|parameter| parameter["name"] == "page") {
        let description = &mut operation["responses"]["200"]["description"];
        *description = format!("{}; or all as CSV", description.as_str().unwrap_or_default()).into();
    }
    let too_short = "/400/content/application~1json/examples/invalid_search_query_param";
    let is_narrow = operation["responses"].pointer(too_short).is_some();
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        if let Some(words) = parameter.as_object_mut().and_then(|parameter| parameter.shift_remove("x-enum"))
        {
            parameter["schema"]["enum"] = words;
        }
        // What is not required need not say so.
        if parameter["required"] == false
            && let Some(parameter) = parameter.as_object_mut()
        {
            parameter.shift_remove("required");
        }
        match (parameter["in"].as_str(), parameter["name"].as_str().unwrap_or_default()) {
            // An optional header is left out, never null.
            (Some("header"), _) => parameter["schema"] = json!({ "type": "string" }),
            (Some("query"), "query") if is_narrow => {
                parameter["schema"]["minLength"] = QUERY_CHARACTERS_MIN.into();
            }
            (Some("query"), "direction") => parameter["schema"]["enum"] = json!([1, -1]),
            _ => {}
        }
    }
}

/// Moves parameters that several operations share to the components.
pub(super) fn shared(document: &mut Value) {
    let mut shared = super::share(inline(document).collect(), "parameters", |parameter| {
        pascal(parameter["name"].as_str().unwrap_or_default())
    });
    if let Some(parameters) = document["components"]["parameters"].as_object_mut() {
        parameters.append(&mut shared);
    }
}

fn inline(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    operations(document)
        .filter_map(|(.., operation)| operation.get_mut("parameters")?.as_array_mut())
        .flatten()
        .filter(|parameter| parameter.get("name").is_some())
}
