//! One search for whatever the account has: a token leads to its record, words list what holds them.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use entity::section::{Right, Section};
use entity::token::is_token;
use maud::{Markup, html};
use recording::has_card_number;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use validator::Validate;

use super::address::Address;
use super::auth::AccountSession;
use super::layout::{ErrorPage, PageContent};
use super::list::{Column, column, table};
use super::record::{self, Record, brief, words};
use super::state::DashboardState;
use super::{customers, disputes, events, format, is_test, requests, subscriptions, transfers};
use crate::api::extract::Input;
use crate::error::{Error, ErrorCode};
use crate::limits::TEXT_LENGTH_MAX;
use crate::params::{Paging, Search, non_blank};
use crate::services::charges::attempt_params::AttemptSearch;
use crate::services::disputes::params::DisputeSearch;
use crate::services::events::params::EventSearch;
use crate::services::page::{AwaitedList, ListPage};
use crate::services::sandbox::request_params::RequestSearch;
use crate::services::subscriptions::search_params::SubscriptionSearch;
use crate::services::{self, Account};

/// The number of records of a kind that are shown.
const SHOWN: u64 = 5;

const PLANS: [Column; 3] = [
    column("Plan", |plan| about(plan.text("/token"))),
    column("Name", |plan| brief(plan.text("/name"))),
    column("Amount", |plan| plan.money("/amount")).figures(),
];

const RECIPIENTS: [Column; 3] = [
    column("Recipient", |recipient| about(recipient.text("/token"))),
    column("Name", |recipient| brief(recipient.text("/name"))),
    column("E-mail", |recipient| words(recipient.text("/email"))),
];

/// Renders the token of a record without a page, as a link to its events.
fn about(token: &str) -> Markup {
    html! { a.token href=(Address::new("/dashboard/events").with("about", token)) { (token) } }
}

#[derive(Deserialize, Validate)]
struct QueryParams {
    #[validate(length(max = TEXT_LENGTH_MAX))]
    query: Option<String>,
}

/// Leads to the record that a token names, or lists what holds the words.
pub async fn show(
    State(app): State<DashboardState>,
    user: AccountSession,
    input: Input,
) -> Result<Response, ErrorPage> {
    let QueryParams { query } = input.params().valid()?;
    let Some(query) = non_blank(query.as_deref()) else {
        let hint =
            html! { p { "Type a token, an e-mail address, a name or a part of a description above." } };
        return Ok(PageContent::bare("Search", hint).into_response());
    };
    if let Some(page) = page_of(&app, &user.account, query).await? {
        return Ok(Redirect::to(&page).into_response());
    }
    // A card's number is in no record, and in no page.
    let is_number = has_card_number(query);
    let found = if is_number { Vec::new() } else { Box::pin(found(&app, &user.account, query)).await? };
    let content = html! {
        @if !is_number { p { "What holds " strong { (query) } ":" } }
        @if found.is_empty() {
            p.nothing { "Nothing does." }
            p { "Words are looked for in descriptions, e-mail addresses, names and companies; amounts in base units; tokens as a whole." }
        }
        @for hits in found { (hits) }
    };
    Ok(PageContent::bare("Search", content).into_response())
}

/// Returns the page of the record that a token or the id of a request names.
async fn page_of(app: &DashboardState, account: &Account, query: &str) -> Result<Option<String>, Error> {
    let may = |section| account.may(section, Right::Read);
    let record = |section: Section, name: &str| (section, format!("/dashboard/{name}/{query}"));
    let (prefix, _) = query.split_once('_').unwrap_or_default();
    let (section, page) = match prefix {
        "rf" => (Section::Refunds, String::new()),
        _ => match record::page_name(query).filter(|_| is_token(query)) {
            Some(name) => record(Section::from_code(name).unwrap_or(Section::Sandbox), name),
            None if is_test(app) => record(Section::Sandbox, "requests"),
            None => return Ok(None),
        },
    };
    if !may(section) {
        return Ok(None);
    }
    let page = async {
        match prefix {
            "ch" => services::charges::show(app, account, query).await.map(drop)?,
            "cus" => services::customers::show(app, account, query).await.map(drop)?,
            "sub" => services::subscriptions::show(app, account, query).await.map(drop)?,
            "tfer" => services::transfers::show(app, account, query).await.map(drop)?,
            "dis" => services::disputes::show(app, account, query).await.map(drop)?,
            "evt" => services::events::show(app, account, query).await.map(drop)?,
            "whr" => services::webhooks::show(app, account, query).await.map(drop)?,
            "rf" => {
                let refund = Record::new(account.now, &services::refunds::show(app, account, query).await?)?;
                return Ok(format!("/dashboard/charges/{}", refund.text("/charge")));
            }
            _ => services::sandbox::requests::show(app, account, query).await.map(drop)?,
        }
        Ok::<_, Error>(page)
    };
    match page.await {
        Ok(page) => Ok(Some(page)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether an error says that there is no such record, or that the account has none of its kind.
fn is_absent(error: &Error) -> bool {
    let absent =
        [ErrorCode::NotFound, ErrorCode::RecordNotFound, ErrorCode::Forbidden, ErrorCode::ApiUnavailable];
    absent.contains(&error.code())
}

/// Returns tables of what holds a query, each of one kind of record.
async fn found(app: &DashboardState, account: &Account, query: &str) -> Result<Vec<Markup>, Error> {
    let may = |section| account.may(section, Right::Read);
    let tree = json!({ "query": query, "per_page": SHOWN, "direction": "-1" });
    let read = |sorts: &'static [&'static str], sort: &'static str| Search::read(&tree, sorts, sort).valid();
    let paging = Paging { page: 1, per_page: SHOWN };
    let mut hits = Hits { account, query, found: Vec::new() };
    if may(Section::Charges) {
        let sorts = services::charges::search::SORTS;
        let page = if is_test(app) {
            services::charges::attempts(app, account, AttemptSearch::read(&tree, sorts)).await?
        } else {
            services::charges::search(app, account, read(sorts, "created_at")?).await?
        };
        hits.add("Charges", Some("charges"), &super::charges::COLUMNS, &page)?;
    }
    if may(Section::Customers) {
        let page = services::customers::search(app, account, read(&[], "")?).await?;
        hits.add("Customers", Some("customers"), &customers::COLUMNS, &page)?;
    }
    if may(Section::Subscriptions) {
        let search = SubscriptionSearch::read(&tree);
        let page = services::subscriptions::search(app, account, search).await?;
        hits.add("Subscriptions", Some("subscriptions"), &subscriptions::COLUMNS, &page)?;
    }
    if may(Section::Plans) {
        let page = services::plans::search(app, account, query, paging).await?;
        hits.add("Plans", None, &PLANS, &page)?;
    }
    if may(Section::Transfers) {
        let search = read(services::transfers::search::SORTS, "paid_at")?;
        let page = services::transfers::search(app, account, search).await?;
        hits.add("Transfers", Some("transfers"), transfers::LIST.columns, &page)?;
    }
    if may(Section::Recipients) {
        let page = services::recipients::search(app, account, query, paging).await?;
        hits.add("Recipients", None, &RECIPIENTS, &page)?;
    }
    let search = DisputeSearch::read(&tree, services::disputes::find::SORTS);
    // Disputes are not looked for by less.
    if may(Section::Disputes) && account.settings().disputes && search.value.search.is_searchable() {
        let page = services::disputes::search(app, account, search).await?;
        hits.add("Disputes", Some("disputes"), disputes::LIST.columns, &page)?;
    }
    if is_token(query) {
        hits.add_mentions(app).await?;
    }
    Ok(hits.found)
}

/// The tables of what was found.
struct Hits<'h> {
    account: &'h Account,
    query: &'h str,
    found: Vec<Markup>,
}

impl Hits<'_> {
    /// Adds the records of a list, with the way to all of them in the list of this name, if there is one that can be searched.
    fn add<T: Serialize>(
        &mut self,
        title: &str,
        list: Option<&str>,
        columns: &[Column],
        page: &ListPage<T>,
    ) -> Result<(), Error> {
        let all = list.map(|list| Address::new(format!("/dashboard/{list}")).with("query", self.query));
        self.add_from(title, all.as_ref(), columns, page)
    }

    fn add_from<T: Serialize>(
        &mut self,
        title: &str,
        all: Option<&Address>,
        columns: &[Column],
        page: &ListPage<T>,
    ) -> Result<(), Error> {
        let records = Record::each(self.account.now, &page.records)?;
        if !records.is_empty() {
            self.found.push(html! {
                (table(title, columns, &records))
                @if page.count > SHOWN {
                    p {
                        @match all {
                            Some(all) => a href=(all) { "All " (format::count(page.count)) " " (title.to_lowercase()) },
                            None => { (SHOWN) " of " (format::count(page.count)) },
                        }
                    }
                }
            });
        }
        Ok(())
    }

    /// Adds the events about the record of a token, and in test the requests that name it.
    async fn add_mentions(&mut self, app: &DashboardState) -> Result<(), Error> {
        let (account, token) = (self.account, self.query);
        let tree = |name: &str| -> Value { json!({ name: token, "per_page": SHOWN }) };
        if account.may(Section::Events, Right::Read) {
            let list = services::events::list(app, account, EventSearch::read(&tree("about"))).await?;
            list.prepare(app).await?;
            let all = Address::new("/dashboard/events").with("about", token);
            self.add_from("Events", Some(&all), events::LIST.columns, &list.page(app).await?)?;
        }
        if is_test(app) {
            let search = RequestSearch::read(&tree("token"));
            let page = services::sandbox::requests::search(app, account, search).await?.page(app).await?;
            let all = Address::new("/dashboard/requests").with("token", token);
            self.add_from("Requests", Some(&all), requests::LIST.columns, &page)?;
        }
        Ok(())
    }
}
