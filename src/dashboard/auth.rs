//! Authentication of the dashboard: sessions and sign-in. In test a secret key opens its account; in live the
//! operator's key and the people of the operator's provider open all of them.

use std::net::IpAddr;

use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use base::client_network::ClientNetwork;
use base::request_context;
use base::secret::Secret;
use entity::AccountToken;
use entity::api_key::KeyKind;
use outbound::blobs::Upload;
use recording::has_card_number;
use serde::Deserialize;
use subtle::ConstantTimeEq;
use tracing::field;
use url::form_urlencoded;
use validator::Validate;
use vault::{Purpose, Vault};

use super::layout::{self, ErrorPage};
use super::refused_form::{Pages, Refusal, SentForm, refusal_of};
use super::session::Session;
use super::sign_in::{DashboardAuth, OperatorAuth};
use super::state::DashboardState;
use super::{ACCOUNTS, HOME, SIGN_IN, section};
use crate::api::client_address::client_address;
use crate::api::extract::{Input, upload};
use crate::api::rate_limit::RateLimitKey;
use crate::api::{browser, metrics, own_machine, rights};
use crate::config::Environment;
use crate::error::{Error, ErrorCode};
use crate::services::sandbox::accounts as sandbox;
use crate::services::{Account, Caller, accounts, audit, key_sessions, people};

impl DashboardAuth {
    /// Opens a session for a key.
    ///
    /// Refusals: `unauthorized`.
    async fn open(&self, app: &DashboardState, key: &Secret) -> Result<Session, Error> {
        let session = match &self.operators {
            Some(OperatorAuth { key: Some(operator), .. }) if operator == key => {
                Session::begin(app, operator_hash(&app.vault, operator))
            }
            Some(_) => return Err(ErrorCode::Unauthorized.into()),
            None => Session::begin(app, accounts::key_hash(&app.vault, key)),
        };
        match self.user(app, session.clone()).await? {
            Viewer::Nobody => Err(ErrorCode::Unauthorized.into()),
            Viewer::Operator(_) | Viewer::Visitor(_) => Ok(session),
        }
    }

    /// Returns the user of a session, checked again with each request.
    async fn user(&self, app: &DashboardState, session: Session) -> Result<Viewer, Error> {
        let Some(operators) = &self.operators else {
            if key_sessions::has_ended(app, &session.form).await? {
                return Ok(Viewer::Nobody);
            }
            let authenticated = match accounts::authenticate_hashed(app, session.key).await {
                Err(error) if error.code() == ErrorCode::Unauthorized => return Ok(Viewer::Nobody),
                authenticated => authenticated?,
            };
            return match authenticated.kind {
                KeyKind::Secret => visitor_of(app, authenticated.account, session).await,
                KeyKind::Publishable | KeyKind::Restricted => Ok(Viewer::Nobody),
            };
        };
        let Some(session) = operators.authenticate(app, session).await? else { return Ok(Viewer::Nobody) };
        let Some(chosen) = session.chosen else { return Ok(Viewer::Operator(session)) };
        Ok(match accounts::find_by_token(&app.store, chosen, app.clock.now()).await? {
            Some(account) => Viewer::visitor(account.seen_by(session.person.clone()), session),
            None => Viewer::Operator(session),
        })
    }
}

impl OperatorAuth {
    /// Returns a session with its person, if the key or a person has opened it.
    async fn authenticate(&self, app: &DashboardState, session: Session) -> Result<Option<Session>, Error> {
        let of_key = |key| bool::from(operator_hash(&app.vault, key).ct_eq(&session.key));
        if self.key.as_ref().is_some_and(of_key) {
            let has_ended = key_sessions::has_ended(app, &session.form).await?;
            return Ok((!has_ended).then_some(session));
        }
        let Some(provider) = &self.provider else { return Ok(None) };
        let person = people::authenticate(app, &session.key, provider.issuer()).await?;
        Ok(person.map(|person| session.of_person(person)))
    }
}

/// Returns the visitor whom an account's key has opened a session: of that account, or of one that it has made.
async fn visitor_of(app: &DashboardState, own: Account, session: Session) -> Result<Viewer, Error> {
    let chosen = match session.chosen {
        Some(chosen) => sandbox::find_made(app, &own, chosen).await?,
        None => None,
    };
    // If it is gone, the session shows the account of its key again.
    let session = session.with_account(chosen.as_ref().map(Account::id));
    let account = chosen.unwrap_or_else(|| own.clone());
    Ok(Viewer::Visitor(Box::new(AccountSession { account, own, session })))
}

/// Returns the hash that sessions store; changing the operator's key ends its sessions.
fn operator_hash(vault: &Vault, key: &Secret) -> [u8; 32] {
    vault.keyed_hash(Purpose::Link, &[b"operator of the dashboard", key.expose().as_bytes()])
}

/// The user of a page.
pub enum Viewer {
    /// A user without a session.
    Nobody,
    /// An operator who has not selected an account.
    Operator(Session),
    /// A user of an account.
    Visitor(Box<AccountSession>),
}

impl Viewer {
    fn visitor(account: Account, session: Session) -> Self {
        Self::Visitor(Box::new(AccountSession { own: account.clone(), account, session }))
    }

    /// Returns the user who sends a request.
    pub async fn authenticate(app: &DashboardState, headers: &HeaderMap) -> Result<Self, Error> {
        match Session::from_headers(app, headers) {
            Some(session) => app.auth.user(app, session).await,
            None => Ok(Self::Nobody),
        }
    }

    pub fn session(self) -> Option<Session> {
        match self {
            Self::Nobody => None,
            Self::Operator(session) => Some(session),
            Self::Visitor(user) => Some(user.session),
        }
    }
}

/// A session that views an account.
#[derive(Clone)]
pub struct AccountSession {
    /// The account, as it was when the request began.
    pub account: Account,
    /// The account whose key opened the session, in test.
    pub own: Account,
    pub session: Session,
}

impl FromRequestParts<DashboardState> for AccountSession {
    type Rejection = ErrorPage;

    async fn from_request_parts(parts: &mut Parts, _: &DashboardState) -> Result<Self, ErrorPage> {
        let user = parts.extensions.get::<Self>().cloned();
        user.ok_or_else(|| Error::internal("a page of the dashboard without a session").into())
    }
}

/// A form whose CSRF token is the session's.
pub struct VerifiedForm {
    /// The caller, for the service that writes.
    pub caller: Caller,
    /// The session that sent it.
    pub user: AccountSession,
    /// The form's parameters.
    pub input: Input,
}

impl FromRequest<DashboardState> for VerifiedForm {
    type Rejection = ErrorPage;

    async fn from_request(request: Request, app: &DashboardState) -> Result<Self, ErrorPage> {
        let (mut parts, body) = request.into_parts();
        let user = AccountSession::from_request_parts(&mut parts, app).await?;
        let sent = parts.extensions.get::<SentForm>().cloned();
        let input = Input::from_request(Request::from_parts(parts, body), app).await?;
        Self::verify(user, sent.as_ref(), input)
    }
}

impl VerifiedForm {
    /// Returns the form of a session, if one of its pages has sent it. What was typed in it is kept for a refusal.
    fn verify(user: AccountSession, sent: Option<&SentForm>, input: Input) -> Result<Self, ErrorPage> {
        if !has_csrf_token(&user.session, &input) {
            return Err(ErrorPage::foreign());
        }
        if let Some(sent) = sent {
            sent.keep(&input);
        }
        Ok(Self { caller: Caller::without_key(user.account.clone()), user, input })
    }
}

/// A form with a file.
pub struct VerifiedUpload {
    pub form: VerifiedForm,
    pub upload: Option<Upload>,
}

impl FromRequest<DashboardState> for VerifiedUpload {
    type Rejection = ErrorPage;

    async fn from_request(request: Request, app: &DashboardState) -> Result<Self, ErrorPage> {
        let (mut parts, body) = request.into_parts();
        let user = AccountSession::from_request_parts(&mut parts, app).await?;
        let sent = parts.extensions.get::<SentForm>().cloned();
        let (input, upload) = upload::receive(Request::from_parts(parts, body), app).await?;
        Ok(Self { form: VerifiedForm::verify(user, sent.as_ref(), input)?, upload })
    }
}

/// The CSRF field of each form.
#[derive(Deserialize, Validate)]
struct CsrfField {
    form: Option<Secret>,
}

pub fn has_csrf_token(session: &Session, input: &Input) -> bool {
    let CsrfField { form } = input.params().value;
    form.is_some_and(|form| session.sent(&form))
}

/// Returns whether a page of this server sends the form. Browsers send Origin with every form.
fn from_own_page(app: &DashboardState, headers: &HeaderMap) -> bool {
    let origin = headers.get(header::ORIGIN).and_then(|value| value.to_str().ok());
    origin.is_some_and(|origin| browser::is_own_origin(&app.info, headers, origin))
}

/// Middleware around all routes of the dashboard: refuses forms of other sites.
pub async fn refuse_foreign_forms(
    State(app): State<DashboardState>,
    request: Request,
    next: Next,
) -> Response {
    if *request.method() == Method::POST && !from_own_page(&app, request.headers()) {
        return layout::without_session(&app, ErrorPage::foreign());
    }
    next.run(request).await
}

/// Returns the address of a page, which its forms carry, without a query that may hold a card's number.
fn page_of(uri: &Uri) -> String {
    let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let holds_number = query.into_iter().any(|(_, value)| has_card_number(&value));
    if holds_number {
        return uri.path().to_owned();
    }
    uri.path_and_query().map_or(HOME, PathAndQuery::as_str).to_owned()
}

/// Middleware around the pages: without a session it shows the sign-in page, except in a browser for which the Swagger
/// page would fill in the key. Shows the page of a refused form again, and puts the layout around the page.
pub async fn require_session(
    State((app, pages)): State<(DashboardState, Pages)>,
    request: Request,
    next: Next,
) -> Response {
    let network = client_address(&request, &app).map(ClientNetwork::from_address);
    let (mut parts, body) = request.into_parts();
    let (mut user, fresh) = match resolve_session(&app, &parts).await {
        Ok(admitted) => admitted,
        Err(elsewhere) => return elsewhere,
    };
    request_context::set_account(user.account.id());
    let mut location = layout::NavLocation::for_request(app.info.base_path(), &parts);
    user.session.page = page_of(&parts.uri);
    let form = SentForm::of_request(&parts);
    parts.extensions.insert(user.clone());
    parts.extensions.insert(form.clone());
    let key = match app.info.environment {
        Environment::Test => RateLimitKey::Account(user.account.id()),
        Environment::Live => RateLimitKey::Operator(network),
    };
    let admitted = match app.rate.count(key).await {
        Ok(()) => require_right(&user.account, &location.path, &parts.method),
        refused => refused,
    };
    let mut answer = match admitted {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(error) => ErrorPage::from(error).into_response(),
    };
    if let Some(refusal) = refusal_of(&answer)
        && let Some(again) = pages.show_again(&user, &form, refusal).await
    {
        (answer, location) = (again, location.without_back());
    }
    let mut response = layout::framed(&app, (&user.account, &user.session), &location, answer);
    if fresh {
        set_cookie(&mut response, user.session.cookie(&app));
    }
    response
}

/// Refuses a page that needs a right which the user lacks.
pub fn require_right(account: &Account, path: &str, method: &Method) -> Result<(), Error> {
    let needed = section(path);
    needed.map_or(Ok(()), |section| rights::require(account, section, rights::right_for(method)))
}

/// Returns the session, and whether it is new; or the response to show instead.
async fn resolve_session(app: &DashboardState, request: &Parts) -> Result<(AccountSession, bool), Response> {
    let failed = |error| layout::without_session(app, ErrorPage::from(error));
    let led = |to| layout::guarded(Redirect::to(to).into_response());
    match Viewer::authenticate(app, &request.headers).await.map_err(failed)? {
        Viewer::Visitor(user) => return Ok((*user, false)),
        Viewer::Operator(_) => return Err(led(ACCOUNTS)),
        Viewer::Nobody if matches!(request.method, Method::GET | Method::HEAD) => {}
        Viewer::Nobody => return Err(led(SIGN_IN)),
    }
    if let Some(user) = open_by_test_key(app, request).await.map_err(failed)? {
        return Ok((user, true));
    }
    Err(layout::without_session(app, layout::sign_in(app, &page_of(&request.uri), None)))
}

/// Opens a session with the first account's key, for a browser on this machine that brings no session.
async fn open_by_test_key(app: &DashboardState, request: &Parts) -> Result<Option<AccountSession>, Error> {
    // A browser with an expired session may have viewed another account than the first one.
    let key = own_machine::test_key(app, request).filter(|_| !Session::is_brought(app, &request.headers));
    let Some(key) = key else { return Ok(None) };
    let session = match app.auth.open(app, key).await {
        // The key has been rotated since the server began.
        Err(error) if error.code() == ErrorCode::Unauthorized => return Ok(None),
        opened => opened?,
    };
    match app.auth.user(app, session).await? {
        Viewer::Visitor(user) => Ok(Some(*user)),
        Viewer::Operator(_) | Viewer::Nobody => Ok(None),
    }
}

#[derive(Deserialize, Validate)]
struct SignInForm {
    key: Option<Secret>,
    to: Option<String>,
}

/// Shows the sign-in form, even in a browser that would get a session without it.
pub async fn sign_in_page(State(app): State<DashboardState>) -> Response {
    layout::without_session(&app, layout::sign_in(&app, HOME, None))
}

/// Opens a session.
pub async fn sign_in(State(app): State<DashboardState>, request: Request) -> Response {
    match signed_in(&app, request).await {
        Ok(response) => layout::guarded(response),
        Err(page) => layout::without_session(&app, page),
    }
}

async fn signed_in(app: &DashboardState, request: Request) -> Result<Response, ErrorPage> {
    let auth = &app.auth;
    let address = client_address(&request, app);
    let input = Input::from_request(request, app).await?;
    let SignInForm { key, to } = input.params().value;
    let to = to.filter(|to| layout::is_own(to)).unwrap_or_else(|| HOME.to_owned());
    let attempt = async {
        auth.attempts.take(address.map(ClientNetwork::from_address)).await?;
        auth.open(app, &key.unwrap_or_default()).await
    };
    match attempt.await {
        Ok(session) => {
            if auth.operators.is_some() {
                audit::signed_in(app, address).await?;
                if auth.provider().is_some() {
                    tracing::warn!(
                        address = address.map(field::display),
                        "the operator's key opened the dashboard although people sign in by a provider"
                    );
                    metrics::count_break_glass();
                }
            }
            let mut response = Redirect::to(&to).into_response();
            set_cookie(&mut response, session.cookie(app));
            Ok(response)
        }
        Err(error) if error.code() == ErrorCode::Unauthorized => {
            tracing::warn!(address = address.map(field::display), "the dashboard refused a key");
            let refusal = Refusal::with_field("key", ErrorCode::Unauthorized.description());
            let page = SentForm::sent_to(SIGN_IN).shown_on(layout::sign_in(app, &to, None), &refusal);
            Ok(layout::without_session(app, page.with(StatusCode::UNPROCESSABLE_ENTITY)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Ends a session: the browser deletes the cookie, and every copy of the server refuses it from now on.
pub async fn sign_out(State(app): State<DashboardState>, request: Request) -> Response {
    match try_sign_out(&app, request).await {
        Ok(()) => redirect_to_sign_in(&app),
        Err(page) => layout::without_session(&app, page),
    }
}

/// Returns the session whose page has sent a form, and the client's address; `None` without a session.
///
/// Refusals: a form of another page.
pub async fn session_of_form(
    app: &DashboardState,
    request: Request,
) -> Result<Option<(Session, Option<IpAddr>)>, ErrorPage> {
    let Some(session) = Viewer::authenticate(app, request.headers()).await?.session() else {
        return Ok(None);
    };
    let from = client_address(&request, app);
    let input = Input::from_request(request, app).await?;
    if !has_csrf_token(&session, &input) {
        return Err(ErrorPage::foreign());
    }
    Ok(Some((session, from)))
}

async fn try_sign_out(app: &DashboardState, request: Request) -> Result<(), ErrorPage> {
    let Some((session, from)) = session_of_form(app, request).await? else { return Ok(()) };
    match &session.person {
        Some(person) => drop(people::end_sessions(app, person, Some(&session.key), from).await?),
        None => key_sessions::end(app, &session.form, session.expires()).await?,
    }
    Ok(())
}

/// Redirects to the sign-in page and deletes the cookie.
pub fn redirect_to_sign_in(app: &DashboardState) -> Response {
    let mut response = Redirect::to(SIGN_IN).into_response();
    set_cookie(&mut response, Session::expired_cookie(app));
    layout::guarded(response)
}

/// Makes a session view an account, or that of its key.
pub fn select_account(app: &DashboardState, session: Session, account: Option<AccountToken>) -> Response {
    let mut response = Redirect::to(HOME).into_response();
    set_cookie(&mut response, session.with_account(account).cookie(app));
    layout::guarded(response)
}

/// Adds a Set-Cookie header.
pub fn set_cookie(response: &mut Response, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}
