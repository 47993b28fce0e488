//! Disputes, a dispute with its activity, and the network's decisions.

use axum::extract::State;
use axum::response::Redirect;
use entity::dispute::DisputeStatus;
use maud::{Markup, html};

use super::auth::{AccountSession, VerifiedForm};
use super::is_test;
use super::layout::{self, FormResult, PageContent, PageResult};
use super::record::{self, Column, Record, facts, table, words};
use crate::http::AppState;
use crate::http::extract::{Input, Path};
use crate::params::dispute::DecidedDispute;
use crate::services::disputes::{self, find, state};

const COLUMNS: [Column; 5] = [
    ("Dispute", |dispute| dispute.token("/token")),
    ("Received", |dispute| dispute.time("/received_at")),
    ("Amount", |dispute| dispute.money("/amount")),
    ("Status", |dispute| dispute.state("/status")),
    ("Charge", |dispute| dispute.token("/charge/token")),
];

const ACTIVITY: [Column; 4] = [
    ("Time", |entry| entry.time("/created_at")),
    ("What", |entry| words(entry.text("/type"))),
    ("Status", |entry| entry.state("/status")),
    ("Amount", |entry| entry.at("/record").money("/amount")),
];

/// Lists the disputes, newest first.
pub async fn list(State(app): State<AppState>, user: AccountSession, input: Input) -> PageResult {
    let page = disputes::list(&app, &user.account, input.sorting(find::SORTS)).await?;
    record::section("Disputes", &COLUMNS, page)
}

/// Shows one dispute.
pub async fn show(State(app): State<AppState>, user: AccountSession, Path(id): Path<String>) -> PageResult {
    let account = &user.account;
    let dispute = Record::of(&disputes::show(&app, account, &id).await?)?;
    let activity = Record::each(&disputes::activity(&app, account, &id).await?)?;
    let content = html! {
        (facts(&[
            ("Amount", dispute.money("/amount")),
            ("Status", dispute.state("/status")),
            ("Category", words(dispute.text("/category"))),
            ("Charge", dispute.token("/charge/token")),
            ("Received", dispute.time("/received_at")),
            ("Evidence required by", dispute.time("/evidence_required_by")),
        ]))
        @if is_test(&app) { (decisions(&user, &id, dispute.text("/status"))) }
        (table("Activity, newest first", &ACTIVITY, &activity))
        (dispute.whole())
    };
    Ok(PageContent::of(format!("/1/disputes/{id}"), format!("Dispute {id}"), content))
}

/// Renders a button for each status that may come next.
fn decisions(user: &AccountSession, id: &str, status: &str) -> Markup {
    let next = |from| DisputeStatus::ALL.iter().filter(move |to| state::next(from, **to).is_some());
    let next: Vec<_> = DisputeStatus::from_code(status).into_iter().flat_map(next).collect();
    html! {
        @if !next.is_empty() {
            (layout::actions(&user.session, &format!("/dashboard/disputes/{id}/decide"), &html! {
                span { "Let the network decide:" }
                @for status in next {
                    button.other name="status" value=(status.code()) { (status.code().replace('_', " ")) }
                }
            }))
        }
    }
}

/// Decides the dispute, as the network would.
pub async fn decide(State(app): State<AppState>, Path(id): Path<String>, form: VerifiedForm) -> FormResult {
    let params = form.input.params::<DecidedDispute>();
    disputes::decide(&app, &form.caller, &id, params).await?;
    Ok(Redirect::to(&format!("/dashboard/disputes/{id}")))
}
