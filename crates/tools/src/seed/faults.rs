//! The faults of a file, all of them, by line.

use serde::Serialize;

/// The faults found so far.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The description of the fault.
    pub fault: String,
}

impl Faults {
    pub fn add(&mut self, line: usize, fault: impl Into<String>) {
        self.0.push(Fault { line, fault: fault.into() });
    }

    /// Returns whether there is no fault.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the faults by line, each once.
    pub fn into_sorted(mut self) -> Vec<Fault> {
        self.0.sort();
        self.0.dedup();
        self.0
    }
}
