//! What `validator` complains about, in the API's words.

use std::borrow::Cow;

use serde_json::Value;
use validator::{ValidationError, ValidationErrors, ValidationErrorsKind};

use super::findings::DecodeReport;

/// Where `validator` keeps the complaints of functions that look at a whole struct.
const WHOLE_STRUCT: &str = "__all__";

/// Adds the complaints about the struct at `path`, but for those about values that nobody sent.
///
/// A function that looks at the whole struct names the parameter in its error's `code`.
pub(super) fn note(errors: &ValidationErrors, path: &str, findings: &mut DecodeReport) {
    // A HashMap has no order; the faults bring their own, but not for parameters they do not know.
    let mut errors: Vec<_> = errors.errors().iter().collect();
    errors.sort_by_key(|(field, _)| *field);
    for (field, kind) in errors {
        let param = |name: &str| {
            if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
        };
        match kind {
            ValidationErrorsKind::Field(found) => {
                for error in found {
                    let name = if field == WHOLE_STRUCT {
                        error.code.as_ref().into()
                    } else {
                        parameter(field, path, findings)
                    };
                    let param = param(&name);
                    if !findings.made_up(&param) {
                        findings.faults.add(&param, predicate(error));
                    }
                }
            }
            ValidationErrorsKind::Struct(nested) => {
                note(nested, &param(&parameter(field, path, findings)), findings);
            }
            ValidationErrorsKind::List(items) => {
                let param = param(&parameter(field, path, findings));
                for nested in items.values() {
                    note(nested, &param, findings);
                }
            }
        }
    }
}

/// `validator` knows the Rust field only: `r#type` is `type`, and `public_key_hash` may be sent as
/// `publicKeyHash`.
fn parameter(field: &str, path: &str, findings: &DecodeReport) -> String {
    let field = field.trim_start_matches("r#");
    let declared: Vec<_> = findings.faults.fields(path).collect();
    let same = |name: &&&str| name.to_ascii_lowercase() == field.replace('_', "");
    if declared.contains(&field) { field } else { declared.iter().find(same).copied().unwrap_or(field) }
        .to_owned()
}

/// Of the error's parameters only the bounds are told: the rejected value is among them and must
/// not get into an answer or a log.
fn predicate(error: &ValidationError) -> Cow<'static, str> {
    if let Some(message) = &error.message {
        return message.clone();
    }
    let value = error.params.get("value");
    let limit = |name: &str| error.params.get(name).filter(|limit| limit.is_number());
    match (error.code.as_ref(), limit("min"), limit("max"), limit("equal")) {
        ("email", ..) => "is not formatted properly".into(),
        ("length", _, _, Some(size)) => format!("is the wrong length (should be {size} characters)").into(),
        ("length", _, Some(max), _) if value.is_some_and(Value::is_array) => {
            format!("has too many items (maximum is {max})").into()
        }
        ("length", Some(min), _, _) if is_shorter(value, min) => {
            format!("is too short (minimum is {min} characters)").into()
        }
        ("length", _, Some(max), _) => format!("is too long (maximum is {max} characters)").into(),
        ("range", Some(min), _, _) if is_less(value, min) => {
            format!("must be greater than or equal to {min}").into()
        }
        ("range", _, Some(max), _) => format!("must be at most {max}").into(),
        _ => "is not valid".into(),
    }
}

fn is_shorter(value: Option<&Value>, min: &Value) -> bool {
    let length = value.and_then(Value::as_str).map(|text| text.chars().count() as u64);
    length.zip(min.as_u64()).is_some_and(|(length, min)| length < min)
}

fn is_less(value: Option<&Value>, min: &Value) -> bool {
    value.and_then(Value::as_f64).zip(min.as_f64()).is_some_and(|(value, min)| value < min)
}
