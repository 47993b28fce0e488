//! An acquirer in the process whose calls and answers are lost or late, as a test orders.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use acquirer::simulator::{Numbers, Simulator};
use acquirer::{
    Acquirer, Approval, AuthoriseCall, CallKey, CardInfo, Failure, Fault, FollowUpCall, NoAnswer,
    RefundAnswer, Settled, SimulatedOutcome,
};
use base::card_number::CardNumber;
use entity::failure::Decline;
use entity::{Currency, Rate};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Semaphore;

use super::app::{App, Database};
use super::fixtures::eventually;

/// How much of a call arrives.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum CallFault {
    /// The call and its answer.
    #[default]
    Both,
    /// The call alone: it is done, and the answer is lost.
    Call,
    /// Nothing: the call never arrives.
    Nothing,
    /// Both, but the answer only once [`FlakyAcquirer::release`] lets it go.
    AnswerLate,
    /// Both, but the call only once [`FlakyAcquirer::release`] lets it go.
    CallLate,
    /// Nothing: the acquirer refuses the call.
    Refusal,
    /// The call; the issuer declines.
    Decline,
}

/// The proof that came with a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    pub cvc: Option<String>,
    /// Indicator and cryptogram.
    pub network: Option<(Option<String>, String)>,
}

/// A simulator behind faults that a test orders.
pub struct FlakyAcquirer {
    simulator: Simulator,
    /// The fates of the next calls, before that of all others.
    first: Mutex<VecDeque<CallFault>>,
    carries: Mutex<CallFault>,
    settles: Mutex<bool>,
    held: Semaphore,
    calls: Mutex<Vec<String>>,
    done: Mutex<BTreeSet<String>>,
    settlings: AtomicUsize,
    references: Mutex<Vec<Option<String>>>,
    proofs: Mutex<Vec<Proof>>,
    dropped: Mutex<Option<Currency>>,
    is_silent: AtomicBool,
}

impl Default for FlakyAcquirer {
    fn default() -> Self {
        Self {
            simulator: Simulator::new(Numbers::TestCards),
            first: Mutex::default(),
            carries: Mutex::default(),
            settles: Mutex::new(true),
            held: Semaphore::new(0),
            calls: Mutex::default(),
            done: Mutex::default(),
            settlings: AtomicUsize::new(0),
            references: Mutex::default(),
            proofs: Mutex::default(),
            dropped: Mutex::default(),
            is_silent: AtomicBool::default(),
        }
    }
}

impl FlakyAcquirer {
    /// Starts a server with this acquirer, which waits long for late answers.
    pub async fn start(self: Arc<Self>, database: Database) -> Option<App> {
        App::start_with(database, self, Duration::from_secs(15)).await
    }

    /// Sets the fate of all later calls.
    pub fn carry(&self, carries: CallFault) {
        *self.carries.lock().unwrap() = carries;
    }

    /// Sets the fates of the next calls.
    pub fn carry_first<const N: usize>(&self, first: [CallFault; N]) {
        self.first.lock().unwrap().extend(first);
    }

    /// Sets whether later questions about lost calls are answered.
    pub fn settle(&self, answered: bool) {
        *self.settles.lock().unwrap() = answered;
    }

    /// Takes a currency no more.
    pub fn drop_currency(&self, currency: Currency) {
        *self.dropped.lock().unwrap() = Some(currency);
    }

    /// Answers no question about cards and rates any more.
    pub fn fall_silent(&self) {
        self.is_silent.store(true, Ordering::SeqCst);
    }

    /// Answers questions about cards and rates again.
    pub fn speak(&self) {
        self.is_silent.store(false, Ordering::SeqCst);
    }

    /// Lets one late call or answer go; they go in the order of their calls.
    pub fn release(&self) {
        self.held.add_permits(1);
    }

    /// Returns the keys of the calls so far.
    pub fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    /// Returns the keys of the calls that were done and not undone, whether or not their answers arrived.
    pub fn done(&self) -> BTreeSet<String> {
        self.done.lock().unwrap().clone()
    }

    /// Returns how many questions about lost calls were asked so far.
    pub fn settlings(&self) -> usize {
        self.settlings.load(Ordering::SeqCst)
    }

    /// Returns the bank statement texts of the calls so far.
    pub fn references(&self) -> Vec<Option<String>> {
        self.references.lock().unwrap().clone()
    }

    /// Returns the proofs that came with the calls so far.
    pub fn proofs(&self) -> Vec<Proof> {
        self.proofs.lock().unwrap().clone()
    }

    /// Waits until this many calls were made.
    pub async fn called(&self, calls: usize) {
        eventually(async || self.calls().len() >= calls).await;
    }

    /// Notes a call. Returns its fate.
    fn call(&self, key: &CallKey) -> CallFault {
        self.calls.lock().unwrap().push(key.to_string());
        let first = self.first.lock().unwrap().pop_front();
        first.unwrap_or_else(|| *self.carries.lock().unwrap())
    }

    async fn carried<T>(
        &self,
        key: CallKey,
        carries: CallFault,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let answer = match carries {
            // The simulator was told to lose this answer.
            CallFault::Both | CallFault::Call => call.await,
            CallFault::Nothing => Err(Failure::NoAnswer),
            CallFault::Refusal => Err(Failure::GatewayError),
            CallFault::CallLate => {
                self.held.acquire().await.unwrap().forget();
                call.await
            }
            CallFault::Decline => Err(Failure::Declined(Decline::CardDeclined)),
            CallFault::AnswerLate => {
                let answer = call.await;
                self.held.acquire().await.unwrap().forget();
                answer
            }
        };
        let is_lost = carries == CallFault::Call && matches!(answer, Err(Failure::NoAnswer));
        if answer.is_ok() || is_lost {
            self.done.lock().unwrap().insert(key.to_string());
        }
        answer
    }

    fn answers(&self) -> bool {
        self.settlings.fetch_add(1, Ordering::SeqCst);
        *self.settles.lock().unwrap()
    }

    fn lossy(&self, mut call: FollowUpCall) -> (CallFault, FollowUpCall) {
        let carries = self.call(&call.key);
        if carries == CallFault::Call {
            call.fault = Some(Fault::AnswerLost);
        }
        (carries, call)
    }
}

impl Acquirer for FlakyAcquirer {
    fn name(&self) -> &'static str {
        "flaky"
    }

    fn answers_at_once(&self) -> bool {
        self.simulator.answers_at_once()
    }

    fn card<'a>(&'a self, number: &'a CardNumber) -> BoxFuture<'a, Result<Option<CardInfo>, NoAnswer>> {
        if self.is_silent.load(Ordering::SeqCst) {
            return std::future::ready(Err(NoAnswer)).boxed();
        }
        self.simulator.card(number)
    }

    fn rate(&self, currency: Currency) -> BoxFuture<'_, Result<Option<Rate>, NoAnswer>> {
        if self.is_silent.load(Ordering::SeqCst) {
            return std::future::ready(Err(NoAnswer)).boxed();
        }
        if *self.dropped.lock().unwrap() == Some(currency) {
            return std::future::ready(Ok(None)).boxed();
        }
        self.simulator.rate(currency)
    }

    fn authorise(&self, mut call: AuthoriseCall) -> BoxFuture<'_, Result<Approval, Failure>> {
        self.references.lock().unwrap().push(call.reference.clone());
        self.proofs.lock().unwrap().push(Proof {
            cvc: call.cvc.as_ref().map(|cvc| cvc.expose().to_owned()),
            network: call
                .network
                .as_ref()
                .map(|proof| (proof.eci.clone(), proof.cryptogram.expose().to_owned())),
        });
        let carries = self.call(&call.key);
        if carries == CallFault::Call {
            call.forced = Some(SimulatedOutcome::Fault(Fault::AnswerLost));
        }
        self.carried(call.key.clone(), carries, self.simulator.authorise(call)).boxed()
    }

    fn capture(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>> {
        let (carries, call) = self.lossy(call);
        self.carried(call.key.clone(), carries, self.simulator.capture(call)).boxed()
    }

    fn void(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>> {
        let (carries, call) = self.lossy(call);
        self.carried(call.key.clone(), carries, self.simulator.void(call)).boxed()
    }

    fn refund(&self, call: FollowUpCall) -> BoxFuture<'_, Result<RefundAnswer, Failure>> {
        let (carries, call) = self.lossy(call);
        self.carried(call.key.clone(), carries, self.simulator.refund(call)).boxed()
    }

    fn reverse(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>> {
        if !self.answers() {
            return async { Err(NoAnswer) }.boxed();
        }
        self.done.lock().unwrap().remove(key.as_str());
        self.simulator.reverse(key)
    }

    fn settle(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>> {
        if self.answers() { self.simulator.settle(key) } else { async { Err(NoAnswer) }.boxed() }
    }
}
