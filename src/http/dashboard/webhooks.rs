//! Webhooks with their attempts, and the endpoints.

use axum::extract::State;
use axum::response::Redirect;
use entity::webhook::WebhookState;
use maud::{Markup, html};

use super::auth::{AccountSession, VerifiedForm};
use super::is_test;
use super::layout::{self, FormResult, PageContent, PageResult};
use super::record::{self, Address, Column, Record, facts, first_page, table, words};
use crate::http::AppState;
use crate::http::extract::{Input, Path};
use crate::services::events::ping;
use crate::services::webhooks::state::{WebhookAction, next};
use crate::services::{webhook_endpoints, webhooks};

const COLUMNS: [Column; 5] = [
    ("Webhook", |webhook| webhook.token("/token")),
    ("Created", |webhook| webhook.time("/created_at")),
    ("Status", |webhook| webhook.state("/status")),
    ("Event", |webhook| webhook.token("/event_token")),
    ("URL", |webhook| words(webhook.text("/url"))),
];

/// The columns of endpoints, without their signing keys: nobody has to read those here.
const ENDPOINTS: [Column; 3] = [
    ("Endpoint", |endpoint| endpoint.token("/token")),
    ("Registered", |endpoint| endpoint.time("/created_at")),
    ("URL", |endpoint| words(endpoint.text("/url"))),
];

/// Lists the endpoints, and the webhooks, newest first.
pub async fn list(State(app): State<AppState>, user: AccountSession, input: Input) -> PageResult {
    let paging = input.paging().valid()?;
    let endpoints =
        Record::each(&webhook_endpoints::list(&app, &user.account, first_page().valid()?).await?.records)?;
    let page = webhooks::list(&app, &user.account, paging).await?;
    let content = html! {
        (table("Endpoints", &ENDPOINTS, &endpoints))
        @if is_test(&app) && !endpoints.is_empty() { (pings(&user, &endpoints)) }
        (record::list("Webhooks, newest first", &COLUMNS, page, &Address::of("/dashboard/webhooks"))?)
    };
    Ok(PageContent::of(Address::of("/1/webhooks").page(paging).to_string(), "Webhooks", content))
}

fn pings(user: &AccountSession, endpoints: &[Record]) -> Markup {
    html! {
        section.deeds aria-label="What you can do" {
            @for endpoint in endpoints {
                form method="post" action={ "/dashboard/webhook_endpoints/" (endpoint.text("/token")) "/ping" } {
                    (layout::carried(&user.session))
                    span { (endpoint.text("/url")) }
                    button.other { "Ping it" }
                }
            }
        }
    }
}

/// Shows one webhook.
pub async fn show(State(app): State<AppState>, user: AccountSession, Path(id): Path<String>) -> PageResult {
    let webhook = Record::of(&webhooks::show(&app, &user.account, &id).await?)?;
    let failed = webhook.entries("/errors");
    let state = WebhookState::from_code(webhook.text("/status"));
    let is_replayed = state.is_some_and(|state| next(state, WebhookAction::Replay).is_ok());
    let content = html! {
        (facts(&[
            ("Status", webhook.state("/status")),
            ("URL", words(webhook.text("/url"))),
            ("Endpoint", webhook.token("/webhook_endpoint_token")),
            ("Event", webhook.token("/event_token")),
            ("Created", webhook.time("/created_at")),
            ("Next attempt", webhook.time("/next_run")),
            ("Accepted", webhook.time("/accepted_at")),
        ]))
        @if is_test(&app) && is_replayed {
            (layout::actions(&user.session, &format!("/dashboard/webhooks/{id}/replay"), &html! { button { "Replay it" } }))
        }
        h2 { "Attempts" }
        ol.history {
            @for (when, why) in &failed {
                li { time { (when) } " " (why.text("/error_description")) " (" code { (why.text("/error")) } ")" }
            }
            @if !webhook.text("/accepted_at").is_empty() {
                li { (webhook.time("/accepted_at")) " The endpoint accepted it" }
            } @else if failed.is_empty() {
                li { "None has ended yet" }
            }
        }
        (webhook.whole())
    };
    Ok(PageContent::of(format!("/1/webhooks/{id}"), format!("Webhook {id}"), content))
}

/// Sends a ping event to an endpoint.
pub async fn ping(State(app): State<AppState>, Path(id): Path<String>, form: VerifiedForm) -> FormResult {
    let webhook = Record::of(&ping::ping(&app, &form.caller, &id).await?)?;
    Ok(Redirect::to(&format!("/dashboard/webhooks/{}", webhook.text("/token"))))
}

/// Delivers the webhook again.
pub async fn replay(State(app): State<AppState>, Path(id): Path<String>, form: VerifiedForm) -> FormResult {
    webhooks::replay(&app, &form.caller, &id).await?;
    Ok(Redirect::to(&format!("/dashboard/webhooks/{id}")))
}
