//! Snapshots of an account: create, restore, delete.

use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};

use super::auth::{AccountSession, VerifiedForm};
use super::layout::{self, FormResult};
use super::record::{Record, first_page};
use super::state::DashboardState;
use super::{SANDBOX, SNAPSHOTS};
use crate::api::extract::Path;
use crate::error::Error;
use crate::services::snapshots;

/// Renders the account's snapshots and their actions.
pub async fn of_account(app: &DashboardState, user: &AccountSession) -> Result<Markup, Error> {
    let kept = Record::each(
        user.account.now,
        &snapshots::list(app, &user.account, first_page().valid()?).await?.records,
    )?;
    let carried = layout::carried(&user.session);
    let action = |token: &str, verb: &str| format!("{SNAPSHOTS}/{token}/{verb}");
    Ok(html! {
        h2 { "Snapshots" }
        section.deeds aria-label="Snapshots" {
            p { "Once one is restored, the account holds what it held then, and its clock shows what it showed." }
            @for (snapshot, token) in kept.iter().map(|snapshot| (snapshot, snapshot.text("/token"))) {
                form method="post" action=(action(token, "restore")) {
                    (carried)
                    span { (snapshot.token("/token")) " of " (snapshot.time("/created_at")) }
                    button.other { "Restore" }
                }
                details {
                    summary { "Delete " (snapshot.text("/token")) }
                    form method="post" action=(action(token, "delete")) {
                        (carried)
                        span { "It cannot be restored afterwards." }
                        button.grave { "Delete this snapshot" }
                    }
                }
            }
            form method="post" action=(SNAPSHOTS) { (carried) button { "Make a snapshot" } }
        }
    })
}

/// Creates a snapshot of the account.
pub async fn create(State(app): State<DashboardState>, form: VerifiedForm) -> FormResult {
    snapshots::create(&app, &form.caller).await?;
    Ok(Redirect::to(SANDBOX))
}

/// Restores a snapshot.
pub async fn restore(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    snapshots::restore(&app.ctx, &form.caller, &id).await?;
    Ok(Redirect::to(SANDBOX))
}

/// Deletes a snapshot.
pub async fn delete(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    snapshots::remove(&app, &form.caller, &id).await?;
    Ok(Redirect::to(SANDBOX))
}
