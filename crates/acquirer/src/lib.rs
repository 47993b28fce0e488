//! Acquirers, which move the money: the trait, a [`simulator`] with its [`test_cards`], both ends of the protocol of a remote one
//! ([`http`]), and the [`statement`]s of what was moved. It knows `base`, `outbound`, `recording` and types of `entity`, and no rule of
//! payments.
//!
//! Every call carries a key. A call that is repeated under its key acts once and answers alike. A call without an
//! answer is settled by its key; settling closes the key, so that the acquirer refuses a call that arrives later.

pub mod http;
pub mod limits;
mod outcome;
pub mod simulator;
pub mod statement;
pub mod test_cards;

use std::fmt;

use entity::Currency;
use entity::Rate;
use entity::Scheme;
use entity::failure::Decline;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};

pub use self::outcome::{Aftermath, Fault, SANDBOX_WORDS, SimulatedOutcome};
use base::card_number::CardNumber;
use base::secret::Secret;

/// The operations of every acquirer. No transaction is open during a call.
pub trait Acquirer: Send + Sync + 'static {
    /// The acquirer's name.
    fn name(&self) -> &str;

    /// Returns whether a call is answered at its first poll or never, so that callers need not wait.
    fn answers_at_once(&self) -> bool {
        false
    }

    /// Returns whether the acquirer has answered since the process began. May wait as long as a call may take.
    fn is_known(&self) -> BoxFuture<'_, bool> {
        ready(true).boxed()
    }

    /// Returns the schemes' data about a card number; `None` where this acquirer does not take it.
    fn card<'a>(&'a self, number: &'a CardNumber) -> BoxFuture<'a, Result<Option<CardInfo>, NoAnswer>>;

    /// Returns the current value of a currency's unit in AUD; `None` where this acquirer does not take the currency.
    fn rate(&self, currency: Currency) -> BoxFuture<'_, Result<Option<Rate>, NoAnswer>>;

    /// Reserves an amount on a card, or takes it at once.
    fn authorise(&self, call: AuthoriseCall) -> BoxFuture<'_, Result<Approval, Failure>>;

    /// Answers the same call at once, where it is certain that the answer comes, and that nothing outside of this process learns of
    /// it: then there is nothing to recover. `None` has the call made by [`Self::authorise`].
    fn authorise_here(&self, _call: &AuthoriseCall) -> Option<Result<Approval, Decline>> {
        None
    }

    /// Takes reserved money, or a part of it; the rest is released.
    fn capture(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>>;

    /// Releases reserved money.
    fn void(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>>;

    /// Gives taken money back. The answer means accepted; the money moves later.
    fn refund(&self, call: FollowUpCall) -> BoxFuture<'_, Result<RefundAnswer, Failure>>;

    /// Closes the key of a creation: undoes a known one; an unknown one is refused for ever after.
    fn reverse(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>>;

    /// Closes a key and lets its call stand: reports a done call as done; an unknown one is refused for ever after.
    fn settle(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>>;

    /// Returns whether the holder of a simulated card disputes the charge as soon as it is captured. A real acquirer cannot
    /// foretell that.
    fn is_disputed_once_captured(&self, _reference: &str) -> bool {
        false
    }
}

/// A card's data, known before it is charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardInfo {
    /// The network that carries its payments.
    pub scheme: Scheme,
    /// ISO 3166-1, two letters.
    pub issuing_country: String,
    /// Whether the card is enrolled: its issuer challenges the holder.
    pub three_d_secure: bool,
}

/// The key that identifies a call at the acquirer, for ever.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey(String);

impl CallKey {
    /// Builds the key of one action of an attempt. An attempt can take several actions, each once.
    pub fn new(attempt: impl fmt::Display, action: &str) -> Self {
        Self(format!("{attempt}:{action}"))
    }

    /// Parses a key: 1 to 255 visible characters.
    pub fn named(text: &str) -> Option<Self> {
        let is_key = (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_key.then(|| Self(text.to_owned()))
    }

    /// The text, for the wire of an adapter.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A request for money from a card.
#[derive(Clone, Debug)]
pub struct AuthoriseCall {
    /// Under one key the acquirer acts once, however often it is asked.
    pub key: CallKey,
    /// Digits only, as [`CardNumber::digits`] gives them.
    pub number: Secret,
    /// Absent after the first use: the card of a customer.
    pub cvc: Option<Secret>,
    /// 1 to 12.
    pub expiry_month: i32,
    /// Four digits.
    pub expiry_year: i32,
    /// Absent for wallet cards without a name.
    pub name: Option<String>,
    /// In base units of the currency.
    pub amount: i64,
    /// ISO 4217.
    pub currency: Currency,
    /// Whether to take the money at once, or only to reserve it.
    pub capture: bool,
    /// The merchant's reference, passed on.
    pub reference: Option<String>,
    /// The proof of a wallet or network token, in place of a security code.
    pub network: Option<NetworkProof>,
    /// The outcome that the sandbox forces on this attempt; real acquirers ignore it.
    pub forced: Option<SimulatedOutcome>,
}

/// The scheme's proof that the holder approved this very payment on a device.
#[derive(Clone, Debug)]
pub struct NetworkProof {
    /// Electronic commerce indicator.
    pub eci: Option<String>,
    /// Valid for one payment.
    pub cryptogram: Secret,
}

/// A capture, void or refund of an approved payment.
#[derive(Clone, Debug)]
pub struct FollowUpCall {
    /// Under one key the acquirer acts once, however often it is asked.
    pub key: CallKey,
    /// As the approval gave it.
    pub reference: String,
    /// In base units of the currency.
    pub amount: i64,
    /// That of the approval.
    pub currency: Currency,
    /// The fault that the sandbox forces on this call; real acquirers ignore it.
    pub fault: Option<Fault>,
}

/// The issuer's approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The acquirer's reference, which names the payment in later calls.
    pub reference: String,
}

/// The outcome that an accepted refund will have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundAnswer {
    /// The holder gets the money.
    Succeeds,
    /// The issuer sends it back.
    Fails,
}

/// The reason why a call was not done, or not known to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The issuer refused. Final.
    Declined(Decline),
    /// Something between here and the issuer failed before anything happened. Final.
    GatewayError,
    /// Anything may have happened: the caller has to settle the key.
    NoAnswer,
    /// The key was settled before this call arrived, so nothing happened.
    Closed,
}

/// The outcome of a settled or reversed key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The call had been done.
    Done {
        /// The payment's reference: all that a renewal whose answer was lost needs to be recorded.
        reference: String,
    },
    /// The call was never done and never will be.
    NotDone,
}

/// The acquirer did not answer: ask again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAnswer;
