//! Reads values of the tree, however they were sent. Each reader returns the predicate of a fault.

use serde_json::Value;

pub(crate) const BLANK: &str = "can't be blank";
pub(crate) const INVALID: &str = "is not valid";
pub(crate) const UNLISTED: &str = "is not included in the list";
pub(crate) const USED: &str = "has already been used";
pub(crate) const NO_NUMBER: &str = "is not a number";
const NO_INTEGER: &str = "must be an integer";
const TOO_LARGE: &str = "must be at most 9007199254740991";
const TOO_SMALL: &str = "must be greater than or equal to -9007199254740991";

/// Text that no client can send. It stands for optional text that cannot be read, which is invalid rather than absent.
pub(crate) const UNREADABLE: &str = "\0";

/// The largest integer that every JSON reader holds exactly.
const INTEGER_MAX: i64 = 9_007_199_254_740_991;
const INTEGER_MAX_AS_FLOAT: f64 = 9_007_199_254_740_991.0;

/// Returns whether a value is only white space, or an empty object or list. JSON null, too, although it usually counts as absent
/// before.
pub(crate) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_blank),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Reads an integer that every JSON reader holds exactly. 10.0 is none: a client that sends decimals means another unit.
pub(crate) fn integer(value: &Value) -> Result<i64, &'static str> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Err(NO_NUMBER),
    };
    if let Ok(integer) = text.parse::<i64>()
        && (-INTEGER_MAX..=INTEGER_MAX).contains(&integer)
    {
        return Ok(integer);
    }
    // Rust also parses "inf" and "NaN", which are no numbers here.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    Err(match text.parse::<f64>() {
        Ok(number) if plain && number > INTEGER_MAX_AS_FLOAT => TOO_LARGE,
        Ok(number) if plain && number < -INTEGER_MAX_AS_FLOAT => TOO_SMALL,
        Ok(_) if plain => NO_INTEGER,
        _ => NO_NUMBER,
    })
}

/// Reads true, false, 1 or 0, in upper or lower case.
pub(crate) fn boolean(value: &Value) -> Result<bool, &'static str> {
    match text(value).map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        Ok("true" | "1") => Ok(true),
        Ok("false" | "0") => Ok(false),
        _ => Err(UNLISTED),
    }
}

/// Reads text, or a number or boolean as text: some clients send card numbers as integers. Blank text becomes empty.
pub(crate) fn text(value: &Value) -> Result<String, &'static str> {
    match value {
        Value::String(text) if text.contains('\0') => Err(INVALID),
        Value::String(text) if text.trim().is_empty() => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null => Ok(String::new()),
        Value::Array(_) | Value::Object(_) => Err(INVALID),
    }
}

/// Reads one of the names that the type lists.
pub(crate) fn choice(value: &Value, names: &'static [&'static str]) -> Result<&'static str, &'static str> {
    let text = text(value).map_err(|_| UNLISTED)?;
    names.iter().copied().find(|name| *name == text.trim()).ok_or(UNLISTED)
}

/// Reads the items of a list: `a[]=x`, `a[0]=x`, or a single `a=x`. Omits blank items, which is how a form sends an empty
/// list.
pub(crate) fn items(value: &Value) -> Result<Vec<&Value>, &'static str> {
    let mut items: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => {
            let indexed = fields.iter().map(|(key, item)| key.parse::<u32>().map(|index| (index, item)));
            let mut indexed = indexed.collect::<Result<Vec<_>, _>>().map_err(|_| INVALID)?;
            indexed.sort_by_key(|(index, _)| *index);
            indexed.into_iter().map(|(_, item)| item).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![value],
    };
    items.retain(|item| !is_blank(item));
    Ok(items)
}

/// Returns whether the value must be refused: databases refuse U+0000, and keys that `serde_json` reserves would make it read the
/// value as something else, or refuse it.
pub(crate) fn is_unfit(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(is_unfit),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.contains('\0') || key.starts_with("$serde_json::") || is_unfit(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_integer_may_be_text_but_no_decimal() {
        for (sent, read) in [
            (json!(100), Ok(100)),
            (json!("05"), Ok(5)),
            (json!(" +7 "), Ok(7)),
            (json!(-9_007_199_254_740_991_i64), Ok(-INTEGER_MAX)),
            (json!(10.1), Err(NO_INTEGER)),
            (json!(10.0), Err(NO_INTEGER)),
            (json!("10.0"), Err(NO_INTEGER)),
            (json!("1e3"), Err(NO_INTEGER)),
            (json!("ten"), Err(NO_NUMBER)),
            (json!("NaN"), Err(NO_NUMBER)),
            (json!("inf"), Err(NO_NUMBER)),
            (json!("-"), Err(NO_NUMBER)),
            (json!("1,000"), Err(NO_NUMBER)),
            (json!(true), Err(NO_NUMBER)),
            (json!(["1"]), Err(NO_NUMBER)),
            (json!(9_007_199_254_740_992_u64), Err(TOO_LARGE)),
            (json!(u64::MAX), Err(TOO_LARGE)),
            (json!(1e300), Err(TOO_LARGE)),
            (json!("1e999999999"), Err(TOO_LARGE)),
            (json!("9".repeat(400)), Err(TOO_LARGE)),
            (json!("-9007199254740992"), Err(TOO_SMALL)),
            (json!(i64::MIN), Err(TOO_SMALL)),
        ] {
            assert_eq!(integer(&sent), read, "{sent}");
        }
    }

    #[test]
    fn a_boolean_may_be_text_in_any_case() {
        for sent in [json!(true), json!("True"), json!("1"), json!(1), json!(" TRUE ")] {
            assert_eq!(boolean(&sent), Ok(true), "{sent}");
        }
        for sent in [json!("yes"), json!(2), json!(1.0), json!({ "a": 1 })] {
            assert_eq!(boolean(&sent), Err(UNLISTED), "{sent}");
        }
    }

    #[test]
    fn a_list_may_be_indexed_or_single() {
        for sent in [json!({ "10": "b", "9": "a" }), json!(["", "a", "b"]), json!(["a", null, "b"])] {
            assert_eq!(items(&sent), Ok(vec![&json!("a"), &json!("b")]), "{sent}");
        }
        assert_eq!(items(&json!("a")), Ok(vec![&json!("a")]));
        assert_eq!(items(&json!([""])), Ok(vec![]));
        assert_eq!(items(&json!({ "a": 1 })), Err(INVALID));
    }
}
