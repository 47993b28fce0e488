//! The collection of requests, run by Postman's own runner.

use std::collections::HashSet;

use serde_json::Value;

use super::{installed, prepared, run, shell};
use crate::answers::operations;
use crate::harness::process::{Process, program};

/// The first page of a document, as a user would choose one for the upload.
const RECEIPT: &str = "%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n";

#[test]
fn the_collection_succeeds_on_a_fresh_server() {
    if !installed(&[]) {
        return;
    }
    let folder = prepared("collection");
    std::fs::write(folder.join("receipt.pdf"), RECEIPT).unwrap();
    let server = Process::start(&mut program(&folder.join("data")));
    let script = format!(
        "card-payments openapi --postman >collection.json
         npx newman run collection.json --reporters cli,json --reporter-json-export report.json \
             --env-var base_url=http://{} --env-var secret_key={} --env-var webhook_url=http://127.0.0.1:9/",
        server.address,
        server.keys().0
    );
    // No server listens there, so its webhooks fail at once and may be sent again.
    run("collection", &mut shell(&folder, &script));
    server.stopped();
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("report.json")).unwrap()).unwrap();
    let requests = report["run"]["executions"].as_array().unwrap();
    // Each asserts a status, and a body by its schema if there is one.
    let asserted = |request: &&Value| request["assertions"].as_array().is_some_and(|all| !all.is_empty());
    let names: HashSet<_> =
        requests.iter().filter(asserted).map(|request| &request["item"]["name"]).collect();
    for operation in operations().iter().filter(|operation| operation.method != http::Method::HEAD) {
        assert!(names.contains(&operation.described["summary"]), "{}", operation.described["operationId"]);
    }
}
