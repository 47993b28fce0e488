//! The records of the sandbox.

use std::collections::BTreeMap;

use entity::account::{self, TransfersSchedule};
use entity::card_attack::{CardTestingAction, CardTestingRule, CardTestingSettings};
use entity::failure::Decline;
use entity::{AccountToken, AcquirerFaults, Probability};
use macros::view;
use serde::Serialize;
use utoipa::openapi::schema::{ObjectBuilder, RefBuilder, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use wallet::{WalletAToken, WalletGToken};

use crate::services::sandbox::params::{WalletType, drop_rate_schema, gateway_error_rate_schema};

/// The faults of the account's simulated acquirer.
#[view]
pub struct Faults {
    /// The delay of each of the acquirer's answers, in milliseconds.
    #[schema(minimum = 0, maximum = 30_000, example = 0)]
    latency_ms: i64,
    /// The code with which every attempt on a card is declined; null if none is.
    decline: Option<Decline>,
    /// The share of calls that fail before anything happens.
    #[schema(schema_with = gateway_error_rate_schema)]
    gateway_error_rate: Probability,
    /// The share of calls that are done but lose their answer.
    #[schema(schema_with = drop_rate_schema)]
    drop_rate: Probability,
    /// The seed of the faults: the same seed repeats them.
    #[schema(example = 42)]
    seed: i64,
}

impl From<AcquirerFaults> for Faults {
    fn from(faults: AcquirerFaults) -> Self {
        let AcquirerFaults { latency_ms, decline, gateway_error_rate, drop_rate, seed } = faults;
        Self { latency_ms, decline, gateway_error_rate, drop_rate, seed }
    }
}

/// The switches and settings of the account.
#[view(of(&account::Model))]
#[expect(clippy::struct_excessive_bools, reason = "switches of the account, each independent of the others")]
pub struct SandboxAccount {
    /// Whether the disputes API is enabled.
    disputes: bool,
    /// Whether the wallet API is enabled.
    wallet: bool,
    /// Whether the account manages an approved partner and may use the merchants API.
    partner: bool,
    /// Whether transfers are enabled.
    transfers_enabled: bool,
    /// How often available money is transferred to the bank account.
    transfers_schedule: TransfersSchedule,
    /// The days until captured money is available.
    #[schema(example = 5)]
    settlement_delay_days: i32,
    /// What the account does about card testing.
    #[shows(row.card_testing().into())]
    card_testing: CardTesting,
    /// Whether unknown parameters are refused.
    #[shows(row.strict_parameters.unwrap_or_default())]
    strict_parameters: bool,
}

/// What an account does about card testing, and the thresholds of its rules.
#[view]
pub struct CardTesting {
    /// What is done about card testing.
    action: CardTestingAction,
    /// The declines in a row of one network at which an attack begins.
    network_declines: i64,
    /// The declined cards of one network at which an attack begins.
    network_cards: i64,
    /// The declines in a row of one card at which an attack begins.
    card_declines: i64,
    /// The declined cards of one customer at which an attack begins.
    customer_cards: i64,
    /// The cards declined for small amounts, of the whole account, at which an attack begins.
    account_cards: i64,
}

impl From<CardTestingSettings> for CardTesting {
    fn from(settings: CardTestingSettings) -> Self {
        Self {
            // Only a test server has a sandbox.
            action: settings.action.unwrap_or(CardTestingAction::Off),
            network_declines: settings.threshold(CardTestingRule::NetworkDeclines),
            network_cards: settings.threshold(CardTestingRule::NetworkCards),
            card_declines: settings.threshold(CardTestingRule::CardDeclines),
            customer_cards: settings.threshold(CardTestingRule::CustomerCards),
            account_cards: settings.threshold(CardTestingRule::AccountCards),
        }
    }
}

/// An account and its pair of keys, shown this once.
#[view(secret)]
pub struct SandboxKeys {
    /// The account's token, `acct_...`.
    pub token: AccountToken,
    /// The secret key, for servers.
    #[schema(example = "w9iIDc3tTfOmFqVkmnpXlA")]
    pub secret_key: String,
    /// The publishable key, for browsers.
    #[schema(example = "pk_Yq0rQmvbQ0mF9QhJ9iVt7w")]
    pub publishable_key: String,
}

/// A wallet's payment token as a device makes it: the parameters of POST /payment_sources.
#[view]
pub struct WalletPayload {
    /// The wallet of the device.
    pub r#type: WalletType,
    /// The payment token, really encrypted and signed, as a payment source takes it.
    #[schema(schema_with = wallet_source_schema)]
    pub source: WalletSource,
}

/// Returns the schema that a request has for it, so that clients have one type for both.
fn wallet_source_schema() -> Ref {
    RefBuilder::new()
        .ref_location_from_schema_name("PaymentSourceSource")
        .description(Some("The payment token, really encrypted and signed, as a payment source takes it."))
        .build()
}

/// The payment token of a wallet.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum WalletSource {
    /// For walletA.
    WalletA(WalletAToken),
    /// For walletG.
    WalletG(WalletGToken),
}

/// The values of a state, for the verifier's requests, by the names that they have in paths.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct ProviderStateValues(pub BTreeMap<&'static str, String>);

impl ProviderStateValues {
    /// The names, each with a sentence. A state has some of them.
    const NAMES: [(&str, &str); 12] = [
        ("auth_token", "The token of the authorisation."),
        ("card_token", "The token of the card."),
        ("charge_token", "The token of the charge."),
        ("customer_token", "The token of the customer."),
        ("deposit_token", "The token of the deposit."),
        ("dispute_token", "The token of the dispute."),
        ("plan_token", "The token of the plan."),
        ("recipient_token", "The token of the recipient."),
        ("redirect_url", "The page on which the cardholder verifies the payment."),
        ("refund_token", "The token of the refund."),
        ("sub_token", "The token of the subscription."),
        ("transfer_token", "The token of the transfer."),
    ];
}

impl ToSchema for ProviderStateValues {}

impl PartialSchema for ProviderStateValues {
    fn schema() -> RefOr<Schema> {
        let text = |about: &str| {
            let absent = format!("{about} It is absent where the state has none.");
            ObjectBuilder::new().schema_type(Type::String).description(Some(absent))
        };
        let values = Self::NAMES
            .iter()
            .fold(ObjectBuilder::new(), |values, (name, about)| values.property(*name, text(about)));
        values.description(Some("The values of a state, for the verifier's requests.")).into()
    }
}
