//! Inboxes of the sandbox: receivers of webhooks inside the server, with what arrived there.

use axum::extract::State;
use axum::response::Redirect;
use entity::inbox::InboxFault;
use maud::{Markup, html};
use serde_json::json;

use super::auth::{AccountSession, VerifiedForm};
use super::format::{self, Tone};
use super::layout::{self, FormResult, PageContent, PageResult};
use super::list::{Column, column, table};
use super::questions::{Question, asking};
use super::record::{Record, facts, longest_page, words};
use super::state::DashboardState;
use crate::api::extract::Path;
use crate::error::{Error, ErrorCode};
use crate::limits::{INBOX_EVERY_MAX, INBOX_LATENCY_MS_MAX};
use crate::services::page::AwaitedList;
use crate::services::webhooks::inboxes::params::{ChangedInbox, DeliverySearch};
use crate::services::webhooks::inboxes::{self, deliveries};

const PAGE: &str = "/dashboard/webhooks";
const INBOXES: &str = "/dashboard/inboxes";

const COLUMNS: [Column; 4] = [
    column("Inbox", |inbox| {
        let token = inbox.text("/token");
        html! { a.token href={ (INBOXES) "/" (token) } { (token) } }
    }),
    column("Answers", |inbox| words(&answer(inbox))),
    column("Deliveries", |inbox| html! { (inbox.number("/received").unwrap_or_default()) }).figures(),
    column("Made", |inbox| inbox.ago("/created_at")).wide(),
];

const DELIVERIES: [Column; 5] = [
    column("Number", |delivery| html! { (delivery.number("/number").unwrap_or_default()) }).figures(),
    column("Event", |delivery| delivery.token("/headers/webhook-id")),
    column("Signature", signature),
    column("Answer", |delivery| match delivery.number("/status") {
        Some(status) => format::toned(Tone::of_http(status), &status.to_string()),
        None => words(delivery.text("/fault")),
    }),
    column("Arrived", |delivery| delivery.ago("/created_at")).wide(),
];

/// Renders what a key of the endpoint has said of a delivery, with the reason if it is invalid.
fn signature(delivery: &Record) -> Markup {
    html! { span title=[Some(delivery.text("/signature_error")).filter(|why| !why.is_empty())] { (delivery.text("/signature")) } }
}

/// Says what an inbox answers.
fn answer(inbox: &Record) -> String {
    let status = inbox.number("/status").unwrap_or_default();
    let mut text = match inbox.text("/fault") {
        "" => status.to_string(),
        fault => fault.to_owned(),
    };
    let latency = inbox.number("/latency_ms").unwrap_or_default();
    if latency > 0 {
        text = format!("{text} after {latency} ms");
    }
    match inbox.number("/every") {
        Some(every) if every > 1 => format!("{text}, to one of {every}; 200 to the others"),
        _ => text,
    }
}

/// Renders the account's inboxes, and the form that makes one.
pub async fn of_account(app: &DashboardState, user: &AccountSession) -> Result<Markup, Error> {
    let inboxes = inboxes::list(app, &user.account, longest_page().valid()?).await?;
    let inboxes = Record::each(user.account.now, &inboxes.records)?;
    let order = Record::new(user.account.now, &json!({ "status": 200, "latency_ms": 0, "every": 1 }))?;
    Ok(html! {
        h2 { "Inboxes" }
        p { "An inbox is a receiver inside this server, which keeps what arrives and answers as you order. Register its URL as an endpoint." }
        (table("Inboxes, newest first", &COLUMNS, &inboxes))
        section.actions aria-label="Make an inbox" {
            form.narrow method="post" action=(INBOXES) {
                (layout::hidden_fields(&user.session))
                (order_fields(&order))
                button { "Make an inbox" }
            }
        }
    })
}

/// Renders the fields of an inbox's answer.
fn order_fields(order: &Record) -> Markup {
    let fault = order.text("/fault");
    html! {
        label for="status" { "It answers with the HTTP status" }
        input #status type="number" name="status" min="200" max="599" value=(order.number("/status").unwrap_or_default());
        label for="latency_ms" { "after so many milliseconds" }
        input #latency_ms type="number" name="latency_ms" min="0" max=(INBOX_LATENCY_MS_MAX) value=(order.number("/latency_ms").unwrap_or_default());
        label for="fault" { "unless it gives no answer" }
        select #fault name="fault" {
            option value="" selected[fault.is_empty()] { "it answers" }
            @for (known, about) in InboxFault::WORDS {
                option value=(known.code()) selected[fault == known.code()] { (about) }
            }
        }
        label for="every" { "To one of so many deliveries; the others get 200 at once" }
        input #every type="number" name="every" min="1" max=(INBOX_EVERY_MAX) value=(order.number("/every").unwrap_or_default());
    }
}

/// Finds an inbox as the list shows it: an account has few.
async fn find(app: &DashboardState, user: &AccountSession, id: &str) -> Result<Record, Error> {
    let listed = inboxes::list(app, &user.account, longest_page().valid()?).await?;
    let inboxes = Record::each(user.account.now, &listed.records)?;
    let found = inboxes.into_iter().find(|inbox| inbox.text("/token") == id);
    found.ok_or_else(|| ErrorCode::NotFound.into())
}

/// Shows an inbox, and the latest deliveries.
pub async fn show(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let inbox = find(&app, &user, &id).await?;
    let search = DeliverySearch::read(&json!({}));
    let list = deliveries::of_inbox(&app, &user.account, &id, search).await?;
    let arrived = list.page(&app).await?;
    let arrived = Record::each(user.account.now, &arrived.records)?;
    let content = html! {
        (facts(&[
            ("URL", words(inbox.text("/url"))),
            ("Answers", words(&answer(&inbox))),
            ("Deliveries", html! { (inbox.number("/received").unwrap_or_default()) }),
            ("Made", inbox.time("/created_at")),
        ]))
        section.actions aria-label="What you can do" {
            form method="post" action="/dashboard/webhook_endpoints" {
                (layout::hidden_fields(&user.session))
                input type="hidden" name="url" value=(inbox.text("/url"));
                button { "Register it as an endpoint" }
                (asking(&format!("{INBOXES}/{id}/delete"), "Delete it"))
            }
            form.narrow method="post" action={ (INBOXES) "/" (id) } {
                (layout::hidden_fields(&user.session))
                (order_fields(&inbox))
                button.other { "Change its answer" }
            }
        }
        (table("The latest deliveries", &DELIVERIES, &arrived))
        @for delivery in &arrived {
            details {
                summary { "Delivery " (delivery.number("/number").unwrap_or_default()) " as it arrived" }
                (delivery.json(""))
            }
        }
    };
    Ok(PageContent::new(format!("/1/sandbox/inboxes/{id}/deliveries"), format!("Inbox {id}"), content))
}

pub async fn create(State(app): State<DashboardState>, form: VerifiedForm) -> FormResult {
    let made = inboxes::create(&app, &form.caller, form.input.params::<ChangedInbox>()).await?;
    let made = Record::new(form.caller.account.now, &made)?;
    Ok(Redirect::to(&format!("{INBOXES}/{}", made.text("/token"))))
}

/// Changes what an inbox answers from now on.
pub async fn change(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    inboxes::change(&app, &form.caller, &id, form.input.params::<ChangedInbox>()).await?;
    Ok(Redirect::to(&format!("{INBOXES}/{id}")))
}

/// Asks whether an inbox shall go.
pub async fn ask_to_delete(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let inbox = find(&app, &user, &id).await?;
    let consequence = html! {
        (facts(&[
            ("Inbox", inbox.token("/token")),
            ("URL", words(inbox.text("/url"))),
            ("Deliveries", html! { (inbox.number("/received").unwrap_or_default()) }),
        ]))
        p { "What arrived there goes with it. An endpoint that has its URL stays, and its webhooks fail from then on." }
    };
    let (title, back, action) =
        ("Delete this inbox?".to_owned(), format!("{INBOXES}/{id}"), format!("{INBOXES}/{id}/delete"));
    let question =
        Question { title, consequence, yes: "Delete the inbox", action: &action, fields: &[], back: &back };
    Ok(question.page(&user.session))
}

/// Deletes an inbox with its deliveries.
pub async fn delete(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    inboxes::delete(&app, &form.caller, &id).await?;
    Ok(Redirect::to(PAGE))
}
