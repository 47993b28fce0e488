//! Overlays of the document for generators that are told how to page, repeat and identify requests by extensions of their own.

use std::fmt::Write;

use crate::answers::operations;
use crate::document::site::committed;
use crate::harness::app::DOCUMENT;

/// An overlay: what stands at the root of the document, at every POST, at every other change, and at every list, each as lines of YAML.
struct Overlay {
    file: &'static str,
    title: &'static str,
    comment: &'static str,
    root: &'static str,
    post: &'static str,
    other_change: &'static str,
    list: &'static str,
}

const FERN: Overlay = Overlay {
    file: "overlays/fern.yaml",
    title: "Card payments for Fern",
    comment: "# A client repeats a POST only if its program does, with the key of the first try: without a key it would pay twice.",
    root: "x-fern-idempotency-headers: [{header: Idempotency-Key, name: idempotency_key}]",
    post: "x-fern-idempotent: true\nx-fern-retries: {disabled: true}",
    other_change: "x-fern-idempotent: true",
    list: "x-fern-pagination: {offset: $request.page, results: $response.response}",
};

const SPEAKEASY: Overlay = Overlay {
    file: "overlays/speakeasy.yaml",
    title: "Card payments for Speakeasy",
    comment: "# A POST is repeated only after 429, which has done nothing: without an Idempotency-Key it would pay twice. A program that gives one\n\
              # may ask for more tries of a call.",
    root: "x-speakeasy-retries:\n  strategy: backoff\n  backoff: {initialInterval: 250, maxInterval: 30000, maxElapsedTime: 120000, exponent: 2}\n  \
           statusCodes: [\"429\", 5XX]\n  retryConnectionErrors: true",
    post: "x-speakeasy-retries:\n  strategy: backoff\n  backoff: {initialInterval: 250, maxInterval: 30000, maxElapsedTime: 120000, exponent: 2}\n  \
           statusCodes: [\"429\"]\n  retryConnectionErrors: false",
    other_change: "",
    list: "x-speakeasy-pagination:\n  type: offsetLimit\n  inputs:\n    - {name: page, in: parameters, type: page}\n    \
           - {name: per_page, in: parameters, type: limit}\n  outputs: {results: $.response}",
};

impl Overlay {
    fn drawn(&self) -> String {
        let Self { title, comment, root, post, other_change, list, .. } = self;
        let version = DOCUMENT["info"]["version"].as_str().unwrap();
        let mut drawn = format!(
            "{comment}\noverlay: 1.0.0\ninfo: {{title: {title}, version: {version}}}\nextends: ../openapi.yaml\nactions:\n"
        );
        let mut action = |target: &str, update: &str| {
            if !update.is_empty() {
                let update = update.replace('\n', "\n      ");
                writeln!(drawn, "  - target: {target}\n    update:\n      {update}").unwrap();
            }
        };
        action("$", root);
        action("$.paths.*.post", post);
        action("$.paths.*.put", other_change);
        action("$.paths.*.delete", other_change);
        for operation in operations().iter().filter(|operation| operation.is_list()) {
            action(&format!("$.paths['{}'].get", operation.path), list);
        }
        drawn
    }
}

#[test]
fn each_overlay_has_every_list_and_every_change() {
    for overlay in [FERN, SPEAKEASY] {
        committed(overlay.file, &overlay.drawn());
    }
}

/// What the pages of lists are walked by.
#[test]
fn every_list_is_walked_by_its_number_of_the_page_and_has_its_items_in_response() {
    let lists: Vec<_> = operations().into_iter().filter(crate::answers::Operation::is_list).collect();
    assert!(lists.len() > 20, "{}", lists.len());
    for list in lists {
        let schema = &list.described["responses"]["200"]["content"]["application/json"]["schema"]["$ref"];
        let page = DOCUMENT.pointer(&schema.as_str().unwrap()[1..]).unwrap();
        assert_eq!(page["properties"]["response"]["type"], "array", "{}", list.path);
        let names = list.described["parameters"].as_array().unwrap();
        assert!(
            ["page", "per_page"].iter().all(|name| names.iter().any(|one| one["name"] == *name)),
            "{}",
            list.path
        );
    }
}
