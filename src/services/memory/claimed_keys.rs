//! The Idempotency-Keys that a process has seen claimed (`services/idempotency`).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The Idempotency-Keys that a process has seen claimed, by parts of their hashes. Each takes the slot of an earlier one, so that it may
/// be forgotten, and once in a long while another key is taken for it: a request then reads once less or once more, and learns the
/// truth. A process that has seen none keeps no slots.
#[derive(Default)]
pub struct ClaimedKeys(OnceLock<Box<[AtomicU64]>>);

/// Those of the last half minute at two thousand a second, in 512 KiB.
const SLOTS: usize = 1 << 16;

impl ClaimedKeys {
    /// Remembers a key by its stored hash.
    pub fn insert(&self, hash: &[u8; 32]) {
        let slots = self.0.get_or_init(|| (0..SLOTS).map(|_| AtomicU64::new(0)).collect());
        let (slot, part) = place(hash);
        slots[slot].store(part, Ordering::Relaxed);
    }

    /// Returns whether the key with this hash is remembered.
    pub fn contains(&self, hash: &[u8; 32]) -> bool {
        let (slot, part) = place(hash);
        self.0.get().is_some_and(|slots| slots[slot].load(Ordering::Relaxed) == part)
    }
}

/// Returns the slot of a hash, and the part of the hash that stands there.
fn place(hash: &[u8; 32]) -> (usize, u64) {
    let [one, other, _, _, _, _, _, _, part @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = *hash;
    (usize::from(u16::from_be_bytes([one, other])), u64::from_be_bytes(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_remembered_until_another_takes_its_slot() {
        let keys = ClaimedKeys::default();
        let [mut one, mut same_slot, mut elsewhere] = [[1; 32]; 3];
        (one[8], same_slot[8], elsewhere[0]) = (2, 3, 4);
        keys.insert(&one);
        keys.insert(&elsewhere);
        assert!(keys.contains(&one) && keys.contains(&elsewhere) && !keys.contains(&same_slot));
        keys.insert(&same_slot);
        assert!(!keys.contains(&one) && keys.contains(&elsewhere) && keys.contains(&same_slot));
    }
}
