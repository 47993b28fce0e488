//! Sandbox controls of the whole account: acquirer faults, switches, snapshots, more accounts, and deletion.

use axum::extract::State;
use axum::response::{Redirect, Response};
use entity::account::TransfersSchedule;
use entity::failure::Decline;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;
use validator::Validate;

use super::auth::{self, AccountSession, VerifiedForm};
use super::layout::{self, ErrorPage, FormResult, PageContent, PageResult};
use super::questions::{Question, asking};
use super::record::{Record, facts, words};
use super::state::DashboardState;
use super::{ACCOUNTS, SANDBOX, snapshots};
use crate::error::ErrorCode;
use crate::limits::{ACQUIRER_LATENCY_MS_MAX, NAME_LENGTH_MAX, SETTLEMENT_DELAY_DAYS_MAX};
use crate::params::{self, Params, non_blank};
use crate::services::Caller;
use crate::services::sandbox::params::ChangedFaults;
use crate::services::sandbox::{account, accounts, acquirer};

/// Shows the injected faults, the account's switches, and its snapshots.
pub async fn show(State(app): State<DashboardState>, user: AccountSession) -> PageResult {
    let faults = Record::new(user.account.now, &acquirer::show(&user.account)?)?;
    let settings = Record::new(user.account.now, &account::show(&user.account))?;
    let content = html! {
        (orders(&user, &faults))
        (switches(&user, &settings))
        (snapshots::of_account(&app, &user).await?)
        (another(&user))
        @if user.account.settings().made_by.is_some() { (end()) }
    };
    Ok(PageContent::new("/1/sandbox/acquirer", "Sandbox", content))
}

fn orders(user: &AccountSession, faults: &Record) -> Markup {
    let ordered = faults.text("/decline");
    let probability = |name: &str| faults.at(name).word();
    html! {
        h2 { "Faults of the acquirer" }
        p { "From now on every attempt to charge a card meets these, until you reset them." }
        section.actions aria-label="Faults of the acquirer" {
            form.narrow method="post" action=(SANDBOX) {
                (layout::hidden_fields(&user.session))
                label for="decline" { "Fail charges with" }
                select #decline name="decline" {
                    option value="" selected[ordered.is_empty()] { "nothing" }
                    @for decline in Decline::ALL {
                        option value=(decline.code()) selected[ordered == decline.code()] { (decline.code().replace('_', " ")) }
                    }
                }
                label for="latency_ms" { "Delay of each answer, in milliseconds" }
                input #latency_ms type="number" name="latency_ms" min="0" max=(ACQUIRER_LATENCY_MS_MAX)
                    value=(faults.number("/latency_ms").unwrap_or_default());
                label for="gateway_error_rate" { "Share of calls that fail before anything happens, 0 to 1" }
                input #gateway_error_rate name="gateway_error_rate" inputmode="decimal" value=(probability("/gateway_error_rate"));
                label for="drop_rate" { "Share of calls that are done and whose answers are lost, 0 to 1" }
                input #drop_rate name="drop_rate" inputmode="decimal" value=(probability("/drop_rate"));
                label for="seed" { "Seed: the same one gives the same run" }
                input #seed type="number" name="seed" value=(faults.number("/seed").unwrap_or_default());
                button { "Apply these faults" }
            }
            form method="post" action=(SANDBOX) {
                (layout::hidden_fields(&user.session))
                button.other name="reset" value="true" { "Reset: no faults" }
            }
        }
    }
}

/// Renders the settings that can be changed.
fn switches(user: &AccountSession, settings: &Record) -> Markup {
    const SWITCHES: [(&str, &str); 5] = [
        ("disputes", "Disputes API"),
        ("wallet", "Wallet API"),
        ("partner", "Partner: may use the merchants API"),
        ("transfers_enabled", "Transfers"),
        ("strict_parameters", "Strict: refuses unknown parameters"),
    ];
    let is_on = |name: &str| settings.is(&format!("/{name}"));
    let schedule = settings.text("/transfers_schedule");
    html! {
        h2 { "Switches" }
        section.actions aria-label="Switches" {
            form.narrow method="post" action="/dashboard/sandbox/switches" {
                (layout::hidden_fields(&user.session))
                @for (name, words) in SWITCHES {
                    label for=(name) { (words) }
                    select id=(name) name=(name) {
                        option value="true" selected[is_on(name)] { "on" }
                        option value="false" selected[!is_on(name)] { "off" }
                    }
                }
                label for="transfers_schedule" { "What is available is paid out" }
                select #transfers_schedule name="transfers_schedule" {
                    @for known in TransfersSchedule::ALL {
                        option value=(known.code()) selected[schedule == known.code()] { (known.code()) }
                    }
                }
                label for="settlement_delay_days" { "Days until money becomes available" }
                input #settlement_delay_days type="number" name="settlement_delay_days" min="0" max=(SETTLEMENT_DELAY_DAYS_MAX)
                    value=(settings.number("/settlement_delay_days").unwrap_or_default());
                button { "Change these" }
            }
        }
    }
}

fn another(user: &AccountSession) -> Markup {
    html! {
        h2 { "Another account" }
        section.actions aria-label="Another account" {
            p { "With its own keys, clock and money. " a href=(ACCOUNTS) { "Choose an account" } }
            form method="post" action="/dashboard/sandbox/accounts" {
                (layout::hidden_fields(&user.session))
                label { span { "Its name" } input name="name" autocomplete="off" maxlength=(NAME_LENGTH_MAX) placeholder="Sandbox"; }
                button { "Make an account" }
            }
        }
    }
}

/// The path at which an account made in the sandbox is deleted.
const DELETE: &str = "/dashboard/sandbox/delete";

/// Renders the way to the end of an account made in the sandbox.
fn end() -> Markup {
    html! {
        h2 { "End" }
        section.actions aria-label="End of the account" {
            p { (asking(DELETE, "Delete this account")) }
        }
    }
}

/// Sets the acquirer's faults, or resets them.
pub async fn order(State(app): State<DashboardState>, form: VerifiedForm) -> FormResult {
    let none =
        json!({ "latency_ms": 0, "decline": "", "gateway_error_rate": "0", "drop_rate": "0", "seed": 0 });
    let sent = form.input.tree();
    let faults = if sent.get("reset").is_some() { &none } else { sent };
    acquirer::change(&app, &form.caller, params::read::<ChangedFaults>(faults)).await?;
    Ok(Redirect::to(SANDBOX))
}

/// Changes the account's switches.
pub async fn change(State(app): State<DashboardState>, form: VerifiedForm) -> FormResult {
    account::change(&app, &form.caller, form.input.params()).await?;
    Ok(Redirect::to(SANDBOX))
}

/// The name of a new account.
#[derive(Deserialize, Validate)]
struct NameParams {
    #[validate(length(max = NAME_LENGTH_MAX))]
    name: Option<String>,
}

/// Creates another account, made by the account of the session's key. Its keys are shown only once.
pub async fn create(State(app): State<DashboardState>, form: VerifiedForm) -> PageResult {
    let NameParams { name } = form.input.params().valid()?;
    let caller = Caller::without_key(form.user.own.clone());
    let made = accounts::create(&app, &caller, form.input.params(), non_blank(name.as_deref())).await?;
    let made = Record::new(form.user.account.now, &made)?;
    let content = html! {
        (facts(&[
            ("Account", made.token("/token")),
            ("Secret key", html! { code { (made.text("/secret_key")) } }),
            ("Publishable key", html! { code { (made.text("/publishable_key")) } }),
        ]))
        p { "The keys are shown this once." }
        form method="post" action=(ACCOUNTS) {
            (layout::hidden_fields(&form.user.session))
            button name="account" value=(made.text("/token")) { "Look at it" }
        }
        p { a href=(SANDBOX) { "Back to the sandbox" } }
    };
    Ok(PageContent::bare("A new account", content))
}

/// Asks whether the viewed account shall go.
pub async fn ask_to_delete(user: AccountSession) -> PageResult {
    let settings = user.account.settings();
    if settings.made_by.is_none() {
        return Err(ErrorCode::NotFound.into());
    }
    let consequence = html! {
        (facts(&[
            ("Account", html! { code.token { (user.account.id().to_string()) } }),
            ("Name", words(&settings.business_name)),
        ]))
        p { "Everything in this account goes, and its snapshots. Its keys stop working at once. The accounts that it has made stay." }
    };
    let (title, fields) = ("Delete this account?".to_owned(), [("sure", "true")]);
    let question = Question {
        title,
        consequence,
        yes: "Delete the account",
        action: DELETE,
        fields: &fields,
        back: SANDBOX,
    };
    Ok(question.page(&user.session))
}

/// The confirmation that deletion requires.
#[derive(Deserialize, Validate)]
struct DeletionParams {
    sure: Option<bool>,
}

/// Deletes the viewed account, and with it the session of its key.
pub async fn delete(State(app): State<DashboardState>, form: VerifiedForm) -> Result<Response, ErrorPage> {
    let Params { value: DeletionParams { sure }, mut faults } = form.input.params();
    if sure != Some(true) {
        faults.add("sure", "must be checked");
        return Err(faults.into());
    }
    accounts::delete(&app, &form.caller, &form.caller.account.id().to_string()).await?;
    if form.user.own.id() == form.caller.account.id() {
        return Ok(auth::redirect_to_sign_in(&app));
    }
    Ok(auth::select_account(&app, form.user.session, None))
}
