//! A statement's values as one array of texts: a function has parameters of fixed types.

use std::fmt::Write;
use std::mem::discriminant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sea_orm::Value;
use sea_orm::sqlx::error::BoxDynError;

use super::super::group_statement::Parameters;

/// The values of a statement.
#[derive(Default)]
pub(super) struct TextValues(Vec<TextValue>);

impl TextValues {
    /// Returns the values; `None` if one has a type that units do not write.
    pub fn of(values: &[Value]) -> Option<Self> {
        values.iter().map(|value| TextValue::of(Some(value))).collect::<Option<_>>().map(Self)
    }

    /// Returns the text of a statement whose only parameter is an array with the text of each value, and these texts. `None` if the
    /// statement names a value that is not there.
    pub fn into_one(self, sql: &str) -> Option<(String, Vec<Option<String>>)> {
        let mut parts = sql.split('$');
        let mut text = parts.next()?.to_owned();
        for part in parts {
            let digits = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
            let (number, rest) = part.split_at(digits);
            let number: usize = number.parse().ok()?;
            let TextValue { before, after, .. } = self.0.get(number.checked_sub(1)?)?;
            // Writing to a String cannot fail.
            let _ = write!(text, "{before}($1)[{number}]{after}{rest}");
        }
        Some((text, self.0.into_iter().map(|value| value.text).collect()))
    }
}

impl Parameters for TextValues {
    fn number(&mut self, number: &Value) -> Result<(), BoxDynError> {
        self.0.push(TextValue::of(Some(number)).ok_or("no number")?);
        Ok(())
    }

    fn array<'v>(&mut self, values: impl Iterator<Item = &'v Value> + Clone) -> Result<(), BoxDynError> {
        self.0.push(TextValue::of_array(values).ok_or("a column has values of which no array is made")?);
        Ok(())
    }
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

    /// Returns the text of an array of values of one kind.
    fn of_array<'v>(values: impl Iterator<Item = &'v Value> + Clone) -> Option<Self> {
        let first = values.clone().next()?;
        let after = match first {
            Value::Bool(_) => "::boolean[]",
            Value::SmallInt(_) => "::smallint[]",
            Value::Int(_) => "::integer[]",
            Value::BigInt(_) => "::bigint[]",
            Value::Uuid(_) => "::uuid[]",
            Value::String(_) => "::text[]",
            Value::Bytes(_) => "::bytea[]",
            _ => return None,
        };
        let mut text = String::new();
        for value in values {
            text.push(if text.is_empty() { '{' } else { ',' });
            if discriminant(value) != discriminant(first) {
                return None;
            }
            let element = match value {
                Value::Bytes(bytes) => bytes.as_ref().map(|bytes| hexadecimal(bytes)),
                _ => Self::of(Some(value))?.text,
            };
            match element {
                Some(element) => {
                    let _ = write!(text, "\"{}\"", element.replace('\\', r"\\").replace('"', "\\\""));
                }
                None => text.push_str("NULL"),
            }
        }
        text.push('}');
        Some(Self { before: "", after, text: Some(text) })
    }
}

/// Returns PostgreSQL's text of bytes.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(r"\x".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn statement(sql: &str, values: Vec<Value>) -> Option<(String, Vec<Option<String>>)> {
        TextValues::of(&values)?.into_one(sql)
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

    #[test]
    fn a_column_is_an_array_of_its_type() {
        let columns: [&[Value]; 4] = [
            &["it's {\"a\": \"\\n\"}, NULL".into(), Value::String(None), "".into()],
            &[vec![0_u8, 255].into(), Value::Bytes(None)],
            &[7_i64.into()],
            &[true.into(), false.into()],
        ];
        let mut values = TextValues::default();
        for column in columns {
            values.array(column.iter()).expect("an array");
        }
        values.number(&3.into()).expect("a number");
        let (text, texts) = values.into_one("unnest($1, $2, $3, $4), $5").expect("a text");
        assert_eq!(
            text,
            "unnest(($1)[1]::text[], ($1)[2]::bytea[], ($1)[3]::bigint[], ($1)[4]::boolean[]), ($1)[5]::integer"
        );
        let texts: Vec<_> = texts.into_iter().map(Option::unwrap_or_default).collect();
        let first = r#"{"it's {\"a\": \"\\n\"}, NULL",NULL,""}"#;
        assert_eq!(texts, [first, r#"{"\\x00ff",NULL}"#, r#"{"7"}"#, r#"{"true","false"}"#, "3"]);
    }

    #[test]
    fn values_of_two_kinds_make_no_array() {
        let mixed: [Value; 2] = [1_i64.into(), 1_i32.into()];
        assert!(TextValues::default().array(mixed.iter()).is_err());
        assert!(TextValues::default().array([].iter()).is_err());
    }
}
