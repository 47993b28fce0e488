//! Webhook endpoints: registered, pinged and deleted.

use axum::extract::State;
use axum::response::Redirect;
use maud::{Markup, html};

use super::auth::{AccountSession, VerifiedForm};
use super::is_test;
use super::layout::{self, FormResult, PageResult};
use super::list::{Column, column, table};
use super::questions::{Question, asking};
use super::record::{Record, facts, first_page, words};
use super::state::DashboardState;
use crate::api::extract::Path;
use crate::error::Error;
use crate::limits::NAME_LENGTH_MAX;
use crate::services::events::ping as send_ping;
use crate::services::webhook_endpoints;
use crate::services::webhook_endpoints::params::NewWebhookEndpoint;

const PAGE: &str = "/dashboard/webhooks";
const ENDPOINTS: &str = "/dashboard/webhook_endpoints";

/// The columns of endpoints, without their signing keys: nobody has to read those here.
const COLUMNS: [Column; 3] = [
    column("Endpoint", |endpoint| endpoint.token("/token")),
    column("URL", |endpoint| words(endpoint.text("/url"))),
    column("Registered", |endpoint| endpoint.ago("/created_at")).wide(),
];

/// Renders the account's endpoints, and in test what can be done with them.
pub async fn of_account(app: &DashboardState, user: &AccountSession) -> Result<Markup, Error> {
    let endpoints = webhook_endpoints::list(app, &user.account, first_page().valid()?).await?;
    let endpoints = Record::each(user.account.now, &endpoints.records)?;
    Ok(html! {
        (table("Endpoints", &COLUMNS, &endpoints))
        @if is_test(app) { (forms(user, &endpoints)) }
    })
}

fn forms(user: &AccountSession, endpoints: &[Record]) -> Markup {
    html! {
        section.actions aria-label="Register, ping and delete" {
            form method="post" action=(ENDPOINTS) {
                (layout::hidden_fields(&user.session))
                label {
                    span { "URL of a new endpoint, which gets every event from then on" }
                    input type="url" name="url" required maxlength=(NAME_LENGTH_MAX) placeholder="https://example.com/webhooks";
                }
                button { "Register it" }
            }
            @for endpoint in endpoints {
                @let address = format!("{ENDPOINTS}/{}", endpoint.text("/token"));
                form method="post" action={ (address) "/ping" } {
                    (layout::hidden_fields(&user.session))
                    span { (endpoint.text("/url")) }
                    button.other { "Ping it" }
                    (asking(&format!("{address}/delete"), "Delete it"))
                }
            }
        }
    }
}

pub async fn register(State(app): State<DashboardState>, form: VerifiedForm) -> FormResult {
    webhook_endpoints::register(&app, &form.caller, form.input.params::<NewWebhookEndpoint>()).await?;
    Ok(Redirect::to(PAGE))
}

/// Sends a ping event to an endpoint.
pub async fn ping(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    let now = form.caller.account.now;
    let webhook = Record::new(now, &send_ping::ping(&app, &form.caller, &id).await?)?;
    Ok(Redirect::to(&format!("{PAGE}/{}", webhook.text("/token"))))
}

/// Asks whether an endpoint shall go.
pub async fn ask_to_delete(
    State(app): State<DashboardState>,
    user: AccountSession,
    Path(id): Path<String>,
) -> PageResult {
    let endpoint = webhook_endpoints::show(&app, &user.account, &id).await?;
    let endpoint = Record::new(user.account.now, &endpoint)?;
    let consequence = html! {
        (facts(&[
            ("Endpoint", endpoint.token("/token")),
            ("URL", words(endpoint.text("/url"))),
            ("Registered", endpoint.time("/created_at")),
        ]))
        p { "Its webhooks go with it, those that are still to be delivered as well, and so does the key that signs them. Events stay. An \
             endpoint registered later at the same URL has another key and gets only the events from then on." }
    };
    let title = "Delete this endpoint?".to_owned();
    let action = format!("{ENDPOINTS}/{id}/delete");
    let question =
        Question { title, consequence, yes: "Delete the endpoint", action: &action, fields: &[], back: PAGE };
    Ok(question.page(&user.session))
}

/// Deletes an endpoint with its webhooks.
pub async fn delete(
    State(app): State<DashboardState>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> FormResult {
    webhook_endpoints::delete(&app, &form.caller, &id).await?;
    Ok(Redirect::to(PAGE))
}
