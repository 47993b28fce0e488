//! Within how many of the first seeds each slip is found.

use base::mutants::Mutant;

/// Returns the number.
pub const fn seeds(_mutant: Mutant) -> u64 {
    8
}
