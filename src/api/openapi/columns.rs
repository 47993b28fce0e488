//! The columns of lists as CSV: the fields of a list's records, in the document's order.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

/// The names of columns: fields, with dots before nested ones. A list or an object of any fields is one column.
pub type Columns = Arc<[String]>;

/// Returns the columns of each list by its path.
pub fn columns(document: &Value) -> HashMap<String, Columns> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths
        .filter_map(|(path, methods)| {
            let page = methods.pointer("/get/responses/200/content/application~1json/schema")?;
            let page = &resolved(document, page)["properties"];
            page.get("pagination")?;
            let mut columns = Vec::new();
            add_fields(document, &page["response"]["items"], String::new(), &mut columns);
            Some((path.clone(), columns.into()))
        })
        .collect()
}

fn add_fields(document: &Value, schema: &Value, name: String, columns: &mut Vec<String>) {
    match resolved(document, schema)["properties"].as_object() {
        Some(fields) => {
            for (field, schema) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                add_fields(document, schema, format!("{name}{dot}{field}"), columns);
            }
        }
        None => columns.push(name),
    }
}

/// Follows a reference, and that of a record that may be null.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let alternatives = ["oneOf", "anyOf"].into_iter().find_map(|kind| schema[kind].as_array());
    let mut records = alternatives.into_iter().flatten().filter(|schema| schema["type"] != "null");
    let schema = match (records.next(), records.next()) {
        (Some(only), None) => only,
        _ => schema,
    };
    let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    reference.and_then(|path| document.pointer(path)).unwrap_or(schema)
}
