//! Code samples, which stand in a document of their own. packages/clients/test.sh compiles or runs those of the clients.

use std::collections::BTreeSet;
use std::process::Command;

use card_payments::api::openapi::editions::{Bodies, Edition, Samples, edited};
use serde_json::Value;

use super::operations;
use crate::harness::app::DOCUMENT;
use crate::harness::process::{Process, program};

const LABELS: [&str; 7] = ["curl", "TypeScript", "Python", "PHP", "Go", "Java", "Ruby"];

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

/// Each is sent by a shell as it stands. Tokens are examples, so many records are not there; what may not be is a request that the
/// server cannot read, or a path and method that it does not know.
#[test]
fn requests_of_the_samples_of_curl_are_read_by_a_server() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("receipt.pdf"), "%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n")
        .unwrap();
    let server = Process::start(&mut program(&data.path().join("data")));
    let mut statuses = BTreeSet::new();
    for (name, operation) in operations(&with_samples()) {
        // The faults that it orders would be those of the next ones.
        if operation["operationId"] == "update_sandbox_acquirer" {
            continue;
        }
        let sample = operation["x-codeSamples"][0]["source"].as_str().unwrap();
        let script = sample.replacen("curl -s", "curl -s -o answer -w '%{http_code}'", 1);
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(data.path())
            .env("CARD_PAYMENTS_URL", format!("http://{}", server.address))
            .env("CARD_PAYMENTS_SECRET_KEY", server.keys().0)
            .output()
            .unwrap();
        let status = String::from_utf8(output.stdout).unwrap();
        let answer = std::fs::read_to_string(data.path().join("answer")).unwrap_or_default();
        let is_read = ("200".."500").contains(&&*status)
            && !["405", "415"].contains(&&*status)
            && !answer.contains("\"bad_request\"");
        assert!(is_read, "{name}: {sample}{status} {answer}");
        statuses.insert(status);
    }
    assert!(statuses.contains("200") && statuses.contains("201"), "{statuses:?}");
    server.stopped();
}
