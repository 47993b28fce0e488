//! Customers, and a customer with its cards, charges and subscriptions.

use axum::extract::State;
use maud::html;

use super::auth::AccountSession;
use super::layout::{PageContent, PageResult};
use super::record::{self, Column, Record, facts, first_page, table, words};
use super::{charges, subscriptions};
use crate::http::AppState;
use crate::http::extract::{Input, Path};
use crate::services::customers;
use crate::services::{charges as all_charges, subscriptions as all_subscriptions};

const COLUMNS: [Column; 4] = [
    ("Customer", |customer| customer.token("/token")),
    ("Created", |customer| customer.time("/created_at")),
    ("E-mail", |customer| words(customer.text("/email"))),
    ("Card", |customer| words(customer.text("/card/display_number"))),
];

const CARDS: [Column; 4] = [
    ("Card", |card| card.token("/token")),
    ("Number", |card| html! { (card.text("/scheme")) " " (card.text("/display_number")) }),
    ("Expires", |card| {
        html! { (card.number("/expiry_month").unwrap_or_default()) "/" (card.number("/expiry_year").unwrap_or_default()) }
    }),
    ("Primary", |card| html! { @if card.is("/primary") { "primary" } }),
];

/// Lists the customers, newest first.
pub async fn list(State(app): State<AppState>, user: AccountSession, input: Input) -> PageResult {
    let page = customers::list(&app, &user.account, input.paging().valid()?).await?;
    record::section("Customers", &COLUMNS, page)
}

/// Shows one customer.
pub async fn show(State(app): State<AppState>, user: AccountSession, Path(id): Path<String>) -> PageResult {
    let account = &user.account;
    let customer = Record::of(&customers::show(&app, account, &id).await?)?;
    let cards = Record::each(&customers::list_cards(&app, account, &id, first_page()).await?.records)?;
    let charged = Record::each(&all_charges::of_customer(&app, account, &id, first_page()).await?.records)?;
    let subscribed =
        Record::each(&all_subscriptions::of_customer(&app, account, &id, first_page()).await?.records)?;
    let content = html! {
        (facts(&[
            ("E-mail", words(customer.text("/email"))),
            ("Name", words(format!("{} {}", customer.text("/first_name"), customer.text("/last_name")).trim())),
            ("Company", words(customer.text("/company"))),
            ("Telephone", words(customer.text("/phone_number"))),
            ("Created", customer.time("/created_at")),
        ]))
        (table("Cards", &CARDS, &cards))
        (table("Latest charges", &charges::COLUMNS, &charged))
        (table("Subscriptions", &subscriptions::COLUMNS, &subscribed))
        (customer.whole())
    };
    Ok(PageContent::of(format!("/1/customers/{id}"), format!("Customer {id}"), content))
}
