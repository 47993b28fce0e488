//! Parameters besides the body: paging, search, and tokens in paths.

use serde_json::{Map, Value, json};
use utoipa::IntoParams;

use super::forms::not_null;
use super::operations;
use super::refusals::pascal;
use crate::limits::QUERY_CHARACTERS_MIN;

/// Which page of a list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only described here; extract::Input reads them")]
pub struct PageParameters {
    /// The number of the page, from 1; 0 means 1, as does no page.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_i64, default = 1, example = 1)]
    page: Option<i64>,
    /// The number of records on a page.
    #[param(minimum = 1, maximum = 500, default = 25, example = 25)]
    per_page: Option<i64>,
}

/// What to search for.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only described here; extract::Input reads them")]
pub struct SearchParameters {
    /// The text to look for, in any letter case; all records match if it is absent.
    #[param(max_length = 1000)]
    query: Option<String>,
    /// The first day of the records, as YYYY/MM/DD or YYYY-MM-DD; there is no first one if it is absent.
    start_date: Option<String>,
    /// The day before which the records end, as YYYY/MM/DD or YYYY-MM-DD; they do not end if it is absent.
    end_date: Option<String>,
    /// The direction of the order: 1 is ascending, and is meant if it is absent, -1 is descending.
    direction: Option<i64>,
}

/// The parameters in paths: the name, the description, and the prefix of an example token if there is one.
const IN_PATHS: &[(&str, &str, Option<&str>)] = &[
    ("account_token", "The token of the account, `acct_...`.", Some("acct_")),
    ("auth_token", "The token of the authorisation, `auth_...`.", Some("auth_")),
    ("card_token", "The token of the card, `card_...`.", Some("card_")),
    ("certificate_token", "The token of the certificate, `apdp_...`.", Some("apdp_")),
    ("charge_token", "The token of the charge, `ch_...`.", Some("ch_")),
    ("customer_token", "The token of the customer, `cus_...`.", Some("cus_")),
    ("deposit_token", "The token of the deposit, `dpo_...`.", Some("dpo_")),
    ("dispute_token", "The token of the dispute, `dis_...`.", Some("dis_")),
    ("domain_token", "The token of the domain, `apmd_...`.", Some("apmd_")),
    ("event_token", "The token of the event, `evt_...`.", Some("evt_")),
    ("file_token", "The token of the file, `file_...`.", Some("file_")),
    ("inbox_token", "The token of the inbox, `inb_...`.", Some("inb_")),
    ("key_token", "The token of the key, `key_...`.", Some("key_")),
    ("merchant_token", "The token of the merchant, `mrch_...`.", None),
    ("plan_token", "The token of the plan, `plan_...`.", Some("plan_")),
    ("recipient_token", "The token of the recipient, `rp_...`.", Some("rp_")),
    ("refund_token", "The token of the refund, `rf_...`.", Some("rf_")),
    ("snapshot_token", "The token of the snapshot, `snap_...`.", Some("snap_")),
    ("sub_token", "The token of the subscription, `sub_...`.", Some("sub_")),
    ("transfer_token", "The token of the transfer, `tfer_...`.", Some("tfer_")),
    ("webhook_endpoint_token", "The token of the webhook endpoint, `whe_...`.", Some("whe_")),
    ("webhook_token", "The token of the webhook, `whr_...`.", Some("whr_")),
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
            None => ("The X-Request-Id of the request's response.", Some("order-1001".to_owned())),
        };
        let mut parameter = json!({
            "name": name, "in": "path", "description": description, "required": true, "schema": { "type": "string" },
        });
        if let Some(example) = example {
            parameter["example"] = example.into();
        }
        if let Some((.., Some(prefix))) = known {
            parameter["schema"]["pattern"] = format!("^{prefix}[A-Za-z0-9_-]{{22}}$").into();
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

/// Adds the Idempotency-Key to an operation that changes something (`docs/decisions.md`, 63). A header that is younger than it comes
/// after it, because some clients have parameters by position.
pub(super) fn repeatable(operation: &mut Map<String, Value>) {
    let key = json!({ "$ref": "#/components/parameters/IdempotencyKey" });
    if let Some(parameters) = operation.entry("parameters").or_insert_with(|| json!([])).as_array_mut() {
        let younger = parameters.iter().position(|parameter| parameter["name"] == "Sandbox-Challenge");
        parameters.insert(younger.unwrap_or(parameters.len()), key);
    }
}

/// The headers that force an outcome in the sandbox.
pub(super) const SANDBOX_HEADERS: [&str; 2] = ["Sandbox-Outcome", "Sandbox-Challenge"];

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
        // An optional parameter is left out, never null.
        if let Some(meant) = parameter["schema"]["oneOf"].as_array().and_then(|either| not_null(either)) {
            parameter["schema"] = meant;
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
