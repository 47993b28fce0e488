//! The simulated acquirer: the cards of the table, no money, no network, no clock of the account.
//!
//! Its futures are ready at their first poll or never. The caller adds latency; a caller that must not wait (a moving
//! clock) polls once.
//!
//! A payment's reference is `simulator:<aftermath>:<key of its authorisation>` with the aftermath `ordinary`,
//! `disputed` or `refunds_fail`. It holds all that captures and refunds must know, after a restart and on another
//! server too. A repeated call gets the same reference.

mod memory;

use std::future::pending;
use std::io;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use base::card_number::CardNumber;
use base::environment::Environment;
use base::mutex::lock;
use entity::Currency;
use entity::Rate;
use entity::Scheme;
use entity::failure::Decline;
use entity::reconciliation::Movement;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};

use self::memory::Memory;
use super::statement::book::Book;
use super::test_cards::TestCards;
use super::{
    Acquirer, Aftermath, Approval, AuthoriseCall, CallKey, CardInfo, Failure, Fault, FollowUpCall, NoAnswer,
    RefundAnswer, Settled, SimulatedOutcome,
};
use crate::limits::{SIMULATOR_CALLS_MAX, SIMULATOR_REMEMBERS, SIMULATOR_REMEMBERS_ELSEWHERE};

const NAME: &str = "simulator";
/// The issuing country of live cards outside the table: there is no directory to ask.
const LIVE_ISSUING_COUNTRY: &str = "AU";

/// The card numbers that a simulator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Test: only numbers of the table, for no live number belongs in a test server.
    TestCards,
    /// Live: every possible number; one outside the table is approved.
    All,
}

/// An acquirer in this process.
#[derive(Debug)]
pub struct Simulator {
    numbers: Numbers,
    memory: Mutex<Memory>,
    /// The book of the money that it moves, if it keeps one.
    book: Option<Mutex<Book>>,
}

/// The money that a call moves once it is done.
struct Moves {
    movements: &'static [Movement],
    amount: i64,
    currency: Currency,
}

impl Simulator {
    /// Creates the simulator of an environment.
    pub fn for_environment(environment: Environment) -> Self {
        Self::new(match environment {
            Environment::Test => Numbers::TestCards,
            Environment::Live => Numbers::All,
        })
    }

    /// Creates the simulator that remote servers call: it remembers calls longer, since clients return for answers that
    /// the network lost.
    pub fn served(environment: Environment) -> Self {
        Self { memory: remembering(SIMULATOR_REMEMBERS_ELSEWHERE), ..Self::for_environment(environment) }
    }

    /// Adds a book, from which statements are written.
    #[must_use]
    pub fn with_book(self, book: Book) -> Self {
        Self { book: Some(Mutex::new(book)), ..self }
    }

    /// Creates a simulator that has seen no call.
    pub fn new(numbers: Numbers) -> Self {
        Self { numbers, memory: remembering(SIMULATOR_REMEMBERS), book: None }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // Every change under the lock is complete in itself, so a panic elsewhere leaves nothing half done.
        lock(&self.memory)
    }

    fn known(&self, number: &CardNumber) -> Option<CardInfo> {
        let issuing_country = match (TestCards::find(number.digits().expose()), self.numbers) {
            (Some(row), _) => row.issuing_country,
            (None, Numbers::All) => LIVE_ISSUING_COUNTRY,
            (None, Numbers::TestCards) => return None,
        };
        let scheme = number.scheme();
        Some(CardInfo {
            scheme,
            issuing_country: issuing_country.to_owned(),
            three_d_secure: is_enrolled(scheme),
        })
    }

    /// Returns the outcome of a call, and what follows its approval. A forced outcome precedes the card's. An answer is lost after the
    /// card has decided: if nothing was done, the client learns just that, as by an error of the gateway.
    fn outcome(&self, call: &AuthoriseCall) -> (SimulatedOutcome, Aftermath) {
        use SimulatedOutcome::{Approved, ApprovedButLost, Declined};

        const LOST: SimulatedOutcome = SimulatedOutcome::Fault(Fault::AnswerLost);
        const NOTHING_DONE: SimulatedOutcome = SimulatedOutcome::Fault(Fault::GatewayError);
        let of_card = match (TestCards::find(call.number.expose()), self.numbers) {
            (Some(row), _) => row.outcome,
            (None, Numbers::All) => Approved(Aftermath::Ordinary),
            (None, Numbers::TestCards) => Declined(Decline::InvalidCard),
        };
        match (call.forced.unwrap_or(of_card), of_card) {
            (LOST, Approved(aftermath)) => (ApprovedButLost, aftermath),
            (LOST, Declined(_)) => (NOTHING_DONE, Aftermath::Ordinary),
            (LOST, of_card) => (of_card, Aftermath::Ordinary),
            (Approved(aftermath), _) => (Approved(aftermath), aftermath),
            (outcome, _) => (outcome, Aftermath::Ordinary),
        }
    }

    async fn act(
        &self,
        key: &CallKey,
        reference: &str,
        outcome: SimulatedOutcome,
        moves: &Moves,
    ) -> Result<String, Failure> {
        let answer = {
            let mut memory = self.memory();
            let was_done = memory.is_done(key);
            let answer = memory.act(Instant::now(), key, reference, outcome);
            if !was_done && memory.is_done(key) {
                self.note(|book| book.moved(key, moves.movements, moves.amount, moves.currency));
            }
            answer
        };
        match answer {
            Some(answer) => answer,
            None => pending().await,
        }
    }

    /// Writes to the book, if there is one.
    fn note(&self, write: impl FnOnce(&mut Book) -> io::Result<()>) {
        let Some(book) = &self.book else { return };
        if let Err(error) = write(&mut lock(book)) {
            tracing::error!(%error, "the book lacks a movement");
        }
    }

    async fn approve(&self, call: AuthoriseCall) -> Result<Approval, Failure> {
        let (outcome, aftermath) = self.outcome(&call);
        let movements = if call.capture { captured(aftermath) } else { &[] };
        let moves = Moves { movements, amount: call.amount, currency: call.currency };
        let reference = self.act(&call.key, &reference(aftermath, &call.key), outcome, &moves).await?;
        Ok(Approval { reference })
    }

    /// Returns the aftermath of the payment. A reference of another acquirer names nothing here, so nothing can happen.
    async fn follow(
        &self,
        call: FollowUpCall,
        movements: fn(Aftermath) -> &'static [Movement],
    ) -> Result<Aftermath, Failure> {
        let aftermath = aftermath(&call.reference).ok_or(Failure::GatewayError)?;
        let outcome = call.fault.map_or(SimulatedOutcome::Approved(aftermath), SimulatedOutcome::Fault);
        let moves = Moves { movements: movements(aftermath), amount: call.amount, currency: call.currency };
        self.act(&call.key, &call.reference, outcome, &moves).await?;
        Ok(aftermath)
    }
}

fn remembering(kept: Duration) -> Mutex<Memory> {
    Mutex::new(Memory::new(SIMULATOR_CALLS_MAX, kept))
}

impl Acquirer for Simulator {
    fn name(&self) -> &'static str {
        NAME
    }

    fn answers_at_once(&self) -> bool {
        true
    }

    fn card<'a>(&'a self, number: &'a CardNumber) -> BoxFuture<'a, Result<Option<CardInfo>, NoAnswer>> {
        ready(Ok(self.known(number))).boxed()
    }

    fn rate(&self, currency: Currency) -> BoxFuture<'_, Result<Option<Rate>, NoAnswer>> {
        ready(Ok(Some(test_rate(currency)))).boxed()
    }

    fn authorise(&self, call: AuthoriseCall) -> BoxFuture<'_, Result<Approval, Failure>> {
        self.approve(call).boxed()
    }

    /// Of test cards, unless a book is kept. Nobody asks for the key of a call that was recorded with its outcome, so that it need
    /// not be remembered.
    fn authorise_here(&self, call: &AuthoriseCall) -> Option<Result<Approval, Decline>> {
        if self.numbers == Numbers::All || self.book.is_some() {
            return None;
        }
        match self.outcome(call).0 {
            SimulatedOutcome::Approved(aftermath) => {
                Some(Ok(Approval { reference: reference(aftermath, &call.key) }))
            }
            SimulatedOutcome::Declined(decline) => Some(Err(decline)),
            SimulatedOutcome::ApprovedButLost | SimulatedOutcome::Fault(_) => None,
        }
    }

    fn capture(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>> {
        self.follow(call, captured).map(|answer| answer.map(|_| ())).boxed()
    }

    fn void(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>> {
        self.follow(call, |_| &[]).map(|answer| answer.map(|_| ())).boxed()
    }

    fn refund(&self, call: FollowUpCall) -> BoxFuture<'_, Result<RefundAnswer, Failure>> {
        let settles = |aftermath| match aftermath {
            Aftermath::Ordinary | Aftermath::Disputed => RefundAnswer::Succeeds,
            Aftermath::RefundsFail => RefundAnswer::Fails,
        };
        self.follow(call, refunded).map(move |answer| answer.map(settles)).boxed()
    }

    fn reverse(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>> {
        let mut memory = self.memory();
        if memory.is_done(key) {
            self.note(|book| book.reversed(key));
        }
        ready(Ok(memory.reverse(Instant::now(), key))).boxed()
    }

    fn settle(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>> {
        ready(Ok(self.memory().settle(Instant::now(), key))).boxed()
    }

    fn is_disputed_once_captured(&self, reference: &str) -> bool {
        foretells_dispute(reference)
    }
}

/// Returns whether a reference is a simulator's and announces a dispute.
pub fn foretells_dispute(reference: &str) -> bool {
    aftermath(reference) == Some(Aftermath::Disputed)
}

/// Returns what a capture moves: a simulated cardholder disputes it at once.
const fn captured(aftermath: Aftermath) -> &'static [Movement] {
    match aftermath {
        Aftermath::Ordinary | Aftermath::RefundsFail => &[Movement::Capture],
        Aftermath::Disputed => &[Movement::Capture, Movement::Chargeback],
    }
}

/// Returns what a refund moves.
const fn refunded(aftermath: Aftermath) -> &'static [Movement] {
    match aftermath {
        Aftermath::Ordinary | Aftermath::Disputed => &[Movement::Refund],
        Aftermath::RefundsFail => &[Movement::Refund, Movement::RefundReturn],
    }
}

const fn word(aftermath: Aftermath) -> &'static str {
    match aftermath {
        Aftermath::Ordinary => "ordinary",
        Aftermath::Disputed => "disputed",
        Aftermath::RefundsFail => "refunds_fail",
    }
}

fn reference(aftermath: Aftermath, key: &CallKey) -> String {
    format!("{NAME}:{}:{key}", word(aftermath))
}

fn aftermath(reference: &str) -> Option<Aftermath> {
    let (prefix, rest) = reference.split_once(':')?;
    let (written, _key) = rest.split_once(':')?;
    let all = [Aftermath::Ordinary, Aftermath::Disputed, Aftermath::RefundsFail];
    all.into_iter().find(|&aftermath| prefix == NAME && word(aftermath) == written)
}

/// One scheme is not enrolled, so that both paths of 3-D Secure can be tried.
const fn is_enrolled(scheme: Scheme) -> bool {
    match scheme {
        Scheme::Master => false,
        Scheme::Visa | Scheme::AmericanExpress | Scheme::DinersClub | Scheme::Discover | Scheme::Jcb => true,
    }
}

/// Fixed rates, so that tests can compute with them.
const fn test_rate(currency: Currency) -> Rate {
    let millionths = match currency {
        Currency::Aud => return Rate::AUD,
        Currency::Usd => 1_500_000,
        Currency::Nzd => 900_000,
        Currency::Sgd => 1_150_000,
        Currency::Eur => 1_650_000,
        Currency::Gbp => 1_950_000,
        Currency::Cad => 1_100_000,
        Currency::Hkd => 190_000,
        Currency::Jpy => 10_000,
        Currency::Myr => 350_000,
        Currency::Thb => 45_000,
        Currency::Php => 26_000,
        Currency::Zar => 85_000,
        Currency::Idr => 100,
        Currency::Twd => 48_000,
    };
    Rate::from_millionths(millionths)
}

#[cfg(test)]
mod tests;
