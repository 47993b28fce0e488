//! Code samples, which stand in a document of their own. packages/clients/test.sh compiles or runs those of the clients.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;

use card_payments::api::openapi::editions::{Bodies, Edition, Samples, edited};
use serde_json::Value;

use super::operations;
use crate::harness::app::DOCUMENT;
use crate::harness::process::{Process, program};
use crate::webhooks::verifiers::has;

const LABELS: [&str; 8] = ["curl", "TypeScript", "Python", "PHP", "Go", "Java", "Ruby", "C#"];

fn with_samples() -> Value {
    edited(DOCUMENT.clone(), Bodies::All, Edition::V31, Samples::Code)
}

#[test]
fn every_operation_is_called_in_every_language_and_an_upload_with_curl() {
    let document = with_samples();
    for (name, operation) in operations(&document) {
        let samples = operation["x-codeSamples"].as_array().unwrap();
        let labels: Vec<_> = samples.iter().map(|sample| sample["label"].as_str().unwrap()).collect();
        let is_upload = operation["requestBody"]["content"].get("multipart/form-data").is_some();
        assert_eq!(labels, LABELS[..if is_upload { 1 } else { LABELS.len() }], "{name}");
    }
}

#[test]
fn the_document_of_generators_has_no_samples() {
    assert!(!DOCUMENT.to_string().contains("x-codeSamples"));
    let mut document = with_samples();
    for methods in document["paths"].as_object_mut().unwrap().values_mut() {
        for operation in methods.as_object_mut().unwrap().values_mut() {
            operation.as_object_mut().unwrap().remove("x-codeSamples");
        }
    }
    assert!(document == *DOCUMENT);
}

/// The samples with a label, each with its operation.
fn labelled(label: &str) -> Vec<(String, String)> {
    let document = with_samples();
    let all = operations(&document).flat_map(|(_, operation)| {
        let samples = operation["x-codeSamples"].as_array().unwrap().iter();
        samples.map(move |sample| (&operation["operationId"], &sample["label"], &sample["source"]))
    });
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    // The faults that it orders would be those of the next ones.
    let quiet = all.filter(|(id, of, _)| *of == label && *id != "update_sandbox_acquirer");
    quiet.map(|(id, _, source)| (text(id), text(source))).collect()
}

/// Tokens are examples, so many records are not there; what may not be is a request that the server cannot read, or a path and method
/// that it does not know.
fn is_read(status: &str, answer: &str) -> bool {
    ("200".."500").contains(&status)
        && !["405", "415"].contains(&status)
        && !answer.contains("\"bad_request\"")
}

/// Each is sent by a shell as it stands.
#[test]
fn requests_of_the_samples_of_curl_are_read_by_a_server() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("receipt.pdf"), "%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n")
        .unwrap();
    let server = Process::start(&mut program(&data.path().join("data")));
    let mut statuses = BTreeSet::new();
    for (id, sample) in labelled("curl") {
        let script = sample.replacen("curl -s", "curl -s -o answer -w '%{http_code}'", 1);
        let output = called_from(Command::new("sh").args(["-c", &script]).current_dir(data.path()), &server);
        let answer = std::fs::read_to_string(data.path().join("answer")).unwrap_or_default();
        assert!(is_read(&output, &answer), "{id}: {sample}{output} {answer}");
        statuses.insert(output);
    }
    assert!(statuses.contains("200") && statuses.contains("201"), "{statuses:?}");
    server.stopped();
}

/// What a command prints that knows a server and its key.
fn called_from(command: &mut Command, server: &Process) -> String {
    let command = command
        .env("CARD_PAYMENTS_URL", format!("http://{}", server.address))
        .env("CARD_PAYMENTS_SECRET_KEY", server.keys().0);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// One program holds them all beside each other, each as a class of its own.
#[test]
fn requests_of_the_samples_of_csharp_are_read_by_a_server() {
    if !(has("mcs", "--version") && has("mono", "--version")) {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let samples = labelled("C#");
    let mut calls = String::new();
    for (id, sample) in &samples {
        let alone = sample.replacen("class Sample", &format!("class {id}"), 1);
        std::fs::write(data.path().join(format!("{id}.cs")), alone).unwrap();
        write!(calls, "{id}.Main().Wait(); ").unwrap();
    }
    std::fs::write(data.path().join("all.cs"), format!("class All {{ static void Main() {{ {calls}}} }}"))
        .unwrap();
    let compiled = Command::new("mcs")
        .args(["-main:All", "-out:all.exe", "-r:System.Net.Http", "*.cs"])
        .current_dir(data.path())
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stdout));
    let server = Process::start(&mut program(&data.path().join("data")));
    let printed = called_from(Command::new("mono").arg("all.exe").current_dir(data.path()), &server);
    let answers: Vec<_> = printed.lines().filter_map(|line| line.split_once(' ')).collect();
    for ((id, sample), (status, answer)) in samples.iter().zip(&answers) {
        assert!(is_read(status, answer), "{id}: {sample}{status} {answer}");
    }
    assert_eq!(answers.len(), samples.len(), "{printed}");
    server.stopped();
}
