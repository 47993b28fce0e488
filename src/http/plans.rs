//! Plans (specification, Endpoints, Plans).

use axum::extract::State;

use super::AppState;
use super::answer::{
    Created, Deleted, Envelope, ListedShort, ListedWithCount, ShortList, ShortListWithCount, Shown,
};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::params::plan::{NewPlan, PlanChanges};
use crate::params::subscription::NewPlanSubscription;
use crate::services::{Account, plans, subscriptions};
use crate::views::plan::Plan;
use crate::views::subscription::Subscription;

/// Create a plan.
///
/// Creates a recurring billing plan. Each amount is 0, or at least the currency's minimum. What a plan costs never
/// changes afterwards.
#[utoipa::path(post, path = "/plans", tag = "Plans", operation_id = "create_plan",
    request_body(content((NewPlan = "application/json"), (NewPlan = "application/x-www-form-urlencoded"))),
    responses((status = 201, description = "The plan", body = Envelope<Plan>), (status = 422, description = "unprocessable_entity")))]
pub async fn create_plan(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Plan>, Error> {
    request.answer(plans::create(&site, &request.caller, request.input.params::<NewPlan>())).await
}

/// List plans.
///
/// Returns a list of all plans, newest first.
#[utoipa::path(get, path = "/plans", tag = "Plans", operation_id = "list_plans",
    params(PageParameters),
    responses((status = 200, description = "A page of plans", body = ShortList<Plan>), (status = 422, description = "invalid_resource")))]
pub async fn list_plans(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<ListedShort<Plan>, Error> {
    Ok(ListedShort(plans::list(&site, &account, input.paging().valid()?).await?))
}

/// Get a plan.
///
/// Returns the details of a plan, with how many subscriptions it has in each state.
#[utoipa::path(get, path = "/plans/{plan_token}", tag = "Plans", operation_id = "get_plan",
    params(("plan_token" = String, Path, description = "Plan token")),
    responses((status = 200, description = "The plan", body = Envelope<Plan>), (status = 404, description = "not_found")))]
pub async fn get_plan(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Plan>, Error> {
    Ok(Shown(plans::show(&site, &account, &token).await?))
}

/// Update a plan.
///
/// Updates the name of a plan, or the permissions of its customers.
#[utoipa::path(put, path = "/plans/{plan_token}", tag = "Plans", operation_id = "update_plan",
    params(("plan_token" = String, Path, description = "Plan token")),
    request_body(content((PlanChanges = "application/json"), (PlanChanges = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The plan", body = Envelope<Plan>),
        (status = 404, description = "not_found"),
        (status = 422, description = "unprocessable_entity"),
    ))]
pub async fn update_plan(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Plan>, Error> {
    request.answer(plans::update(&site, &request.caller, &token, request.input.params::<PlanChanges>())).await
}

/// Delete a plan.
///
/// Deletes a plan and all its subscriptions permanently. It must have none that is active or in its trial.
#[utoipa::path(delete, path = "/plans/{plan_token}", tag = "Plans", operation_id = "delete_plan",
    params(("plan_token" = String, Path, description = "Plan token")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 400, description = "cannot_delete_plan"),
        (status = 404, description = "not_found"),
    ))]
pub async fn delete_plan(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(plans::delete(&site, &request.caller, &token)).await
}

/// Subscribe a customer to a plan.
///
/// Creates a subscription to the plan. Unless the plan has a trial, the card is billed at once for the first interval,
/// with the setup fee; this may be a long-running request.
#[utoipa::path(post, path = "/plans/{plan_token}/subscriptions", tag = "Plans", operation_id = "create_plan_subscription",
    params(("plan_token" = String, Path, description = "Plan token")),
    request_body(content((NewPlanSubscription = "application/json"), (NewPlanSubscription = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The subscription", body = Envelope<Subscription>),
        (status = 400, description = "invalid_resource, invalid_request, card_declined, insufficient_funds, invalid_cvv, invalid_card, processing_error, suspected_fraud, expired_card, lost_card, stolen_card, unknown"),
        (status = 404, description = "not_found"),
        (status = 502, description = "gateway_error: nothing was charged"),
    ))]
pub async fn create_plan_subscription(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    let params = request.input.params::<NewPlanSubscription>();
    request.answer(subscriptions::create_for_plan(&site.ctx, &request.caller, &token, params)).await
}

/// List a plan's subscriptions.
///
/// Returns a list of a plan's subscriptions, newest first.
#[utoipa::path(get, path = "/plans/{plan_token}/subscriptions", tag = "Plans", operation_id = "list_plan_subscriptions",
    params(("plan_token" = String, Path, description = "Plan token"), PageParameters),
    responses(
        (status = 200, description = "A page of subscriptions", body = ShortListWithCount<Subscription>),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn list_plan_subscriptions(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<ListedWithCount<Subscription>, Error> {
    Ok(ListedWithCount(subscriptions::of_plan(&site, &account, &token, input.paging()).await?))
}
