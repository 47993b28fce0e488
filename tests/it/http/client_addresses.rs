//! Clients' addresses behind trusted proxies (`docs/decisions.md`, 62), and which of them are one client (399).

use axum::body::Body;
use http::Method;
use serde_json::json;

use crate::harness::browser::{Browser, refused};
use crate::harness::sending::post_with;
use crate::harness::{App, Client, Database, card, on_both};

/// A server behind proxies: on its own machine, and in front of that one.
async fn behind_proxies(database: Database) -> Option<App> {
    let mut app = App::start(database).await?;
    app.trusts(&["127.0.0.0/8", "10.0.0.0/8"]).await;
    Some(app)
}

/// The status of a request with these headers of the proxy.
async fn status(client: &Client, forwarded: &[&[u8]]) -> u16 {
    let request = client.request(Method::GET, "/1/charges");
    let request = forwarded.iter().fold(request, |request, value| request.header("x-forwarded-for", *value));
    client.send_unchecked(request.body(Body::empty()).unwrap()).await.status
}

async fn an_address_from_a_proxy_is_read_or_is_nobodys(database: Database) {
    let Some(app) = behind_proxies(database).await else { return };
    let key_of = async |networks: &[&str]| {
        let key = app.client().restricted_key(&json!({ "networks": networks })).await;
        app.with_key(key["secret_key"].as_str().unwrap())
    };
    let clients = key_of(&["203.0.113.0/24", "2001:db8::/32"]).await;
    let proxies = key_of(&["127.0.0.0/8", "10.0.0.0/8"]).await;
    let readable: [&[&[u8]]; 7] = [
        &[b"203.0.113.9"],
        &[b"203.0.113.9:51234"],
        &[b"[2001:db8::1]:443"],
        &[b"[2001:db8::1]"],
        &[b"198.51.100.1, 203.0.113.9:1, 10.0.0.7:2"],
        &[b"198.51.100.1", b"203.0.113.9"],
        // The client's own word.
        &[b"\xc3\xa9t\xc3\xa9 \xff, 203.0.113.9"],
    ];
    for forwarded in readable {
        let statuses = (status(&clients, forwarded).await, status(&proxies, forwarded).await);
        assert_eq!(statuses, (200, 401), "{forwarded:?}");
    }
    let unreadable: [&[&[u8]]; 8] = [
        &[b"\xe9"],
        &[b"unknown"],
        &[b""],
        &[b"203.0.113.9\xe9"],
        &[b"203.0.113.9,"],
        &[b"203.0.113.9, _hidden"],
        &[b"203.0.113.9", b"\xc3\xa9t\xc3\xa9", b"10.0.0.7"],
        &[b"203.0.113.9:port"],
    ];
    for forwarded in unreadable {
        let statuses = (status(&clients, forwarded).await, status(&proxies, forwarded).await);
        assert_eq!(statuses, (401, 401), "{forwarded:?}");
    }
    assert_eq!(
        (status(&clients, &[]).await, status(&proxies, &[]).await),
        (401, 200),
        "the proxy's own request"
    );
    for (forwarded, shown) in [("unknown", ""), ("203.0.113.9:51234", "203.0.113.9")] {
        let headers = [("x-forwarded-for", forwarded)];
        let made = post_with(&app.client(), "/1/cards", &headers, &card("4200000000000000")).await;
        assert_eq!(made.json()["ip_address"], shown, "{forwarded}");
    }
}

async fn sign_ins_from_one_network_are_counted_together(database: Database) {
    let Some(app) = behind_proxies(database).await else { return };
    let mut browser = Browser::new(&app);
    for (network, outside) in [
        ("2001:db8:1:2::", "2001:db8:1:3::1"),
        ("203.0.113.", "203.0.112.1"),
        // The translated addresses of IPv4 are not one network.
        ("64:ff9b::198.51.100.", "64:ff9b::198.51.101.1"),
        ("unknown", "192.0.2.1"),
    ] {
        for n in 1..=10 {
            browser.forwarded = Some(format!("{network}{n}"));
            assert_eq!(browser.sign_in("wrong").await.status, 422, "{network}{n}");
        }
        browser.forwarded = Some(format!("{network}200"));
        let answer = browser.sign_in(app.secret_key()).await;
        refused(&answer, 429, "Too many requests. Please try again in a moment.");
        browser.forwarded = Some(outside.to_owned());
        assert_eq!(browser.sign_in("wrong").await.status, 422, "{outside}");
    }
}

on_both!(an_address_from_a_proxy_is_read_or_is_nobodys);
on_both!(sign_ins_from_one_network_are_counted_together);
