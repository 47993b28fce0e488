//! YAML with the line of each value.

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

use super::faults::Faults;

/// The nesting limit of lists and mappings.
const DEPTH_MAX: usize = 8;

/// A value in the file.
#[derive(Debug, Clone)]
pub struct Node {
    /// The line on which it begins, from 1.
    pub line: usize,
    pub is: Is,
}

/// A kind of value.
#[derive(Debug, Clone)]
pub enum Is {
    /// A string, a number, true or false.
    Scalar(Value),
    List(Vec<Node>),
    /// Names and values in the order of the file, each name once.
    Mapping(Vec<Named>),
}

#[derive(Debug, Clone)]
pub struct Named {
    pub line: usize,
    pub name: String,
    pub node: Node,
}

impl Node {
    pub fn json(&self) -> Value {
        match &self.is {
            Is::Scalar(value) => value.clone(),
            Is::List(nodes) => nodes.iter().map(Self::json).collect(),
            Is::Mapping(named) => named
                .iter()
                .map(|named| (named.name.clone(), named.node.json()))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    /// Returns the entries of a mapping; an empty value is an empty mapping.
    pub fn named(&self) -> Option<&[Named]> {
        match &self.is {
            Is::Mapping(named) => Some(named),
            Is::Scalar(Value::Null) => Some(&[]),
            Is::Scalar(_) | Is::List(_) => None,
        }
    }

    /// Returns a string or a number as it is written.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match &self.is {
            Is::Scalar(Value::String(text)) => Some(text.into()),
            Is::Scalar(Value::Number(number)) => Some(number.to_string().into()),
            Is::Scalar(_) | Is::List(_) | Is::Mapping(_) => None,
        }
    }
}

/// An open list or mapping.
struct Open {
    line: usize,
    is: Is,
    /// The name whose value comes next.
    name: Option<(usize, String)>,
    /// The lines of the names so far.
    lines: HashMap<String, usize>,
}

/// Parses a file. YAML errors are faults; `None` if nothing can be parsed.
pub fn parse(text: &str, faults: &mut Faults) -> Option<Node> {
    let mut parser = Parser::new_from_str(text);
    let (mut open, mut root): (Vec<Open>, Option<Node>) = (Vec::new(), None);
    while let Some(event) = parser.next_event() {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                faults.add(error.marker().line(), format!("is not YAML: {}", error.info()));
                return None;
            }
        };
        let line = span.start.line();
        let done = match event {
            Event::Scalar(text, style, ..) => Node { line, is: Is::Scalar(scalar(&text, style)) },
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == DEPTH_MAX => {
                faults.add(line, "stands too deep");
                return None;
            }
            Event::SequenceStart(..) => {
                open.push(Open::new(line, Is::List(Vec::new())));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::new(line, Is::Mapping(Vec::new())));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { line, is, .. }) = open.pop() else { continue };
                Node { line, is }
            }
            Event::Alias(_) => {
                faults.add(line, "an alias (*) is not understood here");
                Node { line, is: Is::Scalar(Value::Null) }
            }
            Event::DocumentStart(_) if root.is_some() => {
                faults.add(line, "a second document (---) is not understood here");
                return None;
            }
            Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::StreamStart
            | Event::StreamEnd
            | Event::Nothing => {
                continue;
            }
        };
        match open.last_mut() {
            Some(outer) => outer.take(done, faults),
            None => root = Some(done),
        }
    }
    root
}

impl Open {
    fn new(line: usize, is: Is) -> Self {
        Self { line, is, name: None, lines: HashMap::new() }
    }

    fn take(&mut self, node: Node, faults: &mut Faults) {
        match &mut self.is {
            Is::List(nodes) => nodes.push(node),
            Is::Mapping(all) => match self.name.take() {
                None => {
                    let name = node.text().map(Cow::into_owned);
                    if name.is_none() {
                        faults.add(node.line, "is no name");
                    }
                    self.name = Some((node.line, name.unwrap_or_default()));
                }
                Some((line, name)) => {
                    match self.lines.get(&name) {
                        Some(first) => faults.add(line, format!("{name} stands already in line {first}")),
                        // What is no name has its fault already.
                        None if name.is_empty() => {}
                        None => drop(self.lines.insert(name.clone(), line)),
                    }
                    all.push(Named { line, name, node });
                }
            },
            Is::Scalar(_) => {}
        }
    }
}

/// Parses a scalar. Plain ones may be numbers, true, false or null; quoted ones are strings. A number that would be written otherwise
/// stays text, because a leading zero or plus means something (`docs/decisions.md`, 403).
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return text.into();
    }
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        _ => {
            let number = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
            number.map_or_else(|| text.into(), Value::from)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use serde_json::json;

    #[test]
    fn everything_knows_its_line() {
        let mut faults = Faults::default();
        let text = "# a\nplans:\n  tea: { amount: 5, name: \"7\" }\n  list:\n    - 1\n    - b\nempty:\n";
        let root = parse(text, &mut faults).unwrap();
        assert!(faults.is_empty());
        let expected =
            json!({ "plans": { "tea": { "amount": 5, "name": "7" }, "list": [1, "b"] }, "empty": null });
        assert_eq!(root.json(), expected);
        let plans = &root.named().unwrap()[0];
        assert_eq!((plans.line, plans.node.named().unwrap()[0].line), (2, 3));
        let Is::List(list) = &plans.node.named().unwrap()[1].node.is else { panic!("a list") };
        assert_eq!(list.iter().map(|node| node.line).collect::<Vec<_>>(), [5, 6]);
    }

    #[test]
    fn as_many_names_as_a_file_holds_are_compared_at_once() {
        let began = Instant::now();
        let names: Vec<_> = (0..100_000).map(|n| format!("{n}:")).collect();
        let mut faults = Faults::default();
        parse(&names.join("\n"), &mut faults).unwrap();
        // Comparing each with all before it takes a minute.
        assert!(faults.is_empty() && began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_text_that_a_number_would_spell_otherwise_stays_as_it_is_written() {
        for text in ["0412345678", "+61412345678", "012984", "0123", "007", "+5", "-0", "1.50", "1e3", "0x1f"]
        {
            let root = parse(&format!("a: {text}\n{text}: 1"), &mut Faults::default()).unwrap();
            assert_eq!(root.json(), json!({ "a": text, text: 1 }));
        }
        for number in [0, 7, -1, 400, i64::MAX] {
            let root = parse(&format!("a: {number}"), &mut Faults::default()).unwrap();
            assert_eq!(root.json(), json!({ "a": number }));
        }
    }

    #[test]
    fn a_file_that_is_no_yaml_or_too_long_is_told_with_its_line() {
        let deep = "[".repeat(100);
        for (text, line, problem) in [
            ("a: [1\nb: 2", 2, "is not YAML"),
            ("a: 1\na: 2", 2, "a stands already in line 1"),
            ("{a: 1, a: 2}", 1, "a stands already in line 1"),
            ("a: &x 1\nb: *x", 2, "an alias"),
            ("a: 1\n---\nb: 2", 2, "a second document"),
            (&deep, 1, "stands too deep"),
            ("? [a]\n: 1", 1, "is no name"),
        ] {
            let mut faults = Faults::default();
            parse(text, &mut faults);
            let sorted = faults.into_sorted();
            assert_eq!(sorted.len(), 1, "{text}: {sorted:?}");
            assert!(sorted[0].line == line && sorted[0].fault.starts_with(problem), "{text}: {sorted:?}");
        }
    }
}
