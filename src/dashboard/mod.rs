//! The dashboard (docs/dashboard.md): HTML pages on the services of the API. A handler calls the same service as the
//! API, takes the record as responses show it, and renders it. Forms call the services that write.

mod accounts;
mod address;
mod approvals;
mod auth;
mod card_testing;
mod charges;
mod clock;
mod customers;
mod disputes;
mod draw;
mod endpoints;
mod error_page;
mod events;
mod evidence;
mod exceptions;
mod figures;
mod format;
mod inboxes;
mod key_presets;
mod keys;
mod layout;
mod list;
mod markup;
mod money_flow;
mod new_charge;
mod overview;
mod people;
mod plot;
mod questions;
mod record;
mod refused_form;
mod requests;
mod resend;
mod sandbox;
mod search;
mod session;
mod sign_in;
mod snapshots;
mod state;
mod subscriptions;
mod timelines;
mod transfers;
mod webhooks;

use axum::Router;
use axum::http::Uri;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::any;
use entity::section::Section;
use web::handlers::{get, post};

use self::refused_form::Pages;
pub use self::sign_in::{DashboardAuth, OperatorAuth};
use self::state::DashboardState;
use crate::api::AppState;
use crate::config::Environment;

const HOME: &str = "/dashboard";
const SIGN_IN: &str = "/dashboard/sign-in";
/// The path at which people begin to sign in by the provider, and the path to which it sends them back.
const PROVIDER: &str = "/dashboard/sign-in/provider";
const PROVIDER_ANSWERS: &str = "/dashboard/sign-in/answer";
const SIGN_OUT: &str = "/dashboard/sign-out";
const SIGN_OUT_EVERYWHERE: &str = "/dashboard/sign-out/everywhere";
const ACCOUNTS: &str = "/dashboard/accounts";
const APPROVALS: &str = "/dashboard/approvals";
const EXCEPTIONS: &str = "/dashboard/exceptions";
const PEOPLE: &str = "/dashboard/people";
const KEYS: &str = "/dashboard/keys";
const REQUESTS: &str = "/dashboard/requests";
const CLOCK: &str = "/dashboard/clock";
const SANDBOX: &str = "/dashboard/sandbox";
const SEARCH: &str = "/dashboard/search";
const NEW_CHARGE: &str = "/dashboard/charges/new";
const SNAPSHOTS: &str = "/dashboard/sandbox/snapshots";

/// The pages of the navigation in groups, in order.
const PAGES: [(&str, &[(&str, &str)]); 4] = [
    (
        "Payments",
        &[
            (HOME, "Overview"),
            ("/dashboard/charges", "Charges"),
            ("/dashboard/customers", "Customers"),
            ("/dashboard/subscriptions", "Subscriptions"),
            ("/dashboard/transfers", "Transfers"),
            ("/dashboard/disputes", "Disputes"),
            ("/dashboard/card_testing", "Card testing"),
        ],
    ),
    ("Integration", &[("/dashboard/events", "Events"), ("/dashboard/webhooks", "Webhooks")]),
    ("Organisation", &[(APPROVALS, "Approvals"), (EXCEPTIONS, "Exceptions"), (PEOPLE, "People")]),
    ("Developers", &[(KEYS, "Keys"), (REQUESTS, "Requests"), (CLOCK, "Clock"), (SANDBOX, "Sandbox")]),
];

/// Returns whether a page exists: some in test only, one in live, and two where people sign in by a provider.
fn has_page(app: &DashboardState, path: &str) -> bool {
    match path {
        REQUESTS | CLOCK | SANDBOX => is_test(app),
        EXCEPTIONS => !is_test(app),
        APPROVALS | PEOPLE => app.auth.provider().is_some(),
        _ => true,
    }
}

/// Returns the section of the API whose rights a page needs, by its path: the balance for the overview and for exceptions, keys
/// for people, whose sessions end as keys are revoked, the sandbox for pages of tests. Requests for approval need those of what
/// they ask for, which their service checks; a search shows what may be read.
fn section(path: &str) -> Option<Section> {
    let name = path.trim_start_matches(HOME).split('/').find(|part| !part.is_empty());
    match name {
        None | Some("exceptions") => Some(Section::Balance),
        Some("approvals" | "search") => None,
        Some("people") => Some(Section::Keys),
        Some(name) => Some(Section::from_code(name).unwrap_or(Section::Sandbox)),
    }
}

fn is_test(app: &DashboardState) -> bool {
    app.info.environment == Environment::Test
}

/// Returns the routes outside of /1.
pub fn routes(app: AppState, auth: DashboardAuth) -> Router<AppState> {
    let app = DashboardState::new(app, auth);
    let unguarded = Router::new()
        .route(SIGN_IN, get(auth::sign_in_page).merge(post(auth::sign_in)))
        .route(SIGN_OUT, post(auth::sign_out))
        .route(HOME_SLASH, get(async || Redirect::permanent(HOME)));
    let (pages, unguarded) = match app.info.environment {
        Environment::Test => (shown().merge(tests()), unguarded),
        Environment::Live => {
            let unguarded = unguarded
                .route(PROVIDER, get(people::start))
                .route(PROVIDER_ANSWERS, get(people::finish))
                .route(SIGN_OUT_EVERYWHERE, post(people::sign_out_everywhere))
                .route(ACCOUNTS, get(accounts::list).merge(post(accounts::choose)));
            let of_people = if has_page(&app, PEOPLE) {
                decided()
                    .route(PEOPLE, get(people::list).merge(post(people::end_sessions)))
                    .route("/dashboard/people/end", get(people::ask_to_end_sessions))
            } else {
                Router::new()
            };
            let exceptions = Router::new()
                .route(EXCEPTIONS, get(exceptions::show))
                .route("/dashboard/exceptions/{token}/{verb}", post(exceptions::work_off));
            (shown().merge(of_people).merge(exceptions), unguarded)
        }
    };
    let pages = pages.route("/dashboard/{*unknown}", any(layout::unknown));
    let shown = Pages(pages.clone().with_state(app.clone()));
    pages
        .route_layer(from_fn_with_state((app.clone(), shown), auth::require_session))
        .merge(unguarded)
        .route_layer(from_fn_with_state(app.clone(), auth::refuse_foreign_forms))
        .route("/dashboard/dashboard.css", get(async |address: Uri| layout::STYLE.answer(&address)))
        .route("/dashboard/dashboard.js", get(async |address: Uri| layout::SCRIPT.answer(&address)))
        .route("/dashboard/favicon.svg", get(async |address: Uri| layout::ICON.answer(&address)))
        .with_state(app)
}

const HOME_SLASH: &str = "/dashboard/";

/// Returns the routes that only read.
fn shown() -> Router<DashboardState> {
    Router::new()
        .route(HOME, get(overview::show))
        .route(SEARCH, get(search::show))
        .route("/dashboard/charges", get(charges::list))
        .route("/dashboard/charges/{token}", get(charges::show))
        .route("/dashboard/customers", customers::LIST.route())
        .route("/dashboard/customers/{token}", get(customers::show))
        .route("/dashboard/subscriptions", subscriptions::LIST.route())
        .route("/dashboard/subscriptions/{token}", get(subscriptions::show))
        .route("/dashboard/transfers", transfers::LIST.route())
        .route("/dashboard/transfers/{token}", get(transfers::show))
        .route("/dashboard/disputes", get(disputes::list))
        .route("/dashboard/disputes/{token}", get(disputes::show))
        .route("/dashboard/card_testing", get(card_testing::show))
        .route("/dashboard/events", events::LIST.route())
        .route("/dashboard/events/{token}", get(events::show))
        .route("/dashboard/webhooks", get(webhooks::list))
        .route("/dashboard/webhooks/{token}", get(webhooks::show))
        .route(KEYS, get(keys::show))
}

/// Returns the routes of what takes two persons.
fn decided() -> Router<DashboardState> {
    Router::new()
        .route(APPROVALS, get(approvals::list))
        .route("/dashboard/approvals/{id}", post(approvals::request))
        .route("/dashboard/approvals/{id}/approve", post(approvals::approve))
        .route("/dashboard/approvals/{id}/decline", post(approvals::decline))
}

/// Returns the routes of the sandbox.
fn tests() -> Router<DashboardState> {
    Router::new()
        .merge(exports())
        .route(NEW_CHARGE, get(new_charge::show).merge(post(new_charge::create)))
        .route("/dashboard/webhook_endpoints", post(endpoints::register))
        .route(ACCOUNTS, get(accounts::made).merge(post(accounts::choose_made)))
        .route("/dashboard/charges/{token}/capture", post(charges::capture))
        .route("/dashboard/charges/{token}/void", get(charges::ask_to_void).merge(post(charges::void)))
        .route("/dashboard/charges/{token}/refund", post(charges::refund))
        .route("/dashboard/charges/{token}/dispute", post(charges::dispute))
        .route("/dashboard/refunds/{token}/decide", post(charges::decide_refund))
        .route(
            "/dashboard/subscriptions/{token}/unsubscribe",
            get(subscriptions::ask_to_unsubscribe).merge(post(subscriptions::unsubscribe)),
        )
        .route("/dashboard/disputes/{token}/decide", post(disputes::decide))
        .route(
            "/dashboard/disputes/{token}/accept",
            get(evidence::ask_to_accept).merge(post(evidence::accept)),
        )
        .route("/dashboard/disputes/{token}/evidence", post(evidence::add))
        .route("/dashboard/disputes/{token}/evidence/remove", post(evidence::remove))
        .route(
            "/dashboard/disputes/{token}/submit",
            get(evidence::ask_to_submit).merge(post(evidence::submit)),
        )
        .route("/dashboard/webhooks/{token}/replay", post(webhooks::replay))
        .route("/dashboard/webhook_endpoints/{token}/ping", post(endpoints::ping))
        .route(
            "/dashboard/webhook_endpoints/{token}/delete",
            get(endpoints::ask_to_delete).merge(post(endpoints::delete)),
        )
        .route("/dashboard/inboxes", post(inboxes::create))
        .route("/dashboard/inboxes/{token}", get(inboxes::show).merge(post(inboxes::change)))
        .route("/dashboard/inboxes/{token}/delete", get(inboxes::ask_to_delete).merge(post(inboxes::delete)))
        .route(KEYS, post(keys::create))
        .route("/dashboard/keys/{token}/roll", post(keys::roll))
        .route(keys::OWN, post(keys::show_own))
        .route("/dashboard/keys/{token}/revoke", get(keys::ask_to_revoke).merge(post(keys::revoke)))
        .route(REQUESTS, get(requests::list))
        .route("/dashboard/requests/{request_id}", get(requests::show))
        .route("/dashboard/requests/{request_id}/send", post(resend::send))
        .route(CLOCK, get(clock::show).merge(post(clock::advance)))
        .route(SANDBOX, get(sandbox::show).merge(post(sandbox::order)))
        .route("/dashboard/sandbox/switches", post(sandbox::change))
        .route("/dashboard/sandbox/accounts", post(sandbox::create))
        .route("/dashboard/sandbox/delete", get(sandbox::ask_to_delete).merge(post(sandbox::delete)))
        .route(SNAPSHOTS, post(snapshots::create))
        .route(
            "/dashboard/sandbox/snapshots/{token}/restore",
            get(snapshots::ask_to_restore).merge(post(snapshots::restore)),
        )
        .route(
            "/dashboard/sandbox/snapshots/{token}/delete",
            get(snapshots::ask_to_delete).merge(post(snapshots::delete)),
        )
}

/// Returns the routes of lists as CSV, which `list_export` makes of their pages.
fn exports() -> Router<DashboardState> {
    Router::new()
        .route("/dashboard/charges.csv", charges::LIST.csv())
        .route("/dashboard/customers.csv", customers::LIST.csv())
        .route("/dashboard/subscriptions.csv", subscriptions::LIST.csv())
        .route("/dashboard/transfers.csv", transfers::LIST.csv())
        .route("/dashboard/disputes.csv", disputes::LIST.csv())
        .route("/dashboard/events.csv", events::LIST.csv())
        .route("/dashboard/webhooks.csv", webhooks::LIST.csv())
        .route("/dashboard/requests.csv", requests::LIST.csv())
}
