//! Links: an answer with a new record, or with records that no request makes, names the operations that take a record's token.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::operations;

/// An operation below a record.
struct Taker {
    id: String,
    /// The parameters of its path, of which the last one names the record.
    tokens: Vec<String>,
}

/// Adds links from each new record to every operation that takes its token, and from the first one of a list if nothing makes its
/// records.
pub(super) fn links(document: &mut Value) {
    let (mut takers, mut tokens_of) = (Vec::new(), BTreeMap::new());
    for (path, _, operation) in operations(document) {
        let tokens: Vec<_> = tokens(path).map(str::to_owned).collect();
        tokens_of.extend(nouns(path));
        if let (Some(id), false) = (operation["operationId"].as_str(), tokens.is_empty()) {
            takers.push(Taker { id: id.to_owned(), tokens });
        }
    }
    let schemas = document["components"].clone();
    let mut made = BTreeSet::new();
    for (path, method, operation) in operations(document) {
        if method == "post"
            && let Some(token) = tokens_of.get(noun(path))
            && add(operation, path, "/response", token, &takers, &schemas)
        {
            made.insert(token.clone());
        }
    }
    for (path, method, operation) in operations(document) {
        if method == "get"
            && let Some(token) = tokens_of.get(noun(path)).filter(|token| !made.contains(*token))
        {
            add(operation, path, "/response/0", token, &takers, &schemas);
        }
    }
}

fn tokens(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// Returns what stands before each token: `/1/charges/{charge_token}` calls the token of charges `charge_token`.
fn nouns(path: &str) -> impl Iterator<Item = (String, String)> {
    let parts: Vec<_> = path.split('/').collect();
    let pairs: Vec<_> = parts.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?))).collect();
    let named = pairs.into_iter().filter_map(|(noun, token)| {
        Some((noun.to_owned(), token.strip_prefix('{')?.strip_suffix('}')?.to_owned()))
    });
    named.collect::<Vec<_>>().into_iter()
}

fn noun(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Adds the links to the success of an operation, whose body has the record at `place`. Returns whether it has one.
fn add(
    operation: &mut Map<String, Value>,
    path: &str,
    place: &str,
    token: &str,
    takers: &[Taker],
    components: &Value,
) -> bool {
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    let success = responses.into_iter().flatten().find(|(status, _)| status.as_str() < "300");
    let Some((_, success)) = success.filter(|(_, success)| success.get("content").is_some()) else {
        return false;
    };
    let fields = record_fields(&success["content"]["application/json"]["schema"], components);
    // Where the value of a parameter is found.
    let value = |name: &String| {
        if name == token {
            // A logged request has an id instead.
            let field = if fields.contains(name) { name } else { "token" };
            Some(format!("$response.body#{place}/{field}"))
        } else if tokens(path).any(|known| known == name) {
            Some(format!("$request.path.{name}"))
        } else {
            fields.contains(name).then(|| format!("$response.body#{place}/{name}"))
        }
    };
    let links: Map<_, _> = takers
        .iter()
        .filter(|taker| taker.tokens.last().is_some_and(|last| last == token))
        .filter_map(|Taker { id, tokens }| {
            let parameters: Option<Map<_, _>> =
                tokens.iter().map(|name| Some((name.clone(), value(name)?.into()))).collect();
            Some((id.clone(), json!({ "operationId": id, "parameters": parameters? })))
        })
        .collect();
    if !links.is_empty() {
        success["links"] = links.into();
    }
    true
}

/// Returns the fields of the record in a response, or of a list's items, that are never null: what a link takes is there.
fn record_fields(schema: &Value, components: &Value) -> BTreeSet<String> {
    let resolved = |schema: &Value| {
        let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        name.map_or_else(|| schema.clone(), |name| components["schemas"][name].clone())
    };
    let record = &resolved(schema)["properties"]["response"];
    let record = if record["type"] == "array" { &record["items"] } else { record };
    let record = resolved(record);
    let fields = record["properties"].as_object().into_iter().flatten();
    let is_there =
        |schema: &Value| !schema["type"].as_array().is_some_and(|types| types.contains(&"null".into()));
    fields.filter(|(_, schema)| is_there(schema)).map(|(name, _)| name.clone()).collect()
}
