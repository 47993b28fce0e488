//! Accounts: one merchant in one environment, the tenant of every row (`docs/decisions.md`, 54).

use crate::card_attack::CardTestingSettings;
use crate::merchant::MerchantStatus;
use crate::{AccountToken, BankAccountToken, JsonText, TimeSpan, Timestamp};

table! {
    /// One account with its switches and settings (`docs/decisions.md`, 222).
    "accounts" [id: AccountToken] {
        /// The name that customers know.
        business_name: String,
        /// The address for the operator's letters.
        email: String,
        /// Manages an approved partner: may use the merchants API.
        partner: bool,
        /// The disputes API is enabled.
        disputes: bool,
        /// The wallet API is enabled.
        wallet: bool,
        /// POST /transfers is allowed.
        transfers_enabled: bool,
        transfers_schedule: TransfersSchedule,
        /// The next settlement; null if there is none.
        settles_at: Option<Timestamp>,
        /// The account's own bank account.
        bank_account_id: Option<BankAccountToken>,
        /// The fee of a transfer to a recipient, in AUD cents.
        third_party_transfer_fee: i64,
        /// Days from a capture to the day its entitlement becomes available.
        settlement_delay_days: i32,
        /// The largest charge, in AUD cents.
        maximum_charge_cents: i64,
        /// The merchant's pricing table, as the API shows it.
        pricing: JsonText,
        /// The lead of the account's clock over the wall clock; never falls (`docs/decisions.md`, 290).
        clock_offset: TimeSpan,
        /// The number of the clock's last move, which may be in flight. Never falls: a restored snapshot raises it.
        clock_moves: i32,
        /// The end of that move's lease of the clock, by the wall clock; null when it has ended.
        moving_until: Option<Timestamp>,
        /// The next purge of old events and webhooks.
        purge_at: Timestamp,
        /// The account that made this one, in the sandbox.
        made_by: Option<AccountToken>,
        /// The partner of a merchant; a merchant without a partner in this environment names itself. Null for other accounts.
        referred_by: Option<AccountToken>,
        /// The operator's decision about the merchant; every other account is active.
        status: MerchantStatus,
        /// [`crate::AcquirerFaults`] ordered in the sandbox.
        acquirer_faults: Option<JsonText>,
        /// The number of calls that have drawn their fault since these were ordered.
        acquirer_calls: i64,
        /// The account's own [`CardTestingSettings`].
        card_testing: Option<JsonText>,
        /// Whether unknown parameters are refused unless a request prefers otherwise; null if nobody has said so.
        strict_parameters: Option<bool>,
        /// The deletion, by the wall clock. From then on its keys open nothing, and its rows go.
        closed_at: Option<Timestamp>,
        /// The next step of a deletion, by the wall clock.
        wipe_at: Option<Timestamp>,
        created_at: Timestamp,
    }
}

string_enum! {
    /// How often an account's available money is transferred to its bank account.
    pub closed enum TransfersSchedule {
        /// Every day at 00:00 UTC.
        Daily "daily",
        /// Every Monday at 00:00 UTC.
        Weekly "weekly",
        /// Only by POST /transfers.
        Manual "manual",
    }
}

impl TransfersSchedule {
    /// Returns the next settlement after an instant: a midnight of UTC.
    pub fn next_after(self, now: Timestamp) -> Option<Timestamp> {
        /// The day's number; the epoch was a Thursday.
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

impl Model {
    /// Returns the account's time at the wall clock's `wall`, in whole seconds as the API shows times: work that is due at a
    /// time shown is due when the clock shows it.
    pub fn now(&self, wall: Timestamp) -> Timestamp {
        (wall + self.clock_offset).last_second()
    }

    /// Returns the account's own settings of card testing.
    pub fn card_testing(&self) -> CardTestingSettings {
        let own = self.card_testing.as_ref().and_then(|own| serde_json::from_str(own.as_str()).ok());
        own.unwrap_or_default()
    }
}
