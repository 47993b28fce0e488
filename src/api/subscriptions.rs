//! Subscriptions (specification, Endpoints, Subscriptions).

use axum::extract::State;

use super::answer::{Created, Envelope, ListedShort, ShortList, Shown};
use super::extract::{Input, Path};
use super::openapi::{PageParameters, declines};
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{
    GatewayError, InvalidRequest, InvalidResource, InvalidState, InvalidSubscription, NotFound,
    RecordNotFound,
};
use crate::services::subscriptions::params::{NewSubscription, Reactivation, SubscriptionChanges};
use crate::services::subscriptions::view::{Subscription, SubscriptionEntry};
use crate::services::{Account, subscriptions};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(create_subscription, list_subscriptions))
        .routes(routes!(get_subscription, update_subscription, cancel_subscription))
        .routes(routes!(reactivate_subscription))
        .routes(routes!(get_subscription_ledger))
}

/// Create a subscription.
///
/// Subscribes a customer to a plan. Unless the plan has a trial, the card is billed at once for the first interval, with
/// the setup fee; this may be a long-running request.
#[utoipa::path(post, path = "/subscriptions", tag = "Subscriptions",
    request_body(content = NewSubscription, example = json!({ "plan_token": "plan_AZqYv3rVcBKUQ1mHn7tKRw", "customer_token": "cus_AZqYv3rVcBKUQ1mHn7tKRw" })),
    responses((status = 201, description = "The subscription", body = Envelope<Subscription>)),
    extensions(("x-rights" = json!({ "charges": "write" })), ("x-refusals" = json!([InvalidSubscription, InvalidRequest, declines(), RecordNotFound, (GatewayError, "nothing was charged")]))))]
pub async fn create_subscription(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Subscription>, Error> {
    let params = request.input.params::<NewSubscription>();
    request.answer(subscriptions::create(&app.ctx, &request.caller, params)).await
}

/// List subscriptions.
///
/// Returns a list of all subscriptions, newest first.
#[utoipa::path(get, path = "/subscriptions", tag = "Subscriptions", params(PageParameters),
    responses((status = 200, description = "A page of subscriptions", body = ShortList<Subscription>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_subscriptions(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<ListedShort<Subscription>, Error> {
    Ok(ListedShort(subscriptions::list(&app, &account, input.paging().valid()?).await?))
}

/// Get a subscription.
///
/// Returns the details of a subscription.
#[utoipa::path(get, path = "/subscriptions/{sub_token}", tag = "Subscriptions",
    responses((status = 200, description = "The subscription", body = Envelope<Subscription>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_subscription(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Subscription>, Error> {
    Ok(Shown(subscriptions::show(&app, &account, &token).await?))
}

/// Update a subscription.
///
/// Says which card of the customer pays from now on; null selects the customer's primary card.
#[utoipa::path(put, path = "/subscriptions/{sub_token}", tag = "Subscriptions",
    request_body = SubscriptionChanges,
    responses((status = 200, description = "The subscription", body = Envelope<Subscription>)),
    extensions(("x-refusals" = json!([InvalidSubscription, InvalidRequest, RecordNotFound]))))]
pub async fn update_subscription(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    let params = request.input.params::<SubscriptionChanges>();
    request.answer(subscriptions::update(&app, &request.caller, &token, params)).await
}

/// Cancel a subscription.
///
/// Cancels a subscription that is active or in its trial, at once.
#[utoipa::path(delete, path = "/subscriptions/{sub_token}", tag = "Subscriptions",
    responses((status = 200, description = "The subscription", body = Envelope<Subscription>)),
    extensions(("x-refusals" = json!([InvalidState, NotFound]))))]
pub async fn cancel_subscription(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    request.answer(subscriptions::cancel(&app, &request.caller, &token)).await
}

/// Reactivate a subscription.
///
/// Lets a cancelled subscription go on. Within an interval that is paid, or a trial, nothing is charged; after it a new
/// interval begins and is charged at once, which may be a long-running request.
#[utoipa::path(put, path = "/subscriptions/{sub_token}/reactivate", tag = "Subscriptions",
    request_body(content = Option<Reactivation>, example = json!({ "include_setup_fee": false })),
    responses((status = 200, description = "The subscription", body = Envelope<Subscription>)),
    extensions(("x-rights" = json!({ "charges": "write" })), ("x-refusals" = json!([InvalidSubscription, InvalidState, declines(), NotFound, (GatewayError, "nothing was charged")]))))]
pub async fn reactivate_subscription(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    let params = request.input.params::<Reactivation>();
    request.answer(subscriptions::reactivate(&app.ctx, &request.caller, &token, params)).await
}

/// Get the ledger of a subscription.
///
/// Returns what was charged and what for, newest first.
#[utoipa::path(get, path = "/subscriptions/{sub_token}/ledger", tag = "Subscriptions", params(PageParameters),
    responses((status = 200, description = "A page of entries", body = ShortList<SubscriptionEntry>)),
    extensions(("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn get_subscription_ledger(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<ListedShort<SubscriptionEntry>, Error> {
    Ok(ListedShort(subscriptions::ledger(&app, &account, &token, input.paging()).await?))
}
