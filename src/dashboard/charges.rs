//! Charges, a charge with its history, and the sandbox actions on it.

use axum::extract::State;
use axum::response::Redirect;
use entity::FailureCode;
use futures::FutureExt;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::auth::{AccountSession, VerifiedForm};
use super::format::Tone;
use super::layout::{FormResult, PageContent, PageResult};
use super::list::{Column, DAYS, Field, FieldInput, ListView, Listing, column};
use super::questions::{Question, asking};
use super::record::{Record, brief, facts, longest_page, token, traces, words};
use super::state::DashboardState;
use super::{format, is_test, layout, money_flow};
use crate::api::extract::{Input, Path};
use crate::error::ErrorCode;
use crate::params::{self, Search};
use crate::services::charges::attempt_params::{AttemptSearch, AttemptState};
use crate::services::charges::params::Capture;
use crate::services::charges::view::Charge;
use crate::services::disputes::params::DisputeSearch;
use crate::services::refunds::params::NewRefund;
use crate::services::sandbox::charges::{OfferedAction, allowed_actions};
use crate::services::sandbox::params::DecidedRefund;
use crate::services::sandbox::refunds as sandbox;
use crate::services::{Account, charges, disputes, refunds};

pub const COLUMNS: [Column; 6] = [
    column("Charge", |charge| charge.token("/token")),
    column("Amount", |charge| charge.money("/amount")).figures().sorted("amount"),
    column("Status", status),
    column("Created", |charge| charge.ago("/created_at")).wide().sorted("created_at"),
    column("Description", |charge| brief(charge.text("/description"))).wide(),
    column("E-mail", |charge| brief(charge.text("/email"))).wide(),
];

pub static LIST: ListView<Charge> = ListView {
    title: "Charges",
    name: "charges",
    api: "charges",
    search: "charges/search",
    columns: &COLUMNS,
    fields: &[
        &[
            Field {
                name: "query",
                label: "Description, e-mail, cardholder, token, currency, or amount in base units",
                input: FieldInput::Search,
            },
            Field {
                name: "state",
                label: "State",
                input: FieldInput::OwnChoice(|| AttemptState::WORDS.to_vec()),
            },
            Field {
                name: "reason",
                label: "Declined because of",
                input: FieldInput::OwnChoice(|| {
                    FailureCode::ALL.iter().map(|reason| reason.code()).collect()
                }),
            },
        ],
        &DAYS,
    ],
    order: Some("created_at"),
    is_searched_in_live: true,
    find,
};

/// Renders the state of an attempt in a word or two.
fn status(charge: &Record) -> Markup {
    if !charge.text("/error_message").is_empty() {
        return format::toned(Tone::Bad, "Declined");
    }
    let word = if charge.is("/active_chargebacks") {
        "Disputed"
    } else if charge.is("/authorisation_expired") {
        "Authorisation expired"
    } else if charge.is("/refund_pending") {
        "Refund pending"
    } else if charge.number("/amount_refunded") == charge.number("/amount") {
        "Refunded"
    } else if charge.number("/amount_refunded") > Some(0) {
        "Partly refunded"
    } else if charge.is("/captured") {
        "Captured"
    } else if charge.is("/success") && !charge.is("/authorisation_voided") {
        "Authorised"
    } else {
        charge.text("/status_message")
    };
    format::status(word)
}

/// Lists the charges, or those that match a search, newest first; in test attempts of every state.
pub async fn list(State(app): State<DashboardState>, user: AccountSession, input: Input) -> PageResult {
    let more = html! {
        @if is_test(&app) {
            p.hint { "Declined and pending attempts are among them; the API lists those that a bank has approved." }
        }
    };
    LIST.page(&app, &user, &input, &more).await
}

fn find<'r>(app: &'r DashboardState, account: &'r Account, input: &'r Input) -> Listing<'r, Charge> {
    async move {
        if is_test(app) {
            let search = AttemptSearch::read(&LIST.search_parameters(input), charges::search::SORTS);
            return charges::attempts(app, account, search).await;
        }
        match LIST.searched(input) {
            None => charges::list(app, account, input.paging().valid()?).await,
            Some(search) => {
                let search = Search::read(&search, charges::search::SORTS, "created_at").valid()?;
                charges::search(app, account, search).await
            }
        }
    }
    .boxed()
}

pub async fn show(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let (account, now) = (&user.account, user.account.now);
    let charge = Record::new(now, &charges::show(&app, account, &id).await?)?;
    let refunds = Record::each(now, &refunds::of_charge(&app, account, &id, longest_page()).await?.records)?;
    let mut disputes = Vec::new();
    if account.settings().disputes {
        let params = DisputeSearch::read(&json!({ "query": id }), disputes::find::SORTS);
        for dispute in &disputes::search(&app, account, params).await?.records {
            disputes.push(Record::new(now, dispute)?);
        }
    }
    let card = charge.at("/card");
    let content = html! {
        (facts(&[
            ("Amount", charge.money("/amount")),
            ("Status", html! {
                (status(&charge))
                @if !charge.text("/error_message").is_empty() { " " (charge.text("/error_message")) }
            }),
            ("Description", words(charge.text("/description"))),
            ("E-mail", words(charge.text("/email"))),
            ("Card", html! { (card.text("/scheme")) " " (card.text("/display_number")) }),
            ("Customer", card.token("/customer_token")),
            ("Refunded", charge.money("/amount_refunded")),
            ("Fees", charge.cents("/total_fees")),
            ("For the merchant", charge.cents("/merchant_entitlement")),
            ("Authorisation", charge.token("/authorisation_token")),
        ]))
        @if is_test(&app) { (buttons(&user, &id, &allowed_actions(&app, account, &id).await?, &refunds)) }
        @if is_test(&app) { (money_flow::of_charge(&app, account, &id).await?) }
        h2 { "History" }
        ol.history {
            @for (when, what) in history(&charge, &refunds, &disputes) {
                li { (format::time(&when, now)) " " (what) }
            }
        }
        @if is_test(&app) { (traces(&id)) }
        (charge.whole())
    };
    Ok(PageContent::new(format!("/1/charges/{id}"), format!("Charge {id}"), content))
}

/// Returns what happened to a charge, in order of time.
fn history(charge: &Record, refunds: &[Record], disputes: &[Record]) -> Vec<(String, Markup)> {
    let mut history = vec![(charge.text("/created_at").to_owned(), html! { "Created" })];
    let captured = charge.text("/captured_at");
    if !captured.is_empty() {
        history.push((captured.to_owned(), html! { "Captured" }));
    }
    for transfer in charge.all("/transfer") {
        let what = html! { "Paid out by " (transfer.token("/token")) ", " (transfer.text("/state")) };
        history.push((transfer.text("/paid_at").to_owned(), what));
    }
    for refund in refunds {
        let what = html! {
            "Refund " (refund.token("/token")) " of " (refund.money("/amount")) ": " (refund.text("/status_message"))
        };
        history.push((refund.text("/created_at").to_owned(), what));
    }
    for dispute in disputes {
        let what = html! {
            "Dispute " (dispute.token("/token")) " of " (dispute.money("/amount")) ": " (dispute.state("/status"))
        };
        history.push((dispute.text("/received_at").to_owned(), what));
    }
    history.sort_by(|(earlier, _), (later, _)| earlier.cmp(later));
    history
}

/// Renders the buttons of the possible actions.
fn buttons(user: &AccountSession, id: &str, possible: &[OfferedAction], refunds: &[Record]) -> Markup {
    let action = |verb: &str| format!("/dashboard/charges/{id}/{verb}");
    let hidden_fields = layout::hidden_fields(&user.session);
    let pending: Vec<_> =
        refunds.iter().filter(|refund| refund.text("/status_message") == "Pending").collect();
    if possible.is_empty() && pending.is_empty() {
        return html! {};
    }
    html! {
        section.actions aria-label="What you can do" {
            @for verb in possible {
                @match verb {
                    OfferedAction::Capture => { form method="post" action=(action("capture")) { (hidden_fields) button { "Capture" } } }
                    OfferedAction::Void => { p { (asking(&action("void"), "Void")) } }
                    OfferedAction::Refund => { (of_an_amount(&hidden_fields, &action("refund"), "Refund", "Amount to refund")) }
                    OfferedAction::Dispute => { (of_an_amount(&hidden_fields, &action("dispute"), "Dispute it", "Disputed amount")) }
                }
            }
            @for refund in pending {
                form method="post" action={ "/dashboard/refunds/" (refund.text("/token")) "/decide" } {
                    (hidden_fields)
                    span { "Pending refund " (token(refund.text("/token"))) }
                    button name="outcome" value="succeeded" { "Let it succeed" }
                    button.other name="outcome" value="failed" { "Let it fail" }
                }
            }
        }
    }
}

/// Renders a form that asks for an amount in the base unit; left empty, it means the whole rest.
fn of_an_amount(hidden_fields: &Markup, action: &str, verb: &str, what: &str) -> Markup {
    html! {
        form method="post" action=(action) {
            (hidden_fields)
            label {
                span { (what) ", in base units (all that is left if empty)" }
                input name="amount" inputmode="numeric" autocomplete="off" size="9";
            }
            button { (verb) }
        }
    }
}

/// Returns the form's amount; an empty one is null.
fn amount(tree: &Value) -> Value {
    match tree["amount"].as_str().map(str::trim) {
        None | Some("") => Value::Null,
        Some(amount) => amount.into(),
    }
}

fn to_charge(id: &str) -> Redirect {
    Redirect::to(&format!("/dashboard/charges/{id}"))
}

pub async fn capture(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    let params = params::read::<Capture>(&json!({}));
    charges::capture(&app.ctx, &form.caller, &id, params).await?;
    Ok(to_charge(&id))
}

pub async fn ask_to_void(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let charge = Record::new(user.account.now, &charges::show(&app, &user.account, &id).await?)?;
    if !allowed_actions(&app, &user.account, &id).await?.contains(&OfferedAction::Void) {
        return Err(ErrorCode::InvalidState.into());
    }
    let consequence = html! {
        (facts(&[
            ("Charge", charge.token("/token")),
            ("Amount", charge.money("/amount")),
            ("Description", words(charge.text("/description"))),
        ]))
        p { "The authorisation ends, and the cardholder's bank releases the money. It cannot be captured afterwards." }
    };
    let (title, back) = ("Void this charge?".to_owned(), format!("/dashboard/charges/{id}"));
    let action = format!("{back}/void");
    let question = Question { title, consequence, yes: "Void it", action: &action, fields: &[], back: &back };
    Ok(question.page(&user.session))
}

pub async fn void(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    charges::void(&app.ctx, &form.caller, &id).await?;
    Ok(to_charge(&id))
}

pub async fn refund(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    let mut amount = amount(form.input.tree());
    if amount.is_null() {
        // For the API, a refund without an amount is one of the whole charge.
        let account = &form.caller.account;
        let charge = Record::new(account.now, &charges::show(&app, account, &id).await?)?;
        let left = charge.number("/amount").zip(charge.number("/amount_refunded"));
        amount = left.map(|(all, refunded)| all - refunded).filter(|left| *left > 0).into();
    }
    let params = params::read::<NewRefund>(&json!({ "amount": amount }));
    refunds::create(&app, &form.caller, &id, params).await?;
    Ok(to_charge(&id))
}

pub async fn dispute(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    let params = params::read(&json!({ "charge_token": id, "amount": amount(form.input.tree()) }));
    let now = form.caller.account.now;
    let dispute = disputes::open::open(&app, &form.caller, params).await?;
    let dispute = Record::new(now, &dispute)?;
    Ok(Redirect::to(&format!("/dashboard/disputes/{}", dispute.text("/token"))))
}

pub async fn decide_refund(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    let params = form.input.params::<DecidedRefund>();
    let now = form.caller.account.now;
    let refund = Record::new(now, &sandbox::decide(&app, &form.caller, &id, params).await?)?;
    Ok(to_charge(refund.text("/charge")))
}
