//! Evidence in a dispute: the batch that the merchant hands in, kind by kind, and submits.

use axum::extract::State;
use axum::response::Redirect;
use entity::dispute::DisputeStatus;
use entity::evidence::EvidenceKind;
use entity::file::FilePurpose;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use validator::Validate;

use super::auth::{AccountSession, VerifiedForm, VerifiedUpload};
use super::is_test;
use super::layout::{self, FormResult, PageResult};
use super::questions::{Question, asking};
use super::record::{Record, facts};
use super::state::DashboardState;
use crate::api::extract::Path;
use crate::error::{Error, ErrorCode};
use crate::limits::EVIDENCE_TEXT_LENGTH_MAX;
use crate::params::values::BLANK;
use crate::params::{self, Params, non_blank};
use crate::services::Account;
use crate::services::disputes::params::ChangedEvidence;
use crate::services::disputes::{self, evidence, state};
use crate::services::files;
use crate::services::files::params::NewFile;

fn address(dispute: &str) -> String {
    format!("/dashboard/disputes/{dispute}")
}

/// Renders the evidence of a dispute, and in test the forms that change and submit it while it can be.
pub async fn of_dispute(
    app: &DashboardState,
    user: &AccountSession,
    id: &str,
    status: &str,
) -> Result<Markup, Error> {
    let batch = Record::new(user.account.now, &evidence::show(app, &user.account, id).await?)?;
    let is_open = is_test(app) && status == DisputeStatus::EvidenceRequired.code();
    let given: Vec<_> = given(&batch).collect();
    Ok(html! {
        @if is_open || !given.is_empty() {
            h2 { "Evidence" }
            @if given.is_empty() { p.nothing { "There is none yet." } }
            @for kind in given { (piece(user, id, &batch, kind, is_open)) }
        }
        @if is_open { (forms(user, id)) }
    })
}

/// Returns the kinds of which a batch has evidence.
fn given(batch: &Record) -> impl Iterator<Item = EvidenceKind> {
    let is_given = |kind: &EvidenceKind| {
        ["file", "text"].iter().any(|part| !batch.value(&format!("/{}_{part}", kind.code())).is_null())
    };
    EvidenceKind::ALL.iter().copied().filter(is_given)
}

/// Renders the evidence of one kind.
fn piece(user: &AccountSession, id: &str, batch: &Record, kind: EvidenceKind, is_open: bool) -> Markup {
    let (file, text) = (batch.at(&format!("/{}_file", kind.code())), format!("/{}_text", kind.code()));
    html! {
        @let name = kind.code().replace('_', " ");
        section.actions aria-label=(name) {
            p { strong { (name) } }
            @if !batch.text(&text).is_empty() { p { (batch.text(&text)) } }
            @if !file.text("/token").is_empty() {
                p { a href=(file.text("/presigned_url")) { (file.text("/original_filename")) } }
            }
            @if is_open {
                form method="post" action={ (address(id)) "/evidence/remove" } {
                    (layout::hidden_fields(&user.session))
                    button.other name="kind" value=(kind.code()) { "Take out the " (name) }
                }
            }
        }
    }
}

fn forms(user: &AccountSession, id: &str) -> Markup {
    html! {
        section.actions aria-label="Answer as the merchant" {
            form.narrow method="post" enctype="multipart/form-data" action={ (address(id)) "/evidence" } {
                (layout::hidden_fields(&user.session))
                label for="kind" { "As the merchant, hand in" }
                select #kind name="kind" {
                    @for (kind, about) in EvidenceKind::WORDS { option value=(kind.code()) { (about) } }
                }
                label for="text" { "Text, of at most " (EVIDENCE_TEXT_LENGTH_MAX) " letters" }
                textarea #text name="text" rows="4" maxlength=(EVIDENCE_TEXT_LENGTH_MAX) {}
                label for="file" { "File: a PDF, PNG or JPEG of at most 10 MiB" }
                input #file type="file" name="file" accept="application/pdf,image/png,image/jpeg";
                button { "Add this evidence" }
            }
            p { (asking(&format!("{}/submit", address(id)), "Submit the evidence")) }
        }
    }
}

/// The evidence that is handed in.
#[derive(Deserialize, Validate)]
struct EvidenceForm {
    kind: EvidenceKind,
    text: Option<String>,
}

/// Adds evidence of a kind: a text, a file, or both. What it had before and does not get again stays.
pub async fn add(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    VerifiedUpload { form, upload }: VerifiedUpload,
) -> FormResult {
    let Params { value: EvidenceForm { kind, text }, mut faults } = form.input.params();
    let mut changes = Map::new();
    if let Some(text) = non_blank(text.as_deref()) {
        // A browser counts the end of a line as one letter, and sends two.
        changes.insert(format!("{}_text", kind.code()), text.replace("\r\n", "\n").into());
    }
    let (_, of_text) = read(&changes).kinds();
    faults.append(of_text);
    if changes.is_empty() && upload.is_none() {
        faults.add("text", BLANK);
    }
    if !faults.is_empty() {
        return Err(faults.into());
    }
    // A file is stored only for a dispute that takes it.
    let dispute =
        Record::new(form.caller.account.now, &disputes::show(&app, &form.caller.account, &id).await?)?;
    let status = DisputeStatus::from_code(dispute.text("/status")).ok_or(ErrorCode::NotFound)?;
    state::check_answerable(status)?;
    if upload.is_some() {
        let sent =
            json!({ "file": form.input.tree()["file"], "purpose": FilePurpose::DisputeEvidence.code() });
        let file = files::create(&app.ctx, &form.caller, params::read::<NewFile>(&sent), upload).await?;
        let file = Record::new(form.caller.account.now, &file)?;
        changes.insert(format!("{}_file", kind.code()), file.text("/token").into());
    }
    evidence::update(&app, &form.caller, &id, read(&changes)).await?;
    Ok(Redirect::to(&address(&id)))
}

fn read(changes: &Map<String, Value>) -> Params<ChangedEvidence> {
    params::read(&Value::Object(changes.clone()))
}

/// Takes the evidence of a kind out of the batch. Its file stays among the account's files.
pub async fn remove(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    let EvidenceForm { kind, .. } = form.input.params().valid()?;
    let parts = ["file", "text"].map(|part| (format!("{}_{part}", kind.code()), Value::from("")));
    evidence::update(&app, &form.caller, &id, read(&parts.into_iter().collect())).await?;
    Ok(Redirect::to(&address(&id)))
}

/// Asks whether the evidence shall be submitted.
pub async fn ask_to_submit(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    answerable(&app, &user.account, &id).await?;
    let batch = Record::new(user.account.now, &evidence::show(&app, &user.account, &id).await?)?;
    let kinds: Vec<_> = given(&batch).map(|kind| kind.code().replace('_', " ")).collect();
    let consequence = html! {
        @if kinds.is_empty() {
            p { "The batch has no evidence. Submitted like this, the dispute is reviewed without any, and none can be added afterwards." }
        } @else {
            p { "The batch has evidence of these kinds: " (kinds.join(", ")) "." }
            p { "The network reviews it from then on, and it can no longer be changed." }
        }
    };
    let (title, back, action) =
        ("Submit this evidence?".to_owned(), address(&id), format!("{}/submit", address(&id)));
    let question =
        Question { title, consequence, yes: "Submit it", action: &action, fields: &[], back: &back };
    Ok(question.page(&user.session))
}

/// Returns a dispute that the merchant may still answer.
async fn answerable(app: &DashboardState, account: &Account, id: &str) -> Result<Record, Error> {
    let dispute = Record::new(account.now, &disputes::show(app, account, id).await?)?;
    if let Some(status) = DisputeStatus::from_code(dispute.text("/status")) {
        state::check_answerable(status)?;
    }
    Ok(dispute)
}

/// Submits the batch for review.
pub async fn submit(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    evidence::submit(&app, &form.caller, &id).await?;
    Ok(Redirect::to(&address(&id)))
}

/// Asks whether the dispute shall be accepted.
pub async fn ask_to_accept(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let dispute = answerable(&app, &user.account, &id).await?;
    let consequence = html! {
        (facts(&[("Amount", dispute.money("/amount")), ("Charge", dispute.token("/charge/token"))]))
        p { "The cardholder keeps the money, and the dispute cannot be answered any more." }
    };
    let (title, back, action) =
        ("Accept this dispute?".to_owned(), address(&id), format!("{}/accept", address(&id)));
    let yes = "Accept the dispute";
    Ok(Question { title, consequence, yes, action: &action, fields: &[], back: &back }.page(&user.session))
}

/// Accepts the dispute, as the merchant.
pub async fn accept(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    disputes::accept(&app, &form.caller, &id).await?;
    Ok(Redirect::to(&address(&id)))
}
