//! The router: every route of the server, in its middleware.

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use serde_json::Value;
use tower::ServiceBuilder;

use super::document::Document;
use super::known_parameters::OperationParameters;
use super::operations::Operations;
use super::rights::OperationRights;
use super::state::AppState;
use super::{
    admission_layer, authorisations, bank_accounts, base_path, browser, cards, challenge, charges, customers,
    deposits, disputes, events, files, inboxes, ledger, list_export, merchants, paths, pay, payment_sources,
    plans, problem, recipients, refunds, refused_head, sandbox, subscriptions, system, transfers, wallets,
    webhook_endpoints, webhooks,
};
use crate::config::Environment;

/// Returns the operations under /1 of every environment, in the order of the specification's sections.
fn operations() -> Operations {
    Operations::default()
        .merge(cards::operations())
        .merge(payment_sources::operations())
        .merge(charges::operations())
        .merge(refunds::operations())
        .merge(authorisations::operations())
        .merge(customers::operations())
        .merge(plans::operations())
        .merge(subscriptions::operations())
        .merge(transfers::operations())
        .merge(bank_accounts::operations())
        .merge(recipients::operations())
        .merge(deposits::operations())
        .merge(ledger::operations())
        .merge(merchants::operations())
        .merge(wallets::operations())
        .merge(disputes::operations())
        .merge(files::operations())
        .merge(webhook_endpoints::operations())
        .merge(webhooks::operations())
        .merge(events::operations())
}

/// Returns the OpenAPI document that a server serves.
pub fn document() -> Document {
    Document::new(operations().descriptions(), sandbox::operations().descriptions())
}

/// Returns the finished OpenAPI document, with the sandbox.
pub fn openapi() -> Value {
    document().complete()
}

/// Returns the rights that operations need of a restricted key.
pub fn operation_rights() -> OperationRights {
    OperationRights::new(operations().merge(sandbox::operations()).descriptions())
}

pub fn operation_parameters() -> OperationParameters {
    OperationParameters::new(operations().merge(sandbox::operations()).descriptions())
}

/// Returns the routes of the operator's own listener: health and metrics.
pub fn admin_router(app: AppState) -> Router {
    let routes = system::health().fallback(system::unknown_route).layer(from_fn(refused_head::refuse));
    routes.with_state(app)
}

/// Returns all routes of the server, with their middleware, and those of the guides and the dashboard.
pub fn router(app: AppState, pages: Router<AppState>) -> Router {
    let served = match app.info.environment {
        Environment::Test => operations().merge(sandbox::operations()).router().merge(inboxes::receivers()),
        Environment::Live => operations().router(),
    };
    let routed = served
        .merge(system::routes())
        .merge(challenge::routes())
        .merge(pay::routes())
        .merge(pages)
        .merge(files::downloads())
        .fallback(system::unknown_operation)
        .method_not_allowed_fallback(system::wrong_method)
        // A layer costs each request boxes for itself and for all within, so middlewares that belong together are one.
        .route_layer(from_fn_with_state(app.clone(), admission_layer::admit))
        .merge(system::health())
        .layer(from_fn_with_state(app.clone(), list_export::export_lists))
        .with_state(app.clone());
    // Around the router, because these middlewares decide the route.
    let info = Arc::clone(&app.info);
    let (entered, of_browsers) = (Arc::clone(&info), Arc::clone(&info));
    let around = ServiceBuilder::new()
        .map_request(move |request| base_path::strip(entered.base_path(), request))
        .map_response(move |response| base_path::redirect(info.base_path(), response))
        .layer(from_fn_with_state(app, problem::explain_refusals))
        .map_request(paths::normalise)
        .layer(from_fn_with_state(of_browsers, browser::serve_browsers));
    Router::new().fallback_service(around.service(routed))
}
