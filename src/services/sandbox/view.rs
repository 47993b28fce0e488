//! The records of the sandbox.

use entity::account::{self, TransfersSchedule};
use entity::card_attack::{CardTestingAction, CardTestingRule, CardTestingSettings};
use entity::failure::Decline;
use entity::{AccountToken, AcquirerFaults, Probability};
use macros::view;
use serde::Serialize;
use utoipa::ToSchema;

use crate::services::sandbox::params::{WalletType, chance_schema};
use crate::wallet::{WalletAToken, WalletGToken};

/// Faults of the account's acquirer.
#[view]
pub struct Faults {
    /// The delay of each answer, in milliseconds.
    #[schema(minimum = 0, maximum = 30_000, example = 0)]
    latency_ms: i64,
    /// The decline code of every attempt on a card.
    #[schema(value_type = Option<String>, example = "insufficient_funds")]
    decline: Option<Decline>,
    /// The share of calls that fail before anything happens.
    #[schema(schema_with = chance_schema)]
    gateway_error_rate: Probability,
    /// The share of calls that are done but lose their answer.
    #[schema(schema_with = chance_schema)]
    drop_rate: Probability,
    /// The seed: the same one gives the same run.
    #[schema(example = 42)]
    seed: i64,
}

impl From<AcquirerFaults> for Faults {
    fn from(faults: AcquirerFaults) -> Self {
        let AcquirerFaults { latency_ms, decline, gateway_error_rate, drop_rate, seed } = faults;
        Self { latency_ms, decline, gateway_error_rate, drop_rate, seed }
    }
}

/// Switches and settings of the account.
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
    /// `daily`, `weekly` or `manual`.
    #[schema(value_type = String, example = "manual")]
    transfers_schedule: TransfersSchedule,
    /// Days until captured money is available.
    #[schema(example = 5)]
    settlement_delay_days: i32,
    #[shows(row.card_testing().into())]
    card_testing: CardTesting,
}

/// What is done about card testing, as the parameters say.
#[view]
pub struct CardTesting {
    #[schema(value_type = String)]
    action: CardTestingAction,
    network_declines: i64,
    network_cards: i64,
    card_declines: i64,
    customer_cards: i64,
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
    /// `acct_...`
    pub token: AccountToken,
    /// The secret key, for servers.
    #[schema(example = "w9iIDc3tTfOmFqVkmnpXlA")]
    pub secret_key: String,
    /// The publishable key, for browsers.
    #[schema(example = "pk_Yq0rQmvbQ0mF9QhJ9iVt7w")]
    pub publishable_key: String,
}

/// A wallet payload as a device makes it: parameters of POST /payment_sources.
#[view]
pub struct WalletPayload {
    /// `walletApay` or `walletGpay`.
    #[schema(value_type = String, example = "walletGpay")]
    pub r#type: WalletType,
    /// The payload, really encrypted and signed.
    pub source: WalletSource,
}

/// The payload of a wallet.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum WalletSource {
    /// For walletA.
    WalletA(WalletAToken),
    /// For walletG.
    WalletG(WalletGToken),
}
