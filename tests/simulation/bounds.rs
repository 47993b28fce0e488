//! Within how many of the first seeds each slip is found.

use base::mutants::Mutant;

/// Slips that take two faults at one time, or an answer that comes while a worker asks an acquirer elsewhere.
const RARE: [Mutant; 3] =
    [Mutant::OutcomeWithoutCompareAndSet, Mutant::RecoveryWithoutAttempt, Mutant::StartNotFlushed];

/// Returns the number.
pub fn seeds(mutant: Mutant) -> u64 {
    if RARE.contains(&mutant) { 48 } else { 8 }
}
