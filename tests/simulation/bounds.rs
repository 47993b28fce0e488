//! Within how many of the first seeds each slip is found.

use base::mutants::Mutant;

/// Returns the number; `None` for a slip that no seed has found yet.
pub const fn seeds(mutant: Mutant) -> Option<u64> {
    match mutant {
        Mutant::RecoveryWithoutAttempt | Mutant::BilledInFlight | Mutant::StartNotFlushed => None,
        _ => Some(8),
    }
}
