//! The money of one charge, from the card to the payout.

use entity::Currency;
use maud::{Markup, html};

use super::draw::{self, Figure, Row};
use super::format::{self, Tone};
use super::record;
use super::state::DashboardState;
use crate::error::Error;
use crate::services::Account;
use crate::services::sandbox::statistics::{self, MoneyKind, MoneyMove};

/// Renders the movements of a captured charge's money.
pub async fn of_charge(app: &DashboardState, account: &Account, token: &str) -> Result<Markup, Error> {
    let (moves, transfer) = statistics::money_of_charge(app, account, token).await?;
    if moves.is_empty() {
        return Ok(html! {});
    }
    let paid_out = html! {
        p {
            @if let Some(transfer) = transfer {
                "The charge was paid out with " (record::token(&transfer.to_string())) "."
            } @else { "The charge has not been paid out yet." }
        }
    };
    Ok(html! { (flow(&moves)) (paid_out) })
}

/// The label of the money that remains after refunds and disputes, unlike that which the charge itself brought.
const LEFT: &str = "Left for the merchant";

fn flow(moves: &[MoneyMove]) -> Markup {
    let aud = |amount| format::amount(Currency::Aud, amount);
    let mut left = 0_i64;
    let mut rows = Vec::with_capacity(moves.len() + 1);
    for step in moves {
        let from = left;
        left = left.saturating_add(step.amount);
        let tone = if step.amount < 0 { Tone::Bad } else { Tone::Good };
        rows.push(Row { label: name(step).into(), figure: aud(step.amount), from, to: left, tone });
    }
    rows.push(Row::new(LEFT, aud(left), left, Tone::Plain));
    let paid = moves.iter().find(|step| step.kind == MoneyKind::Charge).map_or(0, |step| step.amount);
    let rest = match left {
        0.. => format!("{} of it is the merchant's", aud(left)),
        _ => format!("{} more has left, which the merchant owes", aud(left.saturating_neg())),
    };
    let row = |step: &MoneyMove| vec![name(step).to_owned(), aud(step.amount), step.token.clone()];
    Figure {
        id: "money",
        title: "From the card to the payout",
        summary: format!("{} came from the card, and {rest}.", aud(paid)),
        drawing: draw::rows(&rows, true),
        headings: &["Movement", "Amount", "Record"],
        rows: moves.iter().map(row).chain([vec![LEFT.to_owned(), aud(left), String::new()]]).collect(),
    }
    .render()
}

fn name(step: &MoneyMove) -> &'static str {
    match step.kind {
        MoneyKind::Charge => "Charged to the card",
        MoneyKind::Fees => "Fees",
        MoneyKind::Platform => "Share of the platform",
        MoneyKind::Refund => "Refunded",
        MoneyKind::RefundReturn => "The refund failed",
        MoneyKind::Dispute if step.amount < 0 => "Disputed",
        MoneyKind::Dispute => "The disputed amount came back",
        MoneyKind::DisputeFee if step.amount < 0 => "Fee of the dispute",
        MoneyKind::DisputeFee => "Its fee came back",
    }
}
