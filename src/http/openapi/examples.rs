//! Example request bodies.

use entity::{
    AccountToken, AuthorisationToken, CardToken, ChargeToken, CustomerToken, DepositToken, DisputeToken,
    EventToken, FileToken, PlanToken, RecipientToken, RefundToken, SessionToken, SnapshotToken,
    SubscriptionToken, TransferToken, WalletCertificateToken, WalletDomainToken, WebhookEndpointToken,
    WebhookToken,
};
use serde_json::{Map, Value, json};

use super::forms::FORM;

/// Returns an example of a path parameter, by its name.
pub(super) fn token(parameter: &str) -> Option<String> {
    let id = EXAMPLE.parse::<ChargeToken>().ok()?.id();
    Some(match parameter {
        "account_token" => AccountToken::new(id).to_string(),
        "auth_token" => AuthorisationToken::new(id).to_string(),
        "card_token" => CardToken::new(id).to_string(),
        "certificate_token" => WalletCertificateToken::new(id).to_string(),
        "charge_token" => ChargeToken::new(id).to_string(),
        "customer_token" => CustomerToken::new(id).to_string(),
        "deposit_token" => DepositToken::new(id).to_string(),
        "dispute_token" => DisputeToken::new(id).to_string(),
        "domain_token" => WalletDomainToken::new(id).to_string(),
        "event_token" => EventToken::new(id).to_string(),
        "file_token" => FileToken::new(id).to_string(),
        "plan_token" => PlanToken::new(id).to_string(),
        "recipient_token" => RecipientToken::new(id).to_string(),
        "request_id" => "order-1001".into(),
        "refund_token" => RefundToken::new(id).to_string(),
        "snapshot_token" => SnapshotToken::new(id).to_string(),
        "session_token" => SessionToken::new(id).to_string(),
        "sub_token" => SubscriptionToken::new(id).to_string(),
        "transfer_token" => TransferToken::new(id).to_string(),
        "webhook_endpoint_token" => WebhookEndpointToken::new(id).to_string(),
        "webhook_token" => WebhookToken::new(id).to_string(),
        _ => return None,
    })
}

const EXAMPLE: &str = "ch_AZqYv3rVcBKUQ1mHn7tKRw";

/// Adds example bodies that succeed with the keys of any account. Tokens of records and wallet certificates must be the account's
/// own.
pub(super) fn examples(operation: &mut Map<String, Value>) {
    let card = json!({
        "number": "4200000000000000", "expiry_month": 5, "expiry_year": 2030, "cvc": "123", "name": "Roland Robot",
        "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "Australia",
    });
    let bank_account = json!({ "name": "Mr Roland Robot", "bsb": "806015", "number": "987654321" });
    let example = match operation["operationId"].as_str() {
        Some("create_card" | "create_customer_card") => card,
        Some("create_payment_source") => json!({ "type": "card", "source": card }),
        Some("create_file") => json!({ "file": "receipt.pdf", "purpose": "dispute_evidence" }),
        Some("update_wallet_certificate") => {
            json!({ "pem": "-----BEGIN CERTIFICATE-----\nMIIB...\n-----END CERTIFICATE-----\n" })
        }
        Some("create_sandbox_dispute") => json!({ "charge_token": token("charge_token") }),
        Some("create_wallet_domain") => json!({ "domain_name": "shop.example.com" }),
        Some("create_wallet_session") => json!({
            "validation_url": "https://gateway.wallet.example/paymentSession", "initiative": "messaging",
        }),
        Some("create_sandbox_wallet_payload") => {
            json!({ "type": "walletGpay", "number": "4200000000000000" })
        }
        Some("create_charge") => json!({
            "email": "roland@example.com", "description": "test charge", "amount": 400, "ip_address": "203.192.1.172",
            "card": card, "metadata": { "order": "1001" },
        }),
        Some("create_authorisation") => json!({
            "email": "roland@example.com", "description": "test authorisation", "amount": 400,
            "ip_address": "203.192.1.172", "card": card,
        }),
        Some("create_customer") => {
            json!({ "email": "roland@example.com", "first_name": "Roland", "card": card })
        }
        Some("create_webhook_endpoint") => json!({ "url": "https://example.com/webhooks" }),
        Some("update_customer") => json!({ "email": "roland@example.com", "company": "Robots" }),
        Some("capture_charge") => json!({}),
        Some("create_transfer") => {
            json!({ "description": "Earnings for may", "amount": 400, "currency": "AUD", "recipient": "self" })
        }
        Some("create_bank_account") => bank_account,
        Some("create_recipient") => {
            json!({ "email": "roland@example.com", "name": "Mr Roland Robot", "bank_account": bank_account })
        }
        Some("update_recipient") => json!({ "name": "Mr Roland Robot" }),
        Some("create_merchant") => json!({
            "contact": {
                "first_name": "Roland", "last_name": "Robot", "phone_number": "0491 570 156", "email": "roland@example.com",
                "password": "correct horse battery staple",
            },
            "entity": {
                "business_registration_number": "51824753556", "full_legal_name": "Roland's Robots Pty Ltd",
                "address_line_1": "42 Sevenoaks St", "address_locality": "Lathlain", "address_region": "WA",
                "address_postal_code": "6454", "address_country_code": "AU",
            },
            "business": {
                "trading_name": "Roland's Robots", "description": "Robots for the home", "typical_product_price": "100",
                "transactions_per_month": "20", "annual_transaction_volume": "20000", "sells_physical_goods": true,
                "average_delivery_days": "7", "url": "https://robots.example.com",
            },
            "bank_account": bank_account,
            "director": { "full_name": "Roland Robot", "contact_number": "0491 570 156", "date_of_birth": "1980-02-29" },
        }),
        Some("decide_sandbox_merchant") => json!({ "status": "active" }),
        Some("create_sandbox_deposit") => json!({ "amount": 50_000, "narration": "Direct credit" }),
        Some("move_clock") => json!({ "advance": "7d" }),
        Some("update_dispute_evidence") => {
            json!({ "additional_evidence_text": "It was delivered on 2 March." })
        }
        Some("decide_sandbox_dispute") => json!({ "status": "cancelled" }),
        Some("create_refund" | "capture_authorisation") => json!({ "amount": 100 }),
        Some("decide_sandbox_refund") => json!({ "outcome": "failed" }),
        Some("update_sandbox_acquirer") => json!({ "latency_ms": 50, "seed": 42 }),
        Some("update_sandbox_account") => json!({ "transfers_schedule": "daily" }),
        Some("create_plan") => {
            json!({ "name": "Coffee plan", "amount": 1000, "interval": 1, "interval_unit": "month" })
        }
        Some("update_plan") => json!({ "name": "Tea plan", "customer_permissions": ["cancel"] }),
        Some("update_subscription") => json!({ "card_token": null }),
        Some("create_subscription") => json!({
            "plan_token": "plan_AZqYv3rVcBKUQ1mHn7tKRw", "customer_token": "cus_AZqYv3rVcBKUQ1mHn7tKRw",
        }),
        Some("create_plan_subscription") => json!({ "customer_token": "cus_AZqYv3rVcBKUQ1mHn7tKRw" }),
        Some("reactivate_subscription") => json!({ "include_setup_fee": false }),
        Some("create_sandbox_account") => json!({ "partner": false }),
        Some("rotate_sandbox_webhook_key") => json!({ "grace": "2d" }),
        _ => return,
    };
    // The form has the same fields, so only JSON has an example.
    let content = operation.get_mut("requestBody").and_then(|body| body["content"].as_object_mut());
    for (_, body) in content.into_iter().flatten().filter(|(media, _)| media.as_str() != FORM) {
        body["example"] = example.clone();
    }
}
