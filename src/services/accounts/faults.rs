//! Faults that a sandbox account injects into its acquirer calls (`docs/decisions.md`, 272).

use std::time::Duration;

use acquirer::{Fault, SimulatedOutcome};
use entity::account::{self, Column};
use entity::{AccountToken, AcquirerFaults};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use sha2::{Digest, Sha256};
use store::Tx;

use crate::error::Error;
use crate::params::values::UNLISTED;
use crate::params::{FieldErrors, non_blank};
use crate::services::context::Account;

/// The header that forces the outcome of one attempt.
const HEADER: &str = "Sandbox-Outcome";

/// Parses the outcome from a `Sandbox-Outcome` header; an unknown word is a fault.
pub fn parse_sandbox_outcome(word: Option<&str>, faults: &mut FieldErrors) -> Option<SimulatedOutcome> {
    let word = non_blank(word)?;
    let outcome = SimulatedOutcome::from_sandbox_word(word);
    if outcome.is_none() {
        faults.add(HEADER, UNLISTED);
    }
    outcome
}

/// Returns the account's configured faults, or the default.
pub fn faults_of(account: &account::Model) -> Result<AcquirerFaults, Error> {
    Ok(match &account.acquirer_faults {
        Some(faults) => serde_json::from_str(faults.as_str())?,
        None => AcquirerFaults::default(),
    })
}

/// The injected outcome and latency of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// The forced outcome of an attempt on a card, if any.
    pub outcome: Option<SimulatedOutcome>,
    /// The fault that is not the issuer's doing: the only kind that a capture, void or refund can have.
    pub fault: Option<Fault>,
    /// The delay added to the answer.
    latency: Duration,
}

/// Draws the faults of the account's next call, in the unit that records its intent. Costs a statement only if a fault
/// rate is set.
pub async fn draw(tx: &Tx, account: &Account) -> Result<FaultPlan, Error> {
    let faults = faults_of(account.settings())?;
    let chance_decides = !faults.gateway_error_rate.is_none() || !faults.drop_rate.is_none();
    let call = if chance_decides { next_call_number(tx, account.id()).await? } else { 0 };
    let latency = Duration::from_millis(u64::try_from(faults.latency_ms).unwrap_or_default());
    Ok(FaultPlan { latency, ..drawn(&faults, call) })
}

/// Returns the faults of each of the account's calls, if neither chance nor latency is one of them.
pub fn certain(account: &Account) -> Result<Option<FaultPlan>, Error> {
    let faults = faults_of(account.settings())?;
    let is_certain =
        faults.gateway_error_rate.is_none() && faults.drop_rate.is_none() && faults.latency_ms == 0;
    Ok(is_certain.then(|| drawn(&faults, 0)))
}

/// Returns the number of the call, from 1; concurrent calls each get their own.
async fn next_call_number(tx: &Tx, account: AccountToken) -> Result<i64, Error> {
    let count = account::Entity::update_many()
        .col_expr(Column::AcquirerCalls, Expr::col(Column::AcquirerCalls).add(1))
        .filter(Column::Id.eq(account));
    let counted = count.exec_with_returning(tx).await?;
    Ok(counted.first().map_or(0, |account| account.acquirer_calls))
}

/// Returns the faults of the n-th call. A gateway fails before the issuer is asked, an answer is lost afterwards: of a decline, nobody
/// then learns more than that nothing was done.
fn drawn(faults: &AcquirerFaults, call: i64) -> FaultPlan {
    let digest = Sha256::digest(format!("{}:{call}", faults.seed));
    let mut rolls = digest.chunks_exact(8).map(roll);
    let mut next = || rolls.next().unwrap_or_default();
    let fault = if faults.gateway_error_rate.takes(next()) {
        Some(Fault::GatewayError)
    } else if faults.drop_rate.takes(next()) {
        Some(Fault::AnswerLost)
    } else {
        None
    };
    let outcome = match (fault, faults.decline) {
        (Some(Fault::AnswerLost), Some(_)) => Some(SimulatedOutcome::Fault(Fault::GatewayError)),
        (Some(fault), _) => Some(SimulatedOutcome::Fault(fault)),
        (None, decline) => decline.map(SimulatedOutcome::Declined),
    };
    FaultPlan { outcome, fault, latency: Duration::ZERO }
}

/// Returns a number from 0 to 999,999.
fn roll(bytes: &[u8]) -> u32 {
    let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    u32::try_from(number % u64::from(entity::Probability::ONE)).unwrap_or_default()
}

impl FaultPlan {
    /// Returns the plan without latency.
    #[must_use]
    pub fn at_once(self) -> Self {
        Self { latency: Duration::ZERO, ..self }
    }

    /// Awaits the call, then delays its answer by the latency.
    pub async fn with_latency<T>(self, call: impl Future<Output = T>) -> T {
        let answer = call.await;
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use entity::failure::Decline;

    use super::*;

    fn faults(gateway_error_rate: &str, drop_rate: &str, seed: i64) -> AcquirerFaults {
        let probability = |text: &str| text.parse().unwrap();
        AcquirerFaults {
            decline: Some(Decline::LostCard),
            gateway_error_rate: probability(gateway_error_rate),
            drop_rate: probability(drop_rate),
            seed,
            latency_ms: 0,
        }
    }

    fn run(faults: &AcquirerFaults) -> Vec<FaultPlan> {
        (1..=10_000).map(|call| drawn(faults, call)).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_run_and_another_one_another() {
        assert_eq!(run(&faults("0.3", "0.3", 7)), run(&faults("0.3", "0.3", 7)));
        assert_ne!(run(&faults("0.3", "0.3", 7)), run(&faults("0.3", "0.3", 8)));
    }

    #[test]
    fn a_run_is_the_same_in_every_release() {
        let words = run(&faults("0.5", "0.5", 42)).into_iter().take(12).map(|plan| match plan.fault {
            Some(Fault::GatewayError) => 'e',
            Some(Fault::AnswerLost) => 'd',
            Some(Fault::NoAnswer) | None => '.',
        });
        assert_eq!(words.collect::<String>(), "e.ee.edde.ed");
    }

    #[test]
    fn rates_are_kept_and_the_rest_is_declined() {
        let run = run(&faults("0.25", "0.5", 1));
        let share = |of: Option<Fault>| run.iter().filter(|plan| plan.fault == of).count() / 100;
        assert!((24..=26).contains(&share(Some(Fault::GatewayError))));
        assert!((36..=39).contains(&share(Some(Fault::AnswerLost))));
        assert!((36..=39).contains(&share(None)));
        for plan in run {
            // The answer that is lost is the issuer's decline: nothing is done.
            let expected = match plan.fault {
                Some(_) => SimulatedOutcome::Fault(Fault::GatewayError),
                None => SimulatedOutcome::Declined(Decline::LostCard),
            };
            assert_eq!(plan.outcome, Some(expected));
        }
    }

    #[test]
    fn a_rate_of_one_takes_every_call_and_a_rate_of_zero_none() {
        for (errors, drops, fault) in
            [("1", "1", Some(Fault::GatewayError)), ("0", "1", Some(Fault::AnswerLost)), ("0", "0", None)]
        {
            assert!(run(&faults(errors, drops, 3)).iter().all(|plan| plan.fault == fault));
        }
    }
}
