//! Restricted keys of the account: in test they are made, rolled and revoked here, in live by operators' commands.

use axum::extract::State;
use axum::response::Redirect;
use entity::section::{Right, Section};
use maud::{Markup, html};
use serde_json::json;

use super::auth::{AccountSession, VerifiedForm};
use super::layout::{self, FormResult, PageContent, PageResult};
use super::list::{Column, column, table};
use super::record::{Record, facts, longest_page, words};
use super::state::DashboardState;
use super::{KEYS, is_test};
use crate::api::extract::Path;
use crate::config::Environment;
use crate::limits::NAME_LENGTH_MAX;
use crate::params::{self, Params};
use crate::services::accounts::key_params::{NewApiKey, NewKeySecret};
use crate::services::accounts::key_view::ApiKey;
use crate::services::accounts::restricted_keys;

const COLUMNS: [Column; 7] = [
    column("Name", |key| words(key.text("/name"))),
    column("Key", |key| html! { code { "..." (key.text("/last_characters")) } }),
    column("Rights", rights),
    column("Last use", |key| key.ago("/last_used_at")),
    column("Ends", |key| key.ago("/expires_at")),
    column("Networks", |key| words(&networks(key))).wide(),
    column("Made", |key| key.ago("/created_at")).wide(),
];

fn rights(key: &Record) -> Markup {
    let rights: Vec<_> =
        key.entries("/rights").iter().map(|(name, right)| format!("{name}: {}", right.word())).collect();
    words(&rights.join(", "))
}

fn networks(key: &Record) -> String {
    let networks: Vec<_> = key.all("/networks").iter().map(Record::word).collect();
    if networks.is_empty() { "all".to_owned() } else { networks.join(", ") }
}

/// Shows the keys that work, newest first. Their times are of the wall clock.
pub async fn show(State(app): State<DashboardState>, user: AccountSession) -> PageResult {
    let keys = restricted_keys::list(&app, &user.account, longest_page().valid()?).await?;
    let keys = Record::each(app.clock.now(), &keys.records)?;
    let content = html! {
        p { "Each program gets the least that it needs: rights in some sections of the API, from some networks, until some day." }
        (table("Restricted keys, newest first", &COLUMNS, &keys))
        @if is_test(&app) { (ends(&user, &keys)) (creation(&user)) }
    };
    Ok(match app.info.environment {
        Environment::Test => PageContent::new("/1/sandbox/keys", "Keys", content),
        Environment::Live => PageContent::bare("Keys", content),
    })
}

/// Renders the forms that roll and revoke a key.
fn ends(user: &AccountSession, keys: &[Record]) -> Markup {
    html! {
        @if !keys.is_empty() {
            h2 { "Roll or revoke" }
            section.deeds aria-label="Roll or revoke" {
                @for key in keys {
                    @let action = format!("{KEYS}/{}", key.text("/token"));
                    form method="post" action={ (action) "/roll" } {
                        (layout::carried(&user.session))
                        span { (key.text("/name")) " ..." (key.text("/last_characters")) }
                        label { span { "The former key works for" } input name="grace" value="24h" size="5" autocomplete="off"; }
                        button.other { "Roll it" }
                        button.grave formaction={ (action) "/revoke" } { "Revoke it" }
                    }
                }
            }
        }
    }
}

/// Renders the form that makes a key.
fn creation(user: &AccountSession) -> Markup {
    html! {
        h2 { "Make a key" }
        section.deeds aria-label="Make a key" {
            form.narrow method="post" action=(KEYS) {
                (layout::carried(&user.session))
                label for="name" { "Name" }
                input #name name="name" required maxlength=(NAME_LENGTH_MAX) autocomplete="off" placeholder="Accounting";
                @for section in Section::ALL {
                    label for=(section.code()) { (section.name()) }
                    select id=(section.code()) name={ "rights[" (section.code()) "]" } {
                        @for right in Right::ALL { option value=(right.code()) { (right.code()) } }
                    }
                }
                label for="networks" { "Networks, separated by commas; all if empty" }
                input #networks name="networks" autocomplete="off" placeholder="192.0.2.0/24";
                label for="expires_at" { "It ends; never if empty" }
                input #expires_at name="expires_at" autocomplete="off" placeholder="2031-05-01T00:00:00Z";
                button { "Make the key" }
            }
        }
    }
}

/// Makes a key, which is shown this once.
pub async fn create(State(app): State<DashboardState>, form: VerifiedForm) -> PageResult {
    let sent = form.input.tree();
    let networks = sent["networks"].as_str().unwrap_or_default().split(',').map(str::trim);
    let networks: Vec<_> = networks.filter(|network| !network.is_empty()).collect();
    let order: Params<NewApiKey> = params::read(&json!({
        "name": sent["name"], "rights": sent["rights"],
        "networks": networks, "expires_at": sent["expires_at"],
    }));
    let made = restricted_keys::create(&app, &form.caller, order).await?;
    made_page(&app, &made, "A new key")
}

/// Replaces a key; the new one is shown this once.
pub async fn roll(
    State(app): State<DashboardState>,
    Path(token): Path<String>,
    form: VerifiedForm,
) -> PageResult {
    let grace = form.input.params::<NewKeySecret>().grace();
    let made = restricted_keys::roll(&app, &form.caller, &token, grace).await?;
    made_page(&app, &made, "A rolled key")
}

fn made_page(app: &DashboardState, made: &ApiKey, title: &'static str) -> PageResult {
    let made = Record::new(app.clock.now(), made)?;
    let content = html! {
        (facts(&[
            ("Name", words(made.text("/name"))),
            ("Key", html! { code { (made.text("/secret_key")) } }),
            ("Rights", rights(&made)),
            ("Networks", words(&networks(&made))),
            ("Ends", made.time("/expires_at")),
        ]))
        p { "The key is shown this once. " a href=(KEYS) { "Back to the keys" } }
    };
    Ok(PageContent::bare(title, content))
}

/// Revokes a key.
pub async fn revoke(
    State(app): State<DashboardState>,
    Path(token): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    restricted_keys::revoke(&app, &form.caller, &token).await?;
    Ok(Redirect::to(KEYS))
}
