//! The errors of `validator`, in the API's words.

use std::borrow::Cow;

use serde_json::Value;
use validator::{ValidationError, ValidationErrors, ValidationErrorsKind};

use super::findings::DecodeReport;

/// The field under which `validator` reports the errors of functions on a whole struct.
const WHOLE_STRUCT: &str = "__all__";

/// Adds the errors of the struct at `path`, except those of placeholders.
///
/// A rule for the whole struct is made by [`super::rules::check_all`]. It knows that a placeholder is something that was sent, and
/// counts only if what decides is none.
pub(super) fn note(errors: &ValidationErrors, path: &str, findings: &mut DecodeReport) {
    // A HashMap has no order; the faults are sorted later, but not those of one parameter, where its own rules come first, and those
    // of parameters that have no order.
    let mut errors: Vec<_> = errors.errors().iter().collect();
    errors.sort_by_key(|(field, _)| (*field == WHOLE_STRUCT, *field));
    for (field, kind) in errors {
        let param = |name: &str| {
            if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
        };
        match kind {
            ValidationErrorsKind::Field(found) => {
                for error in found {
                    if field == WHOLE_STRUCT {
                        if !error.params.keys().any(|decisive| findings.made_up(&param(decisive))) {
                            findings.faults.add(&param(&error.code), predicate(error));
                        }
                        continue;
                    }
                    let param = param(&parameter(field, path, findings));
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

/// Returns the parameter of a Rust field, which is all that `validator` knows: `r#type` is `type`, and `public_key_hash` may be
/// sent as `publicKeyHash`.
fn parameter(field: &str, path: &str, findings: &DecodeReport) -> String {
    let field = field.trim_start_matches("r#");
    let declared: Vec<_> = findings.faults.fields(path).collect();
    let same = |name: &&&str| name.to_ascii_lowercase() == field.replace('_', "");
    if declared.contains(&field) { field } else { declared.iter().find(same).copied().unwrap_or(field) }
        .to_owned()
}

/// Returns the fault's text. Of the error's parameters it uses only the bounds: the rejected value is one of them and must not
/// reach a response or a log.
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
