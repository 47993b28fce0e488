//! Subscriptions, and a subscription with its plan and its ledger.

use axum::extract::State;
use axum::response::Redirect;
use entity::subscription::SubscriptionState;
use maud::html;

use super::auth::{AccountSession, VerifiedForm};
use super::is_test;
use super::layout::{self, ErrorPage, PageContent, PageResult};
use super::record::{self, Address, Column, Record, facts, first_page, table, words};
use crate::http::AppState;
use crate::http::extract::{Input, Path};
use crate::services::subscriptions::state::{SubscriptionAction, next};
use crate::services::{plans, subscriptions};

/// The columns of a list of subscriptions.
pub const COLUMNS: [Column; 5] = [
    ("Subscription", |subscription| subscription.token("/token")),
    ("Created", |subscription| subscription.time("/created_at")),
    ("State", |subscription| subscription.state("/state")),
    ("Billed next", |subscription| subscription.time("/next_billing_date")),
    ("Customer", |subscription| subscription.token("/customer_token")),
];

const ENTRIES: [Column; 4] = [
    ("Time", |entry| entry.time("/created_at")),
    ("Type", |entry| words(entry.text("/type"))),
    ("Amount", |entry| entry.money("/amount")),
    ("What", |entry| entry.state("/annotation")),
];

/// Lists the subscriptions, newest first.
pub async fn list(State(site): State<AppState>, user: AccountSession, input: Input) -> PageResult {
    let paging = input.paging().valid()?;
    let page = subscriptions::list(&site, &user.account, paging).await?;
    let here = Address::of("/dashboard/subscriptions");
    let content = record::list("Subscriptions, newest first", &COLUMNS, page, &here)?;
    Ok(PageContent::of(Address::of("/1/subscriptions").page(paging).to_string(), "Subscriptions", content))
}

/// Shows one subscription.
pub async fn show(State(site): State<AppState>, user: AccountSession, Path(id): Path<String>) -> PageResult {
    let account = &user.account;
    let subscription = Record::of(&subscriptions::show(&site, account, &id).await?)?;
    let plan = Record::of(&plans::show(&site, account, subscription.text("/plan_token")).await?)?;
    let entries = subscriptions::ledger(&site, account, &id, first_page()).await?.records;
    let entries = entries.iter().map(Record::of).collect::<Result<Vec<_>, _>>()?;
    let state = SubscriptionState::from_code(subscription.text("/state"));
    let is_open = state.is_some_and(|state| next(state, SubscriptionAction::Unsubscribe).is_ok());
    let may_cancel = !plan.all("/customer_permissions").is_empty();
    let content = html! {
        (facts(&[
            ("State", subscription.state("/state")),
            ("Customer", subscription.token("/customer_token")),
            ("Plan", html! { (plan.text("/name")) " " (plan.token("/token")) }),
            ("Amount", html! {
                (plan.money("/amount")) ", interval " (plan.number("/interval").unwrap_or_default()) " " (plan.text("/interval_unit"))
            }),
            ("Interval began", subscription.time("/active_interval_started_at")),
            ("Interval ends", subscription.time("/active_interval_finishes_at")),
            ("Billed next", subscription.time("/next_billing_date")),
            ("Cancelled", subscription.time("/cancelled_at")),
        ]))
        @if is_test(&site) && is_open && may_cancel {
            section.deeds aria-label="What you can do" {
                form method="post" action={ "/dashboard/subscriptions/" (id) "/unsubscribe" } {
                    (layout::carried(&user.session))
                    button { "Unsubscribe as the customer" }
                }
            }
        }
        (table("Ledger, newest first", &ENTRIES, &entries))
        (subscription.whole())
    };
    Ok(PageContent::of(format!("/1/subscriptions/{id}"), format!("Subscription {id}"), content))
}

/// Unsubscribes, as the customer may do.
pub async fn unsubscribe(
    State(site): State<AppState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> Result<Redirect, ErrorPage> {
    subscriptions::unsubscribe(&site, &form.caller, &id).await?;
    Ok(Redirect::to(&format!("/dashboard/subscriptions/{id}")))
}
