//! Transfers, and a transfer with its line items.

use axum::extract::State;
use futures::FutureExt;
use maud::html;

use super::address::Address;
use super::auth::AccountSession;
use super::is_test;
use super::layout::{PageContent, PageResult};
use super::list::{self, Column, DAYS, Field, FieldInput, ListView, Listing, column};
use super::record::{Record, brief, facts, traces, words};
use super::state::DashboardState;
use crate::api::extract::{Input, Path};
use crate::params::Search;
use crate::services::transfers::view::Transfer;
use crate::services::{Account, transfers};

pub static LIST: ListView<Transfer> = ListView {
    title: "Transfers",
    name: "transfers",
    api: "transfers",
    search: "transfers/search",
    columns: &[
        column("Transfer", |transfer| transfer.token("/token")),
        column("Amount", |transfer| transfer.money("/amount")).figures(),
        column("Status", |transfer| transfer.state("/status")),
        column("Paid", |transfer| transfer.ago("/paid_at")).wide().sorted("paid_at"),
        column("Description", |transfer| brief(transfer.text("/description"))).wide(),
    ],
    fields: &[
        &[Field {
            name: "query",
            label: "Description, token, or amount in base units",
            input: FieldInput::Search,
        }],
        &DAYS,
    ],
    order: Some("paid_at"),
    is_searched_in_live: false,
    find,
};

const LINES: [Column; 4] = [
    column("Time", |line| line.ago("/created_at")),
    column("Type", |line| line.state("/type")),
    column("Amount", |line| line.money("/amount")).figures(),
    column("Charge", |line| line.token("/token")),
];

fn find<'r>(app: &'r DashboardState, account: &'r Account, input: &'r Input) -> Listing<'r, Transfer> {
    async move {
        match LIST.searched(input) {
            None => transfers::list(app, account, input.paging().valid()?).await,
            Some(search) => {
                let search = Search::read(&search, transfers::search::SORTS, "paid_at").valid()?;
                transfers::search(app, account, search).await
            }
        }
    }
    .boxed()
}

pub async fn show(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
    input: Input,
) -> PageResult {
    let account = &user.account;
    let transfer = Record::new(account.now, &transfers::show(&app, account, &id).await?)?;
    let lines = transfers::line_items(&app, account, &id, input.paging()).await?;
    let here = Address::new(format!("/dashboard/transfers/{id}"));
    let content = html! {
        (facts(&[
            ("Amount", transfer.money("/amount")),
            ("Status", transfer.state("/status")),
            ("Paid", transfer.time("/paid_at")),
            ("Credits", transfer.money("/total_credits")),
            ("Debits", transfer.money("/total_debits")),
            ("Description", words(transfer.text("/description"))),
            ("Reference", words(transfer.text("/reference"))),
            ("Recipient", transfer.token("/recipient")),
            ("Bank account", html! { (transfer.text("/bank_account/name")) " " (transfer.text("/bank_account/number")) }),
        ]))
        (list::list("What it pays out", &LINES, &user, lines, &here)?)
        @if is_test(&app) { (traces(&id)) }
        (transfer.whole())
    };
    Ok(PageContent::new(format!("/1/transfers/{id}"), format!("Transfer {id}"), content))
}
