//! Snapshots of an account: create, restore, delete.

use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};

use super::auth::{AccountSession, VerifiedForm};
use super::layout::{self, FormResult, PageResult};
use super::questions::{Question, asking};
use super::record::{Record, facts, longest_page};
use super::state::DashboardState;
use super::{SANDBOX, SNAPSHOTS};
use crate::api::extract::Path;
use crate::error::{Error, ErrorCode};
use crate::services::snapshots;

/// Renders the account's snapshots and their actions.
pub async fn of_account(app: &DashboardState, user: &AccountSession) -> Result<Markup, Error> {
    let kept = Record::each(
        user.account.now,
        &snapshots::list(app, &user.account, longest_page().valid()?).await?.records,
    )?;
    Ok(html! {
        h2 { "Snapshots" }
        section.actions aria-label="Snapshots" {
            p { "Once one is restored, the account holds what it held then, and its clock shows what it showed." }
            @for (snapshot, token) in kept.iter().map(|snapshot| (snapshot, snapshot.text("/token"))) {
                p {
                    (snapshot.token("/token")) " of " (snapshot.time("/created_at")) " "
                    a.button href=(address(token, "restore")) { "Restore" } " "
                    (asking(&address(token, "delete"), "Delete"))
                }
            }
            form method="post" action=(SNAPSHOTS) { (layout::hidden_fields(&user.session)) button { "Make a snapshot" } }
        }
    })
}

fn address(token: &str, verb: &str) -> String {
    format!("{SNAPSHOTS}/{token}/{verb}")
}

/// Finds a snapshot as the list shows it: an account has few.
async fn find(app: &DashboardState, user: &AccountSession, id: &str) -> Result<Record, Error> {
    let kept = snapshots::list(app, &user.account, longest_page().valid()?).await?;
    let kept = Record::each(user.account.now, &kept.records)?;
    let found = kept.into_iter().find(|snapshot| snapshot.text("/token") == id);
    found.ok_or_else(|| ErrorCode::NotFound.into())
}

fn about(snapshot: &Record) -> Markup {
    facts(&[("Snapshot", snapshot.token("/token")), ("Made", snapshot.time("/created_at"))])
}

/// Asks whether the account shall go back to a snapshot.
pub async fn ask_to_restore(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let snapshot = find(&app, &user, &id).await?;
    let consequence = html! {
        (about(&snapshot))
        p { "The account will hold what it held then. Everything that has happened in it since is lost, unless another snapshot holds it. \
             Its keys and its snapshots stay." }
    };
    let (title, action) = ("Restore this snapshot?".to_owned(), address(&id, "restore"));
    let question =
        Question { title, consequence, yes: "Restore it", action: &action, fields: &[], back: SANDBOX };
    Ok(question.page(&user.session))
}

/// Asks whether a snapshot shall go.
pub async fn ask_to_delete(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let snapshot = find(&app, &user, &id).await?;
    let consequence = html! {
        (about(&snapshot))
        p { "What it holds goes with it: the account cannot go back to that time any more. What the account holds now stays." }
    };
    let (title, action) = ("Delete this snapshot?".to_owned(), address(&id, "delete"));
    let question = Question {
        title,
        consequence,
        yes: "Delete the snapshot",
        action: &action,
        fields: &[],
        back: SANDBOX,
    };
    Ok(question.page(&user.session))
}

pub async fn create(State(app): State<DashboardState>, form: VerifiedForm) -> FormResult {
    snapshots::create(&app, &form.caller).await?;
    Ok(Redirect::to(SANDBOX))
}

pub async fn restore(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    snapshots::restore(&app.ctx, &form.caller, &id).await?;
    Ok(Redirect::to(SANDBOX))
}

pub async fn delete(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    snapshots::remove(&app, &form.caller, &id).await?;
    Ok(Redirect::to(SANDBOX))
}
