//! Restricted keys of the account: in test they are made, rolled and revoked here, in live by operators' commands.

use axum::extract::State;
use axum::response::Redirect;
use base::secret::Secret;
use entity::section::{Right, Section};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
use validator::Validate;

use super::auth::{AccountSession, VerifiedForm};
use super::format::{self, Tone};
use super::key_presets::{KeyPreset, PRESETS};
use super::layout::{self, FormResult, PageContent, PageResult};
use super::list::{Column, column, table};
use super::questions::{Question, asking};
use super::record::{Record, facts, longest_page, words};
use super::state::DashboardState;
use super::{KEYS, is_test};
use crate::api::extract::{Input, Path};
use crate::config::Environment;
use crate::error::{Error, ErrorCode};
use crate::limits::NAME_LENGTH_MAX;
use crate::params::{self, Params};
use crate::services::accounts::key_params::{NewApiKey, NewKeySecret};
use crate::services::accounts::key_view::ApiKey;
use crate::services::accounts::{restricted_keys, shown_keys};

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
    if rights.is_empty() {
        format::toned(Tone::Waiting, "no rights: it can do nothing")
    } else {
        words(&rights.join(", "))
    }
}

fn networks(key: &Record) -> String {
    let networks: Vec<_> = key.all("/networks").iter().map(Record::word).collect();
    if networks.is_empty() { "all".to_owned() } else { networks.join(", ") }
}

/// Shows the keys that work, newest first, and in test the forms. Their times are of the wall clock.
pub async fn show(State(app): State<DashboardState>, user: AccountSession, input: Input) -> PageResult {
    let keys = restricted_keys::list(&app, &user.account, longest_page().valid()?).await?;
    let keys = Record::each(app.clock.now(), &keys.records)?;
    let preset = input.tree()["preset"].as_str().and_then(KeyPreset::from_code);
    let content = html! {
        @if is_test(&app) { (own(&app, &user).await?) }
        p { "Each program gets the least that it needs: rights in some sections of the API, from some networks, until some day." }
        (table("Restricted keys, newest first", &COLUMNS, &keys))
        @if is_test(&app) { (ends(&user, &keys)) (creation(&user, preset)) }
    };
    Ok(match app.info.environment {
        Environment::Test => PageContent::new("/1/sandbox/keys", "Keys", content),
        Environment::Live => PageContent::bare("Keys", content),
    })
}

/// The path of the account's own keys.
pub const OWN: &str = "/dashboard/keys/own";

/// Renders which keys the account has itself, and the button that shows them.
async fn own(app: &DashboardState, user: &AccountSession) -> Result<Markup, Error> {
    let keys = shown_keys(app, user.account.id()).await?;
    let end = |key: &Secret| {
        let text = key.expose();
        let from = text.char_indices().rev().nth(3).map_or(0, |(at, _)| at);
        html! { code { "..." (text.get(from..).unwrap_or_default()) } }
    };
    Ok(html! {
        h2 { "The account's own keys" }
        (facts(&[("Secret key, which may do everything", end(&keys.secret)), ("Publishable key, for browsers", end(&keys.publishable))]))
        section.actions aria-label="The account's own keys" {
            form method="post" action=(OWN) { (layout::hidden_fields(&user.session)) button.other { "Show both keys" } }
        }
        h2 { "Restricted keys" }
    })
}

/// Shows the account's own keys. Only a form leads here, so that no page shows them unasked.
pub async fn show_own(State(app): State<DashboardState>, form: VerifiedForm) -> PageResult {
    let keys = shown_keys(&app, form.caller.account.id()).await?;
    let content = html! {
        (facts(&[
            ("Secret key", html! { code { (keys.secret.expose()) } }),
            ("Publishable key", html! { code { (keys.publishable.expose()) } }),
        ]))
        p { "The secret key may do everything: it belongs on a server. " a href="/docs/guide/quick-start" { "How requests use them" } }
        p { a href=(KEYS) { "Back to the keys" } }
    };
    Ok(PageContent::bare("The account's own keys", content))
}

/// Renders the forms that roll a key, and the ways to its end.
fn ends(user: &AccountSession, keys: &[Record]) -> Markup {
    html! {
        @if !keys.is_empty() {
            h2 { "Roll or revoke" }
            section.actions aria-label="Roll or revoke" {
                @for key in keys {
                    @let action = format!("{KEYS}/{}", key.text("/token"));
                    form method="post" action={ (action) "/roll" } {
                        (layout::hidden_fields(&user.session))
                        span { (key.text("/name")) " ..." (key.text("/last_characters")) }
                        label { span { "The former key works for" } input name="grace" value="24h" size="5" autocomplete="off"; }
                        button.other { "Roll it" }
                        (asking(&format!("{action}/revoke"), "Revoke it"))
                    }
                }
            }
        }
    }
}

/// Renders the form that makes a key. Its rights begin as those of a preset, or as none.
fn creation(user: &AccountSession, preset: Option<&KeyPreset>) -> Markup {
    html! {
        h2 #make { "Make a key" }
        p {
            "Begin with: "
            @for known in &PRESETS {
                a href={ (KEYS) "?preset=" (known.code) "#make" } aria-current=[preset.filter(|preset| preset.code == known.code).map(|_| "true")] { (known.name) }
                " · "
            }
            a href={ (KEYS) "#make" } aria-current=[preset.is_none().then_some("true")] { "No rights" }
        }
        section.actions aria-label="Make a key" {
            form.narrow method="post" action=(KEYS) {
                (layout::hidden_fields(&user.session))
                label for="name" { "Name" }
                input #name name="name" required maxlength=(NAME_LENGTH_MAX) autocomplete="off" placeholder="Accounting";
                (grid(|section| preset.map_or(Right::None, |preset| preset.right(section))))
                label for="networks" { "Networks, separated by commas; all if empty" }
                input #networks name="networks" autocomplete="off" placeholder="192.0.2.0/24";
                label for="expires_at" { "It ends; never if empty" }
                input #expires_at name="expires_at" autocomplete="off" placeholder="2031-05-01T00:00:00Z";
                button { "Make the key" }
            }
        }
    }
}

/// Renders the rights: a row for each section of the API, a column for each right.
fn grid(chosen: impl Fn(Section) -> Right) -> Markup {
    html! {
        div.scroll {
            table.grid {
                caption { "Rights; each includes the ones before it" }
                thead { tr { th scope="col" { "Section" } @for right in Right::ALL { th scope="col" { (right.code()) } } } }
                tbody {
                    @for section in Section::ALL {
                        tr {
                            th scope="row" { (section.name()) }
                            @for right in Right::ALL {
                                td {
                                    input type="radio" name={ "rights[" (section.code()) "]" } value=(right.code())
                                        checked[chosen(*section) == *right] aria-label={ (section.name()) ", " (right.code()) };
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The parameters that the question about a key without rights sends.
#[derive(Deserialize, Validate)]
struct SureParams {
    sure: Option<bool>,
}

/// Makes a key, which is shown this once. Asks first whether one without rights is meant.
pub async fn create(State(app): State<DashboardState>, form: VerifiedForm) -> PageResult {
    let sent = form.input.tree();
    let networks = sent["networks"].as_str().unwrap_or_default().split(',').map(str::trim);
    let networks: Vec<_> = networks.filter(|network| !network.is_empty()).collect();
    let order = || -> Params<NewApiKey> {
        params::read(&json!({
            "name": sent["name"], "rights": sent["rights"],
            "networks": networks, "expires_at": sent["expires_at"],
        }))
    };
    let SureParams { sure } = form.input.params().valid()?;
    if sure != Some(true) && order().parse(app.clock.now())?.rights.is_empty() {
        return Ok(powerless(&form, sent));
    }
    let made = restricted_keys::create(&app, &form.caller, order()).await?;
    made_page(&app, &made, "A new key")
}

/// Asks whether a key without rights is meant.
fn powerless(form: &VerifiedForm, sent: &Value) -> PageContent {
    let text = |name: &str| sent[name].as_str().unwrap_or_default();
    let none = format!("rights[{}]", Section::Charges.code());
    let fields = [
        ("name", text("name")),
        (none.as_str(), Right::None.code()),
        ("networks", text("networks")),
        ("expires_at", text("expires_at")),
        ("sure", "true"),
    ];
    let consequence = html! {
        p { "This key has no rights: every request with it is refused, and rights cannot be added to it later. Go back and choose some." }
    };
    let back = format!("{KEYS}#make");
    let title = "Make a key without rights?".to_owned();
    let yes = "Make it all the same";
    Question { title, consequence, yes, action: KEYS, fields: &fields, back: &back }.page(&form.user.session)
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

pub async fn ask_to_revoke(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(token): Path<String>,
) -> PageResult {
    let keys = restricted_keys::list(&app, &user.account, longest_page().valid()?).await?;
    let keys = Record::each(app.clock.now(), &keys.records)?;
    let key = keys.iter().find(|key| key.text("/token") == token).ok_or(ErrorCode::NotFound)?;
    let consequence = html! {
        (facts(&[
            ("Name", words(key.text("/name"))),
            ("Key", html! { code { "..." (key.text("/last_characters")) } }),
            ("Rights", rights(key)),
            ("Last use", key.ago("/last_used_at")),
        ]))
        p { "It stops working at once, for good. A program that still uses it gets 401 from then on: roll the key instead, and both work for a \
             while." }
    };
    let (title, action) = ("Revoke this key?".to_owned(), format!("{KEYS}/{token}/revoke"));
    let question =
        Question { title, consequence, yes: "Revoke it", action: &action, fields: &[], back: KEYS };
    Ok(question.page(&user.session))
}

pub async fn revoke(
    State(app): State<DashboardState>,
    Path(token): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    restricted_keys::revoke(&app, &form.caller, &token).await?;
    Ok(Redirect::to(KEYS))
}
