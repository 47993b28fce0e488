//! Signing in by the provider of the operator's people, and the people who are signed in (`docs/decisions.md`, 386, 390).

use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use base::client_network::ClientNetwork;
use maud::{Markup, html};
use outbound::identity_provider::{IdentityError, IdentityProvider, SignInAttempt};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use validator::Validate;

use super::address::Address;
use super::auth::{self, AccountSession, VerifiedForm, set_cookie};
use super::layout::{self, ErrorPage, FormResult, PageContent, PageResult};
use super::list::{Column, column, table};
use super::questions::{Question, asking};
use super::record::{Record, facts, words};
use super::session::{SealedCookie, Session};
use super::sign_in::DashboardAuth;
use super::state::DashboardState;
use super::{HOME, PEOPLE, PROVIDER_ANSWERS};
use crate::api::client_address::client_address;
use crate::api::extract::Input;
use crate::api::system;
use crate::error::{Error, ErrorCode};
use crate::limits::PERSON_SIGN_IN;
use crate::services::approvals::askers;
use crate::services::people::{self, Person};

/// The cookie of a sign-in that has begun. The provider's link back carries it.
const ATTEMPT: SealedCookie = SealedCookie {
    context: b"sign-in at the dashboard",
    name: "card_payments_sign_in",
    path: PROVIDER_ANSWERS,
    same_site: "Lax",
};

/// The data that the browser keeps while a person is at the provider.
#[derive(Serialize, Deserialize)]
struct KeptAttempt {
    attempt: SignInAttempt,
    /// The page to go to afterwards.
    to: String,
    /// Milliseconds, by the wall clock.
    until: i64,
}

#[derive(Deserialize, Validate)]
struct StartParams {
    to: Option<String>,
}

/// Leads the browser to the provider.
pub async fn start(State(app): State<DashboardState>, request: Request) -> Response {
    match started(&app, request).await {
        Ok(response) => layout::guarded(response),
        Err(page) => layout::without_session(&app, page),
    }
}

async fn started(app: &DashboardState, request: Request) -> Result<Response, ErrorPage> {
    let Some((auth, provider)) = provider(app) else { return Ok(system::unknown_route().await) };
    // A picture or a frame of another site's page begins no sign-in, and uses up nobody's attempts.
    if request.headers().get("sec-fetch-dest").is_some_and(|dest| dest != "document") {
        return Err(Error::from(ErrorCode::Forbidden).into());
    }
    auth.attempts.take(client_address(&request, app).map(ClientNetwork::from_address)).await?;
    let to = Input::from_request(request, app).await?.params::<StartParams>().value.to;
    let to = to.filter(|to| layout::is_own(to)).unwrap_or_else(|| HOME.to_owned());
    let (address, attempt) = match provider.begin(&redirect(app)).await {
        Ok(begun) => begun,
        Err(error) => return Ok(refused(app, &to, &error)),
    };
    let kept = KeptAttempt { attempt, to, until: (app.clock.now() + PERSON_SIGN_IN).millis() };
    let mut response = Redirect::to(address.as_str()).into_response();
    set_cookie(&mut response, ATTEMPT.set(app, &kept, PERSON_SIGN_IN.whole_seconds()));
    Ok(response)
}

/// The parameters that the provider's link back brings.
#[derive(Deserialize, Validate)]
struct AnswerParams {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
}

/// Opens a session for a person whom the provider sends back.
pub async fn finish(State(app): State<DashboardState>, request: Request) -> Response {
    match finished(&app, request).await {
        Ok(mut response) => {
            set_cookie(&mut response, ATTEMPT.forget(&app));
            response
        }
        Err(page) => layout::without_session(&app, page),
    }
}

async fn finished(app: &DashboardState, request: Request) -> Result<Response, ErrorPage> {
    let Some((auth, provider)) = provider(app) else { return Ok(system::unknown_route().await) };
    let from = client_address(&request, app);
    let kept = ATTEMPT.open::<KeptAttempt>(app, request.headers());
    let AnswerParams { code, state, error } =
        Input::from_request(request, app).await?.params::<AnswerParams>().value;
    let kept = kept
        .filter(|kept| app.clock.now().millis() < kept.until && is_state(&kept.attempt, state.as_deref()));
    let Some(KeptAttempt { attempt, to, .. }) = kept else {
        let strange = "this browser has begun no such sign-in, or too long ago";
        return Ok(refused(app, HOME, &IdentityError::Refused(strange.into())));
    };
    // Only now: a browser that has begun nothing here calls no provider, and can guess nothing.
    auth.attempts.take(from.map(ClientNetwork::from_address)).await?;
    let Some(code) = code.filter(|_| error.is_none()) else {
        let denied = "the provider has signed nobody in";
        return Ok(refused(app, &to, &IdentityError::Refused(denied.into())));
    };
    let nonce = attempt.nonce.clone();
    let identity = match provider.finish(&redirect(app), attempt, code, app.clock.now()).await {
        Ok(identity) => identity,
        Err(error) => {
            if let IdentityError::NoRole(identity) = &error {
                askers::refuse_sign_in(app, identity).await?;
            }
            return Ok(refused(app, &to, &error));
        }
    };
    let secret = match askers::sign_in(app, Person::new(identity), &nonce, from).await {
        Err(error) if error.code() == ErrorCode::Unauthorized => {
            return Ok(refused(app, &to, &IdentityError::Refused("it has opened a session before".into())));
        }
        secret => secret?,
    };
    let mut response = layout::without_session(app, signed_in(&to));
    set_cookie(&mut response, Session::begin(app, secret).cookie(app));
    if let Ok(next) = HeaderValue::from_str(&format!("0; url={}{to}", app.info.base_path())) {
        response.headers_mut().insert(header::REFRESH, next);
    }
    Ok(response)
}

/// The page between the provider and the dashboard: a redirect would still come from the provider, and bring no cookie.
fn signed_in(to: &str) -> PageContent {
    PageContent::bare("Signed in", html! { p { a href=(to) { "Go on to the dashboard" } } })
}

fn is_state(attempt: &SignInAttempt, state: Option<&str>) -> bool {
    state.is_some_and(|state| bool::from(state.as_bytes().ct_eq(attempt.state.as_bytes())))
}

fn provider(app: &DashboardState) -> Option<(&DashboardAuth, &IdentityProvider)> {
    Some((&app.auth, app.auth.provider()?))
}

fn redirect(app: &DashboardState) -> String {
    format!("{}{PROVIDER_ANSWERS}", app.info.base_url)
}

/// Shows the sign-in page and why nobody is signed in.
fn refused(app: &DashboardState, to: &str, error: &IdentityError) -> Response {
    tracing::warn!(%error, "nobody was signed in");
    let (status, text) = match error {
        IdentityError::Unavailable(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The provider that signs you in does not answer. Please try again in a moment.",
        ),
        IdentityError::Refused(_) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "The sign-in was not accepted. Please try once more.")
        }
        IdentityError::NoRole(_) => (
            StatusCode::FORBIDDEN,
            "The provider knows you, but has given you none of the roles that may use this dashboard.",
        ),
    };
    layout::without_session(app, layout::sign_in(app, to, Some(text)).with(status))
}

/// Ends all sessions of the person.
pub async fn sign_out_everywhere(State(app): State<DashboardState>, request: Request) -> Response {
    match try_sign_out_everywhere(&app, request).await {
        Ok(()) => auth::redirect_to_sign_in(&app),
        Err(page) => layout::without_session(&app, page),
    }
}

async fn try_sign_out_everywhere(app: &DashboardState, request: Request) -> Result<(), ErrorPage> {
    let Some((session, from)) = auth::session_of_form(app, request).await? else { return Ok(()) };
    let person = session.person.as_ref().ok_or_else(|| Error::from(ErrorCode::NotFound))?;
    people::end_sessions(app, person, None, from).await?;
    Ok(())
}

/// The path of the question about the end of a person's sessions.
const END: &str = "/dashboard/people/end";

const COLUMNS: [Column; 7] = [
    column("Person", |person| words(person.text("/name"))),
    column("Subject", |person| words(person.text("/subject"))),
    column("Roles", |person| words(&words_of(&person.all("/roles")))),
    column("Sessions", |person| words(&person.at("/sessions").word())).figures(),
    column("Requests", |person| words(&person.at("/requests").word())).figures(),
    column("Since", |person| person.ago("/since")),
    column("Last seen", |person| person.ago("/seen_at")),
];

fn words_of(roles: &[Record]) -> String {
    roles.iter().map(Record::word).collect::<Vec<_>>().join(", ")
}

/// Lists the people who are signed in, or whose requests wait for an approval.
pub async fn list(State(app): State<DashboardState>, user: AccountSession) -> PageResult {
    let wall = app.clock.now();
    let people = Record::each(wall, &askers::list(&app.store, wall).await?)?;
    let content = html! {
        p { "A session keeps the roles that its person had at the sign-in. To take them away at once, remove them at the provider, and then \
            end the person's sessions. That also withdraws the requests of the person that wait for an approval." }
        (table("People who are signed in, or have asked for an approval", &COLUMNS, &people))
        @if user.session.person.is_some() { (ends(&people)) }
    };
    Ok(PageContent::bare("People", content))
}

/// Renders the ways to the end of somebody's sessions.
fn ends(people: &[Record]) -> Markup {
    html! {
        section.actions aria-label="End sessions" {
            @for person in people {
                @let end = Address::new(END).with("issuer", person.text("/issuer")).with("subject", person.text("/subject"));
                p { (person.text("/name")) " " (asking(&end.to_string(), "End all sessions")) }
            }
        }
    }
}

#[derive(Deserialize, Validate)]
struct PersonParams {
    issuer: Option<String>,
    subject: Option<String>,
}

/// Asks whether all sessions of a person shall end.
pub async fn ask_to_end_sessions(
    State(app): State<DashboardState>,
    user: AccountSession,
    input: Input,
) -> PageResult {
    let PersonParams { issuer, subject } = input.params().value;
    let (issuer, subject) = (issuer.unwrap_or_default(), subject.unwrap_or_default());
    let wall = app.clock.now();
    let people = Record::each(wall, &askers::list(&app.store, wall).await?)?;
    let person =
        people.iter().find(|person| person.text("/issuer") == issuer && person.text("/subject") == subject);
    let person = person.ok_or(ErrorCode::NotFound)?;
    let consequence = html! {
        (facts(&[
            ("Person", words(person.text("/name"))),
            ("Sessions", words(&person.at("/sessions").word())),
            ("Requests that wait for an approval", words(&person.at("/requests").word())),
        ]))
        p { "The person is signed out everywhere, and what they have asked for is withdrawn. They can sign in again while the provider gives \
             them a role." }
    };
    let fields = [("issuer", issuer.as_str()), ("subject", subject.as_str())];
    let (title, yes) = ("End all sessions of this person?".to_owned(), "End all sessions");
    let question = Question { title, consequence, yes, action: PEOPLE, fields: &fields, back: PEOPLE };
    Ok(question.page(&user.session))
}

/// Ends somebody's sessions, in the name of the person who does.
pub async fn end_sessions(State(app): State<DashboardState>, form: VerifiedForm) -> FormResult {
    let by = form.user.session.person.as_ref().ok_or(ErrorCode::Forbidden)?;
    let PersonParams { issuer, subject } = form.input.params().valid()?;
    let (issuer, subject) = (issuer.unwrap_or_default(), subject.unwrap_or_default());
    let wall = app.clock.now();
    askers::end_sessions(&app.store, (&issuer, &subject), Some(by.acting(wall)), wall).await?;
    Ok(Redirect::to(PEOPLE))
}
