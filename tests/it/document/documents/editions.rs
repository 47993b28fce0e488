//! The document for programs that read less than all of it.

use std::path::Path;
use std::process::Command;

use card_payments::api::openapi::editions::{Bodies, Edition, Samples, edited};
use serde_json::Value;

use super::operations;
use crate::document::site::root;
use crate::harness::app::DOCUMENT;
use crate::harness::postgres::skipped;
use crate::harness::process::{Process, program};

const JSON: &str = "application/json";
const MISSING: &str =
    "A reader of OpenAPI 3.0 is not installed, so the tests on it are skipped: .ci/run installs it.\n";

#[test]
fn the_edition_of_json_bodies_lacks_nothing_but_others() {
    let edition = edited(DOCUMENT.clone(), Bodies::Json, Edition::V31, Samples::None);
    let (mut whole, mut others) = (DOCUMENT.clone(), 0);
    for (name, operation) in operations(&DOCUMENT) {
        let (method, path) = name.split_once(' ').unwrap();
        let method = method.to_lowercase();
        let content = operation["requestBody"]["content"].as_object();
        if content.is_some_and(|content| content.contains_key(JSON)) {
            let content = &mut whole["paths"][path][&method]["requestBody"]["content"];
            others += content.as_object().unwrap().len() - 1;
            content.as_object_mut().unwrap().retain(|media, _| media == JSON);
        }
    }
    assert!(others > 30, "{others}");
    assert!(edition == whole);
}

/// What is a schema of OpenAPI 3.1 and none of 3.0.
fn foreign(place: &str, value: &Value, found: &mut Vec<String>) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        let is_foreign = match name.as_str() {
            "example" | "examples" | "value" => continue,
            "type" => inner.is_array() || inner == "null",
            "$ref" => inner.is_string() && value.as_object().is_some_and(|fields| fields.len() > 1),
            "const" | "propertyNames" | "patternProperties" | "prefixItems" | "$defs" | "webhooks"
            | "pathItems" => true,
            "exclusiveMinimum" | "exclusiveMaximum" => !inner.is_boolean(),
            _ => false,
        };
        if is_foreign {
            found.push(format!("{place}/{name}"));
        }
        foreign(&format!("{place}/{name}"), inner, found);
    }
    for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
        foreign(&format!("{place}/{index}"), inner, found);
    }
}

#[test]
fn the_edition_of_openapi_3_0_has_nothing_of_3_1() {
    let edition = edited(DOCUMENT.clone(), Bodies::All, Edition::V30, Samples::None);
    assert_eq!(edition["openapi"], "3.0.3");
    let mut found = Vec::new();
    foreign("", &edition, &mut found);
    assert_eq!(found, [""; 0]);
    for reference in edition.to_string().split("\"$ref\":\"#").skip(1) {
        let reference = reference.split('"').next().unwrap();
        assert!(edition.pointer(reference).is_some(), "{reference} leads nowhere");
    }
    let names = |document: &Value| operations(document).map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&edition), names(&DOCUMENT));
    let nullable = &edition["components"]["schemas"]["Charge"]["properties"]["error_message"];
    assert_eq!((&nullable["type"], &nullable["nullable"]), (&"string".into(), &true.into()));
}

/// By the library of Go that oapi-codegen reads documents with.
#[test]
fn the_edition_of_openapi_3_0_is_valid_to_another_reader() {
    if !Path::new("/usr/share/gocode/src/github.com/getkin/kin-openapi").exists() {
        skipped(MISSING).unwrap_or_else(|missing| panic!("{missing}"));
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let document = data.path().join("openapi.json");
    let reads = |document: &Path| {
        let reader = root().join("tests/contract/read.go");
        let mut go = Command::new("go");
        go.args(["run", reader.to_str().unwrap(), document.to_str().unwrap()])
            .envs([("GO111MODULE", "off"), ("GOPATH", "/usr/share/gocode")])
            .output()
            .unwrap()
    };
    for bodies in [Bodies::All, Bodies::Json] {
        let edition = edited(DOCUMENT.clone(), bodies, Edition::V30, Samples::None);
        std::fs::write(&document, edition.to_string()).unwrap();
        let read = reads(&document);
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    }
    std::fs::write(&document, DOCUMENT.to_string()).unwrap();
    assert!(!reads(&document).status.success(), "it takes OpenAPI 3.1 for 3.0");
}

#[test]
fn a_server_and_a_command_have_each_edition() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    for (query, options, bodies, edition, samples) in [
        ("", &[] as &[&str], Bodies::All, Edition::V31, Samples::None),
        ("?bodies=json", &["--json-bodies"], Bodies::Json, Edition::V31, Samples::None),
        ("?edition=3.0", &["--edition", "3.0"], Bodies::All, Edition::V30, Samples::None),
        ("?samples=code", &["--code-samples"], Bodies::All, Edition::V31, Samples::Code),
        (
            "?bodies=json&edition=3.0",
            &["--json-bodies", "--edition", "3.0"],
            Bodies::Json,
            Edition::V30,
            Samples::None,
        ),
    ] {
        let expected = edited(DOCUMENT.clone(), bodies, edition, samples);
        let printed = Command::new(env!("CARGO_BIN_EXE_card-payments"))
            .args(["openapi", "--json"])
            .args(options)
            .output();
        let printed: Value = serde_json::from_slice(&printed.unwrap().stdout).unwrap();
        assert!(printed == expected, "{options:?}");
        let mut json = server.ask("GET", &format!("/openapi.json{query}"), None, "").json();
        let yaml = server.ask("GET", &format!("/openapi.yaml{query}"), None, "").body;
        assert!(yaml_serde::from_str::<Value>(&yaml).unwrap() == json, "{query}");
        json["servers"] = expected["servers"].clone();
        assert!(json == expected, "{query}");
    }
    for query in ["?bodies=xml", "?edition=2.0", "?samples=all"] {
        let refused = server.ask("GET", &format!("/openapi.json{query}"), None, "");
        assert_eq!((refused.status, &refused.json()["error"]), (400, &"bad_request".into()), "{query}");
    }
    server.stopped();
}
