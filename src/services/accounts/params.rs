//! Parameters with which operators and testers change accounts, in the words of the API.

use entity::account::TransfersSchedule;
use entity::card_attack::{CardTestingAction, CardTestingRule, CardTestingSettings};
use entity::pricing::{Percentage, Pricing};
use macros::params;
use serde::Deserialize;
use serde_json::{Value, json};
use validator::{Validate, ValidationError};

use crate::limits::{
    CARD_TESTING_THRESHOLD_MAX, CHARGE_CENTS_MIN, DEPOSIT_CENTS_MAX, FEE_CENTS_MAX, NAME_LENGTH_MAX,
    SETTLEMENT_DELAY_DAYS_MAX,
};
use crate::params::rules;
use crate::services::bank_accounts::params::NewBankAccount;

#[derive(Deserialize, Validate)]
pub struct NewAccount {
    /// The name customers know.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub business_name: String,
    /// The contact's e-mail address.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    pub email: String,
    /// Manages an approved partner: may use the merchants API.
    pub partner: bool,
    /// The bank account for payouts.
    #[validate(nested)]
    pub bank_account: Option<NewBankAccount>,
}

/// Switches of an account and its effective settings; absent ones stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Validate)]
pub struct ChangedSettings {
    /// The disputes API is enabled.
    pub disputes: Option<bool>,
    /// The wallet API is enabled.
    pub wallet: Option<bool>,
    /// Manages an approved partner: may use the merchants API.
    pub partner: Option<bool>,
    /// Unknown parameters are refused.
    pub strict_parameters: Option<bool>,
    /// The whole pricing table, in JSON.
    #[validate(custom(function = "pricing_table"))]
    pub pricing: Option<String>,
    /// AUD cents a charge, whatever its kind.
    #[validate(range(min = 0, max = FEE_CENTS_MAX))]
    pub transaction_fixed_fee: Option<i64>,
    /// Percentage of AUD on a card issued in Australia.
    #[validate(custom(function = "rules::percentage"))]
    pub domestic_transaction_percentage_fee: Option<String>,
    /// The same of a premium scheme.
    #[validate(custom(function = "rules::percentage"))]
    pub premiumscheme_transaction_percentage_fee: Option<String>,
    /// Percentage of everything else.
    #[validate(custom(function = "rules::percentage"))]
    pub foreign_transaction_percentage_fee: Option<String>,
    /// AUD cents a transfer to somebody else.
    #[validate(range(min = 0, max = FEE_CENTS_MAX))]
    pub third_party_transfer_fee: Option<i64>,
    /// The largest charge, in AUD cents.
    #[validate(range(min = CHARGE_CENTS_MIN, max = DEPOSIT_CENTS_MAX))]
    pub maximum_charge_cents: Option<i64>,
    /// Days from a capture to the day its money becomes available.
    #[validate(range(min = 0, max = SETTLEMENT_DELAY_DAYS_MAX))]
    pub settlement_delay_days: Option<i64>,
    /// Money may be paid out.
    pub transfers_enabled: Option<bool>,
    /// `daily`, `weekly` or `manual`.
    pub transfers_schedule: Option<TransfersSchedule>,
    /// What is done about card testing.
    #[validate(nested)]
    pub card_testing: Option<ChangedCardTesting>,
}

impl ChangedSettings {
    pub const SWITCHES: [&str; 4] = ["disputes", "wallet", "partner", "strict_parameters"];

    pub const SETTINGS: [&str; 16] = [
        "pricing",
        "transaction_fixed_fee",
        "domestic_transaction_percentage_fee",
        "premiumscheme_transaction_percentage_fee",
        "foreign_transaction_percentage_fee",
        "third_party_transfer_fee",
        "maximum_charge_cents",
        "settlement_delay_days",
        "transfers_enabled",
        "transfers_schedule",
        "card_testing.action",
        "card_testing.network_declines",
        "card_testing.network_cards",
        "card_testing.card_declines",
        "card_testing.customer_cards",
        "card_testing.account_cards",
    ];

    /// Returns the parameters that set a switch or setting.
    pub fn parameters(word: &str, value: &Value) -> Value {
        match word.split_once('.') {
            Some((outer, inner)) => json!({ outer: { inner: value } }),
            None => json!({ word: value }),
        }
    }

    /// Whether nothing is asked: what was sent was blank.
    pub fn is_empty(&self) -> bool {
        let nothing = Self::default();
        let blank = Self { card_testing: Some(ChangedCardTesting::default()), ..Self::default() };
        *self == nothing || *self == blank
    }

    /// Change a pricing table that is to change; the values were checked.
    pub fn price(&self, table: &mut Pricing) {
        let percentage = |text: &Option<String>| text.as_deref()?.trim().parse::<Percentage>().ok();
        if let Some(Ok(whole)) = self.pricing.as_deref().map(serde_json::from_str) {
            *table = whole;
        }
        if let Some(cents) = self.transaction_fixed_fee {
            table.set_fixed_fee(cents);
        }
        if let Some(percentage) = percentage(&self.domestic_transaction_percentage_fee) {
            table.domestic_currency_domestic_card_core.percentage_fee = percentage;
        }
        if let Some(percentage) = percentage(&self.premiumscheme_transaction_percentage_fee) {
            table.domestic_currency_domestic_card_premium.percentage_fee = percentage;
        }
        if let Some(percentage) = percentage(&self.foreign_transaction_percentage_fee) {
            table.set_foreign_percentage(percentage);
        }
    }
}

/// What an account does about card testing, and the thresholds of its rules: 0 means off. Absent fields stay.
#[params]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedCardTesting {
    /// What is done; it stays if it is absent.
    action: Option<CardTestingAction>,
    /// The declines in a row of one network at which an attack begins; they stay if they are absent.
    #[validate(range(min = 0, max = CARD_TESTING_THRESHOLD_MAX))]
    network_declines: Option<i64>,
    /// The declined cards of one network at which an attack begins; they stay if they are absent.
    #[validate(range(min = 0, max = CARD_TESTING_THRESHOLD_MAX))]
    network_cards: Option<i64>,
    /// The declines in a row of one card at which an attack begins; they stay if they are absent.
    #[validate(range(min = 0, max = CARD_TESTING_THRESHOLD_MAX))]
    card_declines: Option<i64>,
    /// The declined cards of one customer at which an attack begins; they stay if they are absent.
    #[validate(range(min = 0, max = CARD_TESTING_THRESHOLD_MAX))]
    customer_cards: Option<i64>,
    /// The cards declined for small amounts, of the whole account, at which an attack begins; they stay if they are absent.
    #[validate(range(min = 0, max = CARD_TESTING_THRESHOLD_MAX))]
    account_cards: Option<i64>,
}

impl ChangedCardTesting {
    /// Changes an account's settings as they are sent.
    pub fn apply(&self, settings: &mut CardTestingSettings) {
        settings.action = self.action.or(settings.action);
        for rule in CardTestingRule::ALL {
            let threshold = match rule {
                CardTestingRule::NetworkDeclines => self.network_declines,
                CardTestingRule::NetworkCards => self.network_cards,
                CardTestingRule::CardDeclines => self.card_declines,
                CardTestingRule::CustomerCards => self.customer_cards,
                CardTestingRule::AccountCards => self.account_cards,
            };
            settings.thresholds.extend(threshold.map(|threshold| (*rule, threshold)));
        }
    }
}

/// A pricing table as `account list --json` shows it.
fn pricing_table(text: &str) -> Result<(), ValidationError> {
    let fitting = serde_json::from_str(text).is_ok_and(|table: Pricing| {
        table.rows().iter().all(|row| (0..=FEE_CENTS_MAX).contains(&row.fixed_fee))
    });
    rules::check(fitting, "is not a pricing table")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::read;

    /// Nobody could name a field that is on neither list, nor change what is on a list and no field.
    #[test]
    fn every_word_is_one_field() {
        let sent = ChangedSettings::SWITCHES.into_iter().chain(ChangedSettings::SETTINGS);
        for word in sent {
            let params = read::<ChangedSettings>(&ChangedSettings::parameters(word, &json!(["no value"])));
            assert!(params.faults.has(word), "{word}");
        }
        assert!(read::<ChangedSettings>(&json!({})).value.is_empty());
    }

    #[test]
    fn a_pricing_table_is_taken_as_it_is_shown_and_not_otherwise() {
        let shown = serde_json::to_string(&Pricing::default()).unwrap();
        let faults = |text: &str| read::<ChangedSettings>(&json!({ "pricing": text })).faults;
        assert!(faults(&shown).is_empty());
        for wrong in ["{}", "1", "null", &shown.replace("30", "-1"), &shown.replace("1.75", "101")] {
            assert!(faults(wrong).has("pricing"), "{wrong}");
        }
    }
}
