//! Links: an operation that creates a record names the operations that take the record's token.

use serde_json::{Map, Value, json};

/// Adds links from each 201 to every operation below the new record's own path, which holds one token.
pub(super) fn links(document: &mut Value) {
    let taking: Vec<_> = document["paths"]
        .as_object()
        .into_iter()
        .flatten()
        .flat_map(|(path, methods)| {
            methods.as_object().into_iter().flatten().map(move |(_, operation)| (path, operation))
        })
        .filter_map(|(path, operation)| {
            let (collection, token) = path.split_once("/{")?;
            let (token, rest) = token.split_once('}')?;
            let id = operation["operationId"].as_str()?;
            (!rest.contains('{')).then(|| (collection.to_owned(), token.to_owned(), id.to_owned()))
        })
        .collect();
    let paths = document["paths"].as_object_mut();
    for (path, methods) in paths.into_iter().flat_map(|paths| paths.iter_mut()) {
        let made = methods.get_mut("post").and_then(|post| post["responses"].get_mut("201"));
        let Some(made) = made.filter(|made| made.get("content").is_some()) else { continue };
        // A record created below another one has its own path at the root, as /refunds has.
        let own = path
            .rsplit_once('/')
            .map(|(above, noun)| if above.contains('{') { format!("/1/{noun}") } else { path.clone() });
        let link = |(_, token, id): &(String, String, String)| {
            let parameters = json!({ token.as_str(): "$response.body#/response/token" });
            (id.clone(), json!({ "operationId": id, "parameters": parameters }))
        };
        let links: Map<_, _> =
            taking.iter().filter(|(collection, ..)| Some(collection) == own.as_ref()).map(link).collect();
        if !links.is_empty() {
            made["links"] = links.into();
        }
    }
}
