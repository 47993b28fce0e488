//! The parameters that operations know, for requests that want unknown ones refused (`docs/decisions.md`, 466): those of the
//! document. A name that is left out there is unknown here, whatever type reads it.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use axum::http::Method;
use base::plain_text::is_plain_name;
use base::request_context;
use serde_json::{Map, Value};

use super::descriptions::{Descriptions, operations};
use crate::limits::UNKNOWN_PARAMETERS_MAX;
use crate::params::{FieldErrors, unknown_parameter};

/// The parameters of one level, by their names.
#[derive(Debug, Default)]
pub struct KnownParameters(BTreeMap<String, KnownParameter>);

/// The kind of value that a parameter may hold.
#[derive(Debug)]
enum KnownParameter {
    /// A value, or an object whose entries clients name.
    Leaf,
    Object(KnownParameters),
    /// A list of objects.
    List(KnownParameters),
}

/// The parameters of each operation, by path and method. They are read from the annotations for the first request that needs them,
/// because that takes longer than the rest of a start.
#[derive(Debug)]
pub struct OperationParameters {
    operations: Descriptions,
    known: OnceLock<HashMap<(String, Method), KnownParameters>>,
}

impl OperationParameters {
    /// Creates the list for these operations.
    pub fn new(operations: Descriptions) -> Self {
        Self { operations, known: OnceLock::new() }
    }

    /// Returns the parameters of the operation of the request; `None` for one that is not in the list.
    pub fn of_request(&self) -> Option<&KnownParameters> {
        let request = request_context::current();
        let (method, route) = request.operation()?;
        let method = if *method == Method::HEAD { Method::GET } else { method.clone() };
        self.known.get_or_init(|| self.read()).get(&(route.to_owned(), method))
    }

    fn read(&self) -> HashMap<(String, Method), KnownParameters> {
        let mut document = serde_json::to_value(self.operations.document()).expect("the document is JSON");
        let schemas = document["components"]["schemas"].clone();
        let known = operations(&mut document).map(|(path, method, operation)| {
            let method = method.to_uppercase().parse().expect("a method");
            ((path.clone(), method), KnownParameters::of_operation(operation, &schemas))
        });
        known.collect()
    }
}

impl KnownParameters {
    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn of_operation(operation: &Map<String, Value>, schemas: &Value) -> Self {
        let mut known = Self::default();
        for parameter in operation.get("parameters").and_then(Value::as_array).into_iter().flatten() {
            if parameter["in"] == "query"
                && let Some(name) = parameter["name"].as_str()
            {
                known.0.insert(name.to_owned(), KnownParameter::Leaf);
            }
        }
        let bodies = operation.get("requestBody").and_then(|body| body["content"].as_object());
        for body in bodies.into_iter().flat_map(Map::values) {
            known.add_properties(&body["schema"], schemas);
        }
        // A script that posts by JSONP says so in its query, and jQuery makes each address another one (`docs/decisions.md`, 60).
        if known.0.contains_key("publishable_api_key") {
            known.0.extend(["callback", "_method", "_"].map(|name| (name.to_owned(), KnownParameter::Leaf)));
        }
        known
    }

    /// Adds the properties of a schema, however it is composed.
    fn add_properties(&mut self, schema: &Value, schemas: &Value) {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            self.add_properties(&schemas[name], schemas);
        }
        for part in ["allOf", "anyOf", "oneOf"].iter().filter_map(|of| schema[of].as_array()).flatten() {
            self.add_properties(part, schemas);
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let mut inside = Self::default();
            inside.add_properties(property, schemas);
            let mut items = Self::default();
            items.add_properties(&property["items"], schemas);
            let known = match (inside.is_empty(), items.is_empty()) {
                (false, _) => KnownParameter::Object(inside),
                (true, false) => KnownParameter::List(items),
                (true, true) => KnownParameter::Leaf,
            };
            self.0.insert(name.clone(), known);
        }
    }

    /// Returns a fault for each parameter in `tree` that is not known.
    pub fn faults(&self, tree: &Value) -> FieldErrors {
        let mut search = Search { known: self, faults: FieldErrors::default(), count: 0 };
        search.walk(self, tree, "");
        search.faults
    }

    /// Returns the path of the one parameter of this name, on whatever level.
    fn path_of(&self, wanted: &str) -> Option<String> {
        self.0.iter().find_map(|(name, known)| match known {
            _ if name == wanted => Some(name.clone()),
            KnownParameter::Leaf => None,
            KnownParameter::Object(fields) | KnownParameter::List(fields) => {
                fields.path_of(wanted).map(|path| format!("{name}.{path}"))
            }
        })
    }

    /// Returns the name that is spelled most like this one, or that begins with it. A name that differs in more than half of its
    /// letters is another word.
    fn nearest(&self, name: &str) -> Option<&str> {
        let far = |known: &&String| strsim::damerau_levenshtein(known, name);
        let nearest = self.0.keys().min_by_key(far)?;
        let near = Some(nearest).filter(|nearest| 2 * far(nearest) <= name.chars().count());
        near.or_else(|| self.0.keys().find(|known| known.starts_with(&format!("{name}_"))))
            .map(String::as_str)
    }
}

struct Search<'k> {
    known: &'k KnownParameters,
    faults: FieldErrors,
    count: usize,
}

impl Search<'_> {
    fn walk(&mut self, known: &KnownParameters, tree: &Value, path: &str) {
        let dot = if path.is_empty() { "" } else { "." };
        for (name, value) in tree.as_object().into_iter().flatten() {
            match known.0.get(name) {
                // JSON null counts as absent.
                None if value.is_null() => {}
                None => self.add(known, name, path, dot),
                Some(KnownParameter::Leaf) => {}
                Some(KnownParameter::Object(fields)) => {
                    self.walk(fields, value, &format!("{path}{dot}{name}"));
                }
                Some(KnownParameter::List(fields)) => {
                    // A form names the items by their numbers.
                    let items: Vec<_> = match value {
                        Value::Array(items) => items.iter().collect(),
                        Value::Object(items) => items.values().collect(),
                        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
                    };
                    for item in items {
                        self.walk(fields, item, &format!("{path}{dot}{name}"));
                    }
                }
            }
        }
    }

    fn add(&mut self, known: &KnownParameters, name: &str, path: &str, dot: &str) {
        self.count += 1;
        if self.count > UNKNOWN_PARAMETERS_MAX {
            return;
        }
        // A name that is no plain word may be anything by mistake, and the log shows the error.
        if !is_plain_name(name) {
            self.faults.add(&format!("{path}{dot}?"), unknown_parameter(None));
            return;
        }
        let near = known.nearest(name).map(|near| format!("{path}{dot}{near}"));
        let meant = near.or_else(|| self.known.path_of(name));
        self.faults.add(&format!("{path}{dot}{name}"), unknown_parameter(meant.as_deref()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known() -> KnownParameters {
        let schemas = json!({
            "NewCharge": { "properties": {
                "amount": {}, "card": { "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/NewCard" }] },
                "metadata": { "additionalProperties": { "type": "string" } },
                "lines": { "type": "array", "items": { "$ref": "#/components/schemas/NewLine" } },
                "customer_permissions": { "type": "array", "items": { "type": "string" } },
            } },
            "NewCard": { "properties": { "number": {}, "expiry_month": {} } },
            "NewLine": { "properties": { "quantity": {} } },
        });
        let operation = json!({
            "parameters": [{ "in": "query", "name": "page" }, { "in": "header", "name": "Sandbox-Outcome" }],
            "requestBody": { "content": { "application/json": { "schema": {
                "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/NewCharge" }],
            } } } },
        });
        KnownParameters::of_operation(operation.as_object().expect("an object"), &schemas)
    }

    fn faults(tree: &Value) -> Vec<(String, String)> {
        known().faults(tree).messages().map(|fault| (fault.param, fault.message)).collect()
    }

    #[test]
    fn a_parameter_that_an_operation_knows_is_no_fault() {
        let sent = json!({
            "page": 1, "amount": "400", "card": { "number": "4200", "expiry_month": 5 }, "metadata": { "anything": "goes" },
            "lines": [{ "quantity": 1 }, { "quantity": 2 }], "customer_permissions": ["cancel"], "crad": null,
        });
        assert_eq!(faults(&sent), []);
        let by_form = json!({ "lines": { "0": { "quantity": 1 } }, "customer_permissions": { "0": "cancel" }, "card": "" });
        assert_eq!(faults(&by_form), []);
    }

    #[test]
    fn unknown_parameters_are_named_on_every_level_with_what_may_be_meant() {
        let sent = json!({
            "crad": {}, "number": 1, "colour": 1, "card": { "expirymonth": 5, "page": 1 }, "lines": [{ "quantty": 1 }],
            "Sandbox-Outcome": "x",
        });
        let meant = |param: &str, subject: &str, meant: &str| {
            (
                param.to_owned(),
                format!("{subject} is not a parameter of this operation: did you mean `{meant}`?"),
            )
        };
        let other = |param: &str, subject: &str| {
            (param.to_owned(), format!("{subject} is not a parameter of this operation"))
        };
        assert_eq!(
            faults(&sent),
            [
                meant("crad", "Crad", "card"),
                meant("number", "Number", "card.number"),
                other("colour", "Colour"),
                other("Sandbox-Outcome", "Sandbox-Outcome"),
                meant("card.expirymonth", "Card expirymonth", "card.expiry_month"),
                meant("card.page", "Card page", "page"),
                meant("lines.quantty", "Lines quantty", "lines.quantity"),
            ]
        );
    }

    #[test]
    fn a_name_that_is_no_word_is_not_repeated_and_many_are_not_all_named() {
        assert_eq!(faults(&json!({ "4200000000000000": 1 }))[0].0, "?");
        let many: Map<_, _> = (0..200).map(|n| (format!("unknown{n:02}x"), json!(1))).collect();
        assert!(faults(&many.into()).len() <= UNKNOWN_PARAMETERS_MAX);
    }
}
