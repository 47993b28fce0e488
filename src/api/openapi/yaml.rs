//! The document as YAML. A value that fits on one line is written on one line, and so is every example, whatever its length: a reader
//! sees an operation at once.

use serde_json::{Map, Value};

/// The longest line, in characters, except for examples.
const LINE_MAX: usize = 500;
/// Keys whose value is written on one line.
const EXAMPLES: [&str; 2] = ["example", "value"];

pub(super) fn written(document: &Value) -> String {
    let mut out = String::new();
    if let Some(all) = document.as_object() {
        fields(&mut out, all, 0);
    }
    out
}

fn fields(out: &mut String, all: &Map<String, Value>, indent: usize) {
    for (name, value) in all {
        spaces(out, indent);
        out.push_str(&scalar(name, false));
        out.push(':');
        after(out, value, indent, EXAMPLES.contains(&name.as_str()));
    }
}

fn spaces(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Writes a value after its name or dash, and ends the line. A value that does not fit starts on the next line, indented by one space.
fn after(out: &mut String, value: &Value, indent: usize, is_example: bool) {
    let line = line(value);
    let before = out.len() - out.rfind('\n').map_or(0, |end| end + 1);
    let fits = is_example || before + 1 + line.len() <= LINE_MAX;
    match value {
        Value::Object(all) if !fits => {
            out.push('\n');
            fields(out, all, indent + 1);
        }
        Value::Array(items) if !fits => {
            out.push('\n');
            for item in items {
                spaces(out, indent + 1);
                out.push('-');
                after(out, item, indent + 1, false);
            }
        }
        Value::String(text) if is_block(text) => {
            out.push_str(if text.ends_with('\n') { " |\n" } else { " |-\n" });
            for line in text.lines() {
                spaces(out, if line.is_empty() { 0 } else { indent + 1 });
                out.push_str(line);
                out.push('\n');
            }
        }
        Value::String(text) => out.extend([" ", &scalar(text, false), "\n"]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            out.extend([" ", &line, "\n"]);
        }
    }
}

fn line(value: &Value) -> String {
    match value {
        Value::Object(all) => {
            let fields: Vec<_> =
                all.iter().map(|(name, value)| format!("{}: {}", scalar(name, true), line(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(line).collect::<Vec<_>>().join(",")),
        Value::String(text) => scalar(text, true),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Tells whether a text of several lines reads the same as a block.
fn is_block(text: &str) -> bool {
    let is_odd = |line: &str| line.ends_with(' ') || line.contains(|letter: char| letter.is_control());
    text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.ends_with("\n\n")
        && !text.split('\n').any(is_odd)
}

/// Returns a text without quotes where every reader of YAML 1.1 and 1.2 takes it for a string, and as JSON, which is YAML, elsewhere.
fn scalar(text: &str, in_line: bool) -> String {
    // Values of other types in YAML 1.1, in any letter case.
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let is_harmless = |letter: char| {
        letter.is_ascii_alphanumeric()
            || " _-/.$;()@".contains(letter)
            || (!in_line && ",'`{}".contains(letter))
    };
    let begins_well = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || "_$/".contains(letter));
    // 3.1.0 is not a number.
    let is_version = text.split('.').count() > 2
        && text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    let is_plain = (begins_well || is_version) && !text.ends_with(' ') && text.chars().all(is_harmless);
    if is_plain && !WORDS.contains(&text.to_ascii_lowercase().as_str()) {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}
