//! Accounts: one merchant in one environment, the tenant of every row (decisions 2).

use sea_orm::entity::prelude::*;

use crate::merchant::MerchantStatus;
use crate::{AccountToken, BankAccountToken, JsonText, TimeSpan, Timestamp};

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
    /// When settlement pays out next, by the account's clock; null where it never does.
    pub settles_at: Option<Timestamp>,
    /// The account's own bank account, if it has one.
    pub bank_account_id: Option<BankAccountToken>,
    /// What a transfer to somebody else costs, in AUD cents.
    pub third_party_transfer_fee: i64,
    /// Days from a capture to the day its entitlement becomes available.
    pub settlement_delay_days: i32,
    /// The largest charge, in AUD cents.
    pub maximum_charge_cents: i64,
    /// The merchant's pricing table, as the API shows it.
    pub pricing: JsonText,
    /// How far the account's clock runs ahead of the wall clock; never falls (decisions 13).
    pub clock_offset: TimeSpan,
    /// The number of the clock's last move, which may go on. Never falls: a snapshot that is put back raises it.
    pub clock_moves: i32,
    /// Until when that move has the clock to itself, by the wall clock; null when it has ended.
    pub moving_until: Option<Timestamp>,
    /// When events and webhooks may have been kept long enough, by the account's clock.
    pub purge_at: Timestamp,
    /// The account that made this one, in the sandbox.
    pub made_by: Option<AccountToken>,
    /// The partner whose merchant it is; a merchant without a partner here names itself, other accounts nobody.
    pub referred_by: Option<AccountToken>,
    /// What the operator has decided about the merchant; every other account is active.
    pub status: MerchantStatus,
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

impl TransfersSchedule {
    /// When settlement is due next after an instant: a midnight of UTC.
    pub fn next_after(self, now: Timestamp) -> Option<Timestamp> {
        /// Of days since the epoch, which was a Thursday.
        const FIRST_MONDAY: i32 = 4;
        let midnight = now.last_midnight();
        let days_since_monday = (midnight.day().number() - FIRST_MONDAY).rem_euclid(7);
        match self {
            Self::Daily => Some(midnight + TimeSpan::days(1)),
            Self::Weekly => Some(midnight + TimeSpan::days(7 - i64::from(days_since_monday))),
            Self::Manual => None,
        }
    }
}

/// None: tables are read from the account, not walked.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl Model {
    /// What the account's clock shows when the wall clock shows `wall`. It goes by the second, as the API shows times: what
    /// is due at a time that was shown is due when the clock shows it.
    pub fn now(&self, wall: Timestamp) -> Timestamp {
        (wall + self.clock_offset).last_second()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settlement_is_due_at_the_next_midnight_or_the_next_monday() {
        // 2026-03-02 is a Monday.
        let monday = Timestamp::from_millis(1_772_409_600_000);
        assert_eq!(monday.to_string(), "2026-03-02T00:00:00Z");
        let second = TimeSpan::seconds(1);
        for (schedule, now, due) in [
            (TransfersSchedule::Daily, monday, Some(monday + TimeSpan::days(1))),
            (TransfersSchedule::Daily, monday - second, Some(monday)),
            (TransfersSchedule::Weekly, monday, Some(monday + TimeSpan::days(7))),
            (TransfersSchedule::Weekly, monday + second, Some(monday + TimeSpan::days(7))),
            (TransfersSchedule::Weekly, monday - second, Some(monday)),
            (TransfersSchedule::Weekly, monday - TimeSpan::days(6), Some(monday)),
            (
                TransfersSchedule::Weekly,
                Timestamp::from_millis(0),
                Some(Timestamp::from_millis(0) + TimeSpan::days(4)),
            ),
            (TransfersSchedule::Manual, monday, None),
        ] {
            assert_eq!(schedule.next_after(now), due, "{schedule:?} {now}");
        }
    }
}
