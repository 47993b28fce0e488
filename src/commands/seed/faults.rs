//! What is wrong with a file: all of it, by line.

use serde::Serialize;

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Fault {
    /// From 1.
    pub line: usize,
    /// What is wrong there.
    pub fault: String,
}

impl Faults {
    /// Note one.
    pub fn add(&mut self, line: usize, fault: impl Into<String>) {
        self.0.push(Fault { line, fault: fault.into() });
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// By line, each once.
    pub fn told(mut self) -> Vec<Fault> {
        self.0.sort();
        self.0.dedup();
        self.0
    }
}
