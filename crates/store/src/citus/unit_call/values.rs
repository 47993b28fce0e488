//! A statement's parameters as one array of texts: a function has parameters of fixed types.

use std::fmt::{Display, Write};
use std::mem::discriminant;

use sea_orm::Value;
use sea_orm::sqlx::error::BoxDynError;

use crate::postgres::group_statement::Parameters;

/// The text of each parameter, and its type.
#[derive(Default)]
pub(super) struct TextValues {
    pub texts: Vec<String>,
    types: Vec<&'static str>,
}

impl Parameters for TextValues {
    fn name_in(&self, text: String) -> Result<String, BoxDynError> {
        let mut parts = text.split('$');
        let mut named = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
            let (number, rest) = part.split_at(digits);
            let number: usize = number.parse()?;
            let kind = number.checked_sub(1).and_then(|at| self.types.get(at)).ok_or("no such parameter")?;
            write!(named, "($1)[{number}]::{kind}{rest}")?;
        }
        Ok(named)
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "sea-orm knows many types; no column of ours is of others"
    )]
    fn number(&mut self, number: &Value) -> Result<(), BoxDynError> {
        let (kind, text) = match number {
            Value::Int(Some(number)) => ("integer", number.to_string()),
            Value::BigInt(Some(number)) => ("bigint", number.to_string()),
            _ => return Err("no number".into()),
        };
        self.add(kind, text);
        Ok(())
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "sea-orm knows many types; no column of ours is of others"
    )]
    fn array<'v>(&mut self, values: impl Iterator<Item = &'v Value> + Clone) -> Result<(), BoxDynError> {
        let first = values.clone().next().ok_or("a column without values")?;
        let kind = match first {
            Value::Bool(_) => "boolean[]",
            Value::SmallInt(_) => "smallint[]",
            Value::Int(_) => "integer[]",
            Value::BigInt(_) => "bigint[]",
            Value::Uuid(_) => "uuid[]",
            Value::String(_) => "text[]",
            Value::Bytes(_) => "bytea[]",
            _ => return Err("a column has values of which no array is made".into()),
        };
        let mut text = String::new();
        for value in values {
            if discriminant(value) != discriminant(first) {
                return Err("a column has values of two kinds".into());
            }
            text.push(if text.is_empty() { '{' } else { ',' });
            push_element(&mut text, value)?;
        }
        text.push('}');
        self.add(kind, text);
        Ok(())
    }
}

impl TextValues {
    fn add(&mut self, kind: &'static str, text: String) {
        self.types.push(kind);
        self.texts.push(text);
    }
}

/// Appends a value as PostgreSQL writes an element of an array.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "sea-orm knows many types; no column of ours is of others"
)]
fn push_element(text: &mut String, value: &Value) -> Result<(), BoxDynError> {
    fn push(text: &mut String, element: Option<impl Display>) -> std::fmt::Result {
        match element {
            Some(element) => write!(text, "{element}"),
            None => write!(text, "NULL"),
        }
    }
    match value {
        Value::Bool(value) => push(text, *value)?,
        Value::SmallInt(value) => push(text, *value)?,
        Value::Int(value) => push(text, *value)?,
        Value::BigInt(value) => push(text, *value)?,
        Value::Uuid(value) => push(text, *value)?,
        Value::String(Some(value)) => {
            text.push('"');
            for letter in value.chars() {
                if matches!(letter, '"' | '\\') {
                    text.push('\\');
                }
                text.push(letter);
            }
            text.push('"');
        }
        Value::Bytes(Some(bytes)) => {
            text.push_str(r#""\\x"#);
            bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}"))?;
            text.push('"');
        }
        _ => text.push_str("NULL"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn parameters(columns: &[&[Value]]) -> TextValues {
        let mut values = TextValues::default();
        for column in columns {
            values.array(column.iter()).expect("an array");
        }
        values
    }

    #[test]
    fn a_column_is_an_array_of_its_type() {
        let mut values = parameters(&[
            &["it's {\"a\": \"\\n\"}, NULL".into(), Value::String(None), "".into()],
            &[vec![0_u8, 255].into(), Value::Bytes(None)],
            &[7_i64.into(), Value::BigInt(None)],
            &[true.into(), false.into()],
            &[Uuid::from_u128(1).into()],
            &[Value::SmallInt(Some(-1))],
        ]);
        values.number(&3.into()).expect("a number");
        let text = values.name_in("unnest($1, $2, $3, $4, $5, $6), $7".to_owned()).expect("a text");
        assert_eq!(
            text,
            "unnest(($1)[1]::text[], ($1)[2]::bytea[], ($1)[3]::bigint[], ($1)[4]::boolean[], ($1)[5]::uuid[], \
             ($1)[6]::smallint[]), ($1)[7]::integer"
        );
        let expected = [
            r#"{"it's {\"a\": \"\\n\"}, NULL",NULL,""}"#,
            r#"{"\\x00ff",NULL}"#,
            "{7,NULL}",
            "{true,false}",
            "{00000000-0000-0000-0000-000000000001}",
            "{-1}",
            "3",
        ];
        assert_eq!(values.texts, expected);
    }

    #[test]
    fn a_parameter_is_named_wherever_and_as_often_as_it_stands() {
        let values = parameters(&[&[7_i64.into()][..]; 12]);
        let text = values.name_in("$12 = $1 AND $1".to_owned()).expect("a text");
        assert_eq!(text, "($1)[12]::bigint[] = ($1)[1]::bigint[] AND ($1)[1]::bigint[]");
        assert_eq!(values.name_in("no parameter".to_owned()).expect("a text"), "no parameter");
    }

    #[test]
    fn a_text_that_is_no_array_or_no_parameter_is_refused() {
        for column in [&[1_i64.into(), 1_i32.into()][..], &[], &[Value::Double(Some(0.5))]] {
            assert!(TextValues::default().array(column.iter()).is_err(), "{column:?}");
        }
        assert!(TextValues::default().number(&"3".into()).is_err());
        let values = parameters(&[&[7_i64.into()]]);
        for text in ["$2", "$0", "SELECT '$', $1"] {
            assert!(values.name_in(text.to_owned()).is_err(), "{text}");
        }
    }
}
