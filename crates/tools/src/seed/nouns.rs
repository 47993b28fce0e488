//! The sections of a file: the fields of their entries, and the requests that create them.

use entity::failure::Decline;
use entity::{Currency, CustomerToken, PlanToken, RecipientToken};
use http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::plan::{Entry, SeedRequest};
use super::times::{Length, Unit};
use crate::known_api::Parameters;
use crate::test_cards;

pub struct Section {
    pub name: &'static str,
    pub fields: &'static [&'static str],
    /// Returns the requests that make an entry; the first one creates it.
    pub steps: fn(&mut Entry<'_>) -> Vec<SeedRequest>,
}

/// The sections, in the order in which entries of the same time are created: each comes after the entries it names.
pub const SECTIONS: &[Section] = &[
    Section { name: "webhook_endpoints", fields: &["url"], steps: webhook_endpoint },
    Section { name: "recipients", fields: &["name", "email", "bank_account"], steps: recipient },
    Section { name: "deposits", fields: &["amount", "narration"], steps: deposit },
    Section {
        name: "plans",
        fields: &[
            "name",
            "amount",
            "currency",
            "every",
            "intervals",
            "trial",
            "trial_amount",
            "setup_amount",
            "customer_permissions",
        ],
        steps: plan,
    },
    Section {
        name: "customers",
        fields: &["email", "card", "first_name", "last_name", "phone_number", "company", "notes"],
        steps: customer,
    },
    Section {
        name: "subscriptions",
        fields: &["customer", "plan", "include_setup_fee"],
        steps: subscription,
    },
    Section { name: "cancellations", fields: &["of"], steps: cancellation },
    Section {
        name: "charges",
        fields: &[
            "customer",
            "card",
            "email",
            "amount",
            "currency",
            "description",
            "capture",
            "reference",
            "metadata",
            "declined",
        ],
        steps: charge,
    },
    Section { name: "refunds", fields: &["of", "amount"], steps: refund },
    Section {
        name: "disputes",
        fields: &["of", "amount", "category", "evidence", "decided", "decided_after"],
        steps: dispute,
    },
    Section { name: "transfers", fields: &["to", "amount", "description"], steps: transfer },
];

pub fn names() -> String {
    SECTIONS.iter().map(|section| section.name).collect::<Vec<_>>().join(", ")
}

/// A placeholder for a token that is not known yet.
const NOT_YET: Uuid = Uuid::nil();

/// Returns the parameters of a card, from a word or a number. Without one, of an accepted card.
fn card(entry: &mut Entry<'_>, holder: &str) -> Value {
    let word = entry.text("card").unwrap_or_else(|| test_cards::ACCEPTED.to_owned());
    let number = test_cards::number(&word).unwrap_or(&word);
    if !(12..=19).contains(&number.len()) || !number.bytes().all(|digit| digit.is_ascii_digit()) {
        entry.wrong("card", format!("is no card: a number, or {}", test_cards::words().join(", ")));
    }
    test_cards::card(number, holder)
}

fn currency(entry: &mut Entry<'_>) -> Option<Currency> {
    let Some(code) = entry.words("currency") else { return Some(Currency::Aud) };
    let currency = Currency::parse(&code);
    if currency.is_none() {
        entry.wrong("currency", "is not a supported currency");
    }
    currency
}

/// Checks that amounts to charge are not below the minimum of their currency.
fn least(entry: &mut Entry<'_>, fields: &[&'static str]) {
    let Some(min) = currency(entry).map(Currency::charge_amount_min) else { return };
    for field in fields {
        let amount = entry.field(field).and_then(|field| field.node.json().as_i64());
        if amount.is_some_and(|amount| (1..min).contains(&amount)) {
            entry.wrong(field, format!("must be at least {min}"));
        }
    }
}

fn webhook_endpoint(entry: &mut Entry<'_>) -> Vec<SeedRequest> {
    let parameters = entry.parameters(&["url"]);
    entry.check(Parameters::WebhookEndpoint, &parameters, &[]);
    let when = entry.when(None, &[]);
    vec![entry.creation("/1/webhook_endpoints", parameters, when)]
}

fn recipient(entry: &mut Entry<'_>) -> Vec<SeedRequest> {
    let parameters = entry.parameters(&["name", "email", "bank_account"]);
    entry.check(Parameters::Recipient, &parameters, &[]);
    if entry.field("bank_account").is_none() {
        entry.wrong("bank_account", "is missing: name, bsb and number");
    }
    let when = entry.when(None, &[]);
    vec![entry.creation("/1/recipients", parameters, when)]
}

fn deposit(entry: &mut Entry<'_>) -> Vec<SeedRequest> {
    let parameters = entry.parameters(&["amount", "narration"]);
    entry.check(Parameters::Deposit, &parameters, &[]);
    let when = entry.when(None, &[]);
    vec![entry.creation("/1/sandbox/deposits", parameters, when)]
}

fn plan(entry: &mut Entry<'_>) -> Vec<SeedRequest> {
    let names =
        ["name", "amount", "currency", "intervals", "trial_amount", "setup_amount", "customer_permissions"];
    let mut parameters = entry.parameters(&names);
    if entry.field("name").is_none() {
        parameters["name"] = entry.name.into();
    }
    let every = interval(entry, "every");
    if entry.field("every").is_none() {
        entry.wrong("every", "is missing: how often it is billed, such as month or 2 weeks");
    }
    let Length { number, unit } = every.unwrap_or(Length { number: 1, unit: Unit::Month });
    parameters["interval"] = number.into();
    parameters["interval_unit"] = unit.code().into();
    if let Some(Length { number, unit }) = interval(entry, "trial") {
        parameters["trial_interval"] = number.into();
        parameters["trial_interval_unit"] = unit.code().into();
    }
    let spelled = [
        ("interval", "every"),
        ("interval_unit", "every"),
        ("trial_interval", "trial"),
        ("trial_interval_unit", "trial"),
    ];
    entry.check(Parameters::Plan, &parameters, &spelled);
    least(entry, &["amount", "setup_amount", "trial_amount"]);
    let when = entry.when(None, &[]);
    vec![entry.creation("/1/plans", parameters, when)]
}

/// Returns a length of time that plans may have.
fn interval(entry: &mut Entry<'_>, field: &'static str) -> Option<Length> {
    let length = entry.length(field)?;
    if matches!(length.unit, Unit::Minute | Unit::Hour) {
        entry.wrong(field, "is not of days, weeks, months or years");
        return None;
    }
    Some(length)
}

fn customer(entry: &mut Entry<'_>) -> Vec<SeedRequest> {
    let names = ["email", "first_name", "last_name", "phone_number", "company", "notes"];
    let mut parameters = entry.parameters(&names);
    let (first, last) = (entry.words("first_name"), entry.words("last_name"));
    let holder: Vec<_> = first.into_iter().chain(last).collect();
    let holder = if holder.is_empty() { entry.name.to_owned() } else { holder.join(" ") };
    parameters["card"] = card(entry, &holder);
    entry.check(Parameters::Customer, &parameters, &[]);
    let when = entry.when(None, &[]);
    vec![entry.creation("/1/customers", parameters, when)]
}

fn subscription(entry: &mut Entry<'_>) -> Vec<SeedRequest> {
    let mut parameters = entry.parameters(&["include_setup_fee"]);
    let (customer, plan) = (entry.named("customer", "customers"), entry.named("plan", "plans"));
    parameters["customer_token"] = CustomerToken::new(NOT_YET).to_string().into();
    parameters["plan_token"] = PlanToken::new(NOT_YET).to_string().into();
    entry.check(Parameters::Subscription, &parameters, &[]);
    let (Some(customer), Some(plan)) = (customer, plan) else { return Vec::new() };
    let when = entry.when(None, &[&customer, &plan]);
    let tokens = vec![("customer_token", customer), ("plan_token", plan)];
    vec![SeedRequest { tokens, ..entry.creation("/1/subscriptions", parameters, when) }]
}

fn cancellation(entry: &mut Entry<'_>) -> Vec<SeedRequest> {
    let Some(of) = entry.named("of", "subscriptions") else { return Vec::new() };
    let when = entry.when(Some(&of), &[]);
    vec![entry.follow(Method::DELETE, "/1/subscriptions/{}", &of, when)]
}

fn charge(entry: &mut Entry<'_>) -> Vec<SeedRequest> {
    let names = ["email", "amount", "currency", "description", "capture", "reference", "metadata"];
    let mut parameters = entry.parameters(&names);
    if entry.field("description").is_none() {
        parameters["description"] = entry.name.into();
    }
    parameters["ip_address"] = "203.0.113.7".into();
    let mut tokens = Vec::new();
    if entry.field("customer").is_none() {
        parameters["card"] = card(entry, "Roland Robot");
    } else {
        tokens.extend(entry.named("customer", "customers").map(|customer| ("customer_token", customer)));
        parameters["customer_token"] = CustomerToken::new(NOT_YET).to_string().into();
        if entry.field("card").is_some() {
            entry.wrong("card", "stands beside a customer, whose card pays");
        }
        if entry.field("email").is_none() {
            parameters["email"] = email_of_customer(entry);
        }
    }
    entry.check(Parameters::Charge, &parameters, &[]);
    least(entry, &["amount"]);
    let declined = entry.text("declined");
    if let Some(code) = &declined
        && Decline::from_code(code).is_none()
    {
        let codes: Vec<_> = Decline::ALL.iter().map(|decline| decline.code()).collect();
        entry.wrong("declined", format!("is none of {}", codes.join(", ")));
    }
    let needs: Vec<_> = tokens.iter().map(|(_, what)| what.as_str()).collect();
    let when = entry.when(None, &needs);
    let makes = declined.is_none();
    vec![SeedRequest { tokens, declined, makes, ..entry.creation("/1/charges", parameters, when) }]
}

/// Returns the customer's email as in the file; a missing customer is a fault already.
fn email_of_customer(entry: &Entry<'_>) -> Value {
    let fields = entry.words("customer").and_then(|name| entry.other("customers", &name));
    let email = fields.and_then(|fields| fields.iter().find(|field| field.name == "email"));
    email.map_or_else(|| "nobody@example.com".into(), |email| email.node.json())
}

fn refund(entry: &mut Entry<'_>) -> Vec<SeedRequest> {
    let parameters = entry.parameters(&["amount"]);
    entry.check(Parameters::Refund, &parameters, &[]);
    let Some(of) = entry.named("of", "charges") else { return Vec::new() };
    let when = entry.when(Some(&of), &[]);
    vec![SeedRequest {
        parameters,
        makes: true,
        ..entry.follow(Method::POST, "/1/charges/{}/refunds", &of, when)
    }]
}

/// The decisions about a dispute, and whether each needs an evidence review first.
const DECISIONS: [(&str, bool); 5] =
    [("won", true), ("lost", true), ("accepted", false), ("cancelled", false), ("resolved", false)];

fn dispute(entry: &mut Entry<'_>) -> Vec<SeedRequest> {
    let mut parameters = entry.parameters(&["amount", "category"]);
    parameters["charge_token"] = entity::ChargeToken::new(NOT_YET).to_string().into();
    entry.check(Parameters::Dispute, &parameters, &[("charge_token", "of")]);
    let evidence = entry.text("evidence").unwrap_or_else(|| "The goods were delivered.".into());
    let decided = entry.text("decided");
    let decision = DECISIONS.iter().find(|(word, _)| Some(*word) == decided.as_deref());
    if decided.is_some() && decision.is_none() {
        entry.wrong("decided", format!("is none of {}", DECISIONS.map(|(word, _)| word).join(", ")));
    }
    for needs in ["decided_after", "evidence"] {
        if entry.field("decided").is_none() && entry.field(needs).is_some() {
            entry.wrong(needs, "needs decided");
        }
    }
    let later = entry.length("decided_after");
    let Some(of) = entry.named("of", "charges") else { return Vec::new() };
    let when = entry.when(Some(&of), &[]);
    let (itself, decided_at) = (entry.what.clone(), when.later(later));
    let follow = |method, path: &str, parameters: Value, when| SeedRequest {
        parameters,
        ..entry.follow(method, path, &itself, when)
    };
    let tokens = vec![("charge_token", of)];
    let mut steps =
        vec![SeedRequest { tokens, ..entry.creation("/1/sandbox/disputes", parameters, when.clone()) }];
    if let Some((status, reviewed)) = decision {
        if *reviewed {
            let path = "/1/disputes/{}/evidence";
            let text = json!({ "additional_evidence_text": evidence });
            steps.push(follow(Method::PUT, path, text, when.clone()));
            steps.push(follow(Method::POST, path, json!({}), when));
        }
        steps.push(follow(Method::PUT, "/1/sandbox/disputes/{}", json!({ "status": status }), decided_at));
    }
    steps
}

fn transfer(entry: &mut Entry<'_>) -> Vec<SeedRequest> {
    let mut parameters = entry.parameters(&["amount", "description"]);
    if entry.field("description").is_none() {
        parameters["description"] = entry.name.into();
    }
    parameters["currency"] = "AUD".into();
    let to_self = entry.words("to").is_some_and(|to| to == "self");
    let recipient = if to_self { None } else { entry.named("to", "recipients") };
    let placeholder = RecipientToken::new(NOT_YET).to_string();
    parameters["recipient"] = if to_self { "self".into() } else { placeholder.into() };
    entry.check(Parameters::Transfer, &parameters, &[("recipient", "to")]);
    let tokens: Vec<_> = recipient.into_iter().map(|recipient| ("recipient", recipient)).collect();
    let needs: Vec<_> = tokens.iter().map(|(_, what)| what.as_str()).collect();
    let when = entry.when(None, &needs);
    vec![SeedRequest { tokens, ..entry.creation("/1/transfers", parameters, when) }]
}
