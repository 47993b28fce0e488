//! The API calls that cause each type of event; every one succeeds in a new account.
//!
//! In paths and bodies a bare prefix, such as `ch_`, stands for the latest record of its kind.

use entity::event::EventType;
use http::Method;
use serde_json::{Value, json};

use crate::known_api::KnownApi;

pub struct Step {
    verb: Verb,
    pub path: &'static str,
    body: Body,
    /// Whether the call is meant to be declined.
    pub declined: bool,
}

#[derive(Clone, Copy)]
enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

#[derive(Clone, Copy)]
enum Body {
    None,
    Made(fn() -> Value),
    /// The published example.
    Example,
}

impl Step {
    pub fn body(&self, api: &KnownApi) -> Option<Value> {
        match self.body {
            Body::None => None,
            Body::Made(body) => Some(body()),
            Body::Example => {
                let operation = &(api.document)()["paths"][self.path][self.method().as_str().to_lowercase()];
                Some(
                    operation["requestBody"]["content"]["application/json"]["examples"]["success"]["value"]
                        .clone(),
                )
            }
        }
    }

    pub fn method(&self) -> Method {
        match self.verb {
            Verb::Get => Method::GET,
            Verb::Post => Method::POST,
            Verb::Put => Method::PUT,
            Verb::Delete => Method::DELETE,
        }
    }

    /// Returns method and path as text.
    pub fn call(&self) -> String {
        format!("{} {}", self.method(), self.path)
    }

    pub fn moves_clock(&self) -> bool {
        self.path == CLOCK
    }
}

const CLOCK: &str = "/1/sandbox/clock";

const fn post(path: &'static str, body: fn() -> Value) -> Step {
    Step { verb: Verb::Post, path, body: Body::Made(body), declined: false }
}

const fn put(path: &'static str, body: fn() -> Value) -> Step {
    Step { verb: Verb::Put, path, body: Body::Made(body), declined: false }
}

const fn delete(path: &'static str) -> Step {
    Step { verb: Verb::Delete, path, body: Body::None, declined: false }
}

const fn decide(body: fn() -> Value) -> Step {
    put("/1/sandbox/disputes/dis_", body)
}

const CHARGE: Step = post("/1/charges", || charge(ACCEPTED, true));
const AUTHORISE: Step = post("/1/charges", || charge(ACCEPTED, false));
const VOID: Step = put("/1/charges/ch_/void", || json!({}));
const CHARGE_IN_VAIN: Step = Step { declined: true, ..post("/1/charges", || charge(DECLINED, true)) };

const CUSTOMER: Step = post("/1/customers", || json!({ "email": EMAIL, "card": card(ACCEPTED) }));
const UPDATE_CUSTOMER: Step = put("/1/customers/cus_", || json!({ "first_name": "Roland" }));
const SPOIL_CARD: Step = put("/1/customers/cus_", || json!({ "card": card(DECLINED) }));
const DELETE_CUSTOMER: Step = delete("/1/customers/cus_");

const REFUND: Step = post("/1/charges/ch_/refunds", || json!({ "amount": 100 }));
const LET_REFUND_SUCCEED: Step = put("/1/sandbox/refunds/rf_", || json!({ "outcome": "succeeded" }));
const LET_REFUND_FAIL: Step = put("/1/sandbox/refunds/rf_", || json!({ "outcome": "failed" }));

const PLAN: Step = post("/1/plans", || plan(0));
const PLAN_OF_ONE_DAY: Step = post("/1/plans", || plan(1));
const DELETE_PLAN: Step = delete("/1/plans/plan_");

const SUBSCRIBE: Step =
    post("/1/subscriptions", || json!({ "plan_token": "plan_", "customer_token": "cus_" }));
const UNSUBSCRIBE: Step = put("/1/sandbox/subscriptions/sub_/unsubscribe", || json!({}));
const CANCEL: Step = delete("/1/subscriptions/sub_");
const A_DAY: Step = put(CLOCK, || json!({ "advance": "1d" }));

const RECIPIENT: Step = post("/1/recipients", || recipient("987654321"));
const UPDATE_RECIPIENT: Step = put("/1/recipients/rp_", || json!({ "name": "Roland Robot" }));
/// A recipient whose bank returns transfers.
const CLOSED_RECIPIENT: Step = post("/1/recipients", || recipient("987654999"));
const TRANSFER: Step = post(
    "/1/transfers",
    || json!({ "description": DESCRIPTION, "amount": 100, "currency": "AUD", "recipient": "rp_" }),
);
const DEPOSIT: Step = post("/1/sandbox/deposits", || json!({ "amount": 50_000 }));

const APPLY: Step = Step { verb: Verb::Post, path: "/1/merchants", body: Body::Example, declined: false };
const ACTIVATE: Step = put("/1/sandbox/merchants/mrch_", || json!({ "status": "active" }));
const DECLINE: Step = put("/1/sandbox/merchants/mrch_", || json!({ "status": "declined" }));
const HOLD: Step = put("/1/sandbox/merchants/mrch_", || json!({ "status": "on_hold" }));

const DISPUTE: Step = post("/1/sandbox/disputes", || json!({ "charge_token": "ch_" }));
const SUBMIT_EVIDENCE: Step = post("/1/disputes/dis_/evidence", || json!({}));
const ACCEPT: Step = post("/1/disputes/dis_/accept", || json!({}));
const RESOLVE: Step = decide(|| json!({ "status": "resolved" }));
const WITHDRAW: Step = decide(|| json!({ "status": "cancelled" }));
const EXPIRE: Step = decide(|| json!({ "status": "expired" }));
const WIN: Step = decide(|| json!({ "status": "won" }));
const LOSE: Step = decide(|| json!({ "status": "lost" }));
const ARBITRATE: Step = decide(|| json!({ "status": "arbitration_under_review" }));
const WIN_ARBITRATION: Step = decide(|| json!({ "status": "arbitration_won" }));
const LOSE_ARBITRATION: Step = decide(|| json!({ "status": "arbitration_lost" }));

/// The account's newest endpoint: a new one would get all other events, too.
const ENDPOINT: Step =
    Step { verb: Verb::Get, path: "/1/webhook_endpoints", body: Body::None, declined: false };
const PING: Step = post("/1/sandbox/webhook_endpoints/whe_/ping", || json!({}));

/// Returns the calls that cause an event of this type, in order.
pub fn recipe(what: EventType) -> &'static [Step] {
    use EventType as E;

    match what {
        E::ChargeAuthorised => &[AUTHORISE],
        E::ChargeVoided => &[AUTHORISE, VOID],
        E::ChargeCaptured => &[CHARGE],
        E::ChargeFailed => &[CHARGE_IN_VAIN],
        E::CustomerCreated => &[CUSTOMER],
        E::CustomerUpdated => &[CUSTOMER, UPDATE_CUSTOMER],
        E::CustomerDeleted => &[CUSTOMER, DELETE_CUSTOMER],
        E::RefundCreated => &[CHARGE, REFUND],
        E::RefundSucceeded => &[CHARGE, REFUND, LET_REFUND_SUCCEED],
        E::RefundFailed => &[CHARGE, REFUND, LET_REFUND_FAIL],
        E::PlanCreated => &[PLAN],
        E::PlanDeleted => &[PLAN, DELETE_PLAN],
        E::SubscriptionCreated => &[PLAN, CUSTOMER, SUBSCRIBE],
        E::SubscriptionUnsubscribed => &[PLAN, CUSTOMER, SUBSCRIBE, UNSUBSCRIBE],
        E::SubscriptionCancelled => &[PLAN, CUSTOMER, SUBSCRIBE, CANCEL],
        E::SubscriptionExpired => &[PLAN_OF_ONE_DAY, CUSTOMER, SUBSCRIBE, A_DAY],
        E::SubscriptionRenewed => &[PLAN, CUSTOMER, SUBSCRIBE, A_DAY],
        E::SubscriptionRenewalFailed => &[PLAN, CUSTOMER, SUBSCRIBE, SPOIL_CARD, A_DAY],
        E::RecipientCreated => &[RECIPIENT],
        E::RecipientUpdated => &[RECIPIENT, UPDATE_RECIPIENT],
        E::TransferCreated => &[RECIPIENT, TRANSFER],
        E::TransferFailed => &[CLOSED_RECIPIENT, TRANSFER, A_DAY],
        E::DepositCreated => &[DEPOSIT],
        E::SubMerchantApplicationSubmitted => &[APPLY],
        E::SubMerchantApplicationActivated => &[APPLY, ACTIVATE],
        E::SubMerchantApplicationDeclined => &[APPLY, DECLINE],
        E::SubMerchantApplicationOnHold => &[APPLY, HOLD],
        E::DisputeEvidenceRequired => &[CHARGE, DISPUTE],
        E::DisputeResolved => &[CHARGE, DISPUTE, RESOLVE],
        E::DisputeCancelled => &[CHARGE, DISPUTE, WITHDRAW],
        E::DisputeEvidenceUnderReview => &[CHARGE, DISPUTE, SUBMIT_EVIDENCE],
        E::DisputeLost => &[CHARGE, DISPUTE, SUBMIT_EVIDENCE, LOSE],
        E::DisputeWon => &[CHARGE, DISPUTE, SUBMIT_EVIDENCE, WIN],
        E::DisputeExpired => &[CHARGE, DISPUTE, EXPIRE],
        E::DisputeAccepted => &[CHARGE, DISPUTE, ACCEPT],
        E::DisputeArbitrationUnderReview => &[CHARGE, DISPUTE, SUBMIT_EVIDENCE, LOSE, ARBITRATE],
        E::DisputeArbitrationWon => &[CHARGE, DISPUTE, SUBMIT_EVIDENCE, LOSE, ARBITRATE, WIN_ARBITRATION],
        E::DisputeArbitrationLost => &[CHARGE, DISPUTE, SUBMIT_EVIDENCE, LOSE, ARBITRATE, LOSE_ARBITRATION],
        E::Ping => &[ENDPOINT, PING],
    }
}

const ACCEPTED: &str = "4200000000000000";
const DECLINED: &str = "4100000000000001";
const EMAIL: &str = "roland@example.com";
const DESCRIPTION: &str = "Triggered";

fn card(number: &str) -> Value {
    json!({
        "number": number, "expiry_month": 12, "expiry_year": 2099, "cvc": "123", "name": "Roland Robot",
        "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "Australia",
    })
}

fn charge(number: &str, capture: bool) -> Value {
    json!({
        "email": EMAIL, "description": DESCRIPTION, "amount": 400, "ip_address": "203.192.1.172",
        "card": card(number), "capture": capture,
    })
}

/// Returns a plan of 400 a day, for so many days; 0 means no end.
fn plan(days: i64) -> Value {
    json!({
        "name": DESCRIPTION, "amount": 400, "currency": "AUD", "interval": 1, "interval_unit": "day",
        "intervals": days,
    })
}

fn recipient(number: &str) -> Value {
    json!({ "email": EMAIL, "bank_account": { "name": "Roland Robot", "bsb": "806015", "number": number } })
}
