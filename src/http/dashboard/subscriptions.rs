//! Subscriptions, and a subscription with its plan and its ledger.

use axum::extract::State;
use axum::response::Redirect;
use entity::subscription::SubscriptionState;
use maud::html;

use super::auth::{AccountSession, VerifiedForm};
use super::is_test;
use super::layout::{self, FormResult, PageContent, PageResult};
use super::record::{self, Column, Record, facts, first_page, table, words};
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
pub async fn list(State(app): State<AppState>, user: AccountSession, input: Input) -> PageResult {
    let page = subscriptions::list(&app, &user.account, input.paging().valid()?).await?;
    record::section("Subscriptions", &COLUMNS, page)
}

/// Shows one subscription.
pub async fn show(State(app): State<AppState>, user: AccountSession, Path(id): Path<String>) -> PageResult {
    let account = &user.account;
    let subscription = Record::of(&subscriptions::show(&app, account, &id).await?)?;
    let plan = Record::of(&plans::show(&app, account, subscription.text("/plan_token")).await?)?;
    let entries = Record::each(&subscriptions::ledger(&app, account, &id, first_page()).await?.records)?;
    let state = SubscriptionState::from_code(subscription.text("/state"));
    let is_open = state.is_some_and(|state| next(state, SubscriptionAction::Unsubscribe).is_ok());
    let may_cancel = !plan.all("/customer_permissions").is_empty();
    let unsubscribe = format!("/dashboard/subscriptions/{id}/unsubscribe");
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
        @if is_test(&app) && is_open && may_cancel {
            (layout::actions(&user.session, &unsubscribe, &html! { button { "Unsubscribe as the customer" } }))
        }
        (table("Ledger, newest first", &ENTRIES, &entries))
        (subscription.whole())
    };
    Ok(PageContent::of(format!("/1/subscriptions/{id}"), format!("Subscription {id}"), content))
}

/// Unsubscribes, as the customer may do.
pub async fn unsubscribe(
    State(app): State<AppState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    subscriptions::unsubscribe(&app, &form.caller, &id).await?;
    Ok(Redirect::to(&format!("/dashboard/subscriptions/{id}")))
}
