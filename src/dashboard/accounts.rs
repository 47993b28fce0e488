//! The choice of the account to view: in live by the operator, in test by the account that has made it.

use axum::extract::{FromRequest, Request, State};
use axum::response::{IntoResponse, Redirect, Response};
use entity::AccountToken;
use maud::{Markup, html};
use serde::Deserialize;
use validator::Validate;

use super::auth::{self, AccountSession, VerifiedForm, Viewer, has_csrf_token};
use super::layout::{self, ErrorPage, PageContent, PageResult};
use super::refused_form::SentForm;
use super::session::Session;
use super::state::DashboardState;
use super::{ACCOUNTS, SANDBOX, SIGN_IN};
use crate::api::client_address::client_address;
use crate::api::extract::Input;
use crate::error::ErrorCode;
use crate::services::accounts::{self, operator};
use crate::services::audit;
use crate::services::sandbox::accounts as sandbox;

/// The number of accounts that a page lists.
const LISTED: u64 = 50;

#[derive(Deserialize, Validate)]
struct AccountsParams {
    account: Option<String>,
    after: Option<String>,
}

/// Lists the accounts, oldest first.
pub async fn list(State(app): State<DashboardState>, request: Request) -> Response {
    let listed = listed(&app, request).await;
    listed.unwrap_or_else(|page| layout::without_session(&app, page))
}

async fn listed(app: &DashboardState, request: Request) -> Result<Response, ErrorPage> {
    let Some(session) = Viewer::authenticate(app, request.headers()).await?.session() else {
        return Ok(to_sign_in());
    };
    let input = Input::from_request(request, app).await?;
    let after = input.params::<AccountsParams>().value.after.and_then(|after| after.parse().ok());
    let page = accounts_page(app, &session, after).await?;
    Ok(layout::without_account(app, page, Some(&session)))
}

async fn accounts_page(app: &DashboardState, session: &Session, after: Option<AccountToken>) -> PageResult {
    let accounts = operator::list_after(&app.store, after, LISTED).await?;
    let more = accounts.last().filter(|_| accounts.len() as u64 == LISTED).map(|last| last.token);
    let rows = accounts.iter().map(|account| (account.token, account.business_name.as_str()));
    let content = html! { (choice(session, rows, None)) (by_token(session, more)) };
    Ok(PageContent::bare("Accounts", content))
}

/// Renders a button for each account.
fn choice<'a>(
    session: &Session,
    accounts: impl Iterator<Item = (AccountToken, &'a str)>,
    viewed: Option<AccountToken>,
) -> Markup {
    html! {
        form method="post" action=(ACCOUNTS) {
            (layout::hidden_fields(session))
            ul.choice {
                @for (token, name) in accounts {
                    li {
                        button.other name="account" value=(token.to_string()) aria-current=[(viewed == Some(token)).then_some("true")] {
                            (name) " " code { (token.to_string()) } @if viewed == Some(token) { " (viewed now)" }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the link to younger accounts, and the form for any account.
fn by_token(session: &Session, more: Option<AccountToken>) -> Markup {
    html! {
        @if let Some(more) = more { p { a rel="next" href={ (ACCOUNTS) "?after=" (more.to_string()) } { "Younger accounts" } } }
        h2 { "By its token" }
        form.narrow method="post" action=(ACCOUNTS) {
            (layout::hidden_fields(session))
            label for="account" { "Token of an account" }
            input #account name="account" required autocomplete="off" placeholder="acct_...";
            button { "Look at it" }
        }
    }
}

/// Lists the account of the session's key, and those that it has made, newest first.
pub async fn made(State(app): State<DashboardState>, user: AccountSession) -> PageResult {
    let made = sandbox::list_made(&app, &user.own).await?;
    let made = made.iter().map(|account| (account.token, account.business_name.as_str()));
    let own = (user.own.id(), user.own.settings().business_name.as_str());
    let rows = std::iter::once(own).chain(made);
    let content = html! {
        p { "The account of your key, and the accounts that it has made in the sandbox." }
        (choice(&user.session, rows, Some(user.account.id())))
        p { a href=(SANDBOX) { "Make another account" } }
    };
    Ok(PageContent::bare("Accounts", content))
}

/// Selects the account of the session's key, or one that it has made.
pub async fn choose_made(
    State(app): State<DashboardState>,
    form: VerifiedForm,
) -> Result<Response, ErrorPage> {
    let token = chosen_token(&form.input)?;
    let own = &form.user.own;
    if token == own.id() {
        return Ok(auth::select_account(&app, form.user.session, None));
    }
    sandbox::find_made(&app, own, token).await?.ok_or(ErrorCode::NotFound)?;
    Ok(auth::select_account(&app, form.user.session, Some(token)))
}

fn chosen_token(input: &Input) -> Result<AccountToken, ErrorCode> {
    let named = input.params::<AccountsParams>().value.account.unwrap_or_default();
    named.trim().parse().map_err(|_| ErrorCode::NotFound)
}

/// Selects the account to view.
pub async fn choose(State(app): State<DashboardState>, request: Request) -> Response {
    let chosen = chosen(&app, request).await;
    chosen.unwrap_or_else(|page| layout::without_session(&app, page))
}

async fn chosen(app: &DashboardState, request: Request) -> Result<Response, ErrorPage> {
    let Some(session) = Viewer::authenticate(app, request.headers()).await?.session() else {
        return Ok(to_sign_in());
    };
    let address = client_address(&request, app);
    let input = Input::from_request(request, app).await?;
    if !has_csrf_token(&session, &input) {
        return Err(ErrorPage::foreign());
    }
    let found = match chosen_token(&input) {
        Ok(token) => accounts::find_by_token(&app.store, token, app.clock.now()).await?.map(|_| token),
        Err(_) => None,
    };
    let Some(token) = found else {
        let form = SentForm::sent_to(ACCOUNTS);
        form.keep(&input);
        let error = ErrorPage::from(ErrorCode::NotFound).with_field("account");
        let page = error.on(accounts_page(app, &session, None).await?, &form);
        return Ok(layout::without_account(app, page, Some(&session)));
    };
    audit::record_view(app, &session.operator(), token, address).await?;
    Ok(auth::select_account(app, session, Some(token)))
}

/// Redirects to the sign-in page: only the operator may enter.
fn to_sign_in() -> Response {
    layout::guarded(Redirect::to(SIGN_IN).into_response())
}
