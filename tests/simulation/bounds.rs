//! Within how many of the first seeds each slip is found.

use base::mutants::Mutant;

/// Slips that take an answer that comes while a worker asks an acquirer elsewhere.
const RARE: [Mutant; 2] = [Mutant::OutcomeWithoutCompareAndSet, Mutant::RecoveryWithoutAttempt];

/// Returns the number.
pub fn seeds(mutant: Mutant) -> u64 {
    if RARE.contains(&mutant) { 48 } else { 8 }
}
