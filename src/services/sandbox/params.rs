//! Parameters of the sandbox, in the order of its table.

use base::secret::Secret;
use entity::account::TransfersSchedule;
use entity::card_attack::{CardTestingAction, CardTestingRule, CardTestingSettings};
use entity::failure::Decline;
use entity::refund::RefundOutcome;
use entity::{Probability, TimeSpan};
use macros::params;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use validator::Validate;

use crate::limits::{ACQUIRER_LATENCY_MS_MAX, CARD_TESTING_THRESHOLD_MAX, SETTLEMENT_DELAY_DAYS_MAX};
use crate::params::read_grace;
use crate::params::{FieldErrors, Params, Patch, non_blank, rules};

/// The outcome of a pending refund.
#[params]
pub struct DecidedRefund {
    /// `succeeded` or `failed`.
    #[schema(value_type = String, example = "failed")]
    pub outcome: RefundOutcome,
}

/// Faults of the account's acquirer; absent parameters stay.
#[params]
pub struct ChangedFaults {
    /// The delay of each answer, in milliseconds.
    #[validate(range(min = 0, max = ACQUIRER_LATENCY_MS_MAX))]
    pub latency_ms: Option<i64>,
    /// The decline code of every attempt on a card; blank for none.
    // Blank is a wish of its own here, but JSON null is absent, as everywhere.
    #[schema(value_type = Option<String>, example = "insufficient_funds")]
    pub decline: Option<Patch<Decline>>,
    /// The share of calls that fail before anything happens.
    #[validate(custom(function = "rules::chance"))]
    #[schema(schema_with = chance_schema)]
    pub gateway_error_rate: Option<String>,
    /// The share of calls that are done but lose their answer.
    #[validate(custom(function = "rules::chance"))]
    #[schema(schema_with = chance_schema)]
    pub drop_rate: Option<String>,
    /// The seed: the same one gives the same run.
    #[schema(minimum = -9_007_199_254_740_991_i64, example = 42)]
    pub seed: Option<i64>,
}

/// A valid probability; `None` if it is absent or blank.
pub fn chance(text: Option<&str>) -> Option<Probability> {
    non_blank(text)?.parse().ok()
}

/// 0 to 1.
pub fn chance_schema() -> Object {
    let (zero, one) = (Some(0_u32), Some(1_u32));
    ObjectBuilder::new().schema_type(Type::Number).minimum(zero).maximum(one).examples([json!(0.25)]).build()
}

/// Switches and settings of the account; absent parameters stay.
#[params]
pub struct ChangedAccount {
    /// The disputes API is enabled.
    pub disputes: Option<bool>,
    /// The wallet API is enabled.
    pub wallet: Option<bool>,
    /// Manages an approved partner: may use the merchants API.
    pub partner: Option<bool>,
    /// Money may be paid out.
    pub transfers_enabled: Option<bool>,
    /// `daily`, `weekly` or `manual`.
    #[schema(value_type = Option<String>, example = "daily")]
    pub transfers_schedule: Option<TransfersSchedule>,
    /// Days from a capture to the day its money becomes available.
    #[validate(range(min = 0, max = SETTLEMENT_DELAY_DAYS_MAX))]
    pub settlement_delay_days: Option<i64>,
    /// Card testing.
    #[validate(nested)]
    pub card_testing: Option<ChangedCardTesting>,
}

/// Card testing: the action, and thresholds of declines in a row of a network or card, and of declined cards of a network, a
/// customer or, for small amounts, the account; 0 is off.
#[params]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedCardTesting {
    /// `off`, `report` or `refuse`.
    #[schema(value_type = Option<String>)]
    action: Option<CardTestingAction>,
    #[validate(range(min = 0, max = CARD_TESTING_THRESHOLD_MAX))]
    network_declines: Option<i64>,
    #[validate(range(min = 0, max = CARD_TESTING_THRESHOLD_MAX))]
    network_cards: Option<i64>,
    #[validate(range(min = 0, max = CARD_TESTING_THRESHOLD_MAX))]
    card_declines: Option<i64>,
    #[validate(range(min = 0, max = CARD_TESTING_THRESHOLD_MAX))]
    customer_cards: Option<i64>,
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

/// Switches of the new account; absent ones are on.
#[params]
pub struct NewSandboxAccount {
    /// Manages an approved partner: may use the merchants API.
    pub partner: Option<bool>,
    /// The disputes API is enabled.
    pub disputes: Option<bool>,
    /// The wallet API is enabled.
    pub wallet: Option<bool>,
}

/// A device that hands over a card.
#[params]
pub struct NewWalletPayload {
    /// `walletApay` or `walletGpay`.
    #[schema(value_type = String, example = "walletGpay")]
    pub r#type: WalletType,
    /// One of the test cards.
    #[schema(example = "4200000000000000")]
    pub number: Secret,
    /// An active certificate; required for walletApay.
    pub certificate_token: Option<String>,
}

/// Which wallet the device has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub enum WalletType {
    /// walletA.
    #[serde(rename = "walletApay")]
    WalletA,
    /// walletG.
    #[serde(rename = "walletGpay")]
    WalletG,
}

/// How an endpoint's key is replaced.
#[params]
pub struct NewWebhookKey {
    /// How long the former key signs as well: a whole number and m, h, d or w, 24h if absent, 0h for not at all.
    #[schema(pattern = "^ *[0-9]+(m|h|d|w) *$", example = "24h")]
    pub grace: Option<String>,
}

impl Params<NewWebhookKey> {
    /// How long the former key signs as well.
    pub fn grace(self) -> Result<TimeSpan, FieldErrors> {
        read_grace(self.value.grace.as_deref(), self.faults)
    }
}
