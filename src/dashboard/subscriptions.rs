//! Subscriptions, and a subscription with its plan and its ledger.

use axum::extract::State;
use axum::response::Redirect;
use entity::subscription::SubscriptionState;
use futures::FutureExt;
use maud::{Markup, html};

use super::address::Address;
use super::auth::{AccountSession, VerifiedForm};
use super::layout::{FormResult, PageContent, PageResult};
use super::list::{self, Column, Field, FieldInput, ListView, Listing, OWN_DAYS, column};
use super::questions::{Question, asking};
use super::record::{Record, facts, longest_page, traces, words};
use super::state::DashboardState;
use super::{is_test, timelines};
use crate::api::extract::{Input, Path};
use crate::error::Error;
use crate::services::sandbox::statistics::coming_bills;
use crate::services::subscriptions::search_params::SubscriptionSearch;
use crate::services::subscriptions::state::{SubscriptionAction, next};
use crate::services::subscriptions::view::Subscription;
use crate::services::{Account, plans, subscriptions};

pub const COLUMNS: [Column; 5] = [
    column("Subscription", |subscription| subscription.token("/token")),
    column("State", |subscription| subscription.state("/state")),
    column("Billed next", |subscription| subscription.ago("/next_billing_date")),
    column("Created", |subscription| subscription.ago("/created_at")).wide(),
    column("Customer", |subscription| subscription.token("/customer_token")).wide(),
];

/// The number of coming bills that are shown.
const BILLS_SHOWN: i32 = 3;

pub static LIST: ListView<Subscription> = ListView {
    title: "Subscriptions",
    name: "subscriptions",
    api: "subscriptions",
    search: "subscriptions",
    columns: &COLUMNS,
    fields: &[
        &[
            Field { name: "query", label: "Customer, plan's name, or token", input: FieldInput::OwnSearch },
            Field { name: "state", label: "State", input: FieldInput::OwnChoice(states) },
        ],
        &OWN_DAYS,
    ],
    order: None,
    is_searched_in_live: false,
    find,
};

/// Returns the states that clients see.
fn states() -> Vec<&'static str> {
    let seen = SubscriptionState::ALL.iter().filter(|state| **state != SubscriptionState::Starting);
    seen.map(|state| state.code()).collect()
}

fn find<'r>(app: &'r DashboardState, account: &'r Account, input: &'r Input) -> Listing<'r, Subscription> {
    async move {
        match LIST.searched(input) {
            None => subscriptions::list(app, account, input.paging().valid()?).await,
            Some(search) => subscriptions::search(app, account, SubscriptionSearch::read(&search)).await,
        }
    }
    .boxed()
}

const ENTRIES: [Column; 4] = [
    column("Time", |entry| entry.ago("/created_at")),
    column("Type", |entry| words(entry.text("/type"))),
    column("Amount", |entry| entry.money("/amount")).figures(),
    column("What", |entry| entry.state("/annotation")),
];

pub async fn show(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
    input: Input,
) -> PageResult {
    let (account, now) = (&user.account, user.account.now);
    let subscription = Record::new(now, &subscriptions::show(&app, account, &id).await?)?;
    let plan = Record::new(now, &plans::show(&app, account, subscription.text("/plan_token")).await?)?;
    let entries = subscriptions::ledger(&app, account, &id, input.paging()).await?;
    let here = Address::new(format!("/dashboard/subscriptions/{id}"));
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
            section.actions aria-label="What you can do" { p { (asking(&unsubscribe, "Unsubscribe as the customer")) } }
        }
        @if is_test(&app) { (bills(&app, account, &subscription).await?) }
        (list::list("Ledger, newest first", &ENTRIES, &user, entries, &here)?)
        @if is_test(&app) { (traces(&id)) }
        (subscription.whole())
    };
    Ok(PageContent::new(format!("/1/subscriptions/{id}"), format!("Subscription {id}"), content))
}

/// Draws the bills: the latest ones, if there are many.
async fn bills(app: &DashboardState, account: &Account, subscription: &Record) -> Result<Markup, Error> {
    let id = subscription.text("/token");
    let latest = subscriptions::ledger(app, account, id, longest_page()).await?;
    let is_whole = latest.count <= latest.paging.per_page;
    let entries = Record::each(account.now, &latest.records)?;
    let coming = coming_bills(app, account, id, BILLS_SHOWN).await?;
    Ok(timelines::of_subscription(account.now, subscription, &entries, is_whole, &coming))
}

/// Asks whether the subscription shall end.
pub async fn ask_to_unsubscribe(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let subscription = Record::new(user.account.now, &subscriptions::show(&app, &user.account, &id).await?)?;
    if let Some(state) = SubscriptionState::from_code(subscription.text("/state")) {
        next(state, SubscriptionAction::Unsubscribe)?;
    }
    let consequence = html! {
        (facts(&[
            ("Subscription", subscription.token("/token")),
            ("Customer", subscription.token("/customer_token")),
            ("Interval ends", subscription.time("/active_interval_finishes_at")),
        ]))
        p { "It ends with the interval that is paid, and is not billed again. Until then, reactivating it charges nothing." }
    };
    let (title, back) = ("Unsubscribe as the customer?".to_owned(), format!("/dashboard/subscriptions/{id}"));
    let action = format!("{back}/unsubscribe");
    let question =
        Question { title, consequence, yes: "Unsubscribe", action: &action, fields: &[], back: &back };
    Ok(question.page(&user.session))
}

/// Unsubscribes, as the customer may do.
pub async fn unsubscribe(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    subscriptions::unsubscribe(&app, &form.caller, &id).await?;
    Ok(Redirect::to(&format!("/dashboard/subscriptions/{id}")))
}
