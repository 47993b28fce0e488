//! What the sandbox orders for the whole account: faults of its acquirer, and its end.

use axum::extract::State;
use axum::response::{Redirect, Response};
use entity::failure::Decline;
use maud::{Markup, html};
use serde_json::json;

use super::SANDBOX;
use super::door::{self, Deed, Visit};
use super::frame::{self, Page, Problem, Sheet};
use super::record::{Record, facts};
use crate::http::Site;
use crate::limits::ACQUIRER_LATENCY_MS_MAX;
use crate::params;
use crate::params::sandbox::ChangedFaults;
use crate::services::sandbox::{account, accounts, acquirer};

/// The faults that are ordered, and the account's switches.
pub async fn show(visit: Visit) -> Page {
    let faults = Record::of(&acquirer::show(&visit.account)?)?;
    let switches = Record::of(&account::show(&visit.account))?;
    let word = |name: &str| if switches.is(name) { "on" } else { "off" };
    let content = html! {
        (orders(&visit, &faults))
        h2 { "Switches" }
        (facts(&[
            ("Disputes", html! { (word("/disputes")) }),
            ("Wallets", html! { (word("/wallet")) }),
            ("Partner", html! { (word("/partner")) }),
            ("Transfers", html! { (word("/transfers_enabled")) ", " (switches.text("/transfers_schedule")) }),
            ("Money becomes available after", html! { (switches.number("/settlement_delay_days").unwrap_or_default()) " days" }),
        ]))
        @if visit.account.settings().made_by.is_some() { (end(&visit)) }
    };
    Ok(Sheet::of("/1/sandbox/acquirer", "Sandbox", content))
}

fn orders(visit: &Visit, faults: &Record) -> Markup {
    let ordered = faults.text("/decline");
    let chance = |name: &str| faults.at(name).word();
    html! {
        h2 { "Faults of the acquirer" }
        p { "From now on every attempt to charge a card meets these, until you reset them." }
        section.deeds aria-label="Faults of the acquirer" {
            form.narrow method="post" action=(SANDBOX) {
                (frame::carried(&visit.session))
                label for="decline" { "Fail charges with" }
                select #decline name="decline" {
                    option value="" selected[ordered.is_empty()] { "nothing" }
                    @for decline in Decline::ALL {
                        option value=(decline.code()) selected[ordered == decline.code()] { (decline.code().replace('_', " ")) }
                    }
                }
                label for="latency_ms" { "Milliseconds that each answer comes later" }
                input #latency_ms type="number" name="latency_ms" min="0" max=(ACQUIRER_LATENCY_MS_MAX)
                    value=(faults.number("/latency_ms").unwrap_or_default());
                label for="gateway_error_rate" { "Share of calls that fail before anything happens, 0 to 1" }
                input #gateway_error_rate name="gateway_error_rate" inputmode="decimal" value=(chance("/gateway_error_rate"));
                label for="drop_rate" { "Share of calls that are done and whose answers are lost, 0 to 1" }
                input #drop_rate name="drop_rate" inputmode="decimal" value=(chance("/drop_rate"));
                label for="seed" { "Seed: the same one gives the same run" }
                input #seed type="number" name="seed" value=(faults.number("/seed").unwrap_or_default());
                button { "Order these faults" }
            }
            form method="post" action=(SANDBOX) {
                (frame::carried(&visit.session))
                button.other name="reset" value="true" { "Reset: no faults" }
            }
        }
    }
}

/// An account that was made in the sandbox may end in it.
fn end(visit: &Visit) -> Markup {
    html! {
        h2 { "End" }
        section.deeds aria-label="End of the account" {
            form method="post" action="/dashboard/sandbox/delete" {
                (frame::carried(&visit.session))
                label { input type="checkbox" name="sure" value="true" required; " Everything in this account goes, and its keys" }
                button.grave { "Delete this account" }
            }
        }
    }
}

/// Order faults, or none.
pub async fn order(State(site): State<Site>, deed: Deed) -> Result<Redirect, Problem> {
    let none =
        json!({ "latency_ms": 0, "decline": "", "gateway_error_rate": "0", "drop_rate": "0", "seed": 0 });
    let sent = deed.input.tree();
    let asked = if sent.get("reset").is_some() { &none } else { sent };
    acquirer::change(&site, &deed.visit.account, params::read::<ChangedFaults>(asked)).await?;
    Ok(Redirect::to(SANDBOX))
}

/// Delete the account that is looked at, and with it the session.
pub async fn delete(State(site): State<Site>, deed: Deed) -> Result<Response, Problem> {
    let account = &deed.visit.account;
    accounts::delete(&site, account, &account.id().to_string()).await?;
    Ok(door::leaving(&site))
}
