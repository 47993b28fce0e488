//! What the sandbox answers (decisions 12).

use entity::account::{self, TransfersSchedule};
use entity::failure::Decline;
use entity::{AccountToken, AcquirerFaults, Probability};
use macros::view;
use serde::Serialize;
use utoipa::ToSchema;

use crate::params::sandbox::{WalletType, chance_schema};
use crate::wallet::{WalletAToken, WalletGToken};

/// Faults of the account's acquirer.
#[view]
pub struct Faults {
    /// How much later each answer comes.
    #[schema(minimum = 0, maximum = 30_000, example = 0)]
    latency_ms: i64,
    /// The decline code that every attempt on a card gets.
    #[schema(value_type = Option<String>, example = "insufficient_funds")]
    decline: Option<Decline>,
    /// How many of the calls fail before anything happens.
    #[schema(schema_with = chance_schema)]
    gateway_error_rate: Probability,
    /// How many of the calls are done, and their answers lost.
    #[schema(schema_with = chance_schema)]
    drop_rate: Probability,
    /// The same seed gives the same run.
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
    /// The disputes API is enabled.
    disputes: bool,
    /// The wallet API is enabled.
    wallet: bool,
    /// Manages an approved partner: may use the merchants API.
    partner: bool,
    /// Money may be paid out.
    transfers_enabled: bool,
    /// `daily`, `weekly` or `manual`.
    #[schema(value_type = String, example = "manual")]
    transfers_schedule: TransfersSchedule,
    /// Days from a capture to the day its money becomes available.
    #[schema(example = 5)]
    settlement_delay_days: i32,
}

/// An account and the keys that open it, shown this once.
#[view(secret)]
pub struct SandboxKeys {
    /// `acct_...`
    pub token: AccountToken,
    /// For servers.
    #[schema(example = "w9iIDc3tTfOmFqVkmnpXlA")]
    pub secret_key: String,
    /// For browsers.
    #[schema(example = "pk_Yq0rQmvbQ0mF9QhJ9iVt7w")]
    pub publishable_key: String,
}

/// A payload as a device hands it over: parameters of POST /payment_sources.
#[view]
pub struct WalletPayload {
    /// `walletApay` or `walletGpay`.
    #[schema(value_type = String, example = "walletGpay")]
    pub r#type: WalletType,
    /// Really encrypted and signed.
    pub source: WalletSource,
}

/// What the type says.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum WalletSource {
    /// For a certificate.
    WalletA(WalletAToken),
    /// For the gateway.
    WalletG(WalletGToken),
}
