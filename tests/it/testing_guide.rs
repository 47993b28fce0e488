//! The guides for testers and to wallets say what is so: their blocks are run against the real program, one after the other in one shell,
//! and what they print is compared with what the guide shows.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::process::{Process, program};

const MARK: &str = "=== the end of a block ===";

/// A fenced block: its language, its text, and the line on which it begins.
struct Block {
    language: String,
    text: String,
    line: usize,
}

fn blocks(guide: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in guide.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(language), None) => {
                open = Some(Block { language: language.into(), text: String::new(), line: index + 2 });
            }
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.text += line;
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    blocks
}

/// What runs a block of this language from its file.
fn runs(language: &str) -> Option<(&'static str, &'static str)> {
    match language {
        "sh" => Some((".", "sh")),
        "python" => Some(("python3", "py")),
        "javascript" => Some(("node", "mjs")),
        _ => None,
    }
}

fn is_there(tool: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// What each runnable block prints, in their order; nothing where this machine lacks its language.
fn printed(blocks: &[Block], folder: &Path, url: &str, key: &str) -> Vec<Option<String>> {
    let (mut script, mut ran) = (String::from("set -eu\n"), Vec::new());
    for (n, block) in blocks.iter().enumerate() {
        let Some((tool, ending)) = runs(&block.language) else { continue };
        let runs_here = tool == "." || is_there(tool);
        if runs_here {
            std::fs::write(folder.join(format!("block_{n}.{ending}")), &block.text).unwrap();
            writeln!(script, "{tool} ./block_{n}.{ending}\nprintf '{MARK}\\n'").unwrap();
        } else {
            eprintln!("{tool} is not there: line {} of the guide is not checked", block.line);
        }
        ran.push(runs_here);
    }
    std::fs::write(folder.join("guide.sh"), script).unwrap();
    let output = Command::new("timeout")
        .args(["60", "sh", "./guide.sh"])
        .current_dir(folder)
        .env("URL", url)
        .env("KEY", key)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let mark = format!("{MARK}\n");
    let mut texts = text.split(&mark).map(str::to_owned);
    ran.into_iter().map(|ran| if ran { texts.next() } else { None }).collect()
}

/// Whether everything that is shown is there. Tokens are others each time.
fn is_shown_by(shown: &Value, found: &Value) -> bool {
    match (shown, found) {
        (Value::Object(shown), Value::Object(found)) => {
            shown.iter().all(|(name, value)| found.get(name).is_some_and(|found| is_shown_by(value, found)))
        }
        (Value::Array(shown), Value::Array(found)) => {
            shown.len() == found.len()
                && shown.iter().zip(found).all(|(shown, found)| is_shown_by(shown, found))
        }
        (Value::String(shown), Value::String(found)) => {
            shown == found || prefix(shown).is_some_and(|prefix| Some(prefix) == self::prefix(found))
        }
        (shown, found) => shown == found,
    }
}

/// What a token is of.
fn prefix(text: &str) -> Option<&str> {
    let at = text.len().checked_sub(22)?;
    text.get(..at).filter(|prefix| prefix.ends_with('_'))
}

#[test]
fn the_guide_for_testers_tells_what_happens() {
    tells_what_happens("docs/testing.md", 20);
}

#[test]
fn the_guide_to_wallets_tells_what_happens() {
    if is_there("openssl") {
        tells_what_happens("docs/wallets.md", 10);
    } else {
        eprintln!("openssl is not there: docs/wallets.md is not checked");
    }
}

fn tells_what_happens(guide: &str, compared_at_least: usize) {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(folder.path()));
    let guide = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(guide)).unwrap();
    let blocks = blocks(&guide);
    let (key, _) = server.keys();
    let url = format!("http://{}", server.address);
    let mut printed = printed(&blocks, folder.path(), &url, &key).into_iter();
    let (mut last, mut compared) = (None, 0);
    for Block { language, text, line } in &blocks {
        if runs(language).is_some() {
            last = printed.next().unwrap();
            continue;
        }
        let Some(found) = last.take() else { continue };
        match language.as_str() {
            "json" => {
                let shown: Value =
                    serde_json::from_str(text).unwrap_or_else(|error| panic!("line {line}: {error}"));
                let answer: Value =
                    serde_json::from_str(&found).unwrap_or_else(|_| panic!("line {line}: {found}"));
                assert!(is_shown_by(&shown, &answer), "line {line} shows {shown}, but there is {answer}");
            }
            "text" => assert_eq!(*text, found, "line {line}"),
            other => panic!("line {line}: nobody knows how to compare {other}"),
        }
        compared += 1;
    }
    assert!(compared >= compared_at_least, "{compared}");
    server.stopped();
}

#[test]
fn what_is_shown_must_be_there() {
    let is_shown = |shown: &str, found: &str| {
        is_shown_by(&serde_json::from_str(shown).unwrap(), &serde_json::from_str(found).unwrap())
    };
    let token = r#"["ch_AZqYv3rVcBKUQ1mHn7tKRw"]"#;
    assert!(is_shown(r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#));
    assert!(is_shown(r#"[{"a": null}]"#, r#"[{"a": null, "b": []}]"#));
    assert!(is_shown(token, r#"["ch_BZqYv3rVcBKUQ1mHn7tKRw"]"#));
    assert!(!is_shown(token, r#"["rf_AZqYv3rVcBKUQ1mHn7tKRw"]"#));
    assert!(!is_shown(r#"{"a": 1}"#, r#"{"a": 2}"#));
    assert!(!is_shown(r#"{"a": null}"#, "{}"));
    assert!(!is_shown("[1]", "[1, 2]"));
}
