//! Subscriptions (specification, Endpoints, Subscriptions).

use axum::extract::State;

use super::AppState;
use super::answer::{Created, Envelope, ListedShort, ShortList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::params::subscription::{NewSubscription, Reactivation, SubscriptionChanges};
use crate::services::{Account, subscriptions};
use crate::views::subscription::{Subscription, SubscriptionEntry};

/// Create a subscription.
///
/// Subscribes a customer to a plan. Unless the plan has a trial, the card is billed at once for the first interval, with
/// the setup fee; this may be a long-running request.
#[utoipa::path(post, path = "/subscriptions", tag = "Subscriptions", operation_id = "create_subscription",
    request_body(content((NewSubscription = "application/json"), (NewSubscription = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The subscription", body = Envelope<Subscription>),
        (status = 400, description = "invalid_resource, invalid_request, card_declined, insufficient_funds, invalid_cvv, invalid_card, processing_error, suspected_fraud, expired_card, lost_card, stolen_card, unknown"),
        (status = 404, description = "resource_not_found"),
        (status = 502, description = "gateway_error: nothing was charged"),
    ))]
pub async fn create_subscription(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Subscription>, Error> {
    let params = request.input.params::<NewSubscription>();
    request.answer(subscriptions::create(&site.ctx, &request.caller, params)).await
}

/// List subscriptions.
///
/// Returns a list of all subscriptions, newest first.
#[utoipa::path(get, path = "/subscriptions", tag = "Subscriptions", operation_id = "list_subscriptions",
    params(PageParameters),
    responses((status = 200, description = "A page of subscriptions", body = ShortList<Subscription>), (status = 422, description = "invalid_resource")))]
pub async fn list_subscriptions(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<ListedShort<Subscription>, Error> {
    Ok(ListedShort(subscriptions::list(&site, &account, input.paging().valid()?).await?))
}

/// Get a subscription.
///
/// Returns the details of a subscription.
#[utoipa::path(get, path = "/subscriptions/{sub_token}", tag = "Subscriptions", operation_id = "get_subscription",
    params(("sub_token" = String, Path, description = "Subscription token")),
    responses((status = 200, description = "The subscription", body = Envelope<Subscription>), (status = 404, description = "not_found")))]
pub async fn get_subscription(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Subscription>, Error> {
    Ok(Shown(subscriptions::show(&site, &account, &token).await?))
}

/// Update a subscription.
///
/// Selects the customer's card that pays from now on; null selects the primary card.
#[utoipa::path(put, path = "/subscriptions/{sub_token}", tag = "Subscriptions", operation_id = "update_subscription",
    params(("sub_token" = String, Path, description = "Subscription token")),
    request_body(content((SubscriptionChanges = "application/json"), (SubscriptionChanges = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The subscription", body = Envelope<Subscription>),
        (status = 400, description = "invalid_resource, invalid_request"),
        (status = 404, description = "resource_not_found"),
    ))]
pub async fn update_subscription(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    let params = request.input.params::<SubscriptionChanges>();
    request.answer(subscriptions::update(&site, &request.caller, &token, params)).await
}

/// Cancel a subscription.
///
/// Cancels a subscription that is active or in its trial, at once.
#[utoipa::path(delete, path = "/subscriptions/{sub_token}", tag = "Subscriptions", operation_id = "cancel_subscription",
    params(("sub_token" = String, Path, description = "Subscription token")),
    responses(
        (status = 200, description = "The subscription", body = Envelope<Subscription>),
        (status = 400, description = "invalid_state"),
        (status = 404, description = "not_found"),
    ))]
pub async fn cancel_subscription(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    request.answer(subscriptions::cancel(&site, &request.caller, &token)).await
}

/// Reactivate a subscription.
///
/// Resumes a cancelled subscription. Within a paid interval, or a trial, nothing is charged; after it a new interval
/// begins and is charged at once, which may be a long-running request.
#[utoipa::path(put, path = "/subscriptions/{sub_token}/reactivate", tag = "Subscriptions", operation_id = "reactivate_subscription",
    params(("sub_token" = String, Path, description = "Subscription token")),
    request_body(content((Option<Reactivation> = "application/json"), (Option<Reactivation> = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The subscription", body = Envelope<Subscription>),
        (status = 400, description = "invalid_resource, invalid_state, card_declined, insufficient_funds, invalid_cvv, invalid_card, processing_error, suspected_fraud, expired_card, lost_card, stolen_card, unknown"),
        (status = 404, description = "not_found"),
        (status = 502, description = "gateway_error: nothing was charged"),
    ))]
pub async fn reactivate_subscription(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    let params = request.input.params::<Reactivation>();
    request.answer(subscriptions::reactivate(&site.ctx, &request.caller, &token, params)).await
}

/// Get the ledger of a subscription.
///
/// Returns the charges and their purposes, newest first.
#[utoipa::path(get, path = "/subscriptions/{sub_token}/ledger", tag = "Subscriptions", operation_id = "get_subscription_ledger",
    params(("sub_token" = String, Path, description = "Subscription token"), PageParameters),
    responses(
        (status = 200, description = "A page of entries", body = ShortList<SubscriptionEntry>),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn get_subscription_ledger(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<ListedShort<SubscriptionEntry>, Error> {
    Ok(ListedShort(subscriptions::ledger(&site, &account, &token, input.paging()).await?))
}
