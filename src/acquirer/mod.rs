//! The acquirer: whoever moves the money. One trait, spoken by the simulator and by real adapters alike.
//!
//! Every call carries a key. A call that is repeated under its key acts once and answers alike. A call without an
//! answer is settled by its key, and settling closes it: from then on a late arrival is refused.

pub mod http;
mod outcome;
pub mod simulator;
pub mod test_cards;

use std::fmt;

use entity::Currency;
use entity::Rate;
use entity::Scheme;
use entity::failure::Decline;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};

pub use self::outcome::{Aftermath, Fault, SimulatedOutcome};
use crate::sensitive::card_number::CardNumber;
use crate::sensitive::secret::Secret;

/// What every acquirer can do. No transaction is open during a call.
pub trait Acquirer: Send + Sync + 'static {
    /// What it is called.
    fn name(&self) -> &str;

    /// Whether its answers come at the first poll of a call or never: nobody need wait for them.
    fn answers_at_once(&self) -> bool {
        false
    }

    /// Whether it has been heard of since the process began. Who asks may wait for as long as a question may take.
    fn is_known(&self) -> BoxFuture<'_, bool> {
        ready(true).boxed()
    }

    /// What the schemes' directory knows of a number; `None` is a number that this acquirer does not take.
    fn card<'a>(&'a self, number: &'a CardNumber) -> BoxFuture<'a, Result<Option<CardInfo>, NoAnswer>>;

    /// What a unit of the currency is worth in AUD now; `None` is a currency that this acquirer does not take.
    fn rate(&self, currency: Currency) -> BoxFuture<'_, Result<Option<Rate>, NoAnswer>>;

    /// Reserves an amount on a card, or takes it at once.
    fn authorise(&self, call: AuthoriseCall) -> BoxFuture<'_, Result<Approval, Failure>>;

    /// Takes what was reserved, or a part of it; the rest is released.
    fn capture(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>>;

    /// Releases what was reserved.
    fn void(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>>;

    /// Gives back what was taken. The answer means accepted; the money moves later.
    fn refund(&self, call: FollowUpCall) -> BoxFuture<'_, Result<RefundAnswer, Failure>>;

    /// Closes the key of a creation: a known one is undone, an unknown one is refused for ever after.
    fn reverse(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>>;

    /// Asks what became of a call and lets it stand: one that was done is done, an unknown key is closed.
    fn settle(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>>;

    /// Whether the holder of a simulated card disputes the charge as soon as it is captured.
    /// A real acquirer cannot foretell that.
    fn is_disputed_once_captured(&self, _reference: &str) -> bool {
        false
    }
}

/// What is known of a card before it is charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardInfo {
    /// The network that carries its payments.
    pub scheme: Scheme,
    /// ISO 3166-1, two letters.
    pub issuing_country: String,
    /// Enrolled: its issuer challenges the holder.
    pub three_d_secure: bool,
}

/// What a call is known by at the acquirer, for ever.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey(String);

impl CallKey {
    /// One attempt can take several actions, each once.
    pub fn new(attempt: impl fmt::Display, action: &str) -> Self {
        Self(format!("{attempt}:{action}"))
    }

    /// The key that goes by this name: 1 to 255 visible characters.
    pub fn named(text: &str) -> Option<Self> {
        let is_key = (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_key.then(|| Self(text.to_owned()))
    }

    /// For the wire of an adapter.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Money is wanted from a card.
#[derive(Clone, Debug)]
pub struct AuthoriseCall {
    /// Names this call.
    pub key: CallKey,
    /// Digits only, as [`CardNumber::digits`] gives them.
    pub number: Secret,
    /// Absent once it was used: the card of a customer.
    pub cvc: Option<Secret>,
    /// 1 to 12.
    pub expiry_month: i32,
    /// Four digits.
    pub expiry_year: i32,
    /// Absent for cards of wallets that keep it to themselves.
    pub name: Option<String>,
    /// Base units of the currency.
    pub amount: i64,
    /// The currency of the amount.
    pub currency: Currency,
    /// Takes the money at once, or only reserves it.
    pub capture: bool,
    /// The merchant's own, passed on.
    pub reference: Option<String>,
    /// What a wallet or a network token proves instead of a security code.
    pub network: Option<NetworkProof>,
    /// What the sandbox ordered for this attempt; real acquirers ignore it.
    pub forced: Option<SimulatedOutcome>,
}

/// The scheme's proof that this very payment was approved on the holder's device.
#[derive(Clone, Debug)]
pub struct NetworkProof {
    /// Electronic commerce indicator.
    pub eci: Option<String>,
    /// Good for one payment.
    pub cryptogram: Secret,
}

/// A capture, void or refund of what was approved.
#[derive(Clone, Debug)]
pub struct FollowUpCall {
    /// Names this call.
    pub key: CallKey,
    /// The approval's.
    pub reference: String,
    /// Base units of the currency.
    pub amount: i64,
    /// The currency of the approval.
    pub currency: Currency,
    /// What the sandbox ordered for this call; real acquirers ignore it.
    pub fault: Option<Fault>,
}

/// The issuer agreed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The acquirer's own, by which later calls know the payment.
    pub reference: String,
}

/// How an accepted refund will settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundAnswer {
    /// The holder gets the money.
    Succeeds,
    /// The issuer sends it back.
    Fails,
}

/// Why a call was not done, or not known to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The issuer refused. Definite.
    Declined(Decline),
    /// Something between here and the issuer failed before anything happened. Definite.
    GatewayError,
    /// Anything may have happened: the key has to be settled.
    NoAnswer,
    /// The key was settled before this call arrived, so nothing happened.
    Closed,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It had been done.
    Done {
        /// The payment's: all that a renewal needs to stand whose answer was lost.
        reference: String,
    },
    /// It never was and never will be.
    NotDone,
}

/// The acquirer did not answer a question: ask again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAnswer;
