//! Customers, and a customer with its cards, charges and subscriptions.

use axum::extract::State;
use futures::FutureExt;
use maud::html;

use super::address::Address;
use super::auth::AccountSession;
use super::layout::{PageContent, PageResult};
use super::list::{Column, Field, FieldInput, ListView, Listing, OWN_DAYS, column, table};
use super::record::{Record, brief, facts, first_page, longest_page, traces, words};
use super::state::DashboardState;
use super::{charges, is_test, subscriptions};
use crate::api::extract::{Input, Path};
use crate::params::Search;
use crate::services::customers::view::Customer;
use crate::services::{Account, charges as all_charges, customers, subscriptions as all_subscriptions};

pub static LIST: ListView<Customer> = ListView {
    title: "Customers",
    name: "customers",
    api: "customers",
    search: "customers",
    columns: &COLUMNS,
    fields: &[
        &[Field {
            name: "query",
            label: "E-mail, name, company, telephone, notes, or token",
            input: FieldInput::OwnSearch,
        }],
        &OWN_DAYS,
    ],
    order: None,
    is_searched_in_live: false,
    find,
};

pub const COLUMNS: [Column; 5] = [
    column("Customer", |customer| customer.token("/token")),
    column("E-mail", |customer| brief(customer.text("/email"))),
    column("Name", |customer| brief(&name(customer))).wide(),
    column("Created", |customer| customer.ago("/created_at")),
    column("Card", |customer| words(customer.text("/card/display_number"))).wide(),
];

fn name(customer: &Record) -> String {
    format!("{} {}", customer.text("/first_name"), customer.text("/last_name")).trim().to_owned()
}

fn find<'r>(app: &'r DashboardState, account: &'r Account, input: &'r Input) -> Listing<'r, Customer> {
    async move {
        match LIST.searched(input) {
            None => customers::list(app, account, input.paging().valid()?).await,
            Some(search) => customers::search(app, account, Search::read(&search, &[], None).valid()?).await,
        }
    }
    .boxed()
}

const CARDS: [Column; 4] = [
    column("Card", |card| card.token("/token")),
    column("Number", |card| html! { (card.text("/scheme")) " " (card.text("/display_number")) }),
    column("Expires", |card| {
        html! { (card.number("/expiry_month").unwrap_or_default()) "/" (card.number("/expiry_year").unwrap_or_default()) }
    }),
    column("Primary", |card| html! { @if card.is("/primary") { "primary" } }),
];

pub async fn show(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let (account, now) = (&user.account, user.account.now);
    let customer = Record::new(now, &customers::show(&app, account, &id).await?)?;
    let cards = Record::each(now, &customers::list_cards(&app, account, &id, longest_page()).await?.records)?;
    let charged =
        Record::each(now, &all_charges::of_customer(&app, account, &id, first_page()).await?.records)?;
    let subscribed = Record::each(
        now,
        &all_subscriptions::of_customer(&app, account, &id, longest_page()).await?.records,
    )?;
    let content = html! {
        (facts(&[
            ("E-mail", words(customer.text("/email"))),
            ("Name", words(&name(&customer))),
            ("Company", words(customer.text("/company"))),
            ("Telephone", words(customer.text("/phone_number"))),
            ("Created", customer.time("/created_at")),
        ]))
        (table("Cards", &CARDS, &cards))
        (table("Latest charges", &charges::COLUMNS, &charged))
        @if is_test(&app) {
            p { a href=(Address::new("/dashboard/charges").with("query", &id)) { "All its charges, with declined ones" } }
        }
        (table("Subscriptions", &subscriptions::COLUMNS, &subscribed))
        @if is_test(&app) { (traces(&id)) }
        (customer.whole())
    };
    Ok(PageContent::new(format!("/1/customers/{id}"), format!("Customer {id}"), content))
}
