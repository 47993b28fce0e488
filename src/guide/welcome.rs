//! The page at the server's address: keys, what to try, and where everything is.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use maud::{Markup, html};

use super::{ERRORS, HOME, layout};
use crate::api::{AppState, own_machine};
use crate::config::Environment;

/// Test cards for the first tries: number and outcome.
const CARDS: [(&str, &str); 5] = [
    ("4200000000000000", "accepted"),
    ("4100000000000001", "card_declined"),
    ("4000000000000002", "insufficient_funds"),
    ("4300000000000009", "gateway_error"),
    ("4200300000000012", "accepted, and disputed as soon as it is captured"),
];

const PAY: &str = r#"curl "$URL/1/charges" -u "$KEY:" \
  -d email=roland@example.com -d description="A first payment" -d amount=400 -d ip_address=203.192.1.172 \
  -d 'card[number]=4200000000000000' -d 'card[expiry_month]=05' -d 'card[expiry_year]=2030' -d 'card[cvc]=123' \
  -d 'card[name]=Roland Robot' -d 'card[address_line1]=42 Sevenoaks St' -d 'card[address_city]=Lathlain' \
  -d 'card[address_country]=Australia'"#;
const LIST: &str = r#"curl "$URL/1/charges" -u "$KEY:""#;
const BALANCE: &str = r#"curl "$URL/1/balance" -u "$KEY:""#;

/// Serves the page.
pub async fn welcome(State(app): State<AppState>, request: Parts) -> Response {
    let is_test = app.info.environment == Environment::Test;
    let key = own_machine::test_key(&app, &request).map(|key| key.expose().to_owned());
    let (base_url, environment) = (&app.info.base_url, app.info.environment.name());
    let content = html! {
        h1 { "card-payments" }
        p.lead { "A card payments API, " (environment) " environment, at " (base_url) "/1." }
        (ways(&app))
        @if is_test { (tries(base_url, key.as_deref())) }
        @if is_test { (cards()) }
    };
    layout::page(&app, StatusCode::OK, "A card payments API", &content)
}

fn ways(app: &AppState) -> Markup {
    let page = match app.info.environment {
        Environment::Test => "Try it: the Swagger page",
        Environment::Live => "The Swagger page",
    };
    html! {
        ul.ways {
            li { a href="/docs/" { (page) } p { "Every operation, with its parameters, answers and errors." } }
            li { a href=(HOME) { "Guides" } p { "From the first payment to a cluster. " a href={ (HOME) "quick-start" } { "Quick start" } } }
            @if app.has_dashboard { li { a href="/dashboard" { "The dashboard" } p { "Look at an account, and act in it." } } }
            li { a href=(ERRORS) { "Errors" } p { "What each code means, and what to do." } }
            li { a href="/postman.json" { "Postman collection" } p { "All operations for Postman, Bruno and Insomnia." } }
            li {
                a href="/openapi.yaml" { "openapi.yaml" }
                p { "The API for generators; also as " a href="/openapi.json" { "openapi.json" } ", in short as " a href="/llms.txt" { "llms.txt" }
                    @if app.info.environment == Environment::Test { ", and its flows as " a href="/arazzo.yaml" { "arazzo.yaml" } }
                    "."
                }
            }
        }
    }
}

fn tries(base_url: &str, key: Option<&str>) -> Markup {
    html! {
        h2 { "Your key" }
        @if key.is_some() {
            p { "The secret key of the first account, shown because this browser is on the server's own machine. Paste this first:" }
        } @else {
            p { "The server has printed the keys of its first account when it started. Paste this first, with the secret one:" }
        }
        pre tabindex="0" { code { "URL=" (base_url) " KEY=" (key.unwrap_or("...")) } }
        h2 { "Three things to try" }
        p { "Take a payment:" }
        pre tabindex="0" { code { (PAY) } }
        p { "See all payments:" }
        pre tabindex="0" { code { (LIST) } }
        p { "See what the account owns:" }
        pre tabindex="0" { code { (BALANCE) } }
    }
}

fn cards() -> Markup {
    html! {
        h2 { "Test cards" }
        p { "The number decides the outcome; any future expiry and any cvc will do. " a href={ (HOME) "testing#test-cards" } { "All test cards" } }
        div.scroll tabindex="0" role="group" aria-label="Table" {
            table {
                thead { tr { th { "number" } th { "outcome" } } }
                tbody { @for (number, outcome) in CARDS { tr { td { code { (number) } } td { (outcome) } } } }
            }
        }
    }
}
