//! Generated clients against the real server: see tests/clients/README.md. `.ci/run` installs the generators.

use std::process::Command;

use crate::harness::Receiver;
use crate::harness::postgres::skipped;
use crate::harness::process::{Process, program};
use crate::verifiers::root;

const MISSING: &str = "The generators of clients, or a JDK, are not installed, so the tests on it are skipped: .ci/run \
                       installs both where there are node, npm and python3 with venv.\n";

/// What a language's check needs besides its own folder.
fn installed(needs: &[&str]) -> bool {
    let there = needs.iter().all(|needed| root().join(needed).exists());
    if !there {
        skipped(MISSING).unwrap_or_else(|missing| panic!("{missing}"));
    }
    there
}

const TOOLS: &str = "target/clients/tools";

/// A client is generated of the document, compiled, and lives the flow.
async fn lives_the_flow(language: &str, needs: &[&str]) {
    if !installed(needs) {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let (key, _) = server.keys();
    let receiver = Receiver::start().await;
    server.ask("POST", "/1/webhook_endpoints", Some(&key), &format!("url={}", receiver.url())).ok(201);
    server.pay(&key).ok(201);
    let webhook = data.path().join("webhook.json");
    std::fs::write(&webhook, &receiver.receives(1).await[0].body).unwrap();
    let out = root().join("target/clients").join(language);
    std::fs::create_dir_all(&out).unwrap();
    let mut check = Command::new(root().join("tests/clients").join(language).join("check"));
    check
        .env("OPENAPI", root().join("openapi.yaml"))
        .env("SERVER", format!("http://{}", server.address))
        .env("KEY", &key)
        .env("WEBHOOK", &webhook)
        .env("OUT", &out)
        .env("TOOLS", root().join(TOOLS));
    let output = tokio::task::spawn_blocking(move || check.output().unwrap()).await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{language}: {}", String::from_utf8_lossy(&said));
    server.stopped();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_typescript_client_lives_the_flow() {
    lives_the_flow("typescript", &["tests/clients/typescript/node_modules/openapi-typescript"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_python_client_lives_the_flow() {
    lives_the_flow("python", &[TOOLS]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_java_client_lives_the_flow() {
    lives_the_flow("java", &[TOOLS, "/usr/bin/javac", "/usr/share/java/httpmime.jar"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rust_client_lives_the_flow() {
    lives_the_flow("rust", &[TOOLS, "/usr/bin/java"]).await;
}
