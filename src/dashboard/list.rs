//! Tables of records, and lists: a page of one, its filters, its order, and the other pages.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use futures::future::BoxFuture;
use maud::{Markup, html};
use serde::Serialize;
use serde_json::{Map, Value};
use web::handlers::get;

use super::address::Address;
use super::auth::AccountSession;
use super::layout::{ErrorPage, PageContent, PageResult};
use super::record::Record;
use super::state::DashboardState;
use super::{format, is_test};
use crate::api::answer::Listed;
use crate::api::extract::Input;
use crate::error::Error;
use crate::services::Account;
use crate::services::page::ListPage;

#[derive(Clone, Copy)]
pub struct Column {
    name: &'static str,
    cell: fn(&Record) -> Markup,
    /// Its classes: what is `wide` is left out on a phone, `figures` are amounts.
    class: Option<&'static str>,
    /// The API's name of the order by it.
    sort: Option<&'static str>,
}

/// Creates a column: its heading, and what it shows of a record.
pub const fn column(name: &'static str, cell: fn(&Record) -> Markup) -> Column {
    Column { name, cell, class: None, sort: None }
}

impl Column {
    /// Returns the same column, left out on a phone.
    pub const fn wide(self) -> Self {
        Self { class: Some("wide"), ..self }
    }

    /// Returns the same column, for amounts.
    pub const fn figures(self) -> Self {
        Self { class: Some("figures"), ..self }
    }

    /// Returns the same column, by which the list can be sorted.
    pub const fn sorted(self, sort: &'static str) -> Self {
        Self { sort: Some(sort), ..self }
    }
}

/// Renders a table of records under a caption.
pub fn table(caption: &str, columns: &[Column], records: &[Record]) -> Markup {
    table_headed(caption, columns, records, plain_heading)
}

fn plain_heading(column: &Column) -> Markup {
    html! { th scope="col" class=[column.class] { (column.name) } }
}

fn table_headed(
    caption: &str,
    columns: &[Column],
    records: &[Record],
    heading: impl Fn(&Column) -> Markup,
) -> Markup {
    html! {
        div.scroll role="region" aria-label=(caption) tabindex="0" {
            table {
                caption { (caption) }
                thead { tr { @for column in columns { (heading(column)) } } }
                tbody {
                    @for record in records {
                        tr { @for column in columns { td class=[column.class] { ((column.cell)(record)) } } }
                    }
                }
            }
        }
        @if records.is_empty() { p.nothing { "There are none." } }
    }
}

/// A field of a list's filters: a parameter of the API's list.
pub struct Field {
    /// The parameter.
    pub name: &'static str,
    /// The label, which names what it filters by.
    pub label: &'static str,
    /// The input by which it is entered.
    pub input: FieldInput,
}

/// The input by which a parameter is entered.
pub enum FieldInput {
    /// A word of the record.
    Search,
    /// A text of this form.
    Text(&'static str),
    /// A whole number.
    Number,
    Day,
    /// One of these codes.
    Choice(fn() -> Vec<&'static str>),
    /// A word of the record, in a list that the API does not search.
    OwnSearch,
    /// One of these codes, by which the API does not filter.
    OwnChoice(fn() -> Vec<&'static str>),
    /// A day, in a list that the API does not search.
    OwnDay,
}

impl FieldInput {
    /// Returns whether only the dashboard has the filter.
    fn is_own(&self) -> bool {
        matches!(self, Self::OwnSearch | Self::OwnChoice(_) | Self::OwnDay)
    }
}

/// The days of a search.
pub const DAYS: [Field; 2] = [
    Field { name: "start_date", label: "From the day", input: FieldInput::Day },
    Field { name: "end_date", label: "Before the day", input: FieldInput::Day },
];

/// The days of a search that the API does not have.
pub const OWN_DAYS: [Field; 2] = [
    Field { name: "start_date", label: "From the day", input: FieldInput::OwnDay },
    Field { name: "end_date", label: "Before the day", input: FieldInput::OwnDay },
];

/// The page of a list that a request asks for.
pub type Listing<'r, T> = BoxFuture<'r, Result<ListPage<T>, Error>>;

/// Returns the page of a list that a request asks for.
type Find<T> = for<'r> fn(&'r DashboardState, &'r Account, &'r Input) -> Listing<'r, T>;

/// A section's list, with the parameters of the API's own.
pub struct ListView<T> {
    pub title: &'static str,
    /// The path below /dashboard.
    pub name: &'static str,
    /// The path below /1.
    pub api: &'static str,
    /// The path below /1 that answers if there are filters.
    pub search: &'static str,
    pub columns: &'static [Column],
    /// The filters. The first one stands by itself, and with it the state.
    pub fields: &'static [&'static [Field]],
    /// The order of the list, if it can be chosen; the newest first.
    pub order: Option<&'static str>,
    /// Whether live has the first filter.
    pub is_searched_in_live: bool,
    pub find: Find<T>,
}

impl<T: Serialize + 'static> ListView<T> {
    fn fields(&self) -> impl Iterator<Item = &'static Field> {
        self.fields.iter().copied().flatten()
    }

    /// Returns the selection of a request: the filters and the order, as it sends them.
    fn selection(&self, input: &Input) -> Vec<(&'static str, String)> {
        let order = ["sort", "direction"].into_iter().filter(|_| self.order.is_some());
        let sent = |name: &'static str| {
            let text = input.tree()[name].as_str().map(str::trim).filter(|text| !text.is_empty())?;
            Some((name, text.to_owned()))
        };
        self.fields().map(|field| field.name).chain(order).filter_map(sent).collect()
    }

    /// Returns the parameters of the API's list for a request.
    pub fn parameters(&self, input: &Input) -> Value {
        with_paging(input, self.selection(input))
    }

    /// Returns the parameters of the API's search for a request, newest first unless it asks otherwise; `None` if it asks for
    /// the whole list.
    pub fn searched(&self, input: &Input) -> Option<Value> {
        (!self.selection(input).is_empty()).then(|| self.search_parameters(input))
    }

    /// Returns the parameters of a search for a request, newest first unless it asks otherwise.
    pub fn search_parameters(&self, input: &Input) -> Value {
        let mut selection = self.selection(input);
        if self.order.is_some() && !selection.iter().any(|(name, _)| *name == "direction") {
            selection.push(("direction", "-1".to_owned()));
        }
        with_paging(input, selection)
    }

    /// Returns whether a request has a filter that only the dashboard has.
    fn is_own(&self, selection: &[(&'static str, String)]) -> bool {
        self.fields()
            .any(|field| field.input.is_own() && selection.iter().any(|(name, _)| *name == field.name))
    }

    /// Creates the page of the list. `more` follows the list.
    pub async fn page(
        &self,
        app: &DashboardState,
        user: &AccountSession,
        input: &Input,
        more: &Markup,
    ) -> PageResult {
        let page = (self.find)(app, &user.account, input).await?;
        let selection = self.selection(input);
        let per_page = input.tree()["per_page"].as_str().unwrap_or_default();
        let here =
            Address::new(format!("/dashboard/{}", self.name)).with_all(&selection).with("per_page", per_page);
        let api = match self.searched(input) {
            None => Address::new(format!("/1/{}", self.api)),
            Some(search) => {
                let texts = search.as_object().into_iter().flatten();
                let names = texts.filter(|(name, _)| !["page", "per_page"].contains(&name.as_str()));
                names.fold(Address::new(format!("/1/{}", self.search)), |address, (name, text)| {
                    address.with(name, text.as_str().unwrap_or_default())
                })
            }
        };
        let same = api.page(page.paging).with("per_page", per_page).to_string();
        let is_test = is_test(app);
        let caption = if selection.is_empty() {
            format!("{}, newest first", self.title)
        } else {
            format!("{} that match", self.title)
        };
        let count = page.count;
        let headings = |column: &Column| match column.sort.filter(|_| is_test) {
            Some(sort) => self.sort_link(column, sort, &selection),
            None => plain_heading(column),
        };
        let content = html! {
            (self.filters(is_test, &selection))
            (listed(&caption, self.columns, user, page, &here, headings)?)
            @if is_test && count > 0 {
                p { a href=(Address::new(format!("/dashboard/{}.csv", self.name)).with_all(&selection)) { "CSV of what is shown" } " (all pages)" }
            }
            (more)
        };
        // No call of the API answers the same as a filter that it does not have.
        if self.is_own(&selection) {
            return Ok(PageContent::bare(self.title, content));
        }
        Ok(PageContent::new(same, self.title, content))
    }

    /// Returns the route of the list as a page, with nothing after it.
    pub fn route(&'static self) -> MethodRouter<DashboardState> {
        get(async |State(app): State<DashboardState>, user: AccountSession, input: Input| {
            self.page(&app, &user, &input, &html! {}).await
        })
    }

    /// Returns the route of the list as CSV.
    pub fn csv(&'static self) -> MethodRouter<DashboardState> {
        get(async |State(app): State<DashboardState>, user: AccountSession, input: Input| {
            Ok::<_, ErrorPage>(self.export((self.find)(&app, &user.account, &input).await?))
        })
    }

    /// Returns a page of the list as JSON, of which `list_export` makes CSV.
    fn export(&self, page: ListPage<T>) -> Response {
        let mut response = Listed(page).into_response();
        let file = format!("attachment; filename=\"{}.csv\"", self.name);
        if let Ok(file) = HeaderValue::from_str(&file) {
            response.headers_mut().insert(header::CONTENT_DISPOSITION, file);
        }
        response
    }

    /// Renders the heading of a column as a link that sorts by it, or reverses its order.
    fn sort_link(&self, column: &Column, sort: &'static str, selection: &[(&'static str, String)]) -> Markup {
        let sent =
            |wanted: &str| selection.iter().find(|(name, _)| *name == wanted).map(|(_, text)| text.as_str());
        let is_current = sent("sort").or(self.order) == Some(sort);
        let ascending = sent("direction") == Some("1");
        let filters = selection.iter().filter(|(name, _)| !["sort", "direction"].contains(name));
        let to = filters
            .fold(Address::new(format!("/dashboard/{}", self.name)), |to, (name, text)| to.with(name, text));
        let to = to.with("sort", sort).with("direction", if is_current && !ascending { "1" } else { "-1" });
        let order = is_current.then_some(if ascending { "ascending" } else { "descending" });
        html! {
            th scope="col" class=[column.class] aria-sort=[order] {
                a href=(to) { (column.name) @if is_current { span aria-hidden="true" { @if ascending { " ↑" } @else { " ↓" } } } }
            }
        }
    }

    /// Renders the form of the filters.
    fn filters(&self, is_test: bool, selection: &[(&'static str, String)]) -> Markup {
        let fields: Vec<_> = self
            .fields()
            .take(if is_test { usize::MAX } else { usize::from(self.is_searched_in_live) })
            .collect();
        let (front, others): (Vec<_>, Vec<_>) =
            fields.iter().enumerate().partition(|(n, field)| *n == 0 || field.name == "state");
        if front.is_empty() {
            return html! {};
        }
        let sent = |field: &Field| {
            selection.iter().find(|(name, _)| *name == field.name).map_or("", |(_, text)| text.as_str())
        };
        let is_open = others.iter().any(|(_, field)| !sent(field).is_empty());
        let here = format!("/dashboard/{}", self.name);
        html! {
            form.search role="search" aria-label=(self.title) method="get" action=(here) {
                @for (_, shown) in &front { (field(shown, sent(shown))) }
                button { "Search" }
                @if !selection.is_empty() { a href=(here) { "Show all" } }
                @if !others.is_empty() {
                    details.filters open[is_open] {
                        summary { "More filters" }
                        div { @for (_, other) in &others { (field(other, sent(other))) } }
                    }
                }
                @for (name, text) in selection.iter().filter(|(name, _)| ["sort", "direction"].contains(name)) {
                    input type="hidden" name=(name) value=(text);
                }
            }
        }
    }
}

fn with_paging(input: &Input, selection: Vec<(&'static str, String)>) -> Value {
    let paging = ["page", "per_page"].map(|name| (name.to_owned(), input.tree()[name].clone()));
    let selection = selection.into_iter().map(|(name, text)| (name.to_owned(), text.into()));
    Value::Object(selection.chain(paging).collect::<Map<_, _>>())
}

fn field(field: &Field, text: &str) -> Markup {
    let name = field.name;
    html! {
        label {
            span { (field.label) }
            @match field.input {
                FieldInput::Search | FieldInput::OwnSearch => { input type="search" name=(name) value=(text) maxlength="1000"; }
                FieldInput::Text(example) => { input name=(name) value=(text) placeholder=(example) autocomplete="off"; }
                FieldInput::Number => { input name=(name) value=(text) inputmode="numeric" autocomplete="off" size="5"; }
                FieldInput::Day | FieldInput::OwnDay => { input type="date" name=(name) value=(text); }
                FieldInput::Choice(codes) | FieldInput::OwnChoice(codes) => {
                    select name=(name) {
                        option value="" { "any" }
                        @for code in codes() { option value=(code) selected[code == text] { (code.replace('_', " ")) } }
                    }
                }
            }
        }
    }
}

/// Renders a page of a list, with links to the other pages. `here` is its address with its query.
pub fn list<T: Serialize>(
    caption: &str,
    columns: &[Column],
    user: &AccountSession,
    page: ListPage<T>,
    here: &Address,
) -> Result<Markup, Error> {
    listed(caption, columns, user, page, here, plain_heading)
}

fn listed<T: Serialize>(
    caption: &str,
    columns: &[Column],
    user: &AccountSession,
    page: ListPage<T>,
    here: &Address,
    heading: impl Fn(&Column) -> Markup,
) -> Result<Markup, Error> {
    let ListPage { records, count, paging } = page;
    let records = Record::each(user.account.now, &records)?;
    let last = count.div_ceil(paging.per_page).max(1);
    let at = |page: u64| here.clone().with("page", &page.to_string()).to_string();
    Ok(html! {
        (table_headed(caption, columns, &records, heading))
        @if count > paging.per_page || paging.page > 1 {
            nav.pager aria-label="Pages of the list" {
                @if paging.page > 1 { a rel="prev" href=(at(paging.page - 1)) { "Previous" } }
                span { "Page " (paging.page) " of " (format::count(last)) ", " (format::count(count)) " in all" }
                @if paging.page < last { a rel="next" href=(at(paging.page + 1)) { "Next" } }
            }
        }
    })
}
