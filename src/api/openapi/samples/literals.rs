//! JSON as a literal of a language.

use serde_json::Value;

/// The longest line of a literal; longer ones are broken into one item a line.
const LINE: usize = 110;

/// The style in which a language writes values.
pub(super) struct Style {
    pub object: (&'static str, &'static str),
    pub key: fn(&str) -> String,
    pub string: fn(&str) -> String,
    /// True, false and none.
    pub words: [&'static str; 3],
    /// One step of indentation.
    pub step: &'static str,
}

pub(super) const TYPESCRIPT: Style = Style {
    object: ("{ ", " }"),
    key: |name| format!("{name}: "),
    string: quoted,
    words: ["true", "false", "null"],
    step: "  ",
};

pub(super) const PYTHON: Style = Style {
    object: ("{", "}"),
    key: |name| format!("{}: ", quoted(name)),
    string: quoted,
    words: ["True", "False", "None"],
    step: "    ",
};

pub(super) const PHP: Style = Style {
    object: ("[", "]"),
    key: |name| format!("{} => ", single_quoted(name)),
    string: single_quoted,
    words: ["true", "false", "null"],
    step: "    ",
};

pub(super) const RUBY: Style = Style {
    object: ("{ ", " }"),
    key: |name| format!("{name}: "),
    string: single_quoted,
    words: ["true", "false", "nil"],
    step: "  ",
};

/// Returns a value as a literal whose first line stands behind `indentation`.
pub(super) fn literal(value: &Value, style: &Style, indentation: &str) -> String {
    let inner = format!("{indentation}{}", style.step);
    let (open, close, items): (_, _, Vec<_>) = match value {
        Value::Object(fields) => {
            let field = |(name, value): (&String, _)| (style.key)(name) + &literal(value, style, &inner);
            (style.object.0, style.object.1, fields.iter().map(field).collect())
        }
        Value::Array(items) => ("[", "]", items.iter().map(|item| literal(item, style, &inner)).collect()),
        Value::String(text) => return (style.string)(text),
        Value::Bool(true) => return style.words[0].to_owned(),
        Value::Bool(false) => return style.words[1].to_owned(),
        Value::Null => return style.words[2].to_owned(),
        Value::Number(number) => return number.to_string(),
    };
    if items.is_empty() {
        return format!("{}{}", open.trim_end(), close.trim_start());
    }
    let line = format!("{open}{}{close}", items.join(", "));
    if indentation.len() + line.len() <= LINE && !line.contains('\n') {
        return line;
    }
    let items = items.join(&format!(",\n{inner}"));
    format!("{}\n{inner}{items},\n{indentation}{}", open.trim_end(), close.trim_start())
}

/// Returns a text in double quotes, with the escapes of JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns a text in single quotes, as PHP and Ruby read it.
pub(super) fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Returns a text as one word of a shell.
pub(super) fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_written_as_its_language_writes_it() {
        let value = json!({ "name": "Roland's \\ \"Robot\"", "is": [true, null], "of": {}, "n": 1 });
        for (style, expected) in [
            (&TYPESCRIPT, r#"{ name: "Roland's \\ \"Robot\"", is: [true, null], of: {}, n: 1 }"#),
            (&PYTHON, r#"{"name": "Roland's \\ \"Robot\"", "is": [True, None], "of": {}, "n": 1}"#),
            (&PHP, r#"['name' => 'Roland\'s \\ "Robot"', 'is' => [true, null], 'of' => [], 'n' => 1]"#),
            (&RUBY, r#"{ name: 'Roland\'s \\ "Robot"', is: [true, nil], of: {}, n: 1 }"#),
        ] {
            assert_eq!(literal(&value, style, ""), expected);
        }
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn a_long_value_has_a_line_for_each_item() {
        let value = json!({ "a": "x".repeat(LINE), "b": { "c": 1 } });
        let expected = format!("{{\n    \"a\": \"{}\",\n    \"b\": {{\"c\": 1}},\n}}", "x".repeat(LINE));
        assert_eq!(literal(&value, &PYTHON, ""), expected);
    }
}
