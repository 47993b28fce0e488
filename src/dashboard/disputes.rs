//! Disputes, a dispute with its activity, and the network's decisions.

use axum::extract::State;
use axum::response::Redirect;
use entity::dispute::DisputeStatus;
use futures::FutureExt;
use maud::{Markup, html};

use super::auth::{AccountSession, VerifiedForm};
use super::layout::{self, FormResult, PageContent, PageResult};
use super::list::{Column, DAYS, Field, FieldInput, ListView, Listing, column, table};
use super::questions::asking;
use super::record::{Record, facts, traces, words};
use super::state::DashboardState;
use super::{evidence, figures, is_test};
use crate::api::extract::{Input, Path};
use crate::services::Account;
use crate::services::disputes::params::{DecidedDispute, DisputeSearch};
use crate::services::disputes::view::Dispute;
use crate::services::disputes::{self, find, state};

pub static LIST: ListView<Dispute> = ListView {
    title: "Disputes",
    name: "disputes",
    api: "disputes",
    search: "disputes/search",
    columns: &[
        column("Dispute", |dispute| dispute.token("/token")),
        column("Amount", |dispute| dispute.money("/amount")).figures().sorted("amount"),
        column("Status", |dispute| dispute.state("/status")),
        column("Received", |dispute| dispute.ago("/received_at")).wide().sorted("received_at"),
        column("Evidence due", |dispute| while_open(dispute, dispute.ago("/evidence_required_by")))
            .wide()
            .sorted("evidence_required_by"),
        column("Charge", |dispute| dispute.token("/charge/token")).wide(),
    ],
    fields: &[
        &[
            Field {
                name: "status",
                label: "Status",
                input: FieldInput::Choice(|| DisputeStatus::ALL.iter().map(|status| status.code()).collect()),
            },
            Field {
                name: "query",
                label: "Charge's token, or a part of the status",
                input: FieldInput::Search,
            },
        ],
        &DAYS,
    ],
    order: Some("received_at"),
    is_searched_in_live: false,
    find,
};

const ACTIVITY: [Column; 4] = [
    column("Time", |entry| entry.ago("/created_at")),
    column("What", |entry| words(entry.text("/type"))).wide(),
    column("Status", |entry| entry.state("/status")),
    column("Amount", |entry| entry.at("/record").money("/amount")).figures(),
];

/// Renders until when evidence may come, if it still may.
fn while_open(dispute: &Record, time: Markup) -> Markup {
    if dispute.text("/status") == DisputeStatus::EvidenceRequired.code() { time } else { words("") }
}

/// Lists the disputes, newest first.
pub async fn list(State(app): State<DashboardState>, user: AccountSession, input: Input) -> PageResult {
    let funnel = if is_test(&app) {
        figures::disputes(&app, &user.account).await?
    } else {
        html! {}
    };
    LIST.page(&app, &user, &input, &funnel).await
}

fn find<'r>(app: &'r DashboardState, account: &'r Account, input: &'r Input) -> Listing<'r, Dispute> {
    async move {
        match LIST.searched(input) {
            None => disputes::list(app, account, input.sorting(find::SORTS)).await,
            Some(search) => disputes::search(app, account, DisputeSearch::read(&search, find::SORTS)).await,
        }
    }
    .boxed()
}

pub async fn show(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let (account, now) = (&user.account, user.account.now);
    let dispute = Record::new(now, &disputes::show(&app, account, &id).await?)?;
    let activity = Record::each(now, &disputes::activity(&app, account, &id).await?)?;
    let content = html! {
        (facts(&[
            ("Amount", dispute.money("/amount")),
            ("Status", dispute.state("/status")),
            ("Category", words(dispute.text("/category"))),
            ("Charge", dispute.token("/charge/token")),
            ("Received", dispute.time("/received_at")),
            ("Evidence required by", while_open(&dispute, dispute.time("/evidence_required_by"))),
        ]))
        @if is_test(&app) { (decisions(&user, &id, dispute.text("/status"))) }
        (evidence::of_dispute(&app, &user, &id, dispute.text("/status")).await?)
        (table("Activity, newest first", &ACTIVITY, &activity))
        @if is_test(&app) { (traces(&id)) }
        (dispute.whole())
    };
    Ok(PageContent::new(format!("/1/disputes/{id}"), format!("Dispute {id}"), content))
}

/// Renders a button for each status that may come next.
fn decisions(user: &AccountSession, id: &str, status: &str) -> Markup {
    let next = |from| DisputeStatus::ALL.iter().filter(move |to| state::next(from, **to).is_some());
    let next: Vec<_> = DisputeStatus::from_code(status).into_iter().flat_map(next).collect();
    html! {
        @if !next.is_empty() {
            (layout::actions(&user.session, &format!("/dashboard/disputes/{id}/decide"), &html! {
                span { "Decide as the network:" }
                @for status in next.iter().filter(|status| ***status != DisputeStatus::Accepted) {
                    button.other name="status" value=(status.code()) { (status.code().replace('_', " ")) }
                }
                @if next.contains(&&DisputeStatus::Accepted) {
                    span { "Or as the merchant:" }
                    (asking(&format!("/dashboard/disputes/{id}/accept"), "Accept the dispute"))
                }
            }))
        }
    }
}

/// Decides the dispute, as the network would.
pub async fn decide(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    let params = form.input.params::<DecidedDispute>();
    disputes::decide(&app, &form.caller, &id, params).await?;
    Ok(Redirect::to(&format!("/dashboard/disputes/{id}")))
}
