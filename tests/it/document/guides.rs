//! README and docs say what is so: their `sh` blocks are run against the real program, each document's one after the other in
//! one shell, and what they print is compared with what the document shows. docs/contributing.md says which language of a
//! block means what.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::document::site;
use crate::harness::postgres::skipped;
use crate::harness::process::{Process, as_of_tests, free_address, install, program};
use crate::webhooks::verifiers;

const MARK: &str = "=== the end of a block ===";
/// What documents call the server, its first key, and a receiver of webhooks.
const URL: &str = "http://127.0.0.1:8080";
const KEY: &str = "sk_test_0123456789";
const RECEIVER: &str = "127.0.0.1:9000";

const TOOLS: [&str; 3] = ["curl", "jq", "openssl"];
const MISSING: &str = "curl, jq or openssl is not installed, so the tests on it are skipped: no document is run (.ci/run installs them).\n";

/// `curl` as it is, but the status of each answer is kept, too.
const CURL: &str = "#!/bin/sh\nexec \"$REAL_CURL\" --dump-header \"$(mktemp \"$HEADS/XXXXXX\")\" \"$@\"\n";

/// A fenced block: its language, its file's name if it has one, its text, and the line on which it begins.
struct Block {
    language: String,
    file: Option<String>,
    text: String,
    line: usize,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(info), None) => {
                let mut words = info.split_whitespace().map(str::to_owned);
                let language = words.next().unwrap_or_default();
                open = Some(Block { language, file: words.next(), text: String::new(), line: index + 2 });
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
    assert!(open.is_none(), "a block has no end");
    blocks
}

/// What runs a block of this language from its file.
fn runs(block: &Block) -> Option<(&'static str, &'static str)> {
    match block.language.as_str() {
        "sh" => Some((".", "sh")),
        // A file waits for the block that runs it.
        _ if block.file.is_some() => None,
        "python" => Some(("python3", "py")),
        "javascript" => Some(("node", "mjs")),
        _ => None,
    }
}

fn found(tool: &str) -> Option<PathBuf> {
    let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).stderr(Stdio::null()).output();
    let path = String::from_utf8(found.ok()?.stdout).unwrap();
    (!path.is_empty()).then(|| path.trim().into())
}

/// A document while it runs: a folder in which its blocks find what those before them have left, and a server.
struct Guide {
    name: String,
    blocks: Vec<Block>,
    folder: tempfile::TempDir,
    server: Process,
    /// Where this machine has a port for a receiver.
    receiver: SocketAddr,
}

impl Guide {
    fn open(name: String) -> Option<Self> {
        let blocks = blocks(&site::read(&name));
        if !blocks.iter().any(|block| runs(block).is_some()) {
            return None;
        }
        if TOOLS.iter().any(|tool| found(tool).is_none()) {
            skipped(MISSING).unwrap_or_else(|missing| panic!("{missing}"));
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let server =
            Process::start(program(&folder.path().join("data")).env("CARD_PAYMENTS_SECRET_KEY", KEY));
        let receiver = free_address();
        Some(Self { name, blocks, folder, server, receiver })
    }

    /// Where a block of the document begins.
    fn line(&self, n: usize) -> String {
        format!("{}:{}", self.name, self.blocks[n].line)
    }

    fn heads(&self, n: usize) -> PathBuf {
        self.folder.path().join(format!("heads_{n}"))
    }

    /// A text with the addresses that are here in place of the document's.
    fn placed(&self, text: &str) -> String {
        text.replace(URL, &format!("http://{}", self.server.address))
            .replace(RECEIVER, &self.receiver.to_string())
    }

    /// What each block prints; nothing where it does not run, or not on this machine.
    fn printed(&self) -> Vec<Option<String>> {
        let folder = self.folder.path();
        let (mut script, mut ran) = (String::from("set -eu\n"), Vec::new());
        for (n, block) in self.blocks.iter().enumerate() {
            let text = self.placed(&block.text);
            if let Some(file) = &block.file {
                std::fs::write(folder.join(file), &text).unwrap();
            }
            let tool = runs(block).filter(|(tool, _)| *tool == "." || found(tool).is_some());
            if let Some((tool, ending)) = tool {
                std::fs::write(folder.join(format!("block_{n}.{ending}")), &text).unwrap();
                std::fs::create_dir(self.heads(n)).unwrap();
                let run = format!("{tool} ./block_{n}.{ending}");
                writeln!(script, "export HEADS={}\n{run}\nprintf '{MARK}\\n'", self.heads(n).display())
                    .unwrap();
            } else if !["json", "text", "sh"].contains(&block.language.as_str()) {
                eprintln!("{}: a block of {:?} is not run", self.line(n), block.language);
            }
            ran.push(tool.is_some());
        }
        std::fs::write(folder.join("guide.sh"), script).unwrap();
        // What blocks leave running ends with them.
        let script = "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT; . ./guide.sh";
        let output = self.shell().args(["300", "bash", "-c", script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} after {text}\n{stderr}", self.name);
        let mark = format!("{MARK}\n");
        let mut texts = text.split(&mark).map(str::to_owned);
        ran.into_iter().map(|ran| if ran { texts.next() } else { None }).collect()
    }

    /// A command that has a reader's tools: this program, the published verifiers, and a `curl` that is watched.
    fn shell(&self) -> Command {
        let (folder, root) = (self.folder.path(), site::root());
        let tools = folder.join("tools");
        std::fs::create_dir(&tools).unwrap();
        std::fs::write(folder.join("curl"), CURL).unwrap();
        install(&folder.join("curl"), &tools.join("curl"));
        let modules = folder.join("node_modules");
        std::fs::create_dir(&modules).unwrap();
        let published = std::fs::read_dir(root.join("tests/verifiers/node_modules")).into_iter().flatten();
        let published = published.map(|module| module.unwrap().path());
        for module in published.chain([root.join("packages/npm")]) {
            // Ours is called as npm calls it.
            let name = module.file_name().filter(|name| *name != "npm").unwrap_or("card-payments".as_ref());
            std::os::unix::fs::symlink(&module, modules.join(name)).unwrap();
        }
        let here = Path::new(env!("CARGO_BIN_EXE_card-payments")).parent().unwrap();
        let mut path =
            vec![tools, here.to_owned(), root.join(verifiers::PYTHON).parent().unwrap().to_owned()];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        let mut command = Command::new("timeout");
        command
            .current_dir(folder)
            .envs(as_of_tests())
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("REAL_CURL", found("curl").unwrap_or_default())
            .env("URL", format!("http://{}", self.server.address))
            .env("KEY", KEY)
            .env("PORT", self.receiver.port().to_string())
            .env("CARD_PAYMENTS_DATA_DIR", folder.join("data"))
            .env("PYTHONPATH", root.join("packages/python"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTEST_PLUGINS", "card_payments.pytest_plugin");
        command
    }

    /// The statuses of the answers that `curl` had in a block.
    fn statuses(&self, n: usize) -> Vec<u16> {
        let heads = std::fs::read_dir(self.heads(n)).unwrap().map(|head| head.unwrap().path());
        let heads = heads.map(|head| std::fs::read_to_string(head).unwrap());
        heads
            .filter_map(|head| {
                let status = |line: &str| line.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.parse().ok();
                head.lines().filter_map(status).next_back()
            })
            .collect()
    }

    /// Runs all blocks, and compares their output with the document. A block that shows no answer must succeed.
    fn check_outputs(self) {
        let printed = self.printed();
        let mut last = None;
        for (n, (block, printed)) in self.blocks.iter().zip(printed).enumerate() {
            if runs(block).is_some() {
                if printed.is_some() {
                    let next = self.blocks.get(n + 1);
                    let may_be_refused =
                        next.is_some_and(|next| next.language == "text" || next.text.contains("\"error\""));
                    let refused = self.statuses(n).into_iter().find(|status| *status >= 400);
                    assert!(
                        may_be_refused || refused.is_none(),
                        "{}: {refused:?}, {printed:?}",
                        self.line(n)
                    );
                }
                last = printed;
                continue;
            }
            let Some(found) = last.take() else { continue };
            match block.language.as_str() {
                "json" => {
                    let read = |text: &str| {
                        serde_json::from_str::<Value>(text)
                            .unwrap_or_else(|error| panic!("{}: {error}: {text}", self.line(n)))
                    };
                    let (shown, answer) = (read(&self.placed(&block.text)), read(&found));
                    assert!(
                        is_shown_by(&shown, &answer),
                        "{} shows {shown}, but there is {answer}",
                        self.line(n)
                    );
                }
                "text" => assert_eq!(block.text, found, "{}", self.line(n)),
                _ => {}
            }
        }
        self.server.stopped();
    }
}

/// Returns whether everything that is shown is there. Tokens are others each time.
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
fn documents_tell_what_happens() {
    // The receivers that docs/webhooks.md shows need their libraries, and the tests of the other page pytest.
    let needing = ["docs/webhooks.md", "docs/examine.md", "docs/pact.md", EXAMPLES];
    let documents = site::documents().into_iter();
    let guides = documents.filter(|name| !needing.contains(&name.as_str()) || verifiers::installed());
    let guides: Vec<_> = guides.filter_map(Guide::open).collect();
    assert!(guides.len() >= 5, "{}", guides.len());
    std::thread::scope(|scope| {
        for guide in guides {
            scope.spawn(move || guide.check_outputs());
        }
    });
}

/// Shows the examples of the packages.
const EXAMPLES: &str = "docs/testing-in-your-language.md";

#[test]
fn the_examples_of_the_packages_are_those_of_their_page() {
    let shown = blocks(&site::read(EXAMPLES));
    for example in [
        "python/examples/test_checkout.py",
        "npm/examples/checkout.test.mjs",
        "java/examples/CheckoutTest.java",
        "go/examples/checkout_test.go",
        "rust/examples/checkout.rs",
    ] {
        let text = site::read(&format!("packages/{example}"));
        assert!(shown.iter().any(|block| block.text == text), "{EXAMPLES} does not show packages/{example}");
    }
}

#[test]
fn every_call_that_a_document_shows_is_run() {
    for name in site::documents() {
        let document = site::read(&name);
        let mut rest = document.clone();
        for block in blocks(&document) {
            let place = format!("{name}:{}", block.line);
            let calls = block.text.lines().any(|line| line.trim_start().starts_with("curl "));
            assert!(!calls || block.language == "sh", "{place}: a block with curl is of the language sh");
            rest = rest.replace(&block.text, "");
        }
        assert!(!rest.contains("`curl "), "{name}: a call stands in a block of its own");
    }
}

/// The texts from which a reader copies calls: the documents and the front page of the API's document.
fn copied_from() -> Vec<(String, String)> {
    let front = "src/api/openapi/front.md".to_owned();
    site::documents().into_iter().chain([front]).map(|name| (name.clone(), site::read(&name))).collect()
}

#[test]
fn two_documents_may_be_followed_on_one_server() {
    let mut owners = BTreeMap::new();
    for (name, text) in copied_from() {
        let page = Path::new(&name).file_stem().unwrap().to_str().unwrap().to_lowercase();
        let keys = text.split("Idempotency-Key: ").skip(1).filter_map(|rest| rest.split(['"', '\'']).next());
        // A variable is of a program that chooses a key each time; a sentence is no key.
        for key in keys.filter(|key| !key.starts_with('$') && !key.contains(' ')) {
            assert!(key.starts_with(&format!("{page}-")), "{name}: {key} is not named after the page");
            let owner = owners.entry(key.to_owned()).or_insert_with(|| name.clone());
            assert_eq!(*owner, name, "{key}");
        }
    }
    assert!(owners.len() >= 2, "{owners:?}");
}

#[test]
fn no_call_needs_a_newer_curl_than_debian_has() {
    for (name, text) in copied_from() {
        let text = text.replace("\\\n", " ");
        for command in text.split(['|', ';', '\n']) {
            let newer = command.contains("curl ") && command.contains(" --json");
            assert!(!newer, "{name}: --json needs curl 7.82: {command}");
        }
    }
}

#[test]
fn a_shown_answer_must_be_a_part_of_the_real_one() {
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
