//! Parameters of the sandbox, in the order of its table.

use base::secret::Secret;
use entity::account::TransfersSchedule;
use entity::failure::Decline;
use entity::provider_state::{ProviderState, StateAction};
use entity::refund::RefundOutcome;
use entity::{Probability, TimeSpan};
use macros::params;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use validator::Validate;

use crate::limits::{ACQUIRER_LATENCY_MS_MAX, NAME_LENGTH_MAX, SETTLEMENT_DELAY_DAYS_MAX};
use crate::params::read_grace;
use crate::params::{FieldErrors, Params, Patch, non_blank, rules};
use crate::services::accounts::params::{ChangedCardTesting, ChangedSettings};

/// The outcome that a pending refund gets.
#[params]
pub struct DecidedRefund {
    /// The outcome of the refund.
    pub outcome: RefundOutcome,
}

/// The faults of the account's simulated acquirer. Absent fields stay.
#[params]
pub struct ChangedFaults {
    /// The delay of each of the acquirer's answers, in milliseconds; it stays if it is absent.
    #[validate(range(min = 0, max = ACQUIRER_LATENCY_MS_MAX))]
    pub latency_ms: Option<i64>,
    /// The code with which every attempt on a card is declined, or an empty text for none; it stays if it is absent.
    // Blank is a wish of its own here, but JSON null is absent, as everywhere.
    #[schema(example = "insufficient_funds")]
    pub decline: Option<Patch<Decline>>,
    /// The share of calls that fail before anything happens.
    #[validate(custom(function = "rules::probability"))]
    #[schema(schema_with = gateway_error_rate_schema)]
    pub gateway_error_rate: Option<String>,
    /// The share of calls that are done but lose their answer.
    #[validate(custom(function = "rules::probability"))]
    #[schema(schema_with = drop_rate_schema)]
    pub drop_rate: Option<String>,
    /// The seed of the faults: the same seed repeats them; it stays if it is absent.
    #[schema(minimum = -9_007_199_254_740_991_i64, example = 42)]
    pub seed: Option<i64>,
}

/// A valid probability; `None` if it is absent or blank.
pub fn probability(text: Option<&str>) -> Option<Probability> {
    non_blank(text)?.parse().ok()
}

pub fn gateway_error_rate_schema() -> Object {
    share_schema(
        "The share of calls that fail before anything happens, with at most 6 decimals; in a request, it stays if it is absent.",
    )
}

pub fn drop_rate_schema() -> Object {
    share_schema(
        "The share of calls that are done but lose their answer, with at most 6 decimals; in a request, it stays if it is absent.",
    )
}

fn share_schema(description: &str) -> Object {
    let (zero, one) = (Some(0_u32), Some(1_u32));
    ObjectBuilder::new()
        .schema_type(Type::Number)
        .description(Some(description))
        .minimum(zero)
        .maximum(one)
        .examples([json!(0.25)])
        .build()
}

/// Switches and settings of the account. Absent fields stay.
#[params]
pub struct ChangedAccount {
    /// Whether the disputes API is enabled; it stays if it is absent.
    pub disputes: Option<bool>,
    /// Whether the wallet API is enabled; it stays if it is absent.
    pub wallet: Option<bool>,
    /// Whether the account manages an approved partner and may use the merchants API; it stays if it is absent.
    pub partner: Option<bool>,
    /// Whether transfers are enabled; it stays if it is absent.
    pub transfers_enabled: Option<bool>,
    /// How often available money is transferred to the bank account; it stays if it is absent.
    pub transfers_schedule: Option<TransfersSchedule>,
    /// The days until captured money is available; they stay if they are absent.
    #[validate(range(min = 0, max = SETTLEMENT_DELAY_DAYS_MAX))]
    pub settlement_delay_days: Option<i64>,
    /// What the account does about card testing; it stays if it is absent.
    #[validate(nested)]
    pub card_testing: Option<ChangedCardTesting>,
    /// Whether unknown parameters are refused; it stays if it is absent.
    pub strict_parameters: Option<bool>,
}

impl From<ChangedAccount> for ChangedSettings {
    fn from(changed: ChangedAccount) -> Self {
        let ChangedAccount {
            disputes,
            wallet,
            partner,
            strict_parameters,
            transfers_enabled,
            transfers_schedule,
            settlement_delay_days,
            card_testing,
        } = changed;
        Self {
            disputes,
            wallet,
            partner,
            strict_parameters,
            settlement_delay_days,
            transfers_enabled,
            transfers_schedule,
            card_testing,
            ..Self::default()
        }
    }
}

/// The switches of an account to create. Absent ones are on.
#[params]
pub struct NewSandboxAccount {
    /// Whether the account manages an approved partner and may use the merchants API; on if absent.
    pub partner: Option<bool>,
    /// Whether the disputes API is enabled; on if absent.
    pub disputes: Option<bool>,
    /// Whether the wallet API is enabled; on if absent.
    pub wallet: Option<bool>,
}

/// A device that hands over a card.
#[params]
pub struct NewWalletPayload {
    /// The wallet of the device.
    pub r#type: WalletType,
    /// The number of a test card.
    #[schema(example = "4200000000000000")]
    pub number: Secret,
    /// The token of an active certificate, `apdp_...`; required for `walletApay`, and otherwise absent.
    #[schema(pattern = "^apdp_[A-Za-z0-9_-]{22}$")]
    pub certificate_token: Option<String>,
}

/// A wallet that devices have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
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
    /// How long the former key signs as well: a whole number and m, h, d or w, from 0h (not at all) to a hundred years; 24h if absent.
    #[schema(pattern = "^ *[0-9]+(m|h|d|w) *$", example = "24h")]
    pub grace: Option<String>,
}

impl Params<NewWebhookKey> {
    /// How long the former key signs as well.
    pub fn grace(self) -> Result<TimeSpan, FieldErrors> {
        read_grace(self.value.grace.as_deref(), self.faults)
    }
}

/// A change of the provider's state, as the verifier of a pact asks for it.
#[params]
pub struct NewProviderState {
    /// The name of the consumer, as the verifier may send it; nobody reads it, and it may be absent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "shop")]
    pub consumer: Option<String>,
    /// The state; the account as it is if absent.
    pub state: Option<ProviderState>,
    /// The parameters of the operation that makes the state's record, or the charge of a refund or dispute, or the plan of a subscription,
    /// for those that are not as in the examples; none if absent.
    #[schema(value_type = Option<std::collections::BTreeMap<String, Value>>)]
    pub params: Option<Map<String, Value>>,
    /// What is done: `setup` if absent.
    pub action: Option<StateAction>,
}
