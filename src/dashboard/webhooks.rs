//! Webhooks with their attempts, and the endpoints.

use axum::extract::State;
use axum::response::Redirect;
use entity::event::EventType;
use entity::webhook::WebhookState;
use futures::FutureExt;
use maud::{Markup, html};

use super::auth::{AccountSession, VerifiedForm};
use super::layout::{self, FormResult, PageContent, PageResult};
use super::list::{Field, FieldInput, ListView, Listing, column};
use super::record::{Record, facts, words};
use super::state::DashboardState;
use super::{endpoints, inboxes, is_test, timelines};
use crate::api::extract::{Input, Path};
use crate::services::webhooks::params::WebhookSearch;
use crate::services::webhooks::state::{WebhookAction, next};
use crate::services::webhooks::view::Webhook;
use crate::services::{Account, events, webhooks};

pub static LIST: ListView<Webhook> = ListView {
    title: "Webhooks",
    name: "webhooks",
    api: "webhooks",
    search: "webhooks",
    columns: &[
        column("Webhook", |webhook| webhook.token("/token")),
        column("Status", |webhook| webhook.state("/status")),
        column("Created", |webhook| webhook.ago("/created_at")),
        column("Event", |webhook| webhook.token("/event_token")).wide(),
        column("URL", |webhook| words(webhook.text("/url"))).wide(),
    ],
    fields: &[&[Field {
        name: "type",
        label: "Type of the event",
        input: FieldInput::Choice(|| EventType::ALL.iter().map(|known| known.code()).collect()),
    }]],
    order: None,
    is_searched_in_live: false,
    find,
};

/// Lists the webhooks, newest first, and what receives them.
pub async fn list(State(app): State<DashboardState>, user: AccountSession, input: Input) -> PageResult {
    let more = html! {
        (endpoints::of_account(&app, &user).await?)
        @if is_test(&app) { (inboxes::of_account(&app, &user).await?) }
    };
    LIST.page(&app, &user, &input, &more).await
}

fn find<'r>(app: &'r DashboardState, account: &'r Account, input: &'r Input) -> Listing<'r, Webhook> {
    async move { webhooks::list(app, account, WebhookSearch::read(&LIST.parameters(input)).valid()?).await }
        .boxed()
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

/// Delivers the webhook again.
pub async fn replay(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    webhooks::replay(&app, &form.caller, &id).await?;
    Ok(Redirect::to(&format!("/dashboard/webhooks/{id}")))
}
