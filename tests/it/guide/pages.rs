//! Guides as pages: all of them, with links that lead somewhere, and a search that finds what people ask for.

use std::collections::BTreeSet;
use std::io::Read;

use card_payments::guide::{Index, PAGES};
use flate2::Compression;
use flate2::read::GzEncoder;
use http::Method;
use serde_json::Value;

use crate::document::site;
use crate::harness::app::DOCUMENT;
use crate::harness::browser::Browser;
use crate::harness::sending::request;
use crate::harness::{App, Database, on_both};

#[test]
fn every_page_of_the_docs_is_in_the_program_and_they_are_small() {
    let pages: BTreeSet<_> = PAGES.iter().map(|page| format!("docs/{}.md", page.name)).collect();
    let documents: BTreeSet<_> =
        site::documents().into_iter().filter(|name| name.starts_with("docs/")).collect();
    assert_eq!(pages, documents);
    let text: String = PAGES.iter().map(|page| page.text).collect();
    let mut compressed = Vec::new();
    GzEncoder::new(text.as_bytes(), Compression::best()).read_to_end(&mut compressed).unwrap();
    assert!(compressed.len() <= 400_000, "{} bytes", compressed.len());
}

#[test]
fn the_search_finds_what_people_ask_for_among_the_first_three() {
    let index = Index::new(&DOCUMENT);
    for (question, page) in [
        ("3ds failure", "/docs/guide/testing#test-a-3-d-secure-failure"),
        ("php webhook", "/docs/guide/webhooks#php"),
        ("docker", "/docs/guide/install#run-it-in-docker"),
        ("why 422", "/docs/errors/invalid_resource"),
        ("refund balance", "/docs/errors/insufficient_service_balance"),
        ("upgrade", "/docs/guide/operating/upgrade"),
        ("POST /1/charges", "/docs/#/Charges/create_charge"),
        ("idempotency_key_reused", "/docs/errors/idempotency_key_reused"),
    ] {
        let found = index.search(question);
        let first: Vec<_> = found.iter().take(3).map(|found| found.url).collect();
        assert!(first.iter().any(|url| url.starts_with(page)), "{question}: {first:?}");
    }
}

#[test]
fn every_section_of_the_document_leads_to_a_guide() {
    for tag in DOCUMENT["tags"].as_array().unwrap() {
        let Some(url) = tag["externalDocs"]["url"].as_str() else { continue };
        let name = url.strip_prefix("/docs/guide/").unwrap().split('#').next().unwrap();
        assert!(PAGES.iter().any(|page| page.name == name), "{url}");
    }
}

/// The values of an attribute in a page.
fn values<'a>(page: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
}

async fn links_of_guides_lead_to_pages_and_their_headings(database: Database) {
    let Some(app) = App::start(database).await else { return };
    let mut browser = Browser::new(&app);
    let mut anchors = BTreeSet::new();
    let mut links = BTreeSet::new();
    let pages = PAGES.iter().map(|page| format!("/docs/guide/{}", page.name));
    for path in
        pages.chain(["/", "/docs/guide/", "/docs/errors", "/docs/errors/card_declined"].map(str::to_owned))
    {
        let answer = browser.get(&path).await;
        assert_eq!(
            (answer.status, &answer.headers["content-type"]),
            (200, &"text/html; charset=utf-8".parse().unwrap()),
            "{path}"
        );
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && !answer.text.contains("<script"), "{path}");
        anchors.extend(values(&answer.text, " id=\"").map(|id| format!("{path}#{id}")));
        for link in values(&answer.text, " href=\"").filter(|link| !link.contains("://")) {
            links.insert(if link.starts_with('#') { format!("{path}{link}") } else { link.to_owned() });
        }
    }
    // Pictures are no text.
    for link in links.iter().filter(|link| !link.contains(".png")) {
        let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
        assert!([200, 303].contains(&browser.get(path).await.status), "{link}");
        let is_guide = path.starts_with("/docs/guide/") || path.starts_with("/docs/errors");
        assert!(!is_guide || fragment.is_empty() || anchors.contains(link), "{link} leads to no heading");
    }
    assert!(links.len() > 200, "{}", links.len());
}
on_both!(links_of_guides_lead_to_pages_and_their_headings);

async fn a_guide_is_there_as_it_was_written_too(database: Database) {
    let Some(app) = App::start(database).await else { return };
    let (status, headers, body) = app.anonymous().bytes("/docs/guide/operating/upgrade.md").await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "text/markdown; charset=utf-8"));
    assert_eq!(String::from_utf8(body).unwrap(), site::read("docs/operating/upgrade.md"));
    for unknown in ["/docs/guide/nothing", "/docs/guide/nothing.md", "/docs/guide/../secret"] {
        assert_eq!(app.anonymous().bytes(unknown).await.0, 404, "{unknown}");
    }
}
on_both!(a_guide_is_there_as_it_was_written_too);

async fn the_search_answers_people_and_programs(database: Database) {
    let Some(app) = App::start(database).await else { return };
    let page = String::from_utf8(app.anonymous().bytes("/docs/search?q=card+%3Cb%3E").await.2).unwrap();
    assert!(page.contains("value=\"card &lt;b&gt;\"") && page.contains("class=\"results\""), "{page}");
    let nothing = String::from_utf8(app.anonymous().bytes("/docs/search?q=xyzzy").await.2).unwrap();
    assert!(nothing.contains("Nothing fits"), "{nothing}");
    assert_eq!(app.anonymous().bytes("/docs/search").await.0, 200);
    let answer =
        request(&app.anonymous(), Method::GET, "/docs/search?q=docker", &[("accept", "application/json")])
            .await;
    assert_eq!(answer.headers["content-type"], "application/json");
    let found = answer.json();
    assert_eq!(found["query"], "docker");
    assert!(found["results"][0]["url"].as_str().is_some_and(|url| url.starts_with("/docs/")), "{found}");
}
on_both!(the_search_answers_people_and_programs);

async fn the_page_at_the_address_says_where_everything_is(database: Database) {
    let Some(app) = App::start(database).await else { return };
    let page = String::from_utf8(app.anonymous().bytes("/").await.2).unwrap();
    for path in [
        "/docs/",
        "/docs/guide/",
        "/dashboard",
        "/docs/errors",
        "/postman.json",
        "/openapi.yaml",
        "/llms.txt",
    ] {
        assert!(page.contains(&format!("href=\"{path}\"")), "{path}");
    }
    assert!(
        page.contains("4100000000000001") && page.contains("KEY=..."),
        "the key is for this machine only: {page}"
    );
    assert!(!page.contains(app.secret_key()));
    let collection = app.anonymous().bytes("/postman.json").await;
    let collection: Value = serde_json::from_slice(&collection.2).unwrap();
    assert!(collection["info"]["schema"].is_string());
    let live = App::live(database).await.unwrap();
    let page = String::from_utf8(live.anonymous().bytes("/").await.2).unwrap();
    assert!(!page.contains("4100000000000001") && !page.contains("KEY="), "{page}");
}
on_both!(the_page_at_the_address_says_where_everything_is);
