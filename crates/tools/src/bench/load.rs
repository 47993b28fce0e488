//! An open load: payments begin when they are due, whatever has become of those before.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use url::form_urlencoded::Serializer;

use super::acquirer::{BenchAcquirer, PaymentNames};
use super::draws::Draws;
use crate::api_client::ApiClient;

/// The parameters of each payment, beside its name.
const PARAMETERS: [(&str, &str); 11] = [
    ("email", "roland@example.com"),
    ("amount", "400"),
    ("ip_address", "203.192.1.172"),
    ("card[number]", "4200000000000000"),
    ("card[expiry_month]", "5"),
    ("card[expiry_year]", "2099"),
    ("card[cvc]", "123"),
    ("card[name]", "Roland Robot"),
    ("card[address_line1]", "42 Sevenoaks St"),
    ("card[address_city]", "Lathlain"),
    ("card[address_country]", "AU"),
];

const FORM: &str = "application/x-www-form-urlencoded";

/// So many payments may wait for their answers, beside those at the acquirer; at a high rate those of a second may.
const WAITING_MAX: u32 = 1000;

/// The time between a step's beginning and its first moment, in which nothing is late yet.
const LEAD: Duration = Duration::from_millis(50);

/// The payments of a run: the servers that get them, their names and their draws.
pub struct Load {
    /// A client for each copy of the system; payments go to them in turn.
    pub servers: Vec<ApiClient>,
    pub names: PaymentNames,
    pub draws: Draws,
    /// The acquirer, if it is ours.
    pub acquirer: Option<Arc<BenchAcquirer>>,
}

#[derive(Debug)]
pub struct Payment {
    pub number: usize,
    /// The time from its due time until it was sent.
    pub late: Duration,
    /// From its due time to its answer.
    pub whole: Duration,
    /// The part of that time that the acquirer took.
    pub at_acquirer: Duration,
    pub answer: PayerAnswer,
    /// Whether the acquirer failed it.
    pub is_faulty: bool,
    /// The answer, if it was anything but a charge.
    pub refusal: Option<String>,
}

/// The answer that the payer got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayerAnswer {
    Charged,
    /// Nothing was charged.
    NotCharged,
    /// Nothing certain, or nothing at all.
    Unknown,
}

impl Payment {
    /// Returns what the system added to the acquirer's time.
    pub fn added(&self) -> Duration {
        self.whole.saturating_sub(self.at_acquirer)
    }

    /// Returns whether it ended otherwise than as a charge, though the acquirer did not fail it.
    pub fn is_refused(&self) -> bool {
        self.answer != PayerAnswer::Charged && !self.is_faulty
    }
}

pub struct Step {
    /// In the order of their due times.
    pub payments: Vec<Payment>,
    /// The time for which payments arrived.
    pub span: Duration,
    /// If it ended early: more payments than this waited.
    pub overload: Option<usize>,
}

impl Load {
    /// Sends payments from this number on at a rate for a time, one at least, and waits for their answers.
    pub async fn run(
        self: &Arc<Self>,
        first: usize,
        rate: u32,
        span: Duration,
        slowest: Duration,
    ) -> Result<Step, JoinError> {
        let (began, mut tasks) = (Instant::now() + LEAD, JoinSet::new());
        let mut step = Step { payments: Vec::new(), span, overload: None };
        let most = waiting_max(rate, slowest);
        let arrivals = (first..).zip(self.draws.arrivals(first, rate));
        for (number, due) in arrivals.take_while(|(number, due)| *number == first || *due < span) {
            sleep_until(began + due).await;
            while let Some(ended) = tasks.try_join_next() {
                step.payments.push(ended?);
            }
            if tasks.len() > most {
                (step.span, step.overload) = (due, Some(most));
                break;
            }
            let load = Arc::clone(self);
            tasks.spawn(async move { load.pay(number, began + due).await });
        }
        while let Some(ended) = tasks.join_next().await {
            step.payments.push(ended?);
        }
        step.payments.sort_unstable_by_key(|payment| payment.number);
        Ok(step)
    }

    async fn pay(&self, number: usize, due: Instant) -> Payment {
        let name = self.names.name(number);
        let own = [("description", name.as_str()), ("reference", &name)];
        let body = Serializer::new(String::new()).extend_pairs(PARAMETERS).extend_pairs(own).finish();
        let server = &self.servers[number % self.servers.len()];
        let late = due.elapsed();
        let sent =
            server.answer_once(Some(server.key()), Method::POST, "/1/charges", Some((FORM, body)), &[]);
        let answered = sent.await;
        let whole = due.elapsed();
        let seen = self.acquirer.as_ref().map(|acquirer| acquirer.seen(number)).unwrap_or_default();
        let (answer, refusal) = match answered {
            Ok(answered) if answered.status == 201 => (PayerAnswer::Charged, None),
            Ok(answered) => {
                let is_certain = matches!(answered.status, 400..=499 | 502);
                let answer = if is_certain { PayerAnswer::NotCharged } else { PayerAnswer::Unknown };
                (answer, Some(format!("{} {}", answered.status, answered.code())))
            }
            Err(error) => (PayerAnswer::Unknown, Some(error.to_string())),
        };
        Payment { number, late, whole, at_acquirer: seen.took, answer, is_faulty: seen.faults > 0, refusal }
    }
}

/// Returns how many payments may wait if all calls of the acquirer take the longest time.
fn waiting_max(rate: u32, slowest: Duration) -> usize {
    let at_acquirer = u128::from(rate) * slowest.as_millis() / 1000;
    usize::try_from(at_acquirer + u128::from(rate.max(WAITING_MAX))).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_may_wait_or_those_of_a_second_besides_those_at_the_acquirer() {
        let slowest = Duration::from_millis(380);
        assert_eq!(waiting_max(50, slowest), 1019);
        assert_eq!(waiting_max(4000, slowest), 5520);
    }
}
