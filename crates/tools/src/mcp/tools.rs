//! The tools: the parameters of each, and the request of the API that it makes. A tool has the name of its operation in
//! `openapi.yaml`; lists have the parameters of theirs, too.

use http::Method;
use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::{self, JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
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

    fn write(method: Method, path: &str, body: Value, idempotency_key: String) -> Self {
        Self { method, path: path.into(), body: Some(body), idempotency_key: Some(idempotency_key) }
    }
}

/// The parameters of a tool, and the tool.
trait Parameters: DeserializeOwned + JsonSchema + 'static {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const EFFECT: Effect;

    /// Returns the request, or what is wrong with the values.
    fn request(self) -> Result<ToolRequest, String>;
}

enum Effect {
    Reads,
    Adds,
    /// Cannot be taken back, and may delete what is too old.
    MovesTime,
}

impl Effect {
    fn annotations(&self) -> ToolAnnotations {
        let reads = matches!(self, Self::Reads);
        let destroys = matches!(self, Self::MovesTime);
        // A repeated Idempotency-Key has no second effect.
        ToolAnnotations::new().read_only(reads).destructive(destroys).idempotent(true).open_world(false)
    }
}

pub struct OfferedTool {
    /// The tool as clients see it.
    pub shown: Tool,
    read: Box<dyn Fn(JsonObject) -> Result<ToolRequest, String> + Send + Sync>,
}

impl OfferedTool {
    fn new<P: Parameters>() -> Self {
        let schema = schema_for_input::<P>().expect("parameters are an object");
        let shown = Tool::new(P::NAME, P::DESCRIPTION, schema).with_annotations(P::EFFECT.annotations());
        Self { shown, read: Box::new(request_of::<P>) }
    }

    /// Offers the list at a path, with the parameters of its operation in the document and shorter pages.
    fn list(document: &Value, path: &'static str, description: &'static str) -> Self {
        let operation = &document["paths"][path]["get"];
        let name = operation["operationId"].as_str().expect("an operation has a name");
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let mut properties: Map<_, _> = parameters.map(|parameter| property(document, parameter)).collect();
        properties["per_page"]["description"] = format!("Records a page; {PER_PAGE} if absent.").into();
        let schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
        let schema = schema.as_object().cloned().unwrap_or_default();
        let shown =
            Tool::new(name.to_owned(), description, schema).with_annotations(Effect::Reads.annotations());
        Self { shown, read: Box::new(move |arguments| Ok(list_request(path, arguments))) }
    }

    /// Returns the request of a call, or all that is wrong with its arguments.
    pub fn request(&self, arguments: JsonObject) -> Result<ToolRequest, Vec<String>> {
        let faults = shape_faults(&self.shown.schema_as_json_value(), &arguments);
        if faults.is_empty() { (self.read)(arguments).map_err(|fault| vec![fault]) } else { Err(faults) }
    }
}

/// How many records a list shows at once. An assistant reads every byte of them.
const PER_PAGE: u64 = 10;

/// Returns the name of an optional parameter of the document, and its schema as that of an argument.
fn property(document: &Value, parameter: &Value) -> (String, Value) {
    let parameter = resolved(document, parameter);
    let mut schema = resolved(document, &parameter["schema"]).clone();
    schema["type"] = json!([schema["type"], "null"]);
    if let Some(words) = schema["enum"].as_array_mut() {
        words.push(Value::Null);
    }
    schema["description"] = parameter["description"].clone();
    (parameter["name"].as_str().unwrap_or_default().to_owned(), schema)
}

/// Follows a reference to what several operations share.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let shared = value["$ref"].as_str().and_then(|reference| document.pointer(reference.strip_prefix('#')?));
    shared.unwrap_or(value)
}

/// Returns the request of a list with these parameters.
fn list_request(path: &str, mut arguments: JsonObject) -> ToolRequest {
    arguments.retain(|_, value| !value.is_null());
    arguments.entry("per_page").or_insert(PER_PAGE.into());
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in &arguments {
        query.append_pair(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    ToolRequest::read(format!("{path}?{}", query.finish()))
}

fn request_of<P: Parameters>(arguments: JsonObject) -> Result<ToolRequest, String> {
    // serde's error would print the value.
    let parameters: P =
        serde_json::from_value(arguments.into()).map_err(|_| "a value is out of range".to_owned())?;
    let request = parameters.request()?;
    let is_key =
        |key: &String| (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    if request.idempotency_key.as_ref().is_none_or(is_key) {
        Ok(request)
    } else {
        Err("idempotency_key must be 1 to 255 visible ASCII characters".into())
    }
}

/// Returns what is wrong with the shape of arguments. Repeats neither unknown names nor values: both may hold a card number.
fn shape_faults(schema: &Value, arguments: &JsonObject) -> Vec<String> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = required.filter(|name| !arguments.contains_key(*name));
    let mut faults: Vec<_> = missing.map(|name| format!("{name} is required")).collect();
    let mut has_unknown = false;
    for (name, value) in arguments {
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

/// Returns a name that becomes part of a path: a token or the id of a request. Others would lead elsewhere.
fn segment<'a>(parameter: &str, name: &'a str) -> Result<&'a str, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    let is_named = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if is_named && name.bytes().all(plain) { Ok(name) } else { Err(format!("{parameter} is not one")) }
}

/// Returns every tool, in the order of the list.
pub fn all(document: &Value) -> Vec<OfferedTool> {
    vec![
        OfferedTool::new::<CreateCharge>(),
        OfferedTool::new::<CreateRefund>(),
        OfferedTool::new::<CreateDispute>(),
        OfferedTool::new::<MoveClock>(),
        OfferedTool::new::<GetCharge>(),
        OfferedTool::new::<GetBalance>(),
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
        OfferedTool::new::<GetRequest>(),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateCharge {
    /// In the currency's base unit: 400 is 4.00 AUD. At least the currency's minimum.
    amount: i64,
    /// ISO 4217 code; AUD if absent.
    currency: Option<String>,
    /// Which test card pays, by what it does; accepted if absent.
    #[serde(default)]
    #[schemars(schema_with = "card_words")]
    card: Option<String>,
    /// Whether the money is taken at once (default), or only authorised.
    capture: Option<bool>,
    /// The purchaser's e-mail address; an example if absent.
    email: Option<String>,
    /// What is bought; an example if absent.
    description: Option<String>,
    /// New for each charge; the same to retry one.
    idempotency_key: String,
}

fn card_words(_: &mut SchemaGenerator) -> Schema {
    let words = test_cards::words().into_iter().map(Value::from).chain([Value::Null]);
    json_schema!({ "type": ["string", "null"], "enum": words.collect::<Vec<_>>() })
}

impl Parameters for CreateCharge {
    const NAME: &'static str = "create_charge";
    const DESCRIPTION: &'static str =
        "Pay: charge a test card. A card that declines answers an error with the charge's token.";
    const EFFECT: Effect = Effect::Adds;

    fn request(self) -> Result<ToolRequest, String> {
        let Self { amount, currency, card, capture, email, description, idempotency_key } = self;
        let number = test_cards::number(card.as_deref().unwrap_or(test_cards::ACCEPTED));
        let number =
            number.ok_or_else(|| format!("card must be one of {}", test_cards::words().join(", ")))?;
        let body = json!({
            "amount": amount, "currency": currency, "capture": capture,
            "email": email.as_deref().unwrap_or("roland@example.com"),
            "description": description.as_deref().unwrap_or("A payment by a tool"),
            "ip_address": "203.192.1.172", "card": test_cards::card(number, "Roland Robot"),
        });
        Ok(ToolRequest::write(Method::POST, "/1/charges", body, idempotency_key))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateRefund {
    /// A captured charge, ch_...
    charge_token: String,
    /// In the charge's currency, at most what is not refunded yet; the whole charge if absent.
    amount: Option<i64>,
    /// New for each refund; the same to retry one.
    idempotency_key: String,
}

impl Parameters for CreateRefund {
    const NAME: &'static str = "create_refund";
    const DESCRIPTION: &'static str =
        "Refund a captured charge, wholly or in part. The refund is pending at first.";
    const EFFECT: Effect = Effect::Adds;

    fn request(self) -> Result<ToolRequest, String> {
        let path = format!("/1/charges/{}/refunds", segment("charge_token", &self.charge_token)?);
        Ok(ToolRequest::write(Method::POST, &path, json!({ "amount": self.amount }), self.idempotency_key))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateDispute {
    /// A captured charge, ch_...
    charge_token: String,
    /// In the charge's currency; all that can still be disputed if absent.
    amount: Option<i64>,
    /// The category, such as general, which it is if absent.
    category: Option<String>,
    /// New for each dispute; the same to retry one.
    idempotency_key: String,
}

impl Parameters for CreateDispute {
    const NAME: &'static str = "create_sandbox_dispute";
    const DESCRIPTION: &'static str = "Raise a dispute: the cardholder disputes a captured charge.";
    const EFFECT: Effect = Effect::Adds;

    fn request(self) -> Result<ToolRequest, String> {
        let Self { charge_token, amount, category, idempotency_key } = self;
        let body = json!({ "charge_token": charge_token, "amount": amount, "category": category });
        Ok(ToolRequest::write(Method::POST, "/1/sandbox/disputes", body, idempotency_key))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MoveClock {
    /// How far: a whole number and m, h, d, w, month or year, such as 7d. Either advance or to.
    advance: Option<String>,
    /// The time to move to: ISO 8601, or a date for its first moment.
    to: Option<String>,
    /// New for each move; the same to retry one.
    idempotency_key: String,
}

impl Parameters for MoveClock {
    const NAME: &'static str = "move_clock";
    const DESCRIPTION: &'static str = "Move the account's clock ahead, and do all that is due on the way, such as renewals, \
        refunds and settlement. It never goes back. If complete is false, move on with the answered to and a new idempotency_key.";
    const EFFECT: Effect = Effect::MovesTime;

    fn request(self) -> Result<ToolRequest, String> {
        let body = json!({ "advance": self.advance, "to": self.to });
        Ok(ToolRequest::write(Method::PUT, "/1/sandbox/clock", body, self.idempotency_key))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetCharge {
    /// The charge, ch_...
    charge_token: String,
}

impl Parameters for GetCharge {
    const NAME: &'static str = "get_charge";
    const DESCRIPTION: &'static str = "Read a charge as it is now.";
    const EFFECT: Effect = Effect::Reads;

    fn request(self) -> Result<ToolRequest, String> {
        Ok(ToolRequest::read(format!("/1/charges/{}", segment("charge_token", &self.charge_token)?)))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetBalance {}

impl Parameters for GetBalance {
    const NAME: &'static str = "get_balance";
    const DESCRIPTION: &'static str = "Read the account's available and pending balance.";
    const EFFECT: Effect = Effect::Reads;

    fn request(self) -> Result<ToolRequest, String> {
        Ok(ToolRequest::read("/1/balance".into()))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetRequest {
    /// The X-Request-Id of its response.
    request_id: String,
}

impl Parameters for GetRequest {
    const NAME: &'static str = "get_sandbox_request";
    const DESCRIPTION: &'static str = "Read one request of the log, by the request_id of its answer.";
    const EFFECT: Effect = Effect::Reads;

    fn request(self) -> Result<ToolRequest, String> {
        Ok(ToolRequest::read(format!("/1/sandbox/requests/{}", segment("request_id", &self.request_id)?)))
    }
}
