//! The crash points and the rows of the state tables that a run has reached, for the simulation to print. Compiled for tests only,
//! with the crash points.

#[cfg(feature = "crash-points")]
use std::collections::BTreeSet;
#[cfg(feature = "crash-points")]
use std::sync::Mutex;

#[cfg(feature = "crash-points")]
static REACHED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Notes that the run has reached a place.
#[cfg(feature = "crash-points")]
pub fn reach(place: impl FnOnce() -> String) {
    crate::mutex::lock(&REACHED).insert(place());
}

/// Does nothing, as no run is observed.
#[cfg(not(feature = "crash-points"))]
#[inline]
pub fn reach(_: impl FnOnce() -> String) {}

/// Returns all that the run has reached.
#[cfg(feature = "crash-points")]
pub fn reached() -> Vec<String> {
    crate::mutex::lock(&REACHED).iter().cloned().collect()
}
