//! Customers (specification, Endpoints, Customers).

use axum::extract::State;

use super::AppState;
use super::answer::{
    Created, CreatedFrom, Deleted, Envelope, EnvelopeWithIp, Listed, ListedShort, LongList, ShortList, Shown,
};
use super::extract::{Input, Path};
use super::openapi::{AddedCard, PageParameters};
use super::write_request::{BrowserWriteRequest, WriteRequest};
use crate::error::Error;
use crate::params::customer::{CustomerChanges, NewCustomer};
use crate::services::customers::{self, cards::Addition};
use crate::services::{Account, charges, subscriptions};
use crate::views::card::Card;
use crate::views::charge::Charge;
use crate::views::customer::Customer;
use crate::views::subscription::Subscription;

/// Create a customer.
///
/// Stores a customer with a card, which is its primary card, so that repeated charges can be made.
#[utoipa::path(post, path = "/customers", tag = "Customers", operation_id = "create_customer",
    request_body(content((NewCustomer = "application/json"), (NewCustomer = "application/x-www-form-urlencoded"))),
    responses((status = 201, description = "The customer", body = Envelope<Customer>), (status = 422, description = "invalid_resource")))]
pub async fn create_customer(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Customer>, Error> {
    let params = request.input.params::<NewCustomer>();
    request.answer(customers::create(&site, &request.caller, request.ip_address.clone(), params)).await
}

/// List customers.
///
/// Returns a paginated list of all customers, newest first.
#[utoipa::path(get, path = "/customers", tag = "Customers", operation_id = "list_customers",
    params(PageParameters),
    responses((status = 200, description = "A page of customers", body = LongList<Customer>), (status = 422, description = "invalid_resource")))]
pub async fn list_customers(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Customer>, Error> {
    Ok(Listed(customers::list(&site, &account, input.paging().valid()?).await?))
}

/// Get a customer.
///
/// Returns the details of a customer.
#[utoipa::path(get, path = "/customers/{customer_token}", tag = "Customers", operation_id = "get_customer",
    params(("customer_token" = String, Path, description = "Customer token")),
    responses((status = 200, description = "The customer", body = Envelope<Customer>), (status = 404, description = "not_found")))]
pub async fn get_customer(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Customer>, Error> {
    Ok(Shown(customers::show(&site, &account, &token).await?))
}

/// Update a customer.
///
/// Updates the details of a customer. At most one of card (a new card that replaces the primary card), card_token (a
/// stored card that replaces it; the old primary card is removed permanently) and primary_card_token (a stored card
/// that becomes primary; the old one stays).
#[utoipa::path(put, path = "/customers/{customer_token}", tag = "Customers", operation_id = "update_customer",
    params(("customer_token" = String, Path, description = "Customer token")),
    request_body(content((CustomerChanges = "application/json"), (CustomerChanges = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The customer", body = Envelope<Customer>),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource, too_many_card_parameters"),
    ))]
pub async fn update_customer(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Customer>, Error> {
    let params = request.input.params::<CustomerChanges>();
    request.answer(customers::update(&site, &request.caller, &token, params)).await
}

/// Delete a customer.
///
/// Deletes a customer and all its cards permanently, and cancels its subscriptions.
#[utoipa::path(delete, path = "/customers/{customer_token}", tag = "Customers", operation_id = "delete_customer",
    params(("customer_token" = String, Path, description = "Customer token")),
    responses((status = 204, description = "Deleted"), (status = 404, description = "not_found")))]
pub async fn delete_customer(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(subscriptions::close_customer(&site, &request.caller, &token)).await
}

/// List a customer's charges.
///
/// Returns a paginated list of a customer's charges, newest first.
#[utoipa::path(get, path = "/customers/{customer_token}/charges", tag = "Customers", operation_id = "list_customer_charges",
    params(("customer_token" = String, Path, description = "Customer token"), PageParameters),
    responses(
        (status = 200, description = "A page of charges", body = LongList<Charge>),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn list_customer_charges(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<Listed<Charge>, Error> {
    Ok(Listed(charges::of_customer(&site, &account, &token, input.paging()).await?))
}

/// List a customer's cards.
///
/// Returns a paginated list of a customer's cards, newest first.
#[utoipa::path(get, path = "/customers/{customer_token}/cards", tag = "Customers", operation_id = "list_customer_cards",
    params(("customer_token" = String, Path, description = "Customer token"), PageParameters),
    responses(
        (status = 200, description = "A page of cards", body = LongList<Card>),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn list_customer_cards(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<Listed<Card>, Error> {
    Ok(Listed(customers::list_cards(&site, &account, &token, input.paging()).await?))
}

/// Add a card to a customer.
///
/// Adds a card without changing the primary card: either the parameters of a card, or an unused card token. Also
/// takes the publishable_api_key parameter, and supports JSONP.
#[utoipa::path(post, path = "/customers/{customer_token}/cards", tag = "Customers", operation_id = "create_customer_card",
    security(("secret_key" = []), ("publishable_key" = [])),
    params(("customer_token" = String, Path, description = "Customer token")),
    request_body(content((AddedCard = "application/json"), (AddedCard = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The card", body = EnvelopeWithIp<Card>),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn create_customer_card(
    State(site): State<AppState>,
    Path(token): Path<String>,
    BrowserWriteRequest(request): BrowserWriteRequest,
) -> Result<CreatedFrom<Card>, Error> {
    let addition = Addition { stored: request.input.params(), new: || request.input.params() };
    request.answer(customers::add_card(&site, &request.caller, &token, addition)).await
}

/// Delete a card of a customer.
///
/// Deletes a customer's non-primary card permanently.
#[utoipa::path(delete, path = "/customers/{customer_token}/cards/{card_token}", tag = "Customers", operation_id = "delete_customer_card",
    params(("customer_token" = String, Path, description = "Customer token"), ("card_token" = String, Path, description = "Card token")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 400, description = "cannot_delete_primary_card"),
        (status = 404, description = "not_found"),
    ))]
pub async fn delete_customer_card(
    State(site): State<AppState>,
    Path((token, card)): Path<(String, String)>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(customers::delete_card(&site, &request.caller, &token, &card)).await
}

/// List a customer's subscriptions.
///
/// Returns a list of a customer's subscriptions, newest first.
#[utoipa::path(get, path = "/customers/{customer_token}/subscriptions", tag = "Customers", operation_id = "list_customer_subscriptions",
    params(("customer_token" = String, Path, description = "Customer token"), PageParameters),
    responses(
        (status = 200, description = "A page of subscriptions", body = ShortList<Subscription>),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn list_customer_subscriptions(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<ListedShort<Subscription>, Error> {
    Ok(ListedShort(subscriptions::of_customer(&site, &account, &token, input.paging()).await?))
}

/// Cancel a customer's subscription.
///
/// Cancels a subscription that is active or in its trial, at once. The same as cancelling it by its own path; another customer's
/// subscription is not found.
#[utoipa::path(delete, path = "/customers/{customer_token}/subscriptions/{sub_token}", tag = "Customers", operation_id = "cancel_customer_subscription",
    params(
        ("customer_token" = String, Path, description = "Customer token"),
        ("sub_token" = String, Path, description = "Subscription token"),
    ),
    responses(
        (status = 200, description = "The subscription", body = Envelope<Subscription>),
        (status = 400, description = "invalid_state"),
        (status = 404, description = "not_found"),
    ))]
pub async fn cancel_customer_subscription(
    State(site): State<AppState>,
    Path((customer, token)): Path<(String, String)>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    request.answer(subscriptions::cancel_of_customer(&site, &request.caller, &customer, &token)).await
}
