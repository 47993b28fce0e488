//! Transfers, and a transfer with its line items.

use axum::extract::State;
use maud::html;

use super::auth::AccountSession;
use super::layout::{PageContent, PageResult};
use super::record::{self, Address, Column, Record, facts, words};
use crate::http::AppState;
use crate::http::extract::{Input, Path};
use crate::services::transfers;

const COLUMNS: [Column; 5] = [
    ("Transfer", |transfer| transfer.token("/token")),
    ("Paid", |transfer| transfer.time("/paid_at")),
    ("Amount", |transfer| transfer.money("/amount")),
    ("Status", |transfer| transfer.state("/status")),
    ("Description", |transfer| words(transfer.text("/description"))),
];

const LINES: [Column; 4] = [
    ("Time", |line| line.time("/created_at")),
    ("Type", |line| line.state("/type")),
    ("Amount", |line| line.money("/amount")),
    ("Charge", |line| line.token("/token")),
];

/// Lists the transfers, newest first.
pub async fn list(State(app): State<AppState>, user: AccountSession, input: Input) -> PageResult {
    let page = transfers::list(&app, &user.account, input.paging().valid()?).await?;
    record::section("Transfers", &COLUMNS, page)
}

/// Shows one transfer.
pub async fn show(
    State(app): State<AppState>,
    user: AccountSession,
    Path(id): Path<String>,
    input: Input,
) -> PageResult {
    let account = &user.account;
    let transfer = Record::of(&transfers::show(&app, account, &id).await?)?;
    let lines = transfers::line_items(&app, account, &id, input.paging()).await?;
    let here = Address::of(format!("/dashboard/transfers/{id}"));
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
        (record::list("What it pays out", &LINES, lines, &here)?)
        (transfer.whole())
    };
    Ok(PageContent::of(format!("/1/transfers/{id}"), format!("Transfer {id}"), content))
}
