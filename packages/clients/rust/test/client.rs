//! The client against a real server: see packages/clients/beside.py.

use std::env::var;
use std::path::PathBuf;

use card_payments_client::apis::cards_api::{CreateCardParams, create_card};
use card_payments_client::apis::charges_api::{
    CaptureChargeParams, CreateChargeParams, GetChargeParams, ListChargesParams, capture_charge,
    create_charge, get_charge, list_charges,
};
use card_payments_client::apis::customers_api::{DeleteCustomerParams, delete_customer};
use card_payments_client::apis::files_api::{CreateFileParams, DeleteFileParams, create_file, delete_file};
use card_payments_client::apis::plans_api::{CreatePlanParams, ListPlansParams, create_plan, list_plans};
use card_payments_client::apis::refunds_api::{CreateRefundParams, create_refund};
use card_payments_client::apis::transfers_api::{CreateTransferParams, create_transfer};
use card_payments_client::models::{
    BrowserCardInput, CardInput, ChargeInput, ChargeMade, FilePurpose, IntervalUnit, PlanInput, RefundInput,
    TransferInput,
};
use card_payments_client::{
    Client, Error, ErrorKind, TryStreamExt, WebhookEvent, WebhookRefused, items, verify_webhook,
};
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::Value;
use tokio::sync::Mutex;

/// Tests that compare whole lists of charges must not run beside others.
static CHARGES: Mutex<()> = Mutex::const_new(());

fn client() -> Client {
    Client::new(&var("SERVER").unwrap(), &var("KEY").unwrap())
}

fn order(amount: i64) -> CreateChargeParams {
    let card = CardInput {
        number: "4200000000000000".into(),
        expiry_month: 12,
        expiry_year: 2099,
        cvc: "123".into(),
        name: "Roland Robot".into(),
        address_line1: "42 Sevenoaks St".into(),
        address_city: "Lathlain".into(),
        address_country: "AU".into(),
        ..Default::default()
    };
    let order = ChargeInput::new("roland@example.com".into(), "Order".into(), amount, "203.192.1.172".into());
    CreateChargeParams { charge_input: ChargeInput { card: Some(card), ..order }, ..Default::default() }
}

async fn charge(client: &Client, order: CreateChargeParams) -> Result<ChargeMade, Error> {
    Ok(create_charge(client, order).await?.response)
}

/// Returns the tokens of the successful charges, newest first.
async fn charges() -> Vec<String> {
    let client = client();
    let page = |page| list_charges(&client, ListChargesParams { page: Some(page), per_page: Some(2) });
    let charges: Vec<_> = items(page).try_collect().await.unwrap();
    charges.into_iter().filter(|charge| charge.success).map(|charge| charge.token).collect()
}

fn before(first: &[&str], then: Vec<String>) -> Vec<String> {
    first.iter().map(|token| (*token).to_owned()).chain(then).collect()
}

#[tokio::test]
async fn a_card_is_stored_charged_captured_and_refunded() {
    let (client, _alone) = (client(), CHARGES.lock().await);
    let stored = BrowserCardInput {
        number: "4200000000000000".into(),
        expiry_month: 12,
        expiry_year: 2099,
        cvc: "123".into(),
        name: "Roland Robot".into(),
        address_line1: "42 Sevenoaks St".into(),
        address_city: "Lathlain".into(),
        address_country: "AU".into(),
        ..Default::default()
    };
    let card = create_card(&client, CreateCardParams { browser_card_input: stored, ..Default::default() })
        .await
        .unwrap()
        .response;
    let mut by_token = order(400);
    by_token.charge_input = ChargeInput {
        card: None,
        card_token: Some(card.token),
        capture: Some(false),
        ..by_token.charge_input
    };
    let authorised = charge(&client, by_token).await.unwrap();
    assert_eq!(authorised.captured, Some(false));
    let token = authorised.token;
    let captured =
        capture_charge(&client, CaptureChargeParams { charge_token: token.clone(), ..Default::default() })
            .await
            .unwrap();
    assert!(captured.response.captured);
    let part = CreateRefundParams {
        charge_token: token.clone(),
        refund_input: Some(RefundInput { amount: Some(100) }),
        ..Default::default()
    };
    let refund = create_refund(&client, part).await.unwrap().response;
    assert_eq!((refund.charge, refund.amount), (token, 100));
}

#[tokio::test]
async fn a_list_gives_the_items_of_all_pages() {
    let (client, _alone) = (client(), CHARGES.lock().await);
    let then = charges().await;
    let mut made = Vec::new();
    for amount in [100, 200, 300] {
        made.insert(0, charge(&client, order(amount)).await.unwrap().token);
    }
    made.extend(then);
    assert_eq!(charges().await, made);
    for name in ["One", "Two"] {
        let plan_input = PlanInput::new(name.into(), 1000, 1, IntervalUnit::Month);
        create_plan(&client, CreatePlanParams { plan_input, ..Default::default() }).await.unwrap();
    }
    let page = |page| list_plans(&client, ListPlansParams { page: Some(page), per_page: Some(1) });
    let names: Vec<_> = items(page).map_ok(|plan| plan.name).try_collect().await.unwrap();
    assert_eq!(names, ["Two", "One"]);
}

#[tokio::test]
async fn a_charge_whose_connection_is_cut_is_made_once() {
    let _alone = CHARGES.lock().await;
    let then = charges().await;
    let cut = Client::new(&var("CUT").unwrap(), &var("KEY").unwrap());
    let made = charge(&cut, order(400)).await.unwrap();
    assert_eq!(charges().await, before(&[&made.token], then));
}

#[tokio::test]
async fn a_charge_without_a_response_is_repeated_under_the_key_of_its_error() {
    let _alone = CHARGES.lock().await;
    let then = charges().await;
    let cut = Client::new(&var("LOST").unwrap(), &var("KEY").unwrap());
    let lost = charge(&cut, order(400)).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::NoResponse);
    let key = lost.idempotency_key().map(Into::into);
    let repeated = CreateChargeParams { idempotency_key: key, ..order(400) };
    let paid = charge(&client(), repeated).await.unwrap();
    assert_eq!(charges().await, before(&[&paid.token], then));
}

#[tokio::test]
async fn a_charge_that_was_approved_but_lost_is_made_once() {
    let (client, _alone) = (client(), CHARGES.lock().await);
    let then = charges().await;
    let order = CreateChargeParams { idempotency_key: Some("lost".into()), ..order(400) };
    let lost = CreateChargeParams { sandbox_outcome: Some("approved_but_lost".into()), ..order.clone() };
    let lost = charge(&client, lost).await.unwrap_err();
    assert_eq!((lost.kind(), lost.status(), lost.code()), (ErrorKind::Server, Some(502), "gateway_error"));
    assert_eq!(lost.idempotency_key(), Some("lost"));
    let paid = charge(&client, order.clone()).await.unwrap();
    assert_eq!(charge(&client, order).await.unwrap().token, paid.token);
    assert_eq!(charges().await, before(&[&paid.token], then));
}

#[tokio::test]
async fn a_refusal_is_of_its_kind() {
    let (client, _alone) = (client(), CHARGES.lock().await);
    let declined = CreateChargeParams { sandbox_outcome: Some("insufficient_funds".into()), ..order(400) };
    let declined = charge(&client, declined).await.unwrap_err();
    assert_eq!(
        (declined.kind(), declined.status(), declined.code()),
        (ErrorKind::CardDeclined, Some(400), "insufficient_funds")
    );
    assert!(declined.charge_token().unwrap().starts_with("ch_"));
    assert!(declined.to_string().contains(declined.request_id().unwrap()));
    let invalid = charge(&client, order(0)).await.unwrap_err();
    assert_eq!(
        (invalid.kind(), invalid.messages()[0].param.as_str()),
        (ErrorKind::InvalidResource, "amount")
    );
    let plan_input = PlanInput::new(" ".into(), 400, 1, IntervalUnit::Month);
    let nameless =
        create_plan(&client, CreatePlanParams { plan_input, ..Default::default() }).await.unwrap_err();
    assert_eq!(nameless.kind(), ErrorKind::InvalidResource);
    let none = get_charge(&client, GetChargeParams { charge_token: "ch_AAAAAAAAAAAAAAAAAAAAAA".into() })
        .await
        .unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound);
    let much = TransferInput::new("Too much".into(), 1_000_000_000_000, "AUD".into(), "self".into());
    let much = CreateTransferParams { transfer_input: much, ..Default::default() };
    assert_eq!(create_transfer(&client, much).await.unwrap_err().code(), "insufficient_service_balance");
    let stranger = Client::new(&var("SERVER").unwrap(), "sk_test_nobody");
    let gone = DeleteCustomerParams { customer_token: "cus_none".into(), ..Default::default() };
    assert_eq!(delete_customer(&stranger, gone).await.unwrap_err().kind(), ErrorKind::Unauthorized);
    let nowhere = Client::with_http("nowhere", "sk_test_nobody", reqwest::Client::new());
    assert_eq!(charge(&nowhere, order(400)).await.unwrap_err().kind(), ErrorKind::Other);
}

#[tokio::test]
async fn a_file_is_uploaded_and_deleted() {
    let client = client();
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("receipt.pdf");
    std::fs::write(&file, "%PDF-1.4\n").unwrap();
    let upload = CreateFileParams { file, purpose: FilePurpose::DisputeEvidence, ..Default::default() };
    let uploaded = create_file(&client, upload).await.unwrap().response;
    delete_file(&client, DeleteFileParams { file_token: uploaded.token, ..Default::default() })
        .await
        .unwrap();
}

fn header_map(sent: &Value) -> HeaderMap {
    let sent = sent.as_object().unwrap().iter();
    sent.map(|(name, value)| (name.parse().unwrap(), value.as_str().unwrap().parse().unwrap())).collect()
}

#[test]
fn a_webhook_is_verified() {
    let webhook: Value = serde_json::from_slice(&std::fs::read(var("WEBHOOK").unwrap()).unwrap()).unwrap();
    let (body, key) = (webhook["body"].as_str().unwrap(), webhook["key"].as_str().unwrap());
    let headers = |changed: &[(&str, &str)]| {
        let mut headers = header_map(&webhook["headers"]);
        for (name, value) in changed {
            headers.insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    };
    let event = verify_webhook(&headers(&[]), body.as_bytes(), key).unwrap();
    assert!(
        matches!(&event, WebhookEvent::ChargeCaptured(event) if event.data.token.starts_with("ch_")),
        "{event:?}"
    );
    let verified = |sent: &Value| {
        let headers = header_map(&sent["headers"]);
        verify_webhook(&headers, sent["body"].as_str().unwrap().as_bytes(), key).unwrap()
    };
    for sent in webhook["events"].as_array().unwrap() {
        let known = verified(sent);
        assert!(known.token().starts_with("evt_") && !matches!(known, WebhookEvent::Newer(_)), "{known:?}");
    }
    let newer = verified(&webhook["newer"]);
    assert!(
        matches!(&newer, WebhookEvent::Newer(event) if event.r#type == "charge.of_tomorrow"),
        "{newer:?}"
    );
    let other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let example = headers(&[
        ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        ("webhook-timestamp", "1614265330"),
        ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
    ]);
    let sent: u64 = webhook["headers"]["webhook-timestamp"].as_str().unwrap().parse().unwrap();
    let later = headers(&[("webhook-timestamp", &(sent + 1).to_string())]);
    for (reason, headers, body, key) in [
        (WebhookRefused::Signature, &headers(&[]), body, other),
        (WebhookRefused::Signature, &headers(&[]), &*body.replacen("400", "4000", 1), key),
        (WebhookRefused::Signature, &later, body, key),
        (WebhookRefused::Time, &example, r#"{"test": 2432232314}"#, other),
        (WebhookRefused::Headers, &HeaderMap::new(), body, key),
        (WebhookRefused::Key, &headers(&[]), body, "whsec_"),
        (WebhookRefused::Key, &headers(&[]), body, ""),
    ] {
        assert_eq!(verify_webhook(headers, body.as_bytes(), key).unwrap_err(), reason);
    }
}
