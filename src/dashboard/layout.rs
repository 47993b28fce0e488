//! The layout around every page: the account and the environment, the navigation, and the API call that shows the same.

use std::sync::LazyLock;

use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::AcquirerFaults;
use maud::{DOCTYPE, Markup, html};
use sha2::{Digest, Sha256};
use url::form_urlencoded;

pub use super::error_page::{ErrorPage, FormResult, PageResult};
use super::refused_form::BACK;
use super::session::Session;
use super::state::DashboardState;
use super::{
    ACCOUNTS, HOME, NEW_CHARGE, PAGES, PROVIDER, SANDBOX, SEARCH, SIGN_IN, SIGN_OUT, SIGN_OUT_EVERYWHERE,
    is_test,
};
use crate::api::{base_path, pages};
use crate::config::Environment;
use crate::services::Account;
use crate::services::accounts::faults::faults_of;

/// The content of a page, without the layout.
#[derive(Clone)]
pub struct PageContent {
    status: StatusCode,
    title: String,
    content: Markup,
    /// The path of the API call that shows the same, or does it.
    same: Option<String>,
    /// The operation that does it, and what it sends.
    sends: Option<(&'static str, &'static [&'static str])>,
}

impl PageContent {
    /// Creates a page that shows what GET of this path answers.
    pub fn new(same: impl Into<String>, title: impl Into<String>, content: Markup) -> Self {
        Self { same: Some(same.into()), ..Self::bare(title, content) }
    }

    /// Creates a page that no API call corresponds to.
    pub fn bare(title: impl Into<String>, content: Markup) -> Self {
        Self { status: StatusCode::OK, title: title.into(), content, same: None, sends: None }
    }

    /// Returns the page of a form that does what POST of its path does: an operation, as the API's page names it in its
    /// address, and the fields that it sends.
    #[must_use]
    pub fn sending(self, operation: &'static str, fields: &'static [&'static str]) -> Self {
        Self { sends: Some((operation, fields)), ..self }
    }

    /// Returns the page with another status.
    #[must_use]
    pub fn with(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// Returns the page with another content, made of its own.
    #[must_use]
    pub fn rewritten(self, rewrite: impl FnOnce(String) -> Markup) -> Self {
        Self { content: rewrite(self.content.into_string()), ..self }
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }
}

/// The content goes into the response's extensions; the middleware puts the layout around it.
impl IntoResponse for PageContent {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Answers an address below the dashboard's at which there is no page.
pub async fn unknown() -> PageContent {
    let content = html! {
        p { "There is no page at this address. The record may be gone, or the link has a mistake." }
        p { a href=(HOME) { "To the overview" } }
    };
    PageContent::bare("Page not found", content).with(StatusCode::NOT_FOUND)
}

/// The location of a request in the navigation.
pub struct NavLocation {
    pub path: String,
    /// The page that sent the form.
    back: Option<String>,
}

impl NavLocation {
    /// Returns the location of a request to a server below a base path.
    pub fn for_request(base: &str, request: &Parts) -> Self {
        let from = || request.headers.get(header::REFERER)?.to_str().ok()?.parse::<Uri>().ok();
        let from = from().filter(|_| request.method == Method::POST);
        let back = from.and_then(|from| {
            let back = from.path_and_query()?.as_str();
            Some(base_path::without(base, back).unwrap_or(back).to_owned())
        });
        Self { path: request.uri.path().to_owned(), back: back.filter(|back| is_own(back)) }
    }

    /// Returns the same location, of a page that needs no way back.
    #[must_use]
    pub fn without_back(self) -> Self {
        Self { back: None, ..self }
    }

    fn below(&self, page: &str) -> bool {
        self.path == page || (page != HOME && self.path.starts_with(&format!("{page}/")))
    }
}

/// Returns whether an address is one of the dashboard, not of another site.
pub fn is_own(to: &str) -> bool {
    let rest = to.strip_prefix(HOME);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        && to.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Puts the layout of a session around a response, if it is a page.
pub fn framed(
    app: &DashboardState,
    (account, session): (&Account, &Session),
    location: &NavLocation,
    mut answer: Response,
) -> Response {
    let Some(page) = answer.extensions_mut().remove::<PageContent>() else { return guarded(answer) };
    let bar = html! {
        // On a phone the pages are behind it.
        button.other.menu popovertarget="pages" { "Menu" }
        form.find role="search" aria-label="Everything" method="get" action=(SEARCH) {
            input type="search" name="query" aria-label="Token, e-mail or description" placeholder="Token, e-mail or description" required maxlength="1000";
            button.other { "Find" }
        }
        p.account {
            (account.settings().business_name) " "
            a href=(ACCOUNTS) { "Other accounts" }
        }
        @if is_test(app) { a.button href=(NEW_CHARGE) { "Make a charge" } }
        (leave(session))
    };
    let ways = html! {
        nav #pages popover aria-label="Pages" {
            @for (group, pages) in &PAGES {
                @let pages: Vec<_> = pages.iter().filter(|(path, _)| super::has_page(app, path)).collect();
                @if !pages.is_empty() {
                    p { (group) }
                    ul aria-label=(group) {
                        @for (path, name) in pages {
                            li { a href=(path) aria-current=[location.below(path).then_some("page")] { (name) } }
                        }
                    }
                }
            }
        }
        @if is_test(app) && has_faults(account) {
            p.banner {
                "Faults of the acquirer are on: attempts may fail or take longer. " a href=(SANDBOX) { "See and reset them" }
            }
        }
    };
    let back = location.back.as_deref().filter(|_| !page.status.is_success());
    answered(app, &page, answer, &bar, &ways, back)
}

/// Returns whether the account's acquirer has faults. The page of the sandbox shows those that cannot be read.
fn has_faults(account: &Account) -> bool {
    faults_of(account.settings())
        .is_ok_and(|faults| faults != AcquirerFaults { seed: faults.seed, ..AcquirerFaults::default() })
}

/// Puts the layout without a session around a response.
pub fn without_session(app: &DashboardState, page: impl IntoResponse) -> Response {
    without_account(app, page, None)
}

/// Does the same for an operator who has not selected an account.
pub fn without_account(app: &DashboardState, page: impl IntoResponse, session: Option<&Session>) -> Response {
    let mut answer = page.into_response();
    let Some(page) = answer.extensions_mut().remove::<PageContent>() else { return guarded(answer) };
    let bar = session.map_or_else(|| html! {}, leave);
    answered(app, &page, answer, &bar, &html! {}, None)
}

fn leave(session: &Session) -> Markup {
    html! {
        @if let Some(person) = &session.person { p.account { (person.identity.name) } }
        form.leave method="post" action=(SIGN_OUT) {
            (hidden_fields(session))
            button.quiet { "Sign out" }
            @if session.person.is_some() { " " button.quiet formaction=(SIGN_OUT_EVERYWHERE) { "Sign out everywhere" } }
        }
    }
}

/// Renders the fields of each of a session's forms: the CSRF token, and the page that has the form.
pub fn hidden_fields(session: &Session) -> Markup {
    html! {
        input type="hidden" name="form" value=(session.form_value());
        @if !session.page.is_empty() { input type="hidden" name=(BACK) value=(session.page); }
    }
}

/// Renders a section with one form of actions on the record that a page shows.
pub fn actions(session: &Session, path: &str, content: &Markup) -> Markup {
    html! {
        section.actions aria-label="What you can do" {
            form method="post" action=(path) { (hidden_fields(session)) (content) }
        }
    }
}

fn answered(
    app: &DashboardState,
    page: &PageContent,
    answer: Response,
    bar: &Markup,
    ways: &Markup,
    back: Option<&str>,
) -> Response {
    let page = document(app, page, bar, ways, back);
    let (mut head, _) = answer.into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let page = base_path::link(app.info.base_path(), page.into_string());
    guarded(Response::from_parts(head, page.into()))
}

fn document(
    app: &DashboardState,
    page: &PageContent,
    bar: &Markup,
    ways: &Markup,
    back: Option<&str>,
) -> Markup {
    let environment = app.info.environment.name();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (page.title) " · card-payments (" (environment) ")" }
                link rel="icon" type="image/svg+xml" href=(ICON.address);
                link rel="stylesheet" href=(STYLE.address);
                script src=(SCRIPT.address) defer {}
            }
            body {
                a.skip href="#main" { "Skip to the page" }
                header {
                    p.brand { a href=(HOME) { "card-payments" } " " span class={ "badge " (environment) } { (environment) } }
                    p { a href="/docs/guide/" { "Guides" } }
                    (bar)
                }
                (ways)
                main #main {
                    h1 { (page.title) }
                    (page.content)
                    @if let Some(back) = back { p { a href=(back) { "Back" } } }
                }
                @if let Some(same) = &page.same {
                    footer {
                        p { "The same from the API, with your secret key:" }
                        pre tabindex="0" {
                            code {
                                "curl -u \"$KEY:\" '" (app.info.base_url) (same) "'"
                                @for field in page.sends.into_iter().flat_map(|(_, fields)| fields) { " \\\n  -d '" (field) "'" }
                            }
                        }
                        @let operation = page.sends.map(|(operation, _)| operation).or_else(|| operation(same));
                        @if let Some(operation) = operation.filter(|_| is_test(app)) {
                            p { a href={ "/docs/#/" (operation) } { "Try it on the API's page" } }
                        }
                    }
                }
            }
        }
    }
}

/// The operations of the API that pages show the same as: tag and id by the beginning of the path, the longest first.
const OPERATIONS: [(&str, &str); 21] = [
    ("/1/balance", "Balance/get_balance"),
    ("/1/charges/search", "Charges/search_charges"),
    ("/1/charges/", "Charges/get_charge"),
    ("/1/charges", "Charges/list_charges"),
    ("/1/customers/", "Customers/get_customer"),
    ("/1/customers", "Customers/list_customers"),
    ("/1/subscriptions/", "Subscriptions/get_subscription"),
    ("/1/subscriptions", "Subscriptions/list_subscriptions"),
    ("/1/transfers/search", "Transfers/search_transfers"),
    ("/1/transfers/", "Transfers/get_transfer"),
    ("/1/transfers", "Transfers/list_transfers"),
    ("/1/disputes/search", "Disputes/search_disputes"),
    ("/1/disputes/", "Disputes/get_dispute"),
    ("/1/disputes", "Disputes/list_disputes"),
    ("/1/events/", "Events/get_event"),
    ("/1/events", "Events/list_events"),
    ("/1/webhooks/", "Webhooks/get_webhook"),
    ("/1/webhooks", "Webhooks/list_webhooks"),
    ("/1/sandbox/requests/", "Sandbox/get_sandbox_request"),
    ("/1/sandbox/requests", "Sandbox/list_sandbox_requests"),
    ("/1/sandbox/clock", "Sandbox/get_clock"),
];

/// Returns the operation of a path, as the API's page names it in its address.
fn operation(path: &str) -> Option<&'static str> {
    let known = OPERATIONS.iter().find(|(beginning, _)| path.starts_with(beginning));
    known.map(|(_, operation)| *operation)
}

/// Renders the sign-in form. `to` is the address to go to afterwards.
pub fn sign_in(app: &DashboardState, to: &str, refused: Option<&str>) -> PageContent {
    let has_provider = app.auth.provider().is_some();
    let takes_key = app.auth.takes_key();
    let start = form_urlencoded::Serializer::new(String::new()).append_pair("to", to).finish();
    let (label, hint) = match app.info.environment {
        Environment::Test => ("Secret key", "The secret key of the account that you want to look at."),
        Environment::Live => ("Operator's key", "The key that the server's operator has set."),
    };
    let content = html! {
        @if let Some(text) = refused {
            p.alert role="alert" { (text) }
        }
        @if has_provider { p { a href={ (PROVIDER) "?" (start) } { "Sign in with your organisation's account" } } }
        @if takes_key {
            form.narrow method="post" action=(SIGN_IN) {
                input type="hidden" name="to" value=(to);
                // For password managers: there is no user name.
                input type="text" autocomplete="username" value="card-payments" hidden;
                label for="key" { (label) }
                p.hint #hint { (hint) }
                input #key type="password" name="key" required autocomplete="current-password" aria-describedby="hint";
                button { "Sign in" }
            }
        }
    };
    PageContent::bare("Sign in", content)
}

/// Adds the headers of a page: it loads only files of this program and sends forms only to this server. The referrer
/// policy tells its address to pages of this server only; with `no-referrer` the browser would not say which page sends
/// a form.
pub fn guarded(response: Response) -> Response {
    const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                          frame-ancestors 'none'";
    pages::guarded_by(response, POLICY, "same-origin")
}

/// A file that every page loads. Its URL contains its hash, so browsers may cache it.
pub struct Asset {
    address: String,
    content_type: &'static str,
    text: &'static str,
}

pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "/dashboard/dashboard.css",
        "text/css; charset=utf-8",
        concat!(include_str!("colours.css"), include_str!("dashboard.css")),
    )
});

/// The script. Pages work without it.
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("/dashboard/dashboard.js", "text/javascript; charset=utf-8", include_str!("dashboard.js"))
});

/// The icon of the browser's tab.
pub static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("/dashboard/favicon.svg", "image/svg+xml", include_str!("favicon.svg")));

impl Asset {
    fn new(path: &str, content_type: &'static str, text: &'static str) -> Self {
        let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(text)[..9]);
        Self { address: format!("{path}?{hash}"), content_type, text }
    }

    /// Answers a request for the address. By the hash of another release, of which a server may run beside this one, a browser must not keep
    /// the file.
    pub fn answer(&self, requested: &Uri) -> Response {
        let is_own = requested.path_and_query().is_some_and(|requested| *requested == *self.address);
        let kept = is_own.then_some((header::CACHE_CONTROL, "public, max-age=31536000, immutable"));
        ([(header::CONTENT_TYPE, self.content_type)], AppendHeaders(kept), self.text).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_away_from_the_dashboard() {
        for own in ["/dashboard", "/dashboard/charges?query=a%20b", "/dashboard?page=2"] {
            assert!(is_own(own), "{own}");
        }
        for strange in
            ["", "/", "//evil.example", "https://evil.example", "/dashboardx", "/dashboard/\r\nX: 1"]
        {
            assert!(!is_own(strange), "{strange:?}");
        }
    }
}
