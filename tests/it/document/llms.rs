//! /llms.txt: the document in short, for programs that read before they write code.

use std::process::Command;

use serde_json::Value;

use crate::harness::app::DOCUMENT;
use crate::harness::process::{Process, output, program};

#[test]
fn the_short_form_names_every_operation_in_lists_of_links() {
    let document = &*DOCUMENT;
    let text = card_payments::api::openapi::llms::text(document, "http://127.0.0.1:1", "test");
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap().iter().filter(|(method, _)| *method != "head")
        {
            let (id, summary) = (&operation["operationId"], operation["summary"].as_str().unwrap());
            let line = format!("\n- [{} {path}](/docs/#/", method.to_uppercase());
            assert_eq!(text.matches(&line).count(), 1, "{line}");
            assert!(text.contains(&format!("/{}): {summary}\n", id.as_str().unwrap())), "{id}");
            operations += 1;
        }
    }
    let (about, lists) = text.split_once("\n## ").unwrap();
    let mut lines = lists.lines().skip(1).filter(|line| !line.is_empty() && !line.starts_with("## "));
    assert!(lines.all(|line| line.starts_with("- [") && line.contains("): ")), "{lists}");
    assert!(about.starts_with("# Card payments\n\n> Takes cards") && !about.contains("\n#"), "{about}");
    assert!(operations > 100 && text.len() < 20_000, "{operations} operations in {} bytes", text.len());
}

#[test]
fn the_payment_that_the_short_form_shows_succeeds() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let text = server.ask("GET", "/llms.txt", None, "").body;
    let script = text.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).env("CARD_PAYMENTS_SECRET_KEY", server.keys().0);
    let (code, stdout, stderr) = output(&mut shell);
    assert_eq!(code, Some(0), "{stderr}");
    let answer: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(answer["response"]["success"], true, "{answer}");
    server.stopped();
}
