//! The flow of every client, by openapi-generator's Rust.

use std::env::var;

use client::apis::configuration::Configuration;
use client::apis::{
    Error, cards_api, charges_api, customers_api, plans_api, refunds_api, subscriptions_api, transfers_api,
};
use client::models::{
    BrowserCardInput, CardInput, ChargeCapturedEvent, ChargeInput, CustomerInput, Event, IntervalUnit, PlanInput, RefundInput,
    SubscriptionInput, SubscriptionState, TransferInput,
};
use serde_json::Value;

fn new_charge(amount: i64) -> ChargeInput {
    ChargeInput::new("roland@example.com".into(), "Rust".into(), amount, "203.192.1.172".into())
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
    let card = cards_api::create_card(api, stored, None).await.unwrap().response;
    let by_token = ChargeInput { card_token: Some(card.token.clone()), ..new_charge(400) };
    let charge = charges_api::create_charge(api, by_token, None, None).await.unwrap().response;
    assert!(charge.success == Some(true) && charge.amount == Some(400), "{charge:?}");
    let inline = ChargeInput { card: Some(Box::new(details())), ..new_charge(500) };
    let inline = charges_api::create_charge(api, inline, None, None).await.unwrap().response;
    assert!(inline.card.as_ref().unwrap().display_number.ends_with("0000"), "{inline:?}");

    let part = RefundInput { amount: Some(100) };
    let refund = refunds_api::create_refund(api, &charge.token, None, Some(part)).await.unwrap().response;
    assert_eq!((&refund.charge, refund.amount), (&charge.token, 100));

    let page = charges_api::list_charges(api, None, Some(2)).await.unwrap();
    let tokens: Vec<_> = page.response.iter().map(|charge| &charge.token).collect();
    assert_eq!(tokens, [&inline.token, &charge.token]);

    let (status, body) = refused(charges_api::create_charge(api, new_charge(400), None, None).await);
    assert_eq!((status, body["error"].as_str()), (422, Some("invalid_resource")));
    let much = TransferInput::new("Too much".into(), 1_000_000_000_000, "AUD".into(), "self".into());
    let (status, body) = refused(transfers_api::create_transfer(api, much, None).await);
    assert_eq!((status, body[0]["error"].as_str()), (402, Some("insufficient_service_balance")));

    let customer = CustomerInput { card: Some(Box::new(details())), ..CustomerInput::new("roland@example.com".into()) };
    let customer = customers_api::create_customer(api, customer, None).await.unwrap().response;
    let plan = PlanInput::new("Rust".into(), 1000, 1, IntervalUnit::Month);
    let plan = plans_api::create_plan(api, plan, None).await.unwrap().response;
    let wanted = SubscriptionInput::new(plan.token.clone(), customer.token.clone());
    let subscription = subscriptions_api::create_subscription(api, wanted, None).await.unwrap().response;
    assert_eq!(subscription.state, SubscriptionState::Active);

    let body = std::fs::read_to_string(var("WEBHOOK").unwrap()).unwrap();
    let event: Event = serde_json::from_str(&body).unwrap();
    assert_eq!(event.r#type, "charge.captured");
    assert!(event.data["token"].as_str().unwrap().starts_with("ch_"));
    let captured: ChargeCapturedEvent = serde_json::from_str(&body).unwrap();
    assert!(captured.data.captured);
}
