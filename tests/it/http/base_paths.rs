//! A server below a path of its address: a proxy takes the path away or leaves it, and every link has it (`docs/decisions.md`, 400).

use http::header;
use serde_json::json;

use crate::harness::browser::{Browser, led};
use crate::harness::{App, Database, on_both};

const BASE: &str = "/payments";

/// The addresses to which a page links, and from which it loads.
fn links(page: &str) -> Vec<&str> {
    let of =
        |attribute: &'static str| page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
    [" href=\"", " src=\"", " action=\"", " formaction=\""].into_iter().flat_map(of).collect()
}

/// Checks that all links of a page are below the base path, and returns them.
#[track_caller]
fn links_below<'a>(page: &'a str, what: &str) -> Vec<&'a str> {
    let links = links(page);
    let outside: Vec<_> =
        links.iter().filter(|link| link.starts_with('/') && !link.starts_with("/payments/")).collect();
    assert!(outside.is_empty() && !links.is_empty(), "{what}: {outside:?}");
    links
}

async fn every_link_is_below_the_path_of_the_servers_address(database: Database) {
    let Some(mut app) = App::start(database).await else { return };
    app.is_known_as(&format!("http://test{BASE}")).await;
    let mut browser = Browser::new(&app);
    let index = browser.get(BASE).await;
    // Pictures are no text, and places of the same page no addresses.
    let is_text = |link: &&str| link.starts_with('/') && !link.contains(".png");
    for link in links_below(&index.text, "the index").into_iter().filter(is_text) {
        assert!([200, 303].contains(&browser.get(link).await.status), "{link}");
    }
    assert_eq!(links(&browser.get("/").await.text), links(&index.text), "a proxy may take the path away");
    let signed_in = browser.post("/payments/dashboard/sign-in", &[("key", app.secret_key())]).await;
    led(&signed_in, "/payments/dashboard");
    let cookie = signed_in.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(cookie.contains("; Path=/payments/dashboard;"), "{cookie}");
    app.client().captured(400).await;
    let home = browser.get("/payments/dashboard").await.text;
    let pages = links_below(&home, "the overview");
    assert!(pages.len() > 10, "{pages:?}");
    for page in pages.into_iter().filter(|page| page.starts_with("/payments/dashboard")).filter(is_text) {
        let answer = browser.get(page).await;
        if answer.status != 405 && answer.text.starts_with("<!DOCTYPE html>") {
            links_below(&answer.text, page);
        }
    }
    led(&browser.get("/payments/docs").await, "/payments/docs/");
    let docs = browser.get("/payments/docs/").await.text;
    assert!(links(&docs).iter().all(|link| !link.starts_with('/')), "{docs}");
    let settings = browser.get("/payments/docs/swagger-initializer.js").await.text;
    assert!(settings.contains("\"url\":\"../openapi.json\""), "{settings}");
    let short = browser.get("/payments/llms.txt").await.text;
    assert!(short.contains("](/payments/docs/") && !short.contains("](/docs/"), "{short}");
    let balance = browser.get("/payments/1/balance").await;
    assert_eq!((balance.status, &balance.json()["error"]), (401, &json!("unauthorized")), "it is the API's");
    assert_eq!(browser.get("/paymentsx/1/balance").await.status, 404);
}

on_both!(every_link_is_below_the_path_of_the_servers_address);
