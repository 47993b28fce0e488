//! arazzo.yaml: flows over the operations, which two published runners run against the program, and a page of the guide shows.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use axum::http::Method;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::answers::{Operation, operations};
use crate::document::site::committed_below;
use crate::harness::Installed;
use crate::harness::operated;
use crate::harness::postgres::skipped;
use crate::harness::process::{Process, output};
use crate::webhooks::verifiers;

const MISSING: &str =
    "The runner of workflows is not installed, so the tests on it are skipped: .ci/run installs it.\n";
const RUNNER: &str = "tests/contract/node_modules/.bin/redocly";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Starts a server, and writes the flows and the document into a folder, as a client gets them: the flows name the document beside
/// them.
fn served(installed: &mut Installed) -> (Process, tempfile::TempDir) {
    let server = installed.serve();
    let folder = tempfile::tempdir().unwrap();
    for file in ["arazzo.yaml", "openapi.yaml"] {
        let answer = server.ask("GET", &format!("/{file}"), None, "");
        assert_eq!(answer.status, 200, "{file}");
        std::fs::write(folder.path().join(file), answer.body).unwrap();
    }
    let committed = std::fs::read_to_string(root().join("arazzo.yaml")).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("arazzo.yaml")).unwrap(), committed);
    (server, folder)
}

operated! {
    async fn every_workflow_runs_as_a_published_runner_reads_it(installed) {
        if !root().join(RUNNER).exists() {
            return skipped(MISSING).unwrap();
        }
        let (server, folder) = served(installed);
        let key = format!("{}:", server.keys().0);
        let mut runner = Command::new(root().join(RUNNER));
        runner.current_dir(folder.path()).env("REDOCLY_TELEMETRY", "off");
        runner.args(["respect", "arazzo.yaml", "--server", &format!("payments=http://{}", server.address)]);
        runner.args(["--input", &format!("authorization=Basic {}", STANDARD.encode(key))]);
        let (code, stdout, stderr) = output(&mut runner);
        assert_eq!(code, Some(0), "{stdout}\n{stderr}");
        assert!(stdout.contains("Workflows: 10 passed, 10 total"), "{stdout}");
        server.stopped();
    }

    async fn every_workflow_runs_as_a_second_runner_reads_it(installed) {
        let python = root().join(verifiers::PYTHON);
        if !python.exists() {
            return skipped(MISSING).unwrap();
        }
        let (server, folder) = served(installed);
        let mut runner = Command::new(python);
        runner.arg(root().join("tests/contract/flows.py")).arg(folder.path());
        runner.args([format!("http://{}", server.address), server.keys().0]);
        let (code, stdout, stderr) = output(&mut runner);
        assert_eq!(code, Some(0), "{stdout}\n{stderr}");
        assert!(stdout.ends_with("10 passed, 0 failed\n"), "{stdout}");
        server.stopped();
    }
}

const PAGE: &str = "docs/flows.md";
const DRAWN: &str = "## The flows\n";

/// What a step sends besides what every payment does, as compact JSON; only names where it is long.
fn sent(step: &Value) -> String {
    const PAYER: [&str; 5] = ["email", "description", "ip_address", "card", "currency"];
    const LENGTH_MAX: usize = 120;
    let payload = step["requestBody"]["payload"].as_object().cloned().unwrap_or_default();
    let told: Map<_, _> = payload.into_iter().filter(|(name, _)| !PAYER.contains(&name.as_str())).collect();
    let text = Value::Object(told.clone()).to_string();
    if told.is_empty() {
        String::new()
    } else if text.len() > LENGTH_MAX {
        told.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    } else {
        format!("`{text}`")
    }
}

/// The request of a step: its operation, with the query, the headers and the body.
fn request(step: &Value) -> String {
    // A GET is also answered as HEAD, without the body that the flow is about.
    let is_meant = |known: &Operation| {
        known.method != Method::HEAD && known.described["operationId"] == step["operationId"]
    };
    let operation = operations().into_iter().find(is_meant);
    let operation = operation.unwrap_or_else(|| panic!("no operation {}", step["operationId"]));
    let parameters = step["parameters"].as_array().into_iter().flatten();
    let named: Vec<_> = parameters.filter(|parameter| parameter["in"] != "path").map(parameter).collect();
    let with: Vec<_> =
        named.into_iter().chain([sent(step)].into_iter().filter(|sent| !sent.is_empty())).collect();
    let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(", ")) };
    format!("`{} {}`{with}", operation.method, operation.path)
}

fn parameter(parameter: &Value) -> String {
    let value = parameter["value"].as_str().map_or_else(|| parameter["value"].to_string(), str::to_owned);
    let mark = if parameter["in"] == "header" { ": " } else { "=" };
    format!("`{}{mark}{value}`", parameter["name"].as_str().unwrap())
}

/// What shows that a step has succeeded, in the words of the flow.
fn criteria(step: &Value) -> String {
    let criteria = step["successCriteria"].as_array().into_iter().flatten().map(|one| {
        let condition = one["condition"].as_str().unwrap();
        let condition = condition
            .replace("$response.body#/", "")
            .replace("$response.header.", "")
            .replace("$statusCode == ", "");
        match one["context"].as_str() {
            Some(context) => format!("`{} ~ {condition}`", context.replace("$response.body#/", "")),
            None => format!("`{condition}`"),
        }
    });
    criteria.collect::<Vec<_>>().join(", ")
}

fn drawn() -> String {
    let flows = std::fs::read_to_string(root().join("arazzo.yaml")).unwrap();
    let flows: Value = yaml_serde::from_str(&flows).unwrap();
    let mut page = String::new();
    for flow in flows["workflows"].as_array().unwrap() {
        let text = |name: &str| flow[name].as_str().unwrap().trim().to_owned();
        write!(page, "\n### {}\n\n{}\n\n", text("summary"), text("description")).unwrap();
        writeln!(page, "`{}`:\n\n| step | request | succeeds if |\n|---|---|---|", text("workflowId"))
            .unwrap();
        for step in flow["steps"].as_array().unwrap() {
            let name = step["stepId"].as_str().unwrap().replace('_', " ");
            writeln!(page, "| {name} | {} | {} |", request(step), criteria(step)).unwrap();
        }
    }
    page
}

#[test]
fn the_page_of_flows_shows_every_step() {
    committed_below(PAGE, DRAWN, &drawn());
}
