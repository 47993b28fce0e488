//! Accounts: one merchant in one environment, the tenant of every row (decisions 2).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, JsonText, Span, Timestamp};

/// One account with the switches and settings that govern it (decisions 10).
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "accounts")]
#[expect(clippy::struct_excessive_bools, reason = "switches of the account, each independent of the others")]
pub struct Model {
    /// The account's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: AccountToken,
    /// The name customers know.
    pub business_name: String,
    /// Where the operator writes to.
    pub email: String,
    /// Manages an approved partner: may use the merchants API.
    pub partner: bool,
    /// The disputes API is enabled.
    pub disputes: bool,
    /// The wallet API is enabled.
    pub wallet: bool,
    /// POST /transfers is allowed.
    pub transfers_enabled: bool,
    /// When settlement pays out.
    pub transfers_schedule: TransfersSchedule,
    /// Days from a capture to the day its entitlement becomes available.
    pub settlement_delay_days: i32,
    /// The largest charge, in AUD cents.
    pub maximum_charge_cents: i64,
    /// The merchant's pricing table, as the API shows it.
    pub pricing: JsonText,
    /// How far the account's clock runs ahead of the wall clock; never falls (decisions 13).
    pub clock_offset: Span,
    /// How often the clock was moved; the last of these moves may go on.
    pub clock_moves: i32,
    /// Until when that move has the clock to itself, by the wall clock; null when it has ended.
    pub moving_until: Option<Timestamp>,
    /// When events and webhooks may have been kept long enough, by the account's clock.
    pub purge_at: Timestamp,
    /// The account that made this one, in the sandbox.
    pub made_by: Option<AccountToken>,
    /// [`crate::AcquirerFaults`] that the sandbox has ordered; null where it never has.
    pub acquirer_faults: Option<JsonText>,
    /// How many calls have drawn their fault since these were ordered.
    pub acquirer_calls: i64,
    /// When it was deleted, by the wall clock: its keys open nothing, and its rows go.
    pub closed_at: Option<Timestamp>,
    /// When what is left of a deleted account goes next, by the wall clock.
    pub wipe_at: Option<Timestamp>,
    /// By the account's clock.
    pub created_at: Timestamp,
}

string_enum! {
    /// How often an account is paid out.
    pub enum TransfersSchedule {
        /// Every day at 00:00 UTC.
        Daily "daily",
        /// Every Monday at 00:00 UTC.
        Weekly "weekly",
        /// Only by POST /transfers.
        Manual "manual",
    }
}

/// None: tables are read from the account, not walked.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
