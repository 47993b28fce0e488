//! The document in short, for programs that read before they write code (<https://llmstxt.org>).

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::examples;
use crate::api::base_path;

/// Returns the text: the document's description, how to pay, and each operation's summary by section.
pub fn text(document: &Value, base_url: &str, environment: &str) -> String {
    let info = &document["info"];
    let (about, more) = text_of(&info["description"]).split_once("\n\n").unwrap_or_default();
    let payment = &document["paths"]["/1/charges"]["post"];
    let body = examples::of_success(&payment["requestBody"]["content"]["application/json"]);
    let mut text = format!(
        "# {title}\n\n> {about}\n\nThis server is of the {environment} environment. A payment, with the secret key in the variable:\n\n```sh\n\
         curl {base_url}/1/charges -u \"$CARD_PAYMENTS_SECRET_KEY:\" -H 'Content-Type: application/json' \
         -H 'Idempotency-Key: order-1' \\\n  -d '{body}'\n```\n\n{more}\n## Documents\n\n\
         - [openapi.yaml](/openapi.yaml): every operation with its parameters, responses and error codes (OpenAPI 3.1)\n\
         - [openapi.json](/openapi.json): the same; `jq '.paths[\"/1/charges\"].post'` shows one operation\n\
         - [Swagger](/docs/): the same as a page\n",
        title = text_of(&info["title"]),
        about = about.replace('\n', " "),
        more = without_headings(more),
    );
    let sections = sections(document);
    for tag in document["tags"].as_array().into_iter().flatten() {
        let name = text_of(&tag["name"]);
        let Some(operations) = sections.get(name) else { continue };
        // The first sentence says what the section is for.
        let about = text_of(&tag["description"]);
        let about = about.split_once(". ").map_or(about.trim_end_matches('.'), |(first, _)| first);
        let link = link(name);
        // Writing to a string does not fail.
        let _ = write!(text, "\n## {name}\n\n- [{name}](/docs/#/{link}): {about}.\n{operations}");
    }
    // Its links are paths of this server.
    text.replace("](/", &format!("]({}/", base_path::path_of(base_url)))
}

/// Returns the lines of each section's operations.
fn sections(document: &Value) -> HashMap<&str, String> {
    let mut sections: HashMap<_, String> = HashMap::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in
            methods.as_object().into_iter().flatten().filter(|(method, _)| *method != "head")
        {
            let section = text_of(&operation["tags"][0]);
            let (method, link) = (method.to_uppercase(), link(section));
            let (id, summary) = (text_of(&operation["operationId"]), text_of(&operation["summary"]));
            let lines = sections.entry(section).or_default();
            let _ = writeln!(lines, "- [{method} {path}](/docs/#/{link}/{id}): {summary}");
        }
    }
    sections
}

/// Returns the description with its headings as bold lines: in this format every heading begins a list of links.
fn without_headings(description: &str) -> String {
    let lines = description.lines().map(|line| match line.strip_prefix("## ") {
        Some(heading) => format!("**{heading}**\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// Returns a section as the page's links name it.
fn link(section: &str) -> String {
    section.replace(' ', "%20")
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
