//! Plans (specification, Endpoints, Plans).

use axum::extract::State;

use super::answer::{
    Created, Deleted, Envelope, ListedShort, ListedWithCount, ShortList, ShortListWithCount, Shown,
};
use super::extract::{Input, Path};
use super::openapi::{PageParameters, declines};
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{
    CannotDeletePlan, GatewayError, InvalidRequest, InvalidResource, InvalidSubscription, NotFound,
    UnprocessableEntity,
};
use crate::services::plans::params::{NewPlan, PlanChanges};
use crate::services::plans::view::Plan;
use crate::services::subscriptions::params::NewPlanSubscription;
use crate::services::subscriptions::view::Subscription;
use crate::services::{Account, plans, subscriptions};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(create_plan, list_plans))
        .routes(routes!(get_plan, update_plan, delete_plan))
        .routes(routes!(create_plan_subscription, list_plan_subscriptions))
}

/// Create a plan.
///
/// Creates a recurring billing plan. Each amount is 0, or at least the currency's minimum. What a plan costs never
/// changes afterwards.
#[utoipa::path(post, path = "/plans", tag = "Plans",
    request_body(content = NewPlan, example = json!({ "interval_unit": "month" })),
    responses((status = 201, description = "The plan", body = Envelope<Plan>)),
    extensions(("x-refusals" = json!([UnprocessableEntity]))))]
pub async fn create_plan(State(app): State<AppState>, request: WriteRequest) -> Result<Created<Plan>, Error> {
    request.answer(plans::create(&app, &request.caller, request.input.params::<NewPlan>())).await
}

/// List plans.
///
/// Returns a list of all plans, newest first.
#[utoipa::path(get, path = "/plans", tag = "Plans", params(PageParameters),
    responses((status = 200, description = "A page of plans", body = ShortList<Plan>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_plans(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<ListedShort<Plan>, Error> {
    Ok(ListedShort(plans::list(&app, &account, input.paging().valid()?).await?))
}

/// Get a plan.
///
/// Returns the details of a plan, with how many subscriptions it has in each state.
#[utoipa::path(get, path = "/plans/{plan_token}", tag = "Plans",
    responses((status = 200, description = "The plan", body = Envelope<Plan>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_plan(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Plan>, Error> {
    Ok(Shown(plans::show(&app, &account, &token).await?))
}

/// Update a plan.
///
/// Updates the name of a plan, or what its customers may do by themselves.
#[utoipa::path(put, path = "/plans/{plan_token}", tag = "Plans",
    request_body(content = PlanChanges, example = json!({ "name": "Tea plan", "customer_permissions": ["cancel"] })),
    responses((status = 200, description = "The plan", body = Envelope<Plan>)),
    extensions(("x-refusals" = json!([NotFound, UnprocessableEntity]))))]
pub async fn update_plan(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Plan>, Error> {
    request.answer(plans::update(&app, &request.caller, &token, request.input.params::<PlanChanges>())).await
}

/// Delete a plan.
///
/// Deletes a plan and all its subscriptions permanently. It must have none that is active or in its trial.
#[utoipa::path(delete, path = "/plans/{plan_token}", tag = "Plans",
    responses((status = 204, description = "Deleted")), 
    extensions(("x-rights" = json!({ "subscriptions": "write" })), ("x-refusals" = json!([CannotDeletePlan, NotFound]))))]
pub async fn delete_plan(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(plans::delete(&app, &request.caller, &token)).await
}

/// Subscribe a customer to a plan.
///
/// Creates a subscription to the plan. Unless the plan has a trial, the card is billed at once for the first interval,
/// with the setup fee; this may be a long-running request.
#[utoipa::path(post, path = "/plans/{plan_token}/subscriptions", tag = "Plans",
    request_body(content = NewPlanSubscription, example = json!({ "customer_token": "cus_AZqYv3rVcBKUQ1mHn7tKRw" })),
    responses((status = 200, description = "The subscription", body = Envelope<Subscription>)),
    extensions(("x-rights" = json!({ "charges": "write", "subscriptions": "write" })), ("x-refusals" = json!([InvalidSubscription, InvalidRequest, declines(), NotFound, (GatewayError, "nothing was charged")]))))]
pub async fn create_plan_subscription(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    let params = request.input.params::<NewPlanSubscription>();
    request.answer(subscriptions::create_for_plan(&app.ctx, &request.caller, &token, params)).await
}

/// List a plan's subscriptions.
///
/// Returns a list of a plan's subscriptions, newest first.
#[utoipa::path(get, path = "/plans/{plan_token}/subscriptions", tag = "Plans", params(PageParameters),
    responses((status = 200, description = "A page of subscriptions", body = ShortListWithCount<Subscription>)),
    extensions(("x-rights" = json!({ "subscriptions": "read" })), ("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn list_plan_subscriptions(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<ListedWithCount<Subscription>, Error> {
    Ok(ListedWithCount(subscriptions::of_plan(&app, &account, &token, input.paging()).await?))
}
