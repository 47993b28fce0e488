//! A statement's values as one array of texts: a function has parameters of fixed types.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sea_orm::{Statement, Value};

/// Returns the text of a statement whose only parameter is an array with the text of each value, and these texts. `None` if a value
/// has a type that units do not write.
pub(super) fn with_one_value(
    Statement { sql, values, .. }: Statement,
) -> Option<(String, Vec<Option<String>>)> {
    let values = values.map(|values| values.0).unwrap_or_default();
    let values: Vec<_> = values.iter().map(|value| TextValue::of(Some(value))).collect::<Option<_>>()?;
    let mut parts = sql.split('$');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let digits = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(digits);
        let number: usize = number.parse().ok()?;
        let TextValue { before, after, .. } = values.get(number.checked_sub(1)?)?;
        // Writing to a String cannot fail.
        let _ = write!(text, "{before}($1)[{number}]{after}{rest}");
    }
    Some((text, values.into_iter().map(|value| value.text).collect()))
}

/// The text of a value, and what makes the value of it in SQL.
struct TextValue {
    before: &'static str,
    after: &'static str,
    text: Option<String>,
}

impl TextValue {
    fn of(value: Option<&Value>) -> Option<Self> {
        let (before, after, text) = match value {
            Some(Value::Bool(value)) => ("", "::boolean", value.map(|value| value.to_string())),
            Some(Value::SmallInt(value)) => ("", "::smallint", value.map(|value| value.to_string())),
            Some(Value::Int(value)) => ("", "::integer", value.map(|value| value.to_string())),
            Some(Value::BigInt(value)) => ("", "::bigint", value.map(|value| value.to_string())),
            Some(Value::Uuid(value)) => ("", "::uuid", value.map(|value| value.to_string())),
            Some(Value::String(value)) => ("", "", value.clone()),
            Some(Value::Bytes(value)) => {
                ("decode(", ", 'base64')", value.as_ref().map(|bytes| STANDARD.encode(bytes)))
            }
            _ => return None,
        };
        Some(Self { before, after, text })
    }
}

#[cfg(test)]
mod tests {
    use sea_orm::DbBackend;
    use uuid::Uuid;

    use super::*;

    fn statement(sql: &str, values: Vec<Value>) -> Option<(String, Vec<Option<String>>)> {
        with_one_value(Statement::from_sql_and_values(DbBackend::Postgres, sql, values))
    }

    #[test]
    fn each_value_is_cast_from_its_text_wherever_it_stands() {
        let values: Vec<Value> = vec![
            Uuid::nil().into(),
            (-7_i64).into(),
            true.into(),
            vec![0_u8, 255].into(),
            "it's $1, \"{}\"".into(),
            3_i32.into(),
            2_i16.into(),
        ];
        let (text, texts) =
            statement("VALUES ($1, $2, $3, $4, $5, $6, $7), ($1, $10)", values.clone()).unwrap_or_default();
        assert_eq!((text.as_str(), texts.len()), ("", 0), "there is no tenth value");
        let (text, texts) = statement("VALUES ($1, $2, $3, $4, $5, $6, $7), ($1)", values).expect("a text");
        assert_eq!(
            text,
            "VALUES (($1)[1]::uuid, ($1)[2]::bigint, ($1)[3]::boolean, decode(($1)[4], 'base64'), ($1)[5], ($1)[6]::integer, \
             ($1)[7]::smallint), (($1)[1]::uuid)"
        );
        let texts: Vec<_> = texts.into_iter().map(Option::unwrap_or_default).collect();
        let nil = Uuid::nil().to_string();
        assert_eq!(texts, [nil.as_str(), "-7", "true", "AP8=", "it's $1, \"{}\"", "3", "2"]);
    }

    #[test]
    fn a_missing_value_keeps_its_type() {
        let (text, texts) = statement("VALUES ($1)", vec![Value::BigInt(None)]).expect("a text");
        assert_eq!((text.as_str(), texts), ("VALUES (($1)[1]::bigint)", vec![None]));
    }

    #[test]
    fn a_value_without_a_text_and_another_dollar_make_no_call() {
        assert!(statement("VALUES ($1)", vec![Value::Double(Some(0.5))]).is_none());
        assert!(statement("SELECT '$', $1", vec![1.into()]).is_none());
    }
}
