//! The numbers of time, in one place.

use entity::TimeSpan;

/// The span by which the wall clock may be set before it is doubted (`docs/decisions.md`, 404).
pub const CLOCK_TOLERANCE: TimeSpan = TimeSpan::seconds(3600);
/// The longest time that a doubted wall clock has to stand before it is believed.
pub const CLOCK_STANDS: TimeSpan = TimeSpan::days(1);
/// The span by which an account's clock may run ahead of the wall clock (`docs/decisions.md`, 267).
pub const CLOCK_AHEAD_MAX_MONTHS: u32 = 100 * 12;
