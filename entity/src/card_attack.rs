//! Card testing: fraudsters who try stolen cards with small payments (`docs/decisions.md`, 387). The rules that notice it, an
//! account's settings of them, and the attacks that were noticed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AccountToken, TimeSpan, Timestamp};

table! {
    /// The last attack by one subject that a rule noticed.
    "card_attacks" [account_id: AccountToken, rule: CardTestingRule, subject: String] {
        began_at: Timestamp,
        /// From then on the subject's payments are no longer part of the attack.
        ends_at: Timestamp,
        /// The number of payments that were refused since the attack began.
        refused: i64,
        /// By the wall clock: when copies of the server learn of it.
        recorded_at: Timestamp,
    }
}

string_enum! {
    /// What an account does about card testing.
    pub closed enum CardTestingAction {
        /// Nothing is counted.
        Off "off",
        /// Attacks are noticed, and nothing is refused.
        Report "report",
        /// Payments of an attack fail with `suspected_fraud`, and the acquirer is not called.
        Refuse "refuse",
    }
}

string_enum! {
    /// A rule that notices an attack.
    pub enum CardTestingRule {
        /// One network has nothing but declines.
        NetworkDeclines "network_declines",
        /// Many cards of one network are declined.
        NetworkCards "network_cards",
        /// One card has nothing but declines: somebody guesses its code or expiry.
        CardDeclines "card_declines",
        /// Many cards of one customer are declined.
        CustomerCards "customer_cards",
        /// Many cards of an account are declined for small amounts, from wherever.
        AccountCards "account_cards",
    }
}

/// The payments that a rule counts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardTestingSubject {
    /// Those from one network: the first 24 bits of an IPv4 address, the first 48 of an IPv6 address.
    Network,
    /// Those by one card number.
    Card,
    /// Those by cards of one customer.
    Customer,
    /// All of the account.
    Account,
}

/// The things that a rule counts in its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardTestingCount {
    /// Declines since the last approval.
    DeclinesInRow,
    /// Different cards that were declined, if they are more than the approvals.
    DeclinedCards,
}

/// The terms of a rule.
#[derive(Debug, Clone, Copy)]
pub struct CardTestingTerms {
    /// The payments that are counted together.
    pub subject: CardTestingSubject,
    /// The things that are counted.
    pub count: CardTestingCount,
    /// The count at which an attack begins, unless the account has another one.
    pub threshold: i64,
    /// The time in which it is counted, and how long an attack lasts, by the account's clock.
    pub window: TimeSpan,
    /// Only amounts below this are counted, in AUD cents.
    pub below: Option<i64>,
    /// Whether payments of the attack may be refused. Otherwise the attack is reported, and for small amounts halves the
    /// thresholds of the other rules.
    pub may_refuse: bool,
}

/// Amounts below this are small, in AUD cents: card testers hide behind them.
pub const SMALL_AMOUNT_CENTS: i64 = 500;

impl CardTestingRule {
    /// Returns what the rule says: the table of all rules.
    pub const fn terms(self) -> CardTestingTerms {
        use CardTestingCount::{DeclinedCards, DeclinesInRow};
        use CardTestingSubject::{Account, Card, Customer, Network};

        const HOUR: TimeSpan = TimeSpan::seconds(3600);
        const TEN_MINUTES: TimeSpan = TimeSpan::seconds(600);
        let (subject, count, threshold, window, below, may_refuse) = match self {
            Self::NetworkDeclines => (Network, DeclinesInRow, 10, HOUR, None, true),
            Self::NetworkCards => (Network, DeclinedCards, 15, HOUR, None, true),
            Self::CardDeclines => (Card, DeclinesInRow, 10, HOUR, None, true),
            Self::CustomerCards => (Customer, DeclinedCards, 5, HOUR, None, true),
            Self::AccountCards => (Account, DeclinedCards, 20, TEN_MINUTES, Some(SMALL_AMOUNT_CENTS), false),
        };
        CardTestingTerms { subject, count, threshold, window, below, may_refuse }
    }
}

/// An account's own settings of card testing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardTestingSettings {
    /// The action of the account; `None` for that of its environment.
    pub action: Option<CardTestingAction>,
    /// The thresholds that differ from the rules'; a rule with 0 is off.
    pub thresholds: BTreeMap<CardTestingRule, i64>,
}

impl CardTestingSettings {
    /// Returns the account's threshold of a rule.
    pub fn threshold(&self, rule: CardTestingRule) -> i64 {
        self.thresholds.get(&rule).copied().unwrap_or(rule.terms().threshold)
    }
}
