//! The form that makes a charge with a card of the simulator, and forces its outcome.

use acquirer::test_cards::TABLE;
use acquirer::{SANDBOX_WORDS, SimulatedOutcome};
use axum::extract::State;
use axum::response::Redirect;
use entity::Currency;
use entity::failure::Decline;
use maud::html;
use serde::Deserialize;
use serde_json::json;
use validator::Validate;

use super::auth::{AccountSession, VerifiedForm};
use super::layout::{self, FormResult, PageContent, PageResult};
use super::record::Record;
use super::state::DashboardState;
use crate::params::{self, non_blank};
use crate::services::charges::{ChargeRequestInfo, create as create_charge};

/// The parameters that the same call of the API sends, with the values that the form begins with.
const SENT: [&str; 13] = [
    "amount=400",
    "currency=AUD",
    "description=A test",
    "email=roland@example.com",
    "ip_address=127.0.0.1",
    "card[number]=4200000000000000",
    "card[expiry_month]=12",
    "card[expiry_year]=2099",
    "card[cvc]=123",
    "card[name]=Roland Robot",
    "card[address_line1]=42 Sevenoaks St",
    "card[address_city]=Lathlain",
    "card[address_country]=Australia",
];

pub async fn show(user: AccountSession) -> PageResult {
    let content = html! {
        section.actions aria-label="A charge" {
            form.narrow method="post" action="/dashboard/charges/new" {
                (layout::hidden_fields(&user.session))
                label for="amount" { "Amount in base units (400 is A$4.00)" }
                input #amount name="amount" inputmode="numeric" required value="400" autocomplete="off";
                label for="currency" { "Currency" }
                select #currency name="currency" {
                    @for currency in Currency::ALL { option value=(currency.code()) { (currency.code()) } }
                }
                label for="description" { "Description" }
                input #description name="description" required value="A test";
                label for="email" { "E-mail of the purchaser" }
                input #email type="email" name="email" required value="roland@example.com";
                label for="capture" { "The money is" }
                select #capture name="capture" {
                    option value="true" { "taken at once" }
                    option value="false" { "authorised, to be captured later" }
                }
                label for="outcome" { "The attempt" }
                select #outcome name="outcome" {
                    option value="" { "is approved" }
                    @for word in SANDBOX_WORDS.into_iter().chain(Decline::ALL.iter().map(|decline| decline.code())) {
                        @if let Some(outcome) = SimulatedOutcome::from_sandbox_word(word) {
                            option value=(word) { (outcome.description()) }
                        }
                    }
                }
                button { "Make the charge" }
            }
        }
    };
    Ok(PageContent::new("/1/charges", "Make a charge", content).sending("Charges/create_charge", &SENT))
}

#[derive(Deserialize, Validate)]
struct OutcomeParams {
    outcome: Option<String>,
}

/// Makes the charge, and leads to the attempt even if it was declined. The form names no card: it is the first one of the
/// simulator that is approved.
pub async fn create(State(app): State<DashboardState>, form: VerifiedForm) -> FormResult {
    let OutcomeParams { outcome } = form.input.params().valid()?;
    let sent = form.input.tree();
    let number = TABLE.first().and_then(|cards| cards.numbers().next());
    let year = i64::from(form.caller.account.now.year_and_month().0) + 3;
    let params = params::read(&json!({
        "amount": sent["amount"], "currency": sent["currency"], "description": sent["description"],
        "email": sent["email"], "capture": sent["capture"], "ip_address": "127.0.0.1",
        "card": {
            "number": number, "expiry_month": 12, "expiry_year": year, "cvc": "123", "name": "Roland Robot",
            "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "Australia",
        },
    }));
    let info = ChargeRequestInfo {
        outcome: non_blank(outcome.as_deref()),
        challenge: None,
        base_url: &app.info.base_url,
    };
    let made = match Box::pin(create_charge(&app.ctx, &form.caller, params, info)).await {
        Ok(made) => Record::new(form.caller.account.now, &made)?.text("/token").to_owned(),
        // A declined attempt has a page as well.
        Err(error) => match error.charge_token() {
            Some(declined) => declined.to_owned(),
            None => return Err(error.into()),
        },
    };
    Ok(Redirect::to(&format!("/dashboard/charges/{made}")))
}
