//! Holds every answer against the OpenAPI document: what the document does not say must not be answered.
//!
//! A schema alone lets unknown fields pass. So each body is checked twice: against the document as it is, and against a
//! closed copy in which every object allows only the fields that its schema names (`unevaluatedProperties: false` where
//! a value begins, so that `$ref`, `allOf`, `oneOf` and `anyOf` add up as they should). Free-form objects must say
//! `additionalProperties`.

use std::collections::{BTreeSet, HashMap};
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{Draft, Registry, ValidationError, Validator};
use serde_json::{Value, json};

const ORIGINAL: &str = "urn:contract:original";
const CLOSED: &str = "urn:contract:closed";
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

pub struct Contract {
    document: Value,
    original: Registry<'static>,
    closed: Registry<'static>,
    /// Path template, method in lower case.
    operations: Vec<(String, String)>,
    validators: Mutex<HashMap<String, Arc<Validators>>>,
    seen: Mutex<BTreeSet<Answered>>,
    noted: Mutex<BTreeSet<String>>,
}

/// Names the file in which a whole run notes its answers, for tests/contract/unreached.mjs.
const NOTES: &str = "CARD_PAYMENTS_ANSWERS";

/// An operation ("POST /1/charges") and the status it answered.
pub type Answered = (String, u16);

struct Validators {
    original: Validator,
    closed: Validator,
}

impl Contract {
    pub fn new(document: Value) -> Self {
        let mut closed = document.clone();
        close_document(&mut closed);
        let registry = |name, contents: Value| {
            let registry = Registry::new().draft(Draft::Draft202012).add(name, contents);
            registry.and_then(jsonschema::RegistryBuilder::prepare).expect("a document with sound references")
        };
        let operations = fields(&document["paths"])
            .flat_map(|(path, item)| fields(item).map(move |(method, _)| (path.clone(), method.clone())))
            .filter(|(_, method)| METHODS.contains(&method.as_str()))
            .collect();
        Self {
            original: registry(ORIGINAL, document.clone()),
            closed: registry(CLOSED, closed),
            operations,
            document,
            validators: Mutex::default(),
            seen: Mutex::default(),
            noted: Mutex::default(),
        }
    }

    /// Checks one answer. The status must be documented by number: a `4XX` or `default` entry promises nothing.
    pub fn check(
        &self,
        method: &Method,
        path: &str,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<(), String> {
        let template =
            self.template(path).ok_or_else(|| format!("{method} {path}: the path is not documented"))?;
        let name = format!("{method} {template}");
        let operation = format!("/paths/{}/{}", escaped(template), self.documented(template, method));
        let Some(responses) = self.document.pointer(&operation).map(|operation| &operation["responses"])
        else {
            return Err(format!("{name}: the method is not documented"));
        };
        let Some(response) = self.resolve(format!("{operation}/responses/{}", status.as_u16())) else {
            let known: Vec<_> = fields(responses).map(|(status, _)| status.as_str()).collect();
            return Err(format!(
                "{name} -> {status}: the status is not documented, only {}",
                known.join(", ")
            ));
        };
        lock(&self.seen).insert((name.clone(), status.as_u16()));
        let code = if status.as_u16() < 400 { None } else { error_code(body) };
        self.note(&name, status, code.as_deref());
        let mut faults = self.header_faults(&response, headers);
        faults.extend(code.and_then(|code| self.code_fault(&response, &code)));
        faults.extend(self.content_faults(&response, method, headers, body));
        report(&format!("{name} -> {}", status.as_u16()), &faults)
    }

    /// The method of the operation that describes the answers: to HEAD the same come as to GET, without their bodies.
    fn documented(&self, template: &str, method: &Method) -> String {
        let named = |method: &str| self.operations.contains(&(template.to_owned(), method.to_owned()));
        if *method == Method::HEAD && !named("head") && named("get") {
            "get".to_owned()
        } else {
            method.as_str().to_lowercase()
        }
    }

    /// Operation, status and error code, once a run.
    fn note(&self, name: &str, status: StatusCode, code: Option<&str>) {
        let Some(notes) = std::env::var_os(NOTES) else { return };
        let line = format!("{name} {} {}", status.as_u16(), code.unwrap_or_default());
        if lock(&self.noted).insert(line.clone()) {
            let mut notes = OpenOptions::new().create(true).append(true).open(notes).unwrap();
            // In one piece: other tests write at the same time.
            notes.write_all(format!("{}\n", line.trim_end()).as_bytes()).unwrap();
        }
    }

    /// Checks the answer to a route that does not exist: 404, or 405 with `Allow` where only the method is wrong.
    pub fn check_unknown_route(
        &self,
        method: &Method,
        path: &str,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<(), String> {
        let template = self.template(path);
        let documented = |template: String| {
            let method = self.documented(&template, method);
            self.operations.contains(&(template, method))
        };
        let fault = match (template, status) {
            (Some(template), _) if documented(template.to_owned()) => {
                format!("{template} is a documented route")
            }
            (None, StatusCode::NOT_FOUND) => return Ok(()),
            (Some(_), StatusCode::METHOD_NOT_ALLOWED) if headers.contains_key(header::ALLOW) => return Ok(()),
            (Some(_), StatusCode::METHOD_NOT_ALLOWED) => "a 405 without the header allow".to_owned(),
            (Some(template), _) => format!("only the method of {template} is unknown: that is a 405"),
            (None, _) => "an unknown path is a 404".to_owned(),
        };
        Err(format!("{method} {path} -> {}: {fault}", status.as_u16()))
    }

    /// Checks the body of an outgoing webhook against the `webhooks` section.
    pub fn check_webhook(&self, event: &str, body: &[u8]) -> Result<(), String> {
        let item = self.resolve(format!("/webhooks/{}", escaped(event)));
        let request = item.and_then(|item| self.resolve(format!("{item}/post/requestBody")));
        let request = request.ok_or_else(|| format!("webhook {event}: not documented"))?;
        let schema = format!("{request}/content/application~1json/schema");
        report(&format!("webhook {event}"), &self.json_faults(&schema, body))
    }

    /// Returns the documented answers that have been checked so far.
    pub fn seen(&self) -> BTreeSet<Answered> {
        lock(&self.seen).clone()
    }

    /// Returns the documented answers that no test has got yet.
    pub fn unseen(&self) -> BTreeSet<Answered> {
        let seen = self.seen();
        let documented = self.operations.iter().flat_map(|(path, method)| {
            fields(&self.document["paths"][path][method]["responses"]).filter_map(move |(status, _)| {
                Some((format!("{} {path}", method.to_uppercase()), status.parse().ok()?))
            })
        });
        documented.filter(|answered| !seen.contains(answered)).collect()
    }

    /// Returns the documented path of a request path; where several fit, text beats a parameter from left to right,
    /// as the router decides.
    fn template(&self, path: &str) -> Option<&str> {
        let requested: Vec<&str> = path.split(['?', '#']).next()?.split('/').collect();
        let is_parameter = |segment: &str| segment.starts_with('{');
        let fits = |template: &&str| {
            let segments: Vec<&str> = template.split('/').collect();
            segments.len() == requested.len()
                && segments.iter().zip(&requested).all(|(segment, requested)| {
                    if is_parameter(segment) { !requested.is_empty() } else { segment == requested }
                })
        };
        let parameters = |template: &&str| template.split('/').map(is_parameter).collect::<Vec<_>>();
        fields(&self.document["paths"]).map(|(path, _)| path.as_str()).filter(fits).min_by_key(parameters)
    }

    /// Follows references to where the object itself stands. A reference with more than words beside it stays.
    fn resolve(&self, mut pointer: String) -> Option<String> {
        let words = |(key, _): (&String, _)| ["$ref", "summary", "description"].contains(&key.as_str());
        loop {
            let object = self.document.pointer(&pointer)?;
            match object.get("$ref") {
                Some(target) if fields(object).all(words) => {
                    target.as_str()?.strip_prefix('#')?.clone_into(&mut pointer);
                }
                _ => return Some(pointer),
            }
        }
    }

    fn header_faults(&self, response: &str, headers: &HeaderMap) -> Vec<String> {
        let documented = self.document.pointer(&format!("{response}/headers")).unwrap_or(&Value::Null);
        let mut faults = Vec::new();
        for (name, _) in fields(documented) {
            let Some(pointer) = self.resolve(format!("{response}/headers/{}", escaped(name))) else {
                faults.push(format!("header {name}: its reference leads nowhere"));
                continue;
            };
            let documented = self.document.pointer(&pointer).unwrap_or(&Value::Null);
            let Some(value) = headers.get(name) else {
                if documented["required"] == json!(true) {
                    faults.push(format!("header {name}: required, but missing"));
                }
                continue;
            };
            if documented.get("schema").is_some() && !self.header_fits(&format!("{pointer}/schema"), value) {
                faults.push(format!("header {name}: {value:?} does not fit its schema"));
            }
        }
        faults
    }

    /// Returns a fault if the operation does not list a code of its refusals: each has an example of its name.
    fn code_fault(&self, response: &str, code: &str) -> Option<String> {
        let listed = self.document.pointer(&format!("{response}/content/application~1json/examples"))?;
        let codes = || fields(listed).map(|(code, _)| code.as_str()).collect::<Vec<_>>().join(", ");
        listed.get(code).is_none().then(|| format!("the code {code} is not documented, only {}", codes()))
    }

    /// A header's text may stand for a number or a truth value.
    fn header_fits(&self, schema: &str, value: &HeaderValue) -> bool {
        let text = String::from_utf8_lossy(value.as_bytes());
        let scalar =
            serde_json::from_str(&text).ok().filter(|value: &Value| value.is_number() || value.is_boolean());
        let readings = [Some(Value::from(text.as_ref())), scalar];
        let validators = self.validators(schema);
        validators.is_ok_and(|validators| {
            readings.iter().flatten().any(|value| validators.original.is_valid(value))
        })
    }

    fn content_faults(
        &self,
        response: &str,
        method: &Method,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Vec<String> {
        let documented = self.document.pointer(&format!("{response}/content")).unwrap_or(&Value::Null);
        let types: Vec<&str> = fields(documented).map(|(media, _)| media.as_str()).collect();
        if body.is_empty() {
            let promised = !types.is_empty() && method != Method::HEAD;
            return Vec::from_iter(
                promised.then(|| format!("no body, but {} is documented", types.join(", "))),
            );
        }
        if types.is_empty() || method == Method::HEAD {
            return vec![format!("a body of {} bytes, but none is documented", body.len())];
        }
        let sent = headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or("no content type");
        let Some(media) = types.iter().find(|media| covers(&essence(media), &essence(sent))) else {
            return vec![format!("content type: {sent} is not documented, only {}", types.join(", "))];
        };
        if essence(sent) == "application/json" || essence(sent).ends_with("+json") {
            return self.json_faults(&format!("{response}/content/{}/schema", escaped(media)), body);
        }
        Vec::new()
    }

    fn json_faults(&self, schema: &str, body: &[u8]) -> Vec<String> {
        let value = match serde_json::from_slice(body) {
            Ok(value) => value,
            Err(fault) => return vec![format!("the body is not JSON: {fault}")],
        };
        let validators = match self.validators(schema) {
            Ok(validators) => validators,
            Err(fault) => return vec![fault],
        };
        let mut faults = Vec::new();
        explain(&validators.original.iter_errors(&value).collect::<Vec<_>>(), &mut faults);
        // A faulty value does not count as named: the closed copy would complain about its neighbours as well.
        if faults.is_empty() {
            explain(&validators.closed.iter_errors(&value).collect::<Vec<_>>(), &mut faults);
        }
        faults
    }

    fn validators(&self, schema: &str) -> Result<Arc<Validators>, String> {
        // A schema that only refers to another, as all refusals do, shares that one's validators.
        let schema = &self.resolve(schema.to_owned()).ok_or_else(|| format!("no schema at {schema}"))?;
        if let Some(validators) = lock(&self.validators).get(schema) {
            return Ok(Arc::clone(validators));
        }
        // Compiled outside of the lock: a deep schema takes its time, and other tests have other schemas to check.
        let build = |registry, root: Value| {
            let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true);
            let validator = options.with_registry(registry).build(&root);
            validator.map_err(|fault| format!("the schema at {schema}: {fault}"))
        };
        let reference = |name| format!("{name}#{}", schema.replace('{', "%7B").replace('}', "%7D"));
        let closed = json!({ "$ref": reference(CLOSED), "unevaluatedProperties": false });
        let validators = Arc::new(Validators {
            original: build(&self.original, json!({ "$ref": reference(ORIGINAL) }))?,
            closed: build(&self.closed, closed)?,
        });
        lock(&self.validators).insert(schema.to_owned(), Arc::clone(&validators));
        Ok(validators)
    }
}

/// Returns the code of a refusal's body, which is an object or an array of one.
fn error_code(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    body.get(0).unwrap_or(&body)["error"].as_str().map(str::to_owned)
}

/// Closes every schema of the document that an outgoing body is checked against.
fn close_document(document: &mut Value) {
    if let Some(components) = document.get_mut("components") {
        inside(components, "schemas").for_each(|schema| close(schema, false));
        inside(components, "responses").for_each(close_content);
        inside(components, "requestBodies").for_each(close_content);
        for operation in inside(components, "pathItems").flat_map(each) {
            operation.get_mut("requestBody").into_iter().for_each(close_content);
        }
    }
    for operation in inside(document, "paths").flat_map(each) {
        inside(operation, "responses").for_each(close_content);
    }
    for operation in inside(document, "webhooks").flat_map(each) {
        operation.get_mut("requestBody").into_iter().for_each(close_content);
    }
}

fn close_content(holder: &mut Value) {
    for media in inside(holder, "content") {
        media.get_mut("schema").into_iter().for_each(|schema| close(schema, false));
    }
}

/// `begins`: a value begins at this schema, instead of another schema going on here.
fn close(schema: &mut Value, begins: bool) {
    let Some(keywords) = schema.as_object_mut() else { return };
    if begins {
        keywords.entry("unevaluatedProperties").or_insert(Value::Bool(false));
    }
    for (keyword, value) in keywords {
        match keyword.as_str() {
            "properties" | "patternProperties" => each(value).for_each(|schema| close(schema, true)),
            "prefixItems" => each(value).for_each(|schema| close(schema, true)),
            // A map of anything is a promise too; utoipa writes it as the empty schema.
            "additionalProperties" if *value == json!({}) => {}
            "items" | "additionalProperties" => close(value, true),
            "allOf" | "anyOf" | "oneOf" => each(value).for_each(|schema| close(schema, false)),
            "dependentSchemas" => each(value).for_each(|schema| close(schema, false)),
            "then" | "else" => close(value, false),
            _ => {}
        }
    }
}

/// Returns one line for each fault: its place, and the fault. Innermost first: an outer fault may be nothing but its echo.
fn explain(errors: &[ValidationError<'_>], faults: &mut Vec<String>) {
    let mut errors: Vec<_> = errors.iter().collect();
    errors.sort_by_key(|error| {
        let depth = error.instance_path().as_str().split('/').count();
        (std::cmp::Reverse(depth), unnamed(error).is_some())
    });
    for error in errors {
        let path = error.instance_path().as_str();
        if let Some(names) = unnamed(error) {
            let fields: Vec<_> = names.iter().map(|name| format!("{path}/{name}")).collect();
            // A field that is faulty inside makes its holder forget which fields its schema names.
            let holds = |field: &String| faults.iter().any(|fault| fault.starts_with(&format!("{field}/")));
            if !fields.iter().any(holds) {
                faults.extend(
                    fields.iter().map(|field| format!("{field}: the schema does not name this field")),
                );
            }
        } else if let Some(errors) = meant(error, path) {
            explain(errors, faults);
        } else {
            faults.push(sentence(error));
        }
    }
}

fn unnamed<'a>(error: &'a ValidationError<'_>) -> Option<&'a [String]> {
    if let Kind::UnevaluatedProperties { unexpected } | Kind::AdditionalProperties { unexpected } =
        error.kind()
    {
        return Some(unexpected);
    }
    None
}

/// Returns the faults of the alternative that was meant, where none of several fits.
fn meant<'a>(error: &'a ValidationError<'_>, path: &str) -> Option<&'a [ValidationError<'static>]> {
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else { return None };
    let alternatives = context.iter().filter(|errors| !errors.iter().any(|error| is_of_another(error, path)));
    alternatives.min_by_key(|errors| errors.len()).map(Vec::as_slice)
}

fn sentence(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    let mut sentence = format!("{}: {error}", if path.is_empty() { "body" } else { path });
    if let Some((cut, _)) = sentence.char_indices().nth(300) {
        sentence.truncate(cut);
        sentence.push_str("...");
    }
    sentence
}

/// Returns whether this fault only says that the value at `path` belongs to another alternative: null where an object was meant,
/// or an object that a constant field tells apart.
fn is_of_another(error: &ValidationError<'_>, path: &str) -> bool {
    let single = |options: &Value| options.as_array().is_some_and(|options| options.len() == 1);
    matches!(error.kind(), Kind::Type { .. } if error.instance_path().as_str() == path)
        || matches!(error.kind(), Kind::Constant { .. })
        || matches!(error.kind(), Kind::Enum { options } if single(options))
}

fn report(name: &str, faults: &[String]) -> Result<(), String> {
    if faults.is_empty() {
        return Ok(());
    }
    Err(faults.iter().map(|fault| format!("{name}: {fault}")).collect::<Vec<_>>().join("\n"))
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Returns the values of an object or array, and none of other values.
fn each(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Object(fields) => Box::new(fields.values_mut()),
        Value::Array(items) => Box::new(items.iter_mut()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Box::new(std::iter::empty()),
    }
}

fn inside<'a>(value: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    value.get_mut(key).into_iter().flat_map(each)
}

/// Returns a key as it stands in a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn essence(media: &str) -> String {
    media.split(';').next().unwrap_or_default().trim().to_lowercase()
}

fn covers(documented: &str, sent: &str) -> bool {
    documented == sent
        || documented == "*/*"
        || documented.strip_suffix('*').is_some_and(|kind| sent.starts_with(kind))
}

/// A failed test has its own message; the next one is not to fail for a poisoned lock.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[path = "contract/tests.rs"]
mod tests;
