//! The differences between the books and the acquirer's statements, of all accounts: people work them off here.

use axum::extract::State;
use axum::response::Redirect;
use entity::reconciliation_exception::{ExceptionKind, ExceptionState};
use maud::{Markup, html};
use serde::Deserialize;
use validator::Validate;

use super::EXCEPTIONS;
use super::auth::{AccountSession, VerifiedForm};
use super::layout::{self, FormResult, PageContent, PageResult};
use super::list::{Column, column, table};
use super::record::{Record, words};
use super::state::DashboardState;
use crate::api::extract::{Input, Path};
use crate::error::{Error, ErrorCode};
use crate::limits::{NOTE_LENGTH_MAX, PER_PAGE_MAX};
use crate::params::Paging;
use crate::services::reconciliation::state::next;
use crate::services::reconciliation::{
    ExceptionAction, ExceptionChange, ExceptionFilter, change, list, note,
};

const COLUMNS: [Column; 8] = [
    column("Exception", |exception| exception.token("/token")),
    column("Kind", |exception| exception.state("/kind")),
    column("State", |exception| exception.state("/state")),
    column("Movement", |exception| words(exception.text("/movement"))),
    column("Ours", |exception| exception.at("/ours").money("/amount")).figures(),
    column("Theirs", |exception| exception.at("/theirs").money("/amount")).figures(),
    column("Reference", |exception| words(exception.text("/reference"))).wide(),
    column("Note", |exception| words(exception.text("/note"))).wide(),
];

#[derive(Deserialize, Validate)]
struct FilterParams {
    state: Option<String>,
    kind: Option<String>,
}

/// Shows exceptions, oldest first: those that are not resolved, unless a state is chosen.
pub async fn show(State(app): State<DashboardState>, user: AccountSession, input: Input) -> PageResult {
    let FilterParams { state, kind } = input.params().valid()?;
    let state = state.and_then(|code| ExceptionState::from_code(&code));
    let kind = kind.and_then(|code| ExceptionKind::from_code(&code));
    let paging = Paging { page: 1, per_page: PER_PAGE_MAX.unsigned_abs() };
    let found = list(&app.store, ExceptionFilter { state, kind, paging }).await?;
    let exceptions = Record::each(app.clock.now(), &found)?;
    let content = html! {
        p { "Of all accounts, oldest first, at most " (PER_PAGE_MAX) "." }
        (filters(state, kind))
        (table("Exceptions, oldest first", &COLUMNS, &exceptions))
        @if user.session.person.is_some() { (forms(&user, &exceptions)) }
    };
    Ok(PageContent::bare("Exceptions", content))
}

fn filters(state: Option<ExceptionState>, kind: Option<ExceptionKind>) -> Markup {
    html! {
        form.search role="search" method="get" action=(EXCEPTIONS) {
            label {
                span { "State" }
                select name="state" {
                    option value="" { "not resolved" }
                    @for known in ExceptionState::ALL {
                        option value=(known.code()) selected[state == Some(*known)] { (known.code()) }
                    }
                }
            }
            label {
                span { "Kind" }
                select name="kind" {
                    option value="" { "any" }
                    @for known in ExceptionKind::ALL {
                        option value=(known.code()) selected[kind == Some(*known)] { (known.code()) }
                    }
                }
            }
            button { "Search" }
        }
    }
}

/// Renders a form for each exception about which something can be done.
fn forms(user: &AccountSession, exceptions: &[Record]) -> Markup {
    let is_open = |exception: &&Record| {
        let state = ExceptionState::from_code(exception.text("/state"));
        state.is_some_and(|state| next(state, ExceptionAction::Resolve).is_some())
    };
    html! {
        @for exception in exceptions.iter().filter(is_open) {
            @let token = exception.text("/token");
            section.actions aria-label=(token) {
                form.narrow method="post" action={ (EXCEPTIONS) "/" (token) "/explain" } {
                    (layout::hidden_fields(&user.session))
                    label for=(token) { (exception.text("/kind")) " " (exception.text("/movement")) " " (exception.text("/reference")) }
                    input id=(token) name="note" required maxlength=(NOTE_LENGTH_MAX) autocomplete="off" placeholder="Why";
                    button.other { "Explain" } " "
                    button formaction={ (EXCEPTIONS) "/" (token) "/resolve" } { "Resolve" }
                }
            }
        }
    }
}

#[derive(Deserialize, Validate)]
struct NoteParams {
    note: Option<String>,
}

/// Explains or resolves an exception, in the person's name.
pub async fn work_off(
    State(app): State<DashboardState>,
    Path((token, verb)): Path<(String, String)>,
    form: VerifiedForm,
) -> FormResult {
    let person = form.user.session.person.as_ref().ok_or(ErrorCode::Forbidden)?;
    let action = match verb.as_str() {
        "explain" => ExceptionAction::Explain,
        "resolve" => ExceptionAction::Resolve,
        _ => return Err(Error::from(ErrorCode::NotFound).into()),
    };
    let token = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let mut sent = form.input.params::<NoteParams>();
    let note = match note(sent.value.note.as_deref().unwrap_or_default()) {
        Ok(note) => note,
        Err(why) => {
            sent.faults.add("note", why);
            return Err(sent.faults.into());
        }
    };
    let wall = app.clock.now();
    let by = Some(person.acting(wall));
    change(&app.store, ExceptionChange { token, action, note, by, wall }).await?;
    Ok(Redirect::to(EXCEPTIONS))
}
