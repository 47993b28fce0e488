//! Approvals: operations that take two persons (`docs/decisions.md`, 386). One person asks here, and another one decides.

use axum::extract::State;
use axum::response::Redirect;
use base::plain_text::escape;
use entity::approval::{ApprovalKind, ApprovalState, Model};
use entity::dispute::DisputeStatus;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
use validator::Validate;

use super::APPROVALS;
use super::auth::{AccountSession, VerifiedForm};
use super::layout::{self, ErrorPage, FormResult, PageContent, PageResult};
use super::record::{facts, words};
use super::state::DashboardState;
use crate::api::extract::{Input, Path};
use crate::error::ErrorCode;
use crate::services::approvals::{self, ApprovalRequest, ListedRequest};

/// Lists the account's requests, newest first, and offers to ask for more.
pub async fn list(State(app): State<DashboardState>, user: AccountSession) -> PageResult {
    let requests = approvals::list(&app, &user.account).await?;
    let content = html! {
        p { "A payout, a dispute decided by hand, an active merchant and a new key take two persons: one asks, and another one approves \
            within seven days. Both see the same facts: if one of them changes in between, the first one asks again." }
        @if requests.is_empty() { p.nothing { "There are none." } }
        @for ListedRequest { row, has_changed } in &requests {
            section aria-label={ (title(row.kind)) " " (row.id) } {
                h2 { (title(row.kind)) }
                (shown(row))
                @if *has_changed { p { "This has changed since. Nobody can approve it any more: ask again." } }
                @if row.state == ApprovalState::Pending { (decisions(&user, row, !has_changed)) }
            }
        }
        (offers(&user))
    };
    Ok(PageContent::bare("Approvals", content))
}

fn title(kind: ApprovalKind) -> &'static str {
    match kind {
        ApprovalKind::Transfer => "Payout",
        ApprovalKind::Dispute => "Dispute decided by hand",
        ApprovalKind::Merchant => "Merchant activated",
        ApprovalKind::Key => "New API key",
    }
}

fn shown(request: &Model) -> Markup {
    let facts_of = |json: &str| serde_json::from_str(json).unwrap_or_default();
    let parameters = text(&facts_of(request.parameters.as_str()));
    let seen = request.facts.as_ref().map(|json| text(&facts_of(json.as_str())));
    facts(&[
        ("State", words(request.state.code())),
        ("About", words(&request.subject)),
        ("Parameters", words(&parameters)),
        ("Facts", words(&seen.unwrap_or_default())),
        ("Digest of these", html! { code { (approvals::digest(request)) } }),
        ("Asked by", html! { (request.asked_by) ", " (request.asked_at.to_string()) }),
        ("Decided by", words(request.decided_by.as_deref().unwrap_or_default())),
    ])
}

/// Writes JSON as a person reads it, with the fields of an object in brackets. A text that is more than a word has quotation marks: no
/// description can pretend to be another field.
fn text(value: &Value) -> String {
    let listed = |parts: Vec<String>| parts.join(", ");
    let inner = |value: &Value| if value.is_object() { format!("({})", text(value)) } else { text(value) };
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) if is_word(text) => text.clone(),
        Value::String(_) => escape(&value.to_string(), |_| false).into_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => listed(items.iter().map(inner).collect()),
        Value::Object(fields) => {
            listed(fields.iter().map(|(name, value)| format!("{name}: {}", inner(value))).collect())
        }
    }
}

/// Returns whether a text reads as nothing but itself.
fn is_word(text: &str) -> bool {
    !["", "none", "true", "false"].contains(&text)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.@".contains(&byte))
}

/// Renders the buttons of an open request. Its own asker may only take it back.
fn decisions(user: &AccountSession, request: &Model, can_be_approved: bool) -> Markup {
    let own = user
        .session
        .person
        .as_ref()
        .is_some_and(|person| person.is(&request.asker_issuer, &request.asker_subject));
    let path = format!("{APPROVALS}/{}", request.id);
    layout::actions(
        &user.session,
        &format!("{path}/decline"),
        &html! {
            @if own {
                button.other { "Withdraw" }
            } @else {
                @if can_be_approved { button formaction={ (path) "/approve" } { "Approve" } " " }
                button.other { "Decline" }
            }
        },
    )
}

/// Renders the forms that ask.
fn offers(user: &AccountSession) -> Markup {
    let offer = |kind: ApprovalKind, fields: Markup| {
        let heading = format!("Ask for: {}", title(kind).to_lowercase());
        html! {
            section.actions aria-label=(heading) {
                h2 { (heading) }
                form.narrow method="post" action={ (APPROVALS) "/" (kind.code()) } {
                    (layout::hidden_fields(&user.session))
                    (fields)
                    button { "Ask" }
                }
            }
        }
    };
    html! {
        (offer(ApprovalKind::Transfer, html! {
            label for="amount" { "Amount in AUD cents" }
            input #amount name="amount" inputmode="numeric" required autocomplete="off";
            label for="description" { "Description" }
            input #description name="description" required;
            label for="recipient" { "Recipient's token, or self for the account's own bank account" }
            input #recipient name="recipient" required value="self";
        }))
        (offer(ApprovalKind::Dispute, html! {
            label for="dispute" { "Token of the dispute" }
            input #dispute name="subject" required autocomplete="off" placeholder="dis_...";
            label for="status" { "Status" }
            select #status name="status" {
                @for status in DisputeStatus::ALL { option value=(status.code()) { (status.code().replace('_', " ")) } }
            }
        }))
        (offer(ApprovalKind::Merchant, html! {
            label for="merchant" { "Token of the merchant" }
            input #merchant name="subject" required autocomplete="off" placeholder="mrch_...";
        }))
        (offer(ApprovalKind::Key, html! {
            label for="name" { "Name" }
            input #name name="name" required autocomplete="off";
            label for="rights" { "Rights, separated by commas" }
            input #rights name="rights" required autocomplete="off" placeholder="charges: read, refunds: write";
        }))
    }
}

/// The parameters of a form that requests an approval.
#[derive(Deserialize, Validate)]
struct RequestForm {
    subject: Option<String>,
    rights: Option<String>,
}

/// Records what a person asks for.
pub async fn request(
    State(app): State<DashboardState>,
    Path(kind): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    let kind = ApprovalKind::from_code(&kind).ok_or(ErrorCode::NotFound)?;
    let request = read_request(kind, &form.input);
    match approvals::request(&app, &form.caller.account, request).await {
        Err(error) if error.code() == ErrorCode::NotFound => {
            Err(ErrorPage::from(error).with_field("subject"))
        }
        Err(error) => Err(error.into()),
        Ok(()) => Ok(Redirect::to(APPROVALS)),
    }
}

fn read_request(kind: ApprovalKind, input: &Input) -> ApprovalRequest {
    let RequestForm { subject, rights } = input.params().value;
    let sent = input.tree();
    let parameters = match kind {
        ApprovalKind::Transfer => json!({
            "description": sent["description"], "amount": sent["amount"], "currency": "AUD", "recipient": sent["recipient"],
        }),
        ApprovalKind::Dispute => json!({ "status": sent["status"] }),
        ApprovalKind::Merchant => json!({ "status": "active" }),
        ApprovalKind::Key => {
            json!({ "name": sent["name"], "rights": rights_of(&rights.unwrap_or_default()) })
        }
    };
    ApprovalRequest { kind, subject: subject.unwrap_or_default().trim().to_owned(), parameters }
}

/// Reads rights as a person writes them: `charges: read, refunds: write`.
fn rights_of(text: &str) -> Value {
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    let rights = parts.map(|part| {
        let (section, right) = part.split_once(':').unwrap_or((part, ""));
        (section.trim().to_owned(), Value::from(right.trim()))
    });
    Value::Object(rights.collect())
}

/// Does what another person has asked for, and shows the record. A key is shown this once.
pub async fn approve(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> PageResult {
    let done = approvals::approve(&app, &form.caller.account, &id).await?;
    let content = html! {
        p { "Done, and recorded with both names." }
        @if let Some(key) = done["secret_key"].as_str() {
            p { "The key, which nothing shows again: " code { (key) } }
        } @else {
            (facts(&[("Record", words(done["token"].as_str().unwrap_or_default()))]))
        }
        p { a href=(APPROVALS) { "All approvals" } }
    };
    Ok(PageContent::bare("Approved", content))
}

/// Declines what another person has asked for, or takes back the person's own request.
pub async fn decline(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    approvals::decline(&app, &form.caller.account, &id).await?;
    Ok(Redirect::to(APPROVALS))
}
