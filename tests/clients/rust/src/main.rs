//! The flow of every client, by openapi-generator's Rust.

use std::env::var;

use client::apis::Error;
use client::apis::cards_api::{CreateCardParams, create_card};
use client::apis::charges_api::{CreateChargeParams, ListChargesParams, create_charge, list_charges};
use client::apis::configuration::Configuration;
use client::apis::customers_api::{CreateCustomerParams, create_customer};
use client::apis::plans_api::{CreatePlanParams, create_plan};
use client::apis::refunds_api::{CreateRefundParams, create_refund};
use client::apis::subscriptions_api::{CreateSubscriptionParams, create_subscription};
use client::apis::transfers_api::{CreateTransferParams, create_transfer};
use client::models::{
    BrowserCardInput, CardInput, ChargeCapturedEvent, ChargeInput, CustomerInput, Event, IntervalUnit, PlanInput, RefundInput,
    SubscriptionInput, SubscriptionState, TransferInput,
};
use serde_json::Value;

fn new_charge(amount: i64) -> ChargeInput {
    ChargeInput::new("roland@example.com".into(), "Rust".into(), amount, "203.192.1.172".into())
}

fn order(charge_input: ChargeInput) -> CreateChargeParams {
    CreateChargeParams { charge_input, idempotency_key: None, sandbox_outcome: None, sandbox_challenge: None }
}

fn details() -> CardInput {
    CardInput {
        number: "4200000000000000".into(),
        expiry_month: 5,
        expiry_year: 2030,
        cvc: "123".into(),
        name: "Roland Robot".into(),
        address_line1: "42 Sevenoaks St".into(),
        address_city: "Lathlain".into(),
        address_country: "AU".into(),
        ..CardInput::default()
    }
}

/// Status and body of what was refused.
fn refused<T: std::fmt::Debug, E: std::fmt::Debug>(answer: Result<T, Error<E>>) -> (u16, Value) {
    match answer {
        Err(Error::ResponseError(refused)) => {
            assert!(refused.entity.is_some(), "a body of a documented shape");
            (refused.status.as_u16(), serde_json::from_str(&refused.content).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let api = &Configuration {
        base_path: var("SERVER").unwrap(),
        basic_auth: Some((var("KEY").unwrap(), None)),
        ..Configuration::default()
    };
    let stored = BrowserCardInput {
        number: "4200000000000000".into(),
        expiry_month: 5,
        expiry_year: 2030,
        cvc: "123".into(),
        name: "Roland Robot".into(),
        address_line1: "42 Sevenoaks St".into(),
        address_city: "Lathlain".into(),
        address_country: "AU".into(),
        ..BrowserCardInput::default()
    };
    let stored = CreateCardParams { browser_card_input: stored, idempotency_key: None };
    let card = create_card(api, stored).await.unwrap().response;
    let by_token = ChargeInput { card_token: Some(card.token.clone()), ..new_charge(400) };
    let charge = create_charge(api, order(by_token)).await.unwrap().response;
    assert!(charge.success == Some(true) && charge.amount == Some(400), "{charge:?}");
    let inline = ChargeInput { card: Some(Box::new(details())), ..new_charge(500) };
    let inline = create_charge(api, order(inline)).await.unwrap().response;
    assert!(inline.card.as_ref().unwrap().display_number.ends_with("0000"), "{inline:?}");

    let part = CreateRefundParams {
        charge_token: charge.token.clone(),
        refund_input: Some(RefundInput { amount: Some(100) }),
        idempotency_key: None,
    };
    let refund = create_refund(api, part).await.unwrap().response;
    assert_eq!((&refund.charge, refund.amount), (&charge.token, 100));

    let page = list_charges(api, ListChargesParams { page: None, per_page: Some(2) }).await.unwrap();
    let tokens: Vec<_> = page.response.iter().map(|charge| &charge.token).collect();
    assert_eq!(tokens, [&inline.token, &charge.token]);

    let (status, body) = refused(create_charge(api, order(new_charge(400))).await);
    assert_eq!((status, body["error"].as_str()), (422, Some("invalid_resource")));
    let much = TransferInput::new("Too much".into(), 1_000_000_000_000, "AUD".into(), "self".into());
    let much = CreateTransferParams { transfer_input: much, idempotency_key: None };
    let (status, body) = refused(create_transfer(api, much).await);
    assert_eq!((status, body[0]["error"].as_str()), (402, Some("insufficient_service_balance")));

    let customer = CustomerInput { card: Some(Box::new(details())), ..CustomerInput::new("roland@example.com".into()) };
    let customer = CreateCustomerParams { customer_input: customer, idempotency_key: None };
    let customer = create_customer(api, customer).await.unwrap().response;
    let plan = PlanInput::new("Rust".into(), 1000, 1, IntervalUnit::Month);
    let plan = create_plan(api, CreatePlanParams { plan_input: plan, idempotency_key: None }).await.unwrap().response;
    let wanted = SubscriptionInput::new(plan.token.clone(), customer.token.clone());
    let wanted = CreateSubscriptionParams { subscription_input: wanted, idempotency_key: None };
    let subscription = create_subscription(api, wanted).await.unwrap().response;
    assert_eq!(subscription.state, SubscriptionState::Active);

    let body = std::fs::read_to_string(var("WEBHOOK").unwrap()).unwrap();
    let event: Event = serde_json::from_str(&body).unwrap();
    assert_eq!(event.r#type, "charge.captured");
    assert!(event.data["token"].as_str().unwrap().starts_with("ch_"));
    let captured: ChargeCapturedEvent = serde_json::from_str(&body).unwrap();
    assert!(captured.data.captured);
}
