//! The acquirer of a benchmark: how long it takes for a call, which calls fail, and its own books. It stands outside of the server, so it
//! knows what the server did not cause.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use base::mutex::lock;
use entity::Probability;
use tokio::time::sleep;

use super::draws::{AcquirerTimes, Draws};

/// The names of a run's payments: a payment is its description and its reference, so every side finds it by the same text.
#[derive(Debug, Clone)]
pub struct PaymentNames(String);

impl PaymentNames {
    pub fn of_run(run: u32) -> Self {
        Self(format!("bench-{run:08x}-"))
    }

    pub fn name(&self, number: usize) -> String {
        format!("{}{number}", self.0)
    }

    /// Returns the number of the payment with this name; `None` if it is of another run.
    pub fn number(&self, name: &str) -> Option<usize> {
        name.strip_prefix(&self.0)?.parse().ok()
    }
}

/// An acquirer that is slow and fails as a run asks.
pub struct BenchAcquirer {
    times: AcquirerTimes,
    faults: Probability,
    draws: Draws,
    names: PaymentNames,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    calls: HashMap<String, Call>,
    payments: Vec<AtAcquirer>,
}

/// A payment, as the acquirer has seen it.
#[derive(Debug, Clone, Copy, Default)]
pub struct AtAcquirer {
    /// The time that its calls took here, altogether.
    pub took: Duration,
    calls: u32,
    /// The number of its calls that failed.
    pub faults: u32,
    /// Whether its last recovery failed, so that the server tries again later.
    pub is_recovery_lost: bool,
}

/// A call for money under its key.
struct Call {
    payment: Option<usize>,
    fate: Fate,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Nothing was done.
    Nothing,
    /// The money is taken.
    Done,
    /// It was taken, and is given back.
    Reversed,
    /// Nothing was done, and never will be.
    Closed,
}

/// The outcome of a call for money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallAnswer {
    /// The money is taken.
    Done,
    /// An error, before anything was done.
    Failed,
    /// No answer: the call was done, or was not.
    Unanswered,
    /// The key was closed before.
    Closed,
}

/// The fault of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It is done, and its answer is lost.
    AnswerLost,
    /// It never arrives.
    CallLost,
    /// The acquirer answers an error.
    Error,
}

impl BenchAcquirer {
    /// Returns an acquirer with empty books.
    pub fn new(times: AcquirerTimes, faults: Probability, draws: Draws, names: PaymentNames) -> Self {
        Self { times, faults, draws, names, books: Mutex::default() }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        lock(&self.books)
    }

    /// Takes money, once a key.
    pub async fn authorise(&self, key: &str, reference: Option<&str>) -> CallAnswer {
        let payment = reference.and_then(|name| self.names.number(name));
        self.take_time(payment, |books, fault| {
            let call = books.calls.entry(key.to_owned()).or_insert(Call { payment, fate: Fate::Nothing });
            if matches!(call.fate, Fate::Reversed | Fate::Closed) {
                return CallAnswer::Closed;
            }
            let is_done = matches!(fault, None | Some(Fault::AnswerLost));
            if is_done {
                call.fate = Fate::Done;
            }
            match fault {
                None => CallAnswer::Done,
                Some(Fault::AnswerLost | Fault::CallLost) => CallAnswer::Unanswered,
                Some(Fault::Error) if call.fate == Fate::Done => CallAnswer::Unanswered,
                Some(Fault::Error) => CallAnswer::Failed,
            }
        })
        .await
    }

    /// Gives the money of a key back, or closes the key. Returns whether money had been taken; `None` is no answer.
    pub async fn reverse(&self, key: &str) -> Option<bool> {
        self.resolve(key, Fate::Reversed).await
    }

    /// Returns whether the money of a key is taken, and lets it stand; closes a key under which nothing was done. `None` is no answer.
    pub async fn settle(&self, key: &str) -> Option<bool> {
        self.resolve(key, Fate::Done).await
    }

    async fn resolve(&self, key: &str, done: Fate) -> Option<bool> {
        let payment = self.books().calls.get(key).and_then(|call| call.payment);
        self.take_time(payment, |books, fault| {
            if let Some(number) = payment {
                books.payment(number).is_recovery_lost = fault.is_some();
            }
            if fault.is_some() {
                return None;
            }
            let call = books.calls.entry(key.to_owned()).or_insert(Call { payment, fate: Fate::Nothing });
            let was_done = match (call.fate, done) {
                (Fate::Done, _) => {
                    call.fate = done;
                    true
                }
                (Fate::Reversed, Fate::Reversed) => true,
                (Fate::Reversed, _) => false,
                (Fate::Nothing | Fate::Closed, _) => {
                    call.fate = Fate::Closed;
                    false
                }
            };
            Some(was_done)
        })
        .await
    }

    /// Does a call at the end of its time, and notes how long a payment's took. A call of another run takes no time and never fails.
    async fn take_time<T>(
        &self,
        payment: Option<usize>,
        act: impl FnOnce(&mut Books, Option<Fault>) -> T,
    ) -> T {
        let began = Instant::now();
        let fault = if let Some(number) = payment {
            let call = {
                let mut books = self.books();
                let calls = &mut books.payment(number).calls;
                *calls += 1;
                *calls
            };
            let subject = format!("{number} {call}");
            sleep(self.times.draw(self.draws, &subject)).await;
            self.fault(&subject)
        } else {
            None
        };
        let mut books = self.books();
        let answer = act(&mut books, fault);
        if let Some(number) = payment {
            let at = books.payment(number);
            at.faults += u32::from(fault.is_some());
            at.took += began.elapsed();
        }
        answer
    }

    fn fault(&self, subject: &str) -> Option<Fault> {
        let (roll, kind) = self.draws.rolls(subject);
        let kind = match kind % 3 {
            0 => Fault::AnswerLost,
            1 => Fault::CallLost,
            _ => Fault::Error,
        };
        self.faults.takes(roll).then_some(kind)
    }

    /// Returns what it has seen of a payment so far.
    pub fn seen(&self, number: usize) -> AtAcquirer {
        self.books().payments.get(number).copied().unwrap_or_default()
    }

    /// Returns how often each payment's money is taken and not given back.
    pub fn taken(&self, payments: usize) -> Vec<u32> {
        let mut taken = vec![0; payments];
        for call in self.books().calls.values().filter(|call| call.fate == Fate::Done) {
            if let Some(count) = call.payment.and_then(|number| taken.get_mut(number)) {
                *count += 1;
            }
        }
        taken
    }
}

impl Books {
    fn payment(&mut self, number: usize) -> &mut AtAcquirer {
        if self.payments.len() <= number {
            self.payments.resize(number + 1, AtAcquirer::default());
        }
        &mut self.payments[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acquirer(faults: &str) -> (BenchAcquirer, PaymentNames) {
        let names = PaymentNames::of_run(7);
        let times = "20/20".parse().unwrap();
        (BenchAcquirer::new(times, faults.parse().unwrap(), Draws(1), names.clone()), names)
    }

    #[tokio::test]
    async fn money_is_taken_once_a_key_and_given_back_once() {
        let (acquirer, names) = acquirer("0");
        for _ in 0..2 {
            assert_eq!(acquirer.authorise("a", Some(&names.name(1))).await, CallAnswer::Done);
        }
        assert_eq!(acquirer.authorise("b", Some(&names.name(1))).await, CallAnswer::Done);
        assert_eq!(acquirer.taken(2), [0, 2], "two keys of a payment take its money twice");
        for _ in 0..2 {
            assert_eq!(acquirer.reverse("b").await, Some(true));
        }
        assert_eq!(acquirer.authorise("b", Some(&names.name(1))).await, CallAnswer::Closed);
        assert_eq!(acquirer.settle("a").await, Some(true));
        assert_eq!(acquirer.reverse("c").await, Some(false));
        assert_eq!(acquirer.authorise("c", Some(&names.name(0))).await, CallAnswer::Closed);
        assert_eq!(acquirer.taken(2), [0, 1]);
    }

    #[tokio::test]
    async fn the_time_of_a_payment_is_that_of_all_its_calls() {
        let (acquirer, names) = acquirer("0");
        acquirer.authorise("a", Some(&names.name(3))).await;
        let once = acquirer.seen(3).took;
        acquirer.reverse("a").await;
        let twice = acquirer.seen(3).took;
        let call = Duration::from_millis(20);
        assert!(once >= call && twice >= once + call, "{once:?} {twice:?}");
        assert_eq!(acquirer.seen(2).took, Duration::ZERO);
        acquirer.authorise("z", Some("bench-00000008-3")).await;
        assert_eq!(acquirer.seen(3).took, twice, "another run's");
    }

    #[tokio::test]
    async fn a_third_of_the_faults_is_done_and_a_recovery_may_fail_too() {
        let (acquirer, names) = acquirer("1");
        let mut answers = Vec::new();
        for number in 0..20 {
            answers.push(acquirer.authorise(&number.to_string(), Some(&names.name(number))).await);
        }
        let unanswered = answers.iter().filter(|answer| **answer == CallAnswer::Unanswered).count();
        let taken: u32 = acquirer.taken(20).iter().sum();
        assert!(answers.contains(&CallAnswer::Failed) && taken > 0, "{answers:?}");
        assert!(u32::try_from(unanswered).unwrap() > taken, "some were not done: {answers:?}");
        assert!(!acquirer.seen(0).is_recovery_lost);
        assert_eq!(acquirer.reverse("0").await, None, "each call fails");
        assert_eq!((acquirer.seen(0).faults, acquirer.seen(0).is_recovery_lost), (2, true));
    }
}
