//! The numbers of keys, in one place.

/// The number of times that a data key may seal: with more random 96-bit nonces, a repeated one becomes likely enough to matter.
pub const SEALS_MAX: u64 = 1 << 32;
/// From here on the operator is warned: a busy server has months left.
pub const SEALS_MANY: u64 = SEALS_MAX / 2;
