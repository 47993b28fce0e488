//! Accounts as operators see them.

use std::fmt;

use base::plain_text::OneLine;
use entity::account::{self, TransfersSchedule};
use entity::card_attack::{CardTestingAction, CardTestingSettings};
use entity::{AccountToken, JsonText, Timestamp};
use serde::Serialize;

/// An account and its pair of keys, shown this once.
#[derive(Clone, Serialize)]
pub struct AccountKeys {
    /// `acct_...`
    pub token: AccountToken,
    pub business_name: String,
    /// The secret key, for servers.
    pub secret_key: String,
    /// The publishable key, for browsers.
    pub publishable_key: String,
}

impl fmt::Display for AccountKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({})", self.token, OneLine(&self.business_name))?;
        writeln!(f, "  secret key       {}", self.secret_key)?;
        write!(f, "  publishable key  {}", self.publishable_key)
    }
}

/// An account with its switches and effective settings.
#[derive(Debug, Clone, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "switches of the account, each independent of the others")]
pub struct AccountSettings {
    /// `acct_...`
    pub token: AccountToken,
    pub business_name: String,
    email: String,
    disputes: bool,
    wallet: bool,
    partner: bool,
    pricing: JsonText,
    third_party_transfer_fee: i64,
    maximum_charge_cents: i64,
    settlement_delay_days: i32,
    transfers_enabled: bool,
    transfers_schedule: TransfersSchedule,
    card_testing: CardTestingSettings,
    strict_parameters: bool,
    created_at: Timestamp,
}

impl From<account::Model> for AccountSettings {
    fn from(row: account::Model) -> Self {
        let card_testing = row.card_testing();
        Self {
            token: row.id,
            business_name: row.business_name,
            email: row.email,
            disputes: row.disputes,
            wallet: row.wallet,
            partner: row.partner,
            pricing: row.pricing,
            third_party_transfer_fee: row.third_party_transfer_fee,
            maximum_charge_cents: row.maximum_charge_cents,
            settlement_delay_days: row.settlement_delay_days,
            transfers_enabled: row.transfers_enabled,
            transfers_schedule: row.transfers_schedule,
            card_testing,
            strict_parameters: row.strict_parameters.unwrap_or_default(),
            created_at: row.created_at,
        }
    }
}

impl fmt::Display for AccountSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |on: bool| if on { "on" } else { "off" };
        let Self { disputes, wallet, partner, transfers_enabled, .. } = *self;
        let (name, email) = (OneLine(&self.business_name), OneLine(&self.email));
        writeln!(f, "{} {name} <{email}>, made {}", self.token, self.created_at)?;
        writeln!(
            f,
            "  disputes {}, wallet {}, partner {}, transfers {} ({}), money available after {} days",
            word(disputes),
            word(wallet),
            word(partner),
            word(transfers_enabled),
            self.transfers_schedule.code(),
            self.settlement_delay_days
        )?;
        writeln!(
            f,
            "  largest charge {} cents, transfer to somebody else {} cents",
            self.maximum_charge_cents, self.third_party_transfer_fee
        )?;
        let CardTestingSettings { action, thresholds } = &self.card_testing;
        write!(f, "  card testing {}", action.map_or("as the environment has it", CardTestingAction::code))?;
        for (rule, threshold) in thresholds {
            write!(f, ", {} {threshold}", rule.code())?;
        }
        writeln!(f)?;
        if self.strict_parameters {
            writeln!(f, "  unknown parameters are refused")?;
        }
        write!(f, "  pricing {}", self.pricing.as_str())
    }
}
