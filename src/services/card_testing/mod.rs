//! Card testing: fraudsters try stolen cards with small payments. The rules are a table
//! ([`CardTestingRule::terms`], `docs/decisions.md`, 387).
//!
//! Each process counts the results of its own payments in memory (`memory/card_testing`), by the account's clock. So a payment
//! takes no statement more, and a process that starts counts from nothing. Processes share the attacks that a rule has noticed
//! (`attacks.rs`): a worker writes them and reads those of other copies every second, and a process that starts reads those that last.

mod attacks;

pub use attacks::{forget, list, old, synchronise};

use base::client_network::ClientNetwork;
use base::secret::Secret;
use entity::card_attack::{
    CardTestingAction, CardTestingRule, CardTestingSettings, CardTestingSubject, SMALL_AMOUNT_CENTS,
};
use entity::charge::{self, Origin};
use entity::{AccountToken, CustomerToken, FailureCode, Timestamp};

use super::context::{Account, Context};
use super::due_work::work_time::WorkTime;
use super::memory::card_testing::{
    Attempt, CardHash, CardTestingMemory, CountedSubject, Subject, cardholders_network,
};
use crate::config::Environment;

/// The counter of what the rules do, by `rule` and `action`: an attack `began`, a payment of it was `refused`, or only
/// `reported`.
pub const METRIC: &str = "card_payments_card_testing_total";
/// The values of `action`.
pub const ACTIONS: [&str; 3] = [BEGAN, REFUSED, REPORTED];
const BEGAN: &str = "began";
const REFUSED: &str = "refused";
const REPORTED: &str = "reported";

/// Returns what an account does about card testing: in live it refuses, in test it does nothing, unless it is set.
pub fn action(environment: Environment, settings: &CardTestingSettings) -> CardTestingAction {
    settings.action.unwrap_or(match environment {
        Environment::Live => CardTestingAction::Refuse,
        Environment::Test => CardTestingAction::Off,
    })
}

/// A payment whose result is counted.
pub(in crate::services) struct WatchedPayment {
    account: AccountToken,
    action: CardTestingAction,
    settings: CardTestingSettings,
    now: Timestamp,
    network: Option<ClientNetwork>,
    card: CardHash,
    customer: Option<CustomerToken>,
    /// AUD cents.
    amount: i64,
}

impl WatchedPayment {
    /// Makes the watched payment of an intent; `None` if the account has it off.
    pub fn new(ctx: &Context, time: &WorkTime, row: &charge::Model, number: &Secret) -> Option<Self> {
        let settings = time.account().settings().card_testing();
        let action = action(ctx.environment, &settings);
        if action == CardTestingAction::Off {
            return None;
        }
        // A subscription's first charge has the address from which its customer was created: that of the merchant's server.
        let is_named = row.origin != Origin::Subscription;
        let network = is_named.then(|| cardholders_network(&row.ip_address)).flatten();
        Some(Self {
            account: row.account_id,
            action,
            settings,
            now: time.now(ctx),
            network,
            card: CardHash::hashing(&ctx.vault, row.account_id, number),
            customer: row.customer_id,
            amount: row.settlement_amount,
        })
    }

    /// Returns whether the payment belongs to an attack and has to fail with `suspected_fraud`.
    pub fn is_refused(&self, ctx: &Context) -> bool {
        let mut memory = ctx.memory.card_testing.lock();
        if !memory.attacks.has(self.account) {
            return false;
        }
        self.counted().any(|(rule, subject, _)| {
            let Some(attack) = memory.attacks.active((self.account, rule, subject), self.now) else {
                return false;
            };
            let refuses = rule.terms().may_refuse && self.action == CardTestingAction::Refuse;
            count_metric(rule, if refuses { REFUSED } else { REPORTED });
            attack.count_refused(i64::from(refuses));
            refuses
        })
    }

    /// Counts the result: an approval, or a failure.
    pub fn record(&self, ctx: &Context, failure: Option<FailureCode>) {
        if failure.is_some_and(|failure| !is_of_card(failure)) {
            return;
        }
        let attempt = Attempt { at: self.now, card: self.card, is_declined: failure.is_some() };
        let begun = self.count(&mut ctx.memory.card_testing.lock(), attempt, ctx.clock.now());
        for rule in begun {
            count_metric(rule, BEGAN);
            tracing::warn!(account = %self.account, rule = rule.code(), "card testing was noticed");
        }
    }

    /// Counts an attempt and returns the rules that notice an attack by it.
    fn count(
        &self,
        memory: &mut CardTestingMemory,
        attempt: Attempt,
        wall: Timestamp,
    ) -> Vec<CardTestingRule> {
        let account_wide = (self.account, CardTestingRule::AccountCards, Subject::Account);
        let is_strict =
            self.amount < SMALL_AMOUNT_CENTS && memory.attacks.active(account_wide, self.now).is_some();
        let reached = self.counted().filter(|&(rule, subject, threshold)| {
            let key = (self.account, rule, subject);
            if memory.attacks.active(key, self.now).is_some() {
                return false;
            }
            let terms = rule.terms();
            let threshold = if is_strict && terms.may_refuse { (threshold + 1) / 2 } else { threshold };
            let begins = memory.windows.count(key, attempt) >= threshold
                && memory.attacks.begin(key, (self.now, self.now + terms.window), wall);
            if begins {
                memory.windows.forget(&key);
            }
            begins
        });
        reached.map(|(rule, ..)| rule).collect()
    }

    /// Returns the rules that count this payment, with its subject and the account's threshold.
    fn counted(&self) -> impl Iterator<Item = (CardTestingRule, Subject, i64)> {
        CardTestingRule::ALL.iter().filter_map(|&rule| {
            let terms = rule.terms();
            let subject = match terms.subject {
                CardTestingSubject::Network => Subject::Network(self.network?),
                CardTestingSubject::Card => Subject::Card(self.card),
                CardTestingSubject::Customer => Subject::Customer(self.customer?),
                CardTestingSubject::Account => Subject::Account,
            };
            let threshold = self.settings.threshold(rule);
            let is_counted = threshold > 0 && terms.below.is_none_or(|below| self.amount < below);
            is_counted.then_some((rule, subject, threshold))
        })
    }
}

/// Returns whether a failure says something about the card. Failures of the acquirer itself are nobody's attack.
fn is_of_card(failure: FailureCode) -> bool {
    match failure {
        FailureCode::CardDeclined
        | FailureCode::InsufficientFunds
        | FailureCode::InvalidCvv
        | FailureCode::InvalidCard
        | FailureCode::SuspectedFraud
        | FailureCode::ExpiredCard
        | FailureCode::LostCard
        | FailureCode::StolenCard
        | FailureCode::Unknown => true,
        FailureCode::ProcessingError | FailureCode::GatewayError | FailureCode::ThreeDSecureNotCompleted => {
            false
        }
    }
}

fn count_metric(rule: CardTestingRule, action: &'static str) {
    metrics::counter!(METRIC, "rule" => rule.code(), "action" => action).increment(1);
}

/// Returns what this process counts of the account, the highest counts first, at most `limit` of them.
pub fn counted(ctx: &Context, account: &Account, limit: usize) -> Vec<CountedSubject> {
    let mut counted = ctx.memory.card_testing.lock().windows.counts_of(account.id(), account.now);
    counted.sort_by_key(|one| (std::cmp::Reverse(one.count), one.rule));
    counted.truncate(limit);
    counted
}
