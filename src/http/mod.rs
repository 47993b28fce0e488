//! HTTP: decode the request, call one service, wrap its view. No business rule and no query lives here.

mod admission;
pub mod answer;
pub mod auth;
mod authorisations;
mod bank_accounts;
mod base_path;
mod browser;
mod cards;
mod challenge;
mod charges;
mod client_address;
mod connections;
mod customers;
mod dashboard;
mod deposits;
mod disputes;
mod events;
pub mod extract;
mod files;
mod frame;
mod heads;
mod inboxes;
mod ledger;
mod list_export;
mod merchants;
mod metrics;
mod observe;
pub mod openapi;
mod operations;
mod own_machine;
mod pages;
mod paths;
mod patience;
mod pay;
mod payment_sources;
mod plans;
mod rate_limit;
mod recipients;
mod refunds;
mod representations;
mod request_log;
mod request_log_data;
pub mod rights;
mod sandbox;
pub mod server;
mod socket;
mod stall_timeout;
mod subscriptions;
mod swagger;
mod system;
mod transfers;
mod unread_body;
mod wallets;
mod webhook_endpoints;
mod webhooks;
mod write_request;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use tokio::sync::watch;
use tower::ServiceBuilder;

pub use admission::AdmissionControl;
pub use connections::Connections;
pub use dashboard::{DashboardAuth, OperatorAuth};
pub use metrics::Metrics;
use operations::{Operations, routes};
pub use rate_limit::RateLimit;
use representations::Representations;
use server::ServerPhase;
pub use system::{INSTALLATION, ServerInfo};

use crate::config::Environment;
use crate::recording::Recorder;
use crate::sensitive::secret::Secret;
use crate::services::{Context, Ctx};

/// The state that requests and handlers share. Every layer around a handler holds it, and every request clones those layers.
#[derive(Clone)]
pub struct AppState(Arc<AppStateInner>);

/// The shared state: the services' context and more.
#[derive(Clone)]
pub struct AppStateInner {
    /// The context of the services.
    pub ctx: Ctx,
    /// What the server says about itself.
    pub info: Arc<ServerInfo>,
    /// The id of its installation.
    pub installation: Arc<str>,
    /// The OpenAPI document.
    pub document: Arc<Document>,
    /// The metrics of /metrics.
    pub metrics: Metrics,
    /// The key that pages fill in on the server's own machine: a test environment's first secret key.
    pub test_key: Option<Arc<Secret>>,
    /// The dashboard's authentication; none where there is no dashboard.
    pub dashboard: Option<Arc<DashboardAuth>>,
    /// The rate limit of accounts.
    pub rate: Arc<RateLimit>,
    /// The admission control.
    pub admission: Arc<AdmissionControl>,
    /// Whether the server is shutting down, and how far.
    pub phase: watch::Receiver<ServerPhase>,
    /// The recording of its requests.
    pub recorder: Option<Arc<Recorder>>,
}

impl AppState {
    /// Shares the state.
    pub fn new(shared: AppStateInner) -> Self {
        Self(Arc::new(shared))
    }
}

impl std::ops::Deref for AppState {
    type Target = AppStateInner;

    fn deref(&self) -> &AppStateInner {
        &self.0
    }
}

impl std::ops::Deref for AppStateInner {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.ctx
    }
}

/// Returns the operations under /1 of every environment, in the order of the specification's sections. `routes!` takes
/// path and method from the annotation, so no route exists without its description.
fn operations() -> Operations {
    Operations::default()
        .routes(routes!(cards::create_card))
        .routes(routes!(cards::get_card))
        .routes(routes!(payment_sources::create_payment_source))
        .routes(routes!(charges::create_charge, charges::list_charges))
        .routes(routes!(charges::search_charges))
        .routes(routes!(charges::verify_charge))
        .routes(routes!(charges::get_charge))
        .routes(routes!(charges::void_charge))
        .routes(routes!(charges::capture_charge))
        .routes(routes!(refunds::create_refund, refunds::list_charge_refunds))
        .routes(routes!(refunds::list_refunds))
        .routes(routes!(refunds::get_refund))
        .routes(routes!(authorisations::create_authorisation, authorisations::list_authorisations))
        .routes(routes!(authorisations::get_authorisation))
        .routes(routes!(authorisations::void_authorisation))
        .routes(routes!(authorisations::capture_authorisation))
        .routes(routes!(customers::create_customer, customers::list_customers))
        .routes(routes!(customers::get_customer, customers::update_customer, customers::delete_customer))
        .routes(routes!(customers::list_customer_charges))
        .routes(routes!(customers::create_customer_card, customers::list_customer_cards))
        .routes(routes!(customers::delete_customer_card))
        .routes(routes!(customers::list_customer_subscriptions))
        .routes(routes!(customers::cancel_customer_subscription))
        .routes(routes!(plans::create_plan, plans::list_plans))
        .routes(routes!(plans::get_plan, plans::update_plan, plans::delete_plan))
        .routes(routes!(plans::create_plan_subscription, plans::list_plan_subscriptions))
        .routes(routes!(subscriptions::create_subscription, subscriptions::list_subscriptions))
        .routes(routes!(
            subscriptions::get_subscription,
            subscriptions::update_subscription,
            subscriptions::cancel_subscription
        ))
        .routes(routes!(subscriptions::reactivate_subscription))
        .routes(routes!(subscriptions::get_subscription_ledger))
        .routes(routes!(transfers::create_transfer, transfers::list_transfers))
        .routes(routes!(transfers::search_transfers))
        .routes(routes!(transfers::get_transfer))
        .routes(routes!(transfers::list_transfer_line_items))
        .routes(routes!(bank_accounts::create_bank_account))
        .routes(routes!(recipients::create_recipient, recipients::list_recipients))
        .routes(routes!(recipients::get_recipient, recipients::update_recipient))
        .routes(routes!(recipients::list_recipient_transfers))
        .routes(routes!(deposits::list_deposits))
        .routes(routes!(deposits::get_deposit))
        .routes(routes!(ledger::get_balance))
        .routes(routes!(merchants::create_merchant, merchants::list_merchants))
        .routes(routes!(merchants::search_merchants))
        .routes(routes!(merchants::get_default_settings))
        .routes(routes!(merchants::get_merchant))
        .merge(wallets::operations())
        .routes(routes!(disputes::list_disputes))
        .routes(routes!(disputes::search_disputes))
        .routes(routes!(disputes::get_dispute))
        .routes(routes!(disputes::get_dispute_activity))
        .routes(routes!(
            disputes::get_dispute_evidence,
            disputes::update_dispute_evidence,
            disputes::submit_dispute_evidence
        ))
        .routes(routes!(disputes::accept_dispute))
        .routes(routes!(files::create_file))
        .routes(routes!(files::get_file, files::delete_file))
        .routes(routes!(
            webhook_endpoints::create_webhook_endpoint,
            webhook_endpoints::list_webhook_endpoints
        ))
        .routes(routes!(webhook_endpoints::get_webhook_endpoint, webhook_endpoints::delete_webhook_endpoint))
        .routes(routes!(webhooks::list_webhooks))
        .routes(routes!(webhooks::get_webhook))
        .routes(routes!(webhooks::replay_webhook))
        .routes(routes!(events::list_events))
        .routes(routes!(events::get_event))
}

/// Returns the finished OpenAPI document, with the sandbox.
pub fn openapi() -> serde_json::Value {
    described(&operations().merge(sandbox::operations()))
}

/// Returns the annotations of all operations.
fn annotated() -> serde_json::Value {
    let document = operations().merge(sandbox::operations()).document();
    serde_json::to_value(document).expect("the document is JSON")
}

fn described(operations: &Operations) -> serde_json::Value {
    openapi::finished(&operations.document())
}

/// Returns the document of this server's own operations.
fn own(info: &ServerInfo) -> serde_json::Value {
    let document = match info.environment {
        Environment::Test => openapi(),
        Environment::Live => openapi::live(described(&operations())),
    };
    openapi::served(document, info.named.as_deref(), info.base_path())
}

/// The served OpenAPI document. Each format is built for the first client that wants it: building takes as long as the
/// rest of a start, and many servers are never asked.
#[derive(Debug, Default)]
pub struct Document {
    yaml: OnceLock<Representations>,
    json: OnceLock<Representations>,
    llms: OnceLock<Representations>,
    columns: OnceLock<HashMap<String, openapi::Columns>>,
}

impl Document {
    fn yaml<'a>(&'a self, info: &ServerInfo) -> &'a Representations {
        let text = || openapi::yaml(&own(info));
        self.yaml.get_or_init(|| Representations::new("application/yaml", text()))
    }

    fn json<'a>(&'a self, info: &ServerInfo) -> &'a Representations {
        let text = || own(info).to_string();
        self.json.get_or_init(|| Representations::new("application/json", text()))
    }

    /// Returns the columns of a list as CSV, if the path is one.
    fn columns(&self, path: &str) -> Option<openapi::Columns> {
        self.columns.get_or_init(|| openapi::columns(&openapi())).get(path).cloned()
    }

    fn llms<'a>(&'a self, info: &ServerInfo) -> &'a Representations {
        let text = || openapi::llms::text(&own(info), &info.base_url, info.environment.name());
        self.llms.get_or_init(|| Representations::new("text/plain; charset=utf-8", text()))
    }
}

/// Returns the routes of the operator's own listener: health and metrics.
pub fn admin_router(app: AppState) -> Router {
    let routes = system::health().fallback(system::unknown_route).layer(from_fn(heads::refuse));
    routes.with_state(app)
}

/// Returns all routes of the server, with their middleware.
pub fn router(app: AppState) -> Router {
    let served = match app.info.environment {
        Environment::Test => operations().merge(sandbox::operations()).router().merge(inboxes::receivers()),
        Environment::Live => operations().router(),
    };
    let routed = served
        .merge(system::routes())
        .merge(challenge::routes())
        .merge(pay::routes())
        .merge(dashboard::routes(&app))
        .merge(files::downloads())
        .fallback(system::unknown_operation)
        .method_not_allowed_fallback(system::wrong_method)
        // The extractors of bodies have their own limits.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(app.clone(), write_request::replay_after_conflict))
        .route_layer(from_fn_with_state(app.clone(), admission::admit))
        .merge(system::health())
        .layer(from_fn(observe::catch_panic_and_timeout))
        .layer(from_fn_with_state(app.clone(), list_export::export_lists))
        .with_state(app.clone());
    // Around the router, because these middlewares decide the route; observe is around those that may answer, too.
    let info = Arc::clone(&app.info);
    let entered = Arc::clone(&info);
    let around = ServiceBuilder::new()
        .map_request(move |request| base_path::strip(entered.base_path(), request))
        .map_response(move |response| base_path::redirect(info.base_path(), response))
        .layer(from_fn_with_state(app, observe::observe))
        .map_request(paths::normalise)
        .layer(from_fn(browser::serve_browsers));
    Router::new().fallback_service(around.service(routed))
}
