//! Within how many of the first seeds each slip is found.

use base::mutants::Mutant;

/// Returns the number; `None` for a slip that no seed has found yet.
pub const fn seeds(mutant: Mutant) -> Option<u64> {
    let is_missed =
        matches!(mutant, Mutant::RecoveryWithoutAttempt | Mutant::BilledInFlight | Mutant::StartNotFlushed);
    if is_missed { None } else { Some(8) }
}
