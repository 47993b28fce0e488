//! Customers (specification, Endpoints, Customers).

use axum::extract::State;

use super::answer::{
    Created, CreatedFrom, Deleted, Envelope, EnvelopeWithIp, Listed, ListedShort, LongList, ShortList, Shown,
};
use super::extract::{Input, Path};
use super::openapi::{AddedCard, PageParameters};
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::{BrowserWriteRequest, WriteRequest};
use crate::error::Error;
use crate::error::ErrorCode::{
    CannotDeletePrimaryCard, InvalidResource, InvalidState, NotFound, TooManyCardParameters,
};
use crate::services::cards::view::Card;
use crate::services::charges::view::Charge;
use crate::services::customers::params::{CustomerChanges, NewCustomer};
use crate::services::customers::view::Customer;
use crate::services::customers::{self, cards::Addition};
use crate::services::subscriptions::view::Subscription;
use crate::services::{Account, charges, subscriptions};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(create_customer, list_customers))
        .routes(routes!(get_customer, update_customer, delete_customer))
        .routes(routes!(list_customer_charges))
        .routes(routes!(create_customer_card, list_customer_cards))
        .routes(routes!(delete_customer_card))
        .routes(routes!(list_customer_subscriptions))
        .routes(routes!(cancel_customer_subscription))
}

/// Create a customer.
///
/// Stores a customer with a card, which is its primary card, so that repeated charges can be made.
#[utoipa::path(post, path = "/customers", tag = "Customers",
    request_body(content = NewCustomer, example = json!({ "first_name": "Roland", "card": {} })),
    responses((status = 201, description = "The customer", body = Envelope<Customer>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn create_customer(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<Customer>, Error> {
    let params = request.input.params::<NewCustomer>();
    request.answer(customers::create(&app, &request.caller, request.ip_address.clone(), params)).await
}

/// List customers.
///
/// Returns a paginated list of all customers, newest first.
#[utoipa::path(get, path = "/customers", tag = "Customers", params(PageParameters),
    responses((status = 200, description = "A page of customers", body = LongList<Customer>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_customers(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Customer>, Error> {
    Ok(Listed(customers::list(&app, &account, input.paging().valid()?).await?))
}

/// Get a customer.
///
/// Returns the details of a customer.
#[utoipa::path(get, path = "/customers/{customer_token}", tag = "Customers",
    responses((status = 200, description = "The customer", body = Envelope<Customer>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_customer(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Customer>, Error> {
    Ok(Shown(customers::show(&app, &account, &token).await?))
}

/// Update a customer.
///
/// Updates the details of a customer. At most one of card (a new card that replaces the primary card), card_token (a
/// stored card that replaces it; the old primary card is removed permanently) and primary_card_token (a stored card
/// that becomes primary; the old one stays).
#[utoipa::path(put, path = "/customers/{customer_token}", tag = "Customers",
    request_body(content = CustomerChanges, example = json!({ "email": "roland@example.com", "company": "Robots" })),
    responses((status = 200, description = "The customer", body = Envelope<Customer>)),
    extensions(("x-refusals" = json!([NotFound, InvalidResource, TooManyCardParameters]))))]
pub async fn update_customer(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Customer>, Error> {
    let params = request.input.params::<CustomerChanges>();
    request.answer(customers::update(&app, &request.caller, &token, params)).await
}

/// Delete a customer.
///
/// Deletes a customer and all its cards permanently, and cancels its subscriptions.
#[utoipa::path(delete, path = "/customers/{customer_token}", tag = "Customers",
    responses((status = 204, description = "Deleted")),
    extensions(("x-rights" = json!({ "subscriptions": "write" })), ("x-refusals" = json!([NotFound]))))]
pub async fn delete_customer(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(subscriptions::close_customer(&app, &request.caller, &token)).await
}

/// List a customer's charges.
///
/// Returns a paginated list of a customer's charges, newest first.
#[utoipa::path(get, path = "/customers/{customer_token}/charges", tag = "Customers", params(PageParameters),
    responses((status = 200, description = "A page of charges", body = LongList<Charge>)),
    extensions(("x-rights" = json!({ "charges": "read" })), ("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn list_customer_charges(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<Listed<Charge>, Error> {
    Ok(Listed(charges::of_customer(&app, &account, &token, input.paging()).await?))
}

/// List a customer's cards.
///
/// Returns a paginated list of a customer's cards, newest first.
#[utoipa::path(get, path = "/customers/{customer_token}/cards", tag = "Customers", params(PageParameters),
    responses((status = 200, description = "A page of cards", body = LongList<Card>)),
    extensions(("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn list_customer_cards(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<Listed<Card>, Error> {
    Ok(Listed(customers::list_cards(&app, &account, &token, input.paging()).await?))
}

/// Add a card to a customer.
///
/// Adds a card without changing the primary card: either the parameters of a card, or an unused card token. Also
/// takes the publishable_api_key parameter, and supports JSONP.
#[utoipa::path(post, path = "/customers/{customer_token}/cards", tag = "Customers",
    security(("secret_key" = []), ("publishable_key" = [])),
    request_body(content = AddedCard, example = json!({
        "number": "4200000000000000", "expiry_month": 5, "expiry_year": 2030, "cvc": "123", "name": "Roland Robot",
        "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "Australia",
    })),
    responses((status = 201, description = "The card", body = EnvelopeWithIp<Card>)),
    extensions(("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn create_customer_card(
    State(app): State<AppState>,
    Path(token): Path<String>,
    BrowserWriteRequest(request): BrowserWriteRequest,
) -> Result<CreatedFrom<Card>, Error> {
    let addition = Addition { stored: request.input.params(), new: || request.input.params() };
    request.answer(customers::add_card(&app, &request.caller, &token, addition)).await
}

/// Delete a card of a customer.
///
/// Deletes a customer's non-primary card permanently.
#[utoipa::path(delete, path = "/customers/{customer_token}/cards/{card_token}", tag = "Customers",
    responses((status = 204, description = "Deleted")),
    extensions(("x-refusals" = json!([CannotDeletePrimaryCard, NotFound]))))]
pub async fn delete_customer_card(
    State(app): State<AppState>,
    Path((token, card)): Path<(String, String)>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(customers::delete_card(&app, &request.caller, &token, &card)).await
}

/// List a customer's subscriptions.
///
/// Returns a list of a customer's subscriptions, newest first.
#[utoipa::path(get, path = "/customers/{customer_token}/subscriptions", tag = "Customers",
    params(PageParameters),
    responses((status = 200, description = "A page of subscriptions", body = ShortList<Subscription>)),
    extensions(("x-rights" = json!({ "subscriptions": "read" })), ("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn list_customer_subscriptions(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<ListedShort<Subscription>, Error> {
    Ok(ListedShort(subscriptions::of_customer(&app, &account, &token, input.paging()).await?))
}

/// Cancel a customer's subscription.
///
/// Cancels a subscription that is active or in its trial, at once. The same as cancelling it by its own path; another customer's
/// subscription is not found.
#[utoipa::path(delete, path = "/customers/{customer_token}/subscriptions/{sub_token}", tag = "Customers",
    responses((status = 200, description = "The subscription", body = Envelope<Subscription>)),
    extensions(("x-rights" = json!({ "subscriptions": "write" })), ("x-refusals" = json!([InvalidState, NotFound]))))]
pub async fn cancel_customer_subscription(
    State(app): State<AppState>,
    Path((customer, token)): Path<(String, String)>,
    request: WriteRequest,
) -> Result<Shown<Subscription>, Error> {
    request.answer(subscriptions::cancel_of_customer(&app, &request.caller, &customer, &token)).await
}
