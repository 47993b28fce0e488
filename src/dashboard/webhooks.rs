//! Webhooks with their attempts, and the endpoints.

use axum::extract::State;
use axum::response::Redirect;
use entity::webhook::WebhookState;
use futures::FutureExt;
use maud::{Markup, html};

use super::auth::{AccountSession, VerifiedForm};
use super::layout::{self, FormResult, PageContent, PageResult};
use super::list::{Column, ListView, column, table};
use super::record::{Record, facts, first_page, words};
use super::state::DashboardState;
use super::{is_test, timelines};
use crate::api::extract::{Input, Path};
use crate::services::events::{self, ping};
use crate::services::webhook_endpoints::params::NewWebhookEndpoint;
use crate::services::webhooks::state::{WebhookAction, next};
use crate::services::webhooks::view::Webhook;
use crate::services::{webhook_endpoints, webhooks};

pub static LIST: ListView<Webhook> = ListView::plain(
    "Webhooks",
    "webhooks",
    &[
        column("Webhook", |webhook| webhook.token("/token")),
        column("Status", |webhook| webhook.state("/status")),
        column("Created", |webhook| webhook.ago("/created_at")),
        column("Event", |webhook| webhook.token("/event_token")).wide(),
        column("URL", |webhook| words(webhook.text("/url"))).wide(),
    ],
    |app, account, input| async move { webhooks::list(app, account, input.paging().valid()?).await }.boxed(),
);

/// The columns of endpoints, without their signing keys: nobody has to read those here.
const ENDPOINTS: [Column; 3] = [
    column("Endpoint", |endpoint| endpoint.token("/token")),
    column("URL", |endpoint| words(endpoint.text("/url"))),
    column("Registered", |endpoint| endpoint.ago("/created_at")).wide(),
];

/// Lists the webhooks, newest first, and the endpoints.
pub async fn list(State(app): State<DashboardState>, user: AccountSession, input: Input) -> PageResult {
    let endpoints = webhook_endpoints::list(&app, &user.account, first_page().valid()?).await?;
    let endpoints = Record::each(user.account.now, &endpoints.records)?;
    let more = html! {
        (table("Endpoints", &ENDPOINTS, &endpoints))
        @if is_test(&app) { (endpoint_forms(&user, &endpoints)) }
    };
    LIST.page(&app, &user, &input, &more).await
}

/// Renders the forms that register an endpoint and ping those that there are.
fn endpoint_forms(user: &AccountSession, endpoints: &[Record]) -> Markup {
    html! {
        section.deeds aria-label="What you can do" {
            form method="post" action="/dashboard/webhook_endpoints" {
                (layout::carried(&user.session))
                label { span { "URL of a new endpoint" } input type="url" name="url" required placeholder="https://example.com/webhooks"; }
                button { "Register it" }
            }
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

/// Shows one webhook: its event, what it carries, and what the endpoint answered.
pub async fn show(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let (account, now) = (&user.account, user.account.now);
    let webhook = Record::new(now, &webhooks::show(&app, account, &id).await?)?;
    let event = Record::new(now, &events::show(&app, account, webhook.text("/event_token")).await?)?;
    let state = WebhookState::from_code(webhook.text("/status"));
    let is_replayed = state.is_some_and(|state| next(state, WebhookAction::Replay).is_ok());
    let content = html! {
        (facts(&[
            ("Type", words(event.text("/type"))),
            ("Status", webhook.state("/status")),
            ("URL", words(webhook.text("/url"))),
            ("Endpoint", webhook.token("/webhook_endpoint_token")),
            ("Event", webhook.token("/event_token")),
            ("Record", event.token("/data/token")),
            ("Created", webhook.time("/created_at")),
            ("Next attempt", webhook.time("/next_run")),
            ("Accepted", webhook.time("/accepted_at")),
        ]))
        @if is_test(&app) && is_replayed {
            (layout::actions(&user.session, &format!("/dashboard/webhooks/{id}/replay"), &html! { button { "Replay it" } }))
        }
        h2 { "What the endpoint answered" }
        (answers(&webhook))
        @if is_test(&app) { (timelines::of_webhook(now, &webhook)) }
        h2 { "What it carries" }
        (event.json(""))
        (webhook.whole())
    };
    Ok(PageContent::new(format!("/1/webhooks/{id}"), format!("Webhook {id}"), content))
}

/// Renders the answer to each attempt that has ended.
fn answers(webhook: &Record) -> Markup {
    let failed = webhook.entries("/errors");
    html! {
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
    }
}

pub async fn register(State(app): State<DashboardState>, form: VerifiedForm) -> FormResult {
    webhook_endpoints::register(&app, &form.caller, form.input.params::<NewWebhookEndpoint>()).await?;
    Ok(Redirect::to("/dashboard/webhooks"))
}

/// Sends a ping event to an endpoint.
pub async fn ping(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    let now = form.caller.account.now;
    let webhook = Record::new(now, &ping::ping(&app, &form.caller, &id).await?)?;
    Ok(Redirect::to(&format!("/dashboard/webhooks/{}", webhook.text("/token"))))
}

/// Delivers the webhook again.
pub async fn replay(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    webhooks::replay(&app, &form.caller, &id).await?;
    Ok(Redirect::to(&format!("/dashboard/webhooks/{id}")))
}
