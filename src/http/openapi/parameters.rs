//! Parameters besides the body: paging, search, and tokens in paths.

use std::collections::HashMap;

use entity::dispute::DisputeStatus;
use serde_json::{Map, Value, json};
use utoipa::IntoParams;

use super::examples::token;
use super::operations;
use super::refusals::pascal;
use crate::limits::QUERY_CHARACTERS_MIN;
use crate::services::{charges, disputes, merchants, transfers};

/// Which page of a list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only described here; extract::Input reads them")]
pub struct PageParameters {
    /// Page, from 1.
    #[param(minimum = 1, example = 1)]
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

/// The header that forces an outcome in the sandbox.
pub(super) const OUTCOME: &str = "Sandbox-Outcome";

/// Adds to an operation's parameters what annotations cannot express.
pub(super) fn described(operation: &mut Map<String, Value>) {
    let sorts = match operation["operationId"].as_str() {
        Some("search_charges") => charges::search::SORTS,
        Some("search_transfers") => transfers::search::SORTS,
        Some("list_disputes" | "search_disputes") => disputes::find::SORTS,
        Some("search_merchants") => merchants::find::SORTS,
        _ => &[],
    };
    let is_narrow = matches!(operation["operationId"].as_str(), Some("search_disputes" | "search_merchants"));
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        let (place, name) = (parameter["in"].as_str(), parameter["name"].as_str().unwrap_or_default());
        match (place, name) {
            (Some("path"), name) => {
                if let Some(token) = token(name) {
                    parameter["example"] = token.into();
                }
            }
            // An optional header is left out, never null.
            (Some("header"), _) => parameter["schema"] = json!({ "type": "string" }),
            (Some("query"), "query") if is_narrow => {
                parameter["schema"]["minLength"] = QUERY_CHARACTERS_MIN.into();
            }
            (Some("query"), "direction") => parameter["schema"]["enum"] = json!([1, -1]),
            (Some("query"), "sort") => parameter["schema"]["enum"] = json!(sorts),
            (Some("query"), "status") => {
                parameter["schema"]["enum"] = DisputeStatus::ALL.iter().map(|status| status.code()).collect();
            }
            _ => {}
        }
    }
}

/// Moves parameters that several operations share to the components.
pub(super) fn shared(document: &mut Value) {
    let mut times: HashMap<String, u32> = HashMap::new();
    for parameter in inline(document) {
        *times.entry(parameter.to_string()).or_default() += 1;
    }
    let mut shared = Map::new();
    for parameter in inline(document) {
        if times.get(&parameter.to_string()).is_some_and(|times| *times > 1) {
            let name = pascal(parameter["name"].as_str().unwrap_or_default());
            // Of two different parameters with one name, the second stays at its operation.
            let known = shared.entry(name.clone()).or_insert_with(|| parameter.clone());
            if known == parameter {
                *parameter = json!({ "$ref": format!("#/components/parameters/{name}") });
            }
        }
    }
    if let Some(parameters) = document["components"]["parameters"].as_object_mut() {
        parameters.append(&mut shared);
    }
}

fn inline(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    operations(document)
        .filter_map(|(_, operation)| operation.get_mut("parameters")?.as_array_mut())
        .flatten()
        .filter(|parameter| parameter.get("name").is_some())
}
