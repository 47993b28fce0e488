//! The tools: the parameters of each, and the request of the API that it makes. A tool has the name of its operation in
//! `openapi.yaml`; lists have the parameters of theirs, too.

use http::Method;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use crate::test_cards;

pub struct ToolRequest {
    pub method: Method,
    pub path: String,
    pub body: Option<Value>,
    /// Of requests that change something.
    pub idempotency_key: Option<String>,
}

impl ToolRequest {
    fn read(path: String) -> Self {
        Self { method: Method::GET, path, body: None, idempotency_key: None }
    }

    /// Returns a request that changes something, or what is wrong with its idempotency_key.
    fn write(method: Method, path: &str, body: Value, arguments: &Value) -> Result<Self, String> {
        let key = text(arguments, "idempotency_key");
        if !(1..=255).contains(&key.len()) || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("idempotency_key must be 1 to 255 visible ASCII characters".into());
        }
        Ok(Self { method, path: path.into(), body: Some(body), idempotency_key: Some(key.to_owned()) })
    }
}

enum Effect {
    Reads,
    Adds,
    /// Cannot be taken back, and may delete what is too old.
    MovesTime,
}

/// Makes the request of a call, or says what is wrong with its arguments.
type ReadArguments = dyn Fn(&Value) -> Result<ToolRequest, String> + Send + Sync;

pub struct OfferedTool {
    /// The tool as clients see it.
    pub shown: Value,
    read: Box<ReadArguments>,
}

impl OfferedTool {
    fn new(
        name: &str,
        effect: &Effect,
        description: &str,
        parameters: impl IntoIterator<Item = Parameter>,
        read: impl Fn(&Value) -> Result<ToolRequest, String> + Send + Sync + 'static,
    ) -> Self {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for Parameter { name, schema, is_required } in parameters {
            if is_required {
                required.push(name.clone());
            }
            properties.insert(name, schema);
        }
        let shown = json!({
            "name": name,
            "description": description,
            "inputSchema": {
                "type": "object", "additionalProperties": false, "properties": properties, "required": required,
            },
            "annotations": {
                "readOnlyHint": matches!(effect, Effect::Reads),
                "destructiveHint": matches!(effect, Effect::MovesTime),
                // A repeated Idempotency-Key has no second effect.
                "idempotentHint": true,
                "openWorldHint": false,
            },
        });
        Self { shown, read: Box::new(read) }
    }

    /// Offers the list at a path, with the parameters of its operation in the document and shorter pages.
    fn list(document: &Value, path: &'static str, description: &str) -> Self {
        let operation = &document["paths"][path]["get"];
        let name = operation["operationId"].as_str().expect("an operation has a name");
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.map(|parameter| Parameter::of_list(document, parameter));
        Self::new(name, &Effect::Reads, description, parameters, |arguments| {
            Ok(list_request(path, arguments))
        })
    }

    /// Returns the request of a call, or all that is wrong with its arguments.
    pub fn request(&self, arguments: &Value) -> Result<ToolRequest, Vec<String>> {
        let faults = shape_faults(&self.shown["inputSchema"], arguments);
        if faults.is_empty() { (self.read)(arguments).map_err(|fault| vec![fault]) } else { Err(faults) }
    }
}

/// A parameter of a tool, with the schema of its argument.
struct Parameter {
    name: String,
    schema: Value,
    is_required: bool,
}

/// The number of records that a list shows at once. An assistant reads every byte of them.
const PER_PAGE: u64 = 10;

impl Parameter {
    fn required(name: &str, kind: &str, description: &str) -> Self {
        let schema = json!({ "type": kind, "description": description });
        Self { name: name.into(), schema, is_required: true }
    }

    fn optional(name: &str, kind: &str, description: &str) -> Self {
        let schema = json!({ "type": [kind, "null"], "description": description });
        Self { name: name.into(), schema, is_required: false }
    }

    /// Returns an optional parameter of a list, as the document has it.
    fn of_list(document: &Value, parameter: &Value) -> Self {
        let parameter = resolved(document, parameter);
        let name = parameter["name"].as_str().unwrap_or_default();
        let mut schema = resolved(document, &parameter["schema"]).clone();
        schema["type"] = json!([schema["type"], "null"]);
        if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            words.push(Value::Null);
        }
        schema["description"] = parameter["description"].clone();
        if name == "per_page" {
            schema["default"] = PER_PAGE.into();
            schema["description"] = format!("Records a page; {PER_PAGE} if absent.").into();
        }
        Self { name: name.into(), schema, is_required: false }
    }
}

/// Follows a reference to what several operations share.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let shared = value["$ref"].as_str().and_then(|reference| document.pointer(reference.strip_prefix('#')?));
    shared.unwrap_or(value)
}

/// Returns the request of a list with these parameters.
fn list_request(path: &str, arguments: &Value) -> ToolRequest {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in arguments.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        query.append_pair(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    if arguments["per_page"].is_null() {
        query.append_pair("per_page", &PER_PAGE.to_string());
    }
    ToolRequest::read(format!("{path}?{}", query.finish()))
}

/// Returns what is wrong with the shape of arguments. Repeats neither unknown names nor values: both may hold a card number.
fn shape_faults(schema: &Value, arguments: &Value) -> Vec<String> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = required.filter(|name| arguments.get(name).is_none());
    let mut faults: Vec<_> = missing.map(|name| format!("{name} is required")).collect();
    let mut has_unknown = false;
    for (name, value) in arguments.as_object().into_iter().flatten() {
        // One type, or for an optional parameter a list of it and null.
        let types = &schema["properties"][name]["type"];
        let kinds = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice);
        if types.is_null() {
            has_unknown = true;
        } else if !kinds.iter().any(|kind| kind.as_str().is_some_and(|kind| is_of_type(kind, value))) {
            faults.push(format!("{name} must be of type {}", kinds[0]));
        }
    }
    if has_unknown {
        let known = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let known: Vec<_> = known.collect();
        faults.push(format!("an argument is unknown: there are [{}]", known.join(", ")));
    }
    faults
}

fn is_of_type(kind: &str, value: &Value) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => kind == "integer" && number.is_i64(),
        Value::String(_) => kind == "string",
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// Returns an argument that is a text, or nothing.
fn text<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments[name].as_str().unwrap_or_default()
}

/// Returns a name that becomes part of a path: a token or the id of a request. Others would lead elsewhere.
fn segment<'a>(arguments: &'a Value, parameter: &str) -> Result<&'a str, String> {
    let name = text(arguments, parameter);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    let is_named = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if is_named && name.bytes().all(plain) { Ok(name) } else { Err(format!("{parameter} is not one")) }
}

/// Returns every tool, in the order of the list.
pub fn all(document: &Value) -> Vec<OfferedTool> {
    vec![
        create_charge(),
        create_refund(),
        create_dispute(),
        move_clock(),
        OfferedTool::new(
            "get_charge",
            &Effect::Reads,
            "Read a charge as it is now.",
            [Parameter::required("charge_token", "string", "The charge, ch_...")],
            |arguments| Ok(ToolRequest::read(format!("/1/charges/{}", segment(arguments, "charge_token")?))),
        ),
        OfferedTool::new(
            "get_balance",
            &Effect::Reads,
            "Read the account's available and pending balance.",
            [],
            |_| Ok(ToolRequest::read("/1/balance".into())),
        ),
        OfferedTool::list(
            document,
            "/1/events",
            "Read what happened in the account: events with the record as it was then, newest first; with after, \
             oldest first. With wait it answers as soon as count of them have happened.",
        ),
        OfferedTool::list(
            document,
            "/1/sandbox/requests",
            "Read the log of the account's last requests, newest first, with their parameters and errors and without \
             secrets. Use it to see what a client really sent. With wait it answers as soon as count of them have been made.",
        ),
        OfferedTool::new(
            "get_sandbox_request",
            &Effect::Reads,
            "Read one request of the log, by the request_id of its answer.",
            [Parameter::required("request_id", "string", "The X-Request-Id of its response.")],
            |arguments| {
                let id = segment(arguments, "request_id")?;
                Ok(ToolRequest::read(format!("/1/sandbox/requests/{id}")))
            },
        ),
    ]
}

fn create_charge() -> OfferedTool {
    let mut card =
        Parameter::optional("card", "string", "Which test card pays, by what it does; accepted if absent.");
    let words = test_cards::words().into_iter().map(Value::from).chain([Value::Null]);
    card.schema["enum"] = words.collect();
    OfferedTool::new(
        "create_charge",
        &Effect::Adds,
        "Pay: charge a test card. A card that declines answers an error with the charge's token.",
        [
            Parameter::required(
                "amount",
                "integer",
                "In the currency's base unit: 400 is 4.00 AUD. At least the currency's minimum.",
            ),
            Parameter::optional("currency", "string", "ISO 4217 code; AUD if absent."),
            card,
            Parameter::optional(
                "capture",
                "boolean",
                "Whether the money is taken at once (default), or only authorised.",
            ),
            Parameter::optional("email", "string", "The purchaser's e-mail address; an example if absent."),
            Parameter::optional("description", "string", "What is bought; an example if absent."),
            Parameter::required("idempotency_key", "string", "New for each charge; the same to retry one."),
        ],
        |arguments| {
            let number = test_cards::number(arguments["card"].as_str().unwrap_or(test_cards::ACCEPTED));
            let number =
                number.ok_or_else(|| format!("card must be one of {}", test_cards::words().join(", ")))?;
            let body = json!({
                "amount": arguments["amount"], "currency": arguments["currency"], "capture": arguments["capture"],
                "email": arguments["email"].as_str().unwrap_or("roland@example.com"),
                "description": arguments["description"].as_str().unwrap_or("A payment by a tool"),
                "ip_address": "203.192.1.172", "card": test_cards::card(number, "Roland Robot"),
            });
            ToolRequest::write(Method::POST, "/1/charges", body, arguments)
        },
    )
}

fn create_refund() -> OfferedTool {
    OfferedTool::new(
        "create_refund",
        &Effect::Adds,
        "Refund a captured charge, wholly or in part. The refund is pending at first.",
        [
            Parameter::required("charge_token", "string", "A captured charge, ch_..."),
            Parameter::optional(
                "amount",
                "integer",
                "In the charge's currency, at most what is not refunded yet; the whole charge if absent.",
            ),
            Parameter::required("idempotency_key", "string", "New for each refund; the same to retry one."),
        ],
        |arguments| {
            let path = format!("/1/charges/{}/refunds", segment(arguments, "charge_token")?);
            ToolRequest::write(Method::POST, &path, json!({ "amount": arguments["amount"] }), arguments)
        },
    )
}

fn create_dispute() -> OfferedTool {
    OfferedTool::new(
        "create_sandbox_dispute",
        &Effect::Adds,
        "Raise a dispute: the cardholder disputes a captured charge.",
        [
            Parameter::required("charge_token", "string", "A captured charge, ch_..."),
            Parameter::optional(
                "amount",
                "integer",
                "In the charge's currency; all that can still be disputed if absent.",
            ),
            Parameter::optional(
                "category",
                "string",
                "The category, such as general, which it is if absent.",
            ),
            Parameter::required("idempotency_key", "string", "New for each dispute; the same to retry one."),
        ],
        |arguments| {
            let body = json!({
                "charge_token": arguments["charge_token"], "amount": arguments["amount"], "category": arguments["category"],
            });
            ToolRequest::write(Method::POST, "/1/sandbox/disputes", body, arguments)
        },
    )
}

fn move_clock() -> OfferedTool {
    OfferedTool::new(
        "move_clock",
        &Effect::MovesTime,
        "Move the account's clock ahead, and do all that is due on the way, such as renewals, refunds and settlement. It \
         never goes back. If complete is false, move on with the answered to and a new idempotency_key.",
        [
            Parameter::optional(
                "advance",
                "string",
                "How far: a whole number and m, h, d, w, month or year, such as 7d. Either advance or to.",
            ),
            Parameter::optional(
                "to",
                "string",
                "The time to move to: ISO 8601, or a date for its first moment.",
            ),
            Parameter::required("idempotency_key", "string", "New for each move; the same to retry one."),
        ],
        |arguments| {
            let body = json!({ "advance": arguments["advance"], "to": arguments["to"] });
            ToolRequest::write(Method::PUT, "/1/sandbox/clock", body, arguments)
        },
    )
}
