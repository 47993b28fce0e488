//! Generated clients against the real server: see docs/clients.md. `.ci/run` installs the generators.

mod collection;
mod generators;
mod page;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::Receiver;
use crate::harness::postgres::skipped;
use crate::harness::process::{Process, program};
use crate::webhooks::verifiers::root;

const MISSING: &str = "A generator of clients, or what compiles its client, is not installed, so the tests on it are skipped: \
                       .ci/run installs both where there are node, npm and python3 with venv.\n";
/// The Python environment of the generators, which also holds Node and cargo's programs.
const TOOLS: &str = "target/clients/tools";
const PACKAGES: &str = "tests/clients/node_modules";
/// `all` also tries those that take long.
const CLIENTS: &str = "CARD_PAYMENTS_CLIENTS";

/// How the shells of a row begin.
const SHELL: &str = "site=$(echo \"$TOOLS\"/lib/python3*/site-packages)\njar=$site/openapi_generator_cli/openapi-generator.jar\n";

struct Generator {
    /// What is installed, as the registry calls it.
    package: &'static str,
    tool: &'static str,
    language: &'static str,
    /// Makes the client of `openapi.yaml` in the folder `client`.
    make: &'static str,
    /// What `compile` and `flow` know of this machine.
    environment: &'static str,
    /// What `compile` shows.
    proof: &'static str,
    compile: &'static str,
    /// Lives the flow; empty where none is written.
    flow: &'static str,
    /// How the flow reads the event of a webhook, and what is refused.
    events: Typed,
    refusals: Typed,
    /// What is in the client, in its spelling: a piece of a source, or of a path with its end of line.
    holds: &'static [(NameKind, &'static str)],
    /// What is not in it, because the generator cannot read it.
    lacks: &'static [&'static str],
    /// Files without which there is nothing to try.
    needs: &'static [&'static str],
    /// Whether only `CARD_PAYMENTS_CLIENTS=all` tries it: it takes long, or `packages/clients` has a client by the same generator.
    long: bool,
}

/// How a record of one of several kinds gets its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Typed {
    /// `type` tells the compiler.
    ByType,
    /// The call that is refused gives it.
    ByCall,
    /// The program reads it as the schema that it expects.
    BySchema,
    /// No flow reads it as a type.
    Unread,
}

/// Which names of the document.
#[derive(Debug, Clone, Copy)]
enum NameKind {
    Operations,
    Tags,
    Schemas,
}

impl NameKind {
    fn names(self, document: &Value) -> BTreeSet<String> {
        let operations = || {
            let paths = document["paths"].as_object().unwrap().values();
            paths
                .flat_map(|path| path.as_object().unwrap().values())
                .filter(|operation| operation["operationId"].is_string())
        };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        match self {
            Self::Operations => operations().map(|operation| text(&operation["operationId"])).collect(),
            Self::Tags => {
                operations().flat_map(|operation| operation["tags"].as_array().unwrap()).map(text).collect()
            }
            Self::Schemas => document["components"]["schemas"].as_object().unwrap().keys().cloned().collect(),
        }
    }
}

/// A piece as a language spells this name in it.
fn spelled(piece: &str, name: &str) -> String {
    let words: Vec<_> = name.split(['_', ' ']).map(str::to_lowercase).collect();
    let capital = |word: &String| word[..1].to_uppercase() + &word[1..];
    let snake = words.join("_");
    let pascal = words.iter().map(capital).collect::<String>();
    let camel = pascal[..1].to_lowercase() + &pascal[1..];
    let spellings = [
        ("{Snake}", capital(&snake)),
        ("{snake}", snake),
        ("{kebab}", words.join("-")),
        ("{Pascal}", pascal),
        ("{camel}", camel),
    ];
    let piece = piece.replace("{name}", name);
    spellings.iter().fold(piece, |piece, (spelling, name)| piece.replace(spelling, name))
}

/// All that was generated: each file's path, and what it holds.
fn sources(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all += &sources(&path);
        } else if path.extension().is_none_or(|ending| ending != "md")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            writeln!(all, "{}\n{text}", path.display()).unwrap();
        }
    }
    all
}

/// What the document names and the client lacks.
fn lacking(generator: &Generator, document: &Value, client: &str) -> Vec<String> {
    let pieces = generator
        .holds
        .iter()
        .flat_map(|(names, piece)| names.names(document).into_iter().map(move |name| (piece, name)))
        .filter(|(_, name)| !generator.lacks.contains(&name.as_str()))
        .map(|(piece, name)| spelled(piece, &name));
    pieces.filter(|piece| !client.contains(piece)).collect()
}

/// Returns whether this machine can try it, and is asked to.
fn tried(generator: &Generator) -> bool {
    if generator.long && std::env::var(CLIENTS).as_deref() != Ok("all") {
        return false;
    }
    installed(generator.needs)
}

/// Returns whether the generators and these files are there; where everything must be, a missing one is a failure.
fn installed(needs: &[&str]) -> bool {
    let there = [TOOLS, PACKAGES].iter().chain(needs).all(|needed| root().join(needed).exists());
    if !there {
        skipped(MISSING).unwrap_or_else(|missing| panic!("{missing}"));
    }
    there
}

/// A folder with everything of tests/clients in it, and the document.
fn prepared(name: &str) -> PathBuf {
    let folder = root().join("target/clients").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    let copy = "cp -R \"$0\"/openapi.yaml $(ls -d \"$0\"/tests/clients/* | grep -v node_modules) . && ln -s \"$0\"/tests/clients/node_modules .";
    run(name, Command::new("sh").args(["-c", copy]).arg(root()).current_dir(&folder));
    folder
}

fn run(name: &str, command: &mut Command) {
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&printed));
}

/// Bash in the client's folder, with the generators on its path.
fn shell(folder: &Path, script: &str) -> Command {
    let tools = root().join(TOOLS);
    let program = Path::new(env!("CARGO_BIN_EXE_card-payments")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{}:{path}", tools.join("bin").display(), program.display());
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", &format!("{SHELL}{script}")])
        .current_dir(folder)
        .env("TOOLS", tools)
        // Each runs for seconds only: to compile it well takes half of its time.
        .env("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .env("PATH", path)
        // The lints of .ci/run are for our own code.
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    bash
}

/// The server's address, a key of it, and the body of a webhook that it sent, in the environment of a flow.
async fn flows(folder: &Path, data: &str, mut command: Command) -> (Process, Command) {
    let server = Process::start(&mut program(&folder.join(data)));
    let (key, _) = server.keys();
    let receiver = Receiver::start().await;
    server.ask("POST", "/1/webhook_endpoints", Some(&key), &format!("url={}", receiver.url())).ok(201);
    server.pay(&key).ok(201);
    let webhook = folder.join("webhook.json");
    std::fs::write(&webhook, &receiver.receives(1).await[0].body).unwrap();
    command.env("SERVER", format!("http://{}", server.address)).env("KEY", key).env("WEBHOOK", webhook);
    (server, command)
}

/// A client is made of the document, has everything that the document names, compiles as it was made, and lives the flow: with this
/// server, and with one of tomorrow, which adds to its answers.
async fn holds(name: &'static str, generator: &Generator) {
    if !tried(generator) {
        return;
    }
    let folder = prepared(name);
    let make = shell(&folder, generator.make);
    let document =
        yaml_serde::from_str(&std::fs::read_to_string(folder.join("openapi.yaml")).unwrap()).unwrap();
    within(name, make).await;
    let lacking = lacking(generator, &document, &sources(&folder.join("client")));
    assert!(lacking.is_empty(), "{name} lacks {lacking:#?}");
    let compile = format!("{}\n{}", generator.environment, generator.compile);
    within(name, shell(&folder, &compile)).await;
    if generator.flow.is_empty() {
        return;
    }
    for (data, relay) in [("today", ""), ("tomorrow", "python relay.py ")] {
        let script = format!("{}\n{relay}{}", generator.environment, generator.flow);
        let (server, command) = flows(&folder, data, shell(&folder, &script)).await;
        within(name, command).await;
        server.stopped();
    }
}

/// Other tests go on meanwhile.
async fn within(name: &'static str, mut command: Command) {
    tokio::task::spawn_blocking(move || run(name, &mut command)).await.unwrap();
}

#[test]
fn a_name_that_vanished_is_noticed() {
    let document = serde_json::json!({ "paths": {
        "/1/webhooks": { "parameters": [], "get": { "operationId": "list_webhooks", "tags": ["Webhooks"] } },
        "/1/bank_accounts": { "post": { "operationId": "create_bank_account", "tags": ["Bank accounts"] } },
    } });
    let generator = Generator {
        holds: &[(NameKind::Operations, "fun {camel}("), (NameKind::Tags, "/{Pascal}Api.kt\n")],
        ..generators::GENERATORS[0]
    };
    let client = "/client/BankAccountsApi.kt\nfun createBankAccount()\n/client/WebhooksApi.kt\nfun listWebhooksWithHttpInfo()\n";
    assert_eq!(lacking(&generator, &document, client), ["fun listWebhooks("]);
    assert_eq!(
        lacking(
            &generator,
            &document,
            "/client/BankAccountsApi.kt\nfun createBankAccount()\nfun listWebhooks()\n"
        ),
        ["/WebhooksApi.kt\n"]
    );
}
