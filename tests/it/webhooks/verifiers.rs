//! Signatures convince the receivers of docs/webhooks.md: some run libraries that others have published, some have none.
//! `.ci/run` installs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use base::clock::Clock;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use outbound::{AddressPolicy, Outbound};
use serde_json::json;

use crate::harness::postgres::skipped;
use crate::harness::process::{Process, free_address, machine_time};
use crate::harness::{App, Client, Received, Receiver, card, rules};

const MISSING: &str = "The published verifiers of signatures are not installed, so the tests on it are skipped: \
                       .ci/run installs them where there are node, npm and python3 with venv.\n";
const MISSING_LANGUAGE: &str =
    "A language is not installed, so the tests on it are skipped: .ci/run installs all.\n";
pub const PYTHON: &str = "target/verifiers/bin/python";
const LIBRARY: &str = "tests/verifiers/node_modules/standardwebhooks";
const SIGNED: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Returns whether the libraries are there; where they must be, it is a failure that they are not.
pub fn installed() -> bool {
    let there = root().join(PYTHON).exists() && root().join(LIBRARY).exists();
    if !there {
        skipped(MISSING).unwrap_or_else(|missing| panic!("{missing}"));
    }
    there
}

/// Begins to serve when `php -S` does, which does not say so on its standard output.
const PHP: &str = "(until php -r 'exit(@fsockopen(\"127.0.0.1\", (int) getenv(\"PORT\")) ? 0 : 1);'; do :; done; \
                   echo \"Listening on http://127.0.0.1:$PORT\") & exec php -S \"127.0.0.1:$PORT\" \"$0\" 2> /dev/null";

/// The receivers of the guide, which believe one key, in every language that is installed.
pub struct Verifiers {
    /// Each with the name of its language.
    pub running: Vec<(&'static str, Process)>,
    // What a receiver builds, and where it keeps the ids of events.
    _folder: tempfile::TempDir,
}

/// Returns whether the machine has a tool; where all must be there, it is a failure that it has not.
pub fn has(tool: &str, argument: &str) -> bool {
    let status = Command::new(tool).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = status.is_ok_and(|status| status.success());
    if !is_there {
        skipped(MISSING_LANGUAGE).unwrap_or_else(|missing| panic!("{tool}: {missing}"));
    }
    is_there
}

fn free_port() -> String {
    free_address().port().to_string()
}

/// Starts the receivers, if the libraries are installed.
pub fn verifiers(key: &str) -> Option<Verifiers> {
    if !installed() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str| root().join("tests/verifiers").join(name);
    let start = |command: &mut Command| {
        let command = command.env("WEBHOOK_KEY", key).env("WEBHOOK_SEEN", folder.path().join("seen"));
        Process::start(command)
    };
    let plain =
        |program: PathBuf, name: &str| start(Command::new(program).arg(script(name)).env("PORT", "0"));
    let mut running = vec![
        ("Python", plain(root().join(PYTHON), "verify.py")),
        ("JavaScript", plain("node".into(), "verify.mjs")),
    ];
    if has("ruby", "--version") {
        running.push(("Ruby", plain("ruby".into(), "verify.rb")));
    }
    if has("javac", "--version") {
        running.push(("Java", plain("java".into(), "Verify.java")));
    }
    if has("php", "--version") {
        let command = &mut Command::new("sh");
        let command = command.args(["-c", PHP]).arg(script("verify.php")).env("PORT", free_port());
        running.push(("PHP", start(command)));
    }
    if has("go", "version") {
        // Built first: what `go run` starts would outlive it.
        let program = folder.path().join("verify");
        let built = Command::new("go").args(["build", "-o"]).args([&program, &script("verify.go")]).status();
        assert!(built.unwrap().success());
        running.push(("Go", start(Command::new(program).env("PORT", "0"))));
    }
    if has("mcs", "--version") && has("mono", "--version") {
        let program = folder.path().join("Verify.exe");
        let out = format!("-out:{}", program.display());
        assert!(Command::new("mcs").arg(out).arg(script("Verify.cs")).status().unwrap().success());
        running.push(("C#", start(Command::new("mono").arg(program).env("PORT", free_port()))));
    }
    Some(Verifiers { running, _folder: folder })
}

/// What a receiver answers to a request.
async fn answer(verifier: &Process, headers: &HeaderMap, body: &[u8]) -> u16 {
    let url = format!("http://{}/", verifier.address);
    let signed = headers.iter().filter(|(name, _)| SIGNED.contains(&name.as_str()));
    let signed = signed.map(|(name, value)| (name.clone(), value.clone())).collect();
    let body = Bytes::copy_from_slice(body);
    Outbound::new(AddressPolicy::test()).post(&url, signed, body, Duration::from_secs(10)).await.unwrap()
}

/// What the server sends for a customer whose name is hard to spell.
async fn sent(app: &App, client: &Client, receiver: &Receiver) -> Received {
    let name = "é\"</script>\u{2028}\\💳";
    let customer = json!({ "email": "e@example.com", "first_name": name, "card": card("4200000000000000") });
    client.post("/1/customers", &customer).await.ok(201);
    app.do_due_work().await;
    receiver.received().last().unwrap().clone()
}

rules! {
    async fn published_verifiers_believe_what_the_server_sends_and_nothing_else(app) {
        let (client, receiver) = (app.client(), Receiver::start().await);
        let endpoint = client.endpoint(&receiver.url()).await;
        let other = client.endpoint(&receiver.url()).await;
        client.delete(&format!("/1/webhook_endpoints/{}", other["token"].as_str().unwrap())).await.ok(204);
        let Some(verifiers) = verifiers(endpoint["key"].as_str().unwrap()) else { return };
        let Some(strangers) = self::verifiers(other["key"].as_str().unwrap()) else { return };
        // The verifiers have the machine's clock, of which the tests' is months behind.
        let old = sent(app, &client, &receiver).await;
        app.clock.advance(machine_time() - app.clock.now());
        let fresh = sent(app, &client, &receiver).await;
        for (language, stranger) in &strangers.running {
            assert_eq!(answer(stranger, &fresh.headers, &fresh.body).await, 400, "{language}: another endpoint's key");
        }
        for (language, verifier) in &verifiers.running {
            assert_eq!(answer(verifier, &fresh.headers, &fresh.body).await, 204, "{language}");
            assert_eq!(answer(verifier, &old.headers, &old.body).await, 400, "{language}: an old timestamp");
            let longer = [&fresh.body[..], b" "].concat();
            assert_eq!(answer(verifier, &fresh.headers, &longer).await, 400, "{language}: another body");
            assert_eq!(answer(verifier, &fresh.headers, &old.body).await, 400, "{language}: another event's body");
            for name in SIGNED {
                let mut headers = fresh.headers.clone();
                headers.insert(name, old.headers[name].clone());
                assert_eq!(answer(verifier, &headers, &fresh.body).await, 400, "{language}: another {name}");
                headers.insert(name, HeaderValue::from_static("v1,?"));
                assert_eq!(answer(verifier, &headers, &fresh.body).await, 400, "{language}: nonsense as {name}");
                headers.remove(name);
                assert_eq!(answer(verifier, &headers, &fresh.body).await, 400, "{language}: no {name}");
            }
            assert_eq!(answer(verifier, &fresh.headers, &fresh.body).await, 204, "{language}: still");
        }
    }
}

rules! {
    async fn published_verifiers_believe_either_key_while_both_sign(app) {
        let (client, receiver) = (app.client(), Receiver::start().await);
        app.clock.advance(machine_time() - app.clock.now());
        let endpoint = client.endpoint(&receiver.url()).await;
        let rotated = client.rotate_key(endpoint["token"].as_str().unwrap(), "1h").await.ok(200);
        let Some(former) = verifiers(endpoint["key"].as_str().unwrap()) else { return };
        let Some(fresh) = verifiers(rotated["key"].as_str().unwrap()) else { return };
        let both = sent(app, &client, &receiver).await;
        for (language, verifier) in former.running.iter().chain(&fresh.running) {
            assert_eq!(answer(verifier, &both.headers, &both.body).await, 204, "{language}");
        }
        client.rotate_key(endpoint["token"].as_str().unwrap(), "0h").await.ok(200);
        let after = sent(app, &client, &receiver).await;
        for (language, verifier) in former.running.iter().chain(&fresh.running) {
            assert_eq!(answer(verifier, &after.headers, &after.body).await, 400, "{language}: both have ended");
        }
    }
}

#[test]
fn the_guide_shows_the_verifiers_that_are_tested() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let guide = read("docs/webhooks.md");
    for (language, script) in [
        ("python", "verify.py"),
        ("javascript", "verify.mjs"),
        ("php", "verify.php"),
        ("go", "verify.go"),
        ("ruby", "verify.rb"),
        ("java", "Verify.java"),
        ("csharp", "Verify.cs"),
    ] {
        let shown = format!("```{language} {script}\n{}```\n", read(&format!("tests/verifiers/{script}")));
        assert!(guide.contains(&shown), "docs/webhooks.md shows another {script}");
    }
}
