//! The first page: the balance, its history, and the latest charges.

use axum::extract::State;
use maud::html;
use serde_json::json;

use super::auth::AccountSession;
use super::layout::{PageContent, PageResult};
use super::list::table;
use super::record::{Record, facts};
use super::state::DashboardState;
use super::{charges, figures, is_test, plot};
use crate::params::Paging;
use crate::services::charges::attempt_params::AttemptSearch;
use crate::services::{charges as all_charges, ledger};

/// The number of charges that are shown.
const LATEST: u64 = 6;

/// Shows the overview. In test the latest charges are attempts of every state, as in their list.
pub async fn show(State(app): State<DashboardState>, user: AccountSession) -> PageResult {
    let (account, now) = (&user.account, user.account.now);
    let balance = Record::new(now, &ledger::balance(&app, account).await?)?;
    let days = ledger::history(&app, account).await?;
    let latest = if is_test(&app) {
        let newest = json!({ "per_page": LATEST, "direction": "-1" });
        let newest = AttemptSearch::read(&newest, all_charges::search::SORTS);
        all_charges::attempts(&app, account, newest).await?
    } else {
        all_charges::list(&app, account, Paging { page: 1, per_page: LATEST }).await?
    };
    let latest = Record::each(now, &latest.records)?;
    let sums = |name: &str| {
        let sums = balance.all(name);
        html! { @for sum in &sums { span.sum { (sum.money("/amount")) } } }
    };
    let content = html! {
        (facts(&[("Available", sums("/available")), ("Pending", sums("/pending"))]))
        (plot::of_balance(account.now.day(), &days))
        @if is_test(&app) { (figures::charges(&app, account).await?) }
        (table("Latest charges", &charges::COLUMNS, &latest))
        p { a href="/dashboard/charges" { "All charges" } }
    };
    Ok(PageContent::new("/1/balance", "Overview", content))
}
