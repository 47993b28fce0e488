//! The results of decoding besides the value, with their paths.

use std::collections::HashSet;
use std::fmt;

use serde_json::Value;

use super::FieldErrors;

/// The values in a tree of parameters that a type has read, by their addresses, which are stable as long as the tree exists.
#[derive(Default)]
pub struct ReadValues {
    /// Values read as types that may be shown.
    pub(super) open: Vec<usize>,
    /// Values read as a secret, or as a part of one.
    pub(super) withheld: Vec<usize>,
}

/// The values that a type has read and that may be shown.
pub struct ShownValues(HashSet<usize>);

impl ShownValues {
    /// Returns whether this very value of the tree is one.
    pub fn contains(&self, value: &Value) -> bool {
        self.0.contains(&std::ptr::from_ref(value).addr())
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl ReadValues {
    /// Creates the values of which this one may be shown.
    pub fn open(value: &Value) -> Self {
        Self { open: vec![std::ptr::from_ref(value).addr()], withheld: Vec::new() }
    }

    /// Returns the values that may be shown: not a secret, even if another type has read it openly.
    pub fn shown(&self) -> ShownValues {
        let withheld: HashSet<usize> = self.withheld.iter().copied().collect();
        ShownValues(self.open.iter().copied().filter(|value| !withheld.contains(value)).collect())
    }

    /// Adds the values that another type has read.
    pub fn append(&mut self, mut others: Self) {
        self.open.append(&mut others.open);
        self.withheld.append(&mut others.withheld);
    }
}

/// The results of decoding besides the value.
#[derive(Default)]
pub(super) struct DecodeReport {
    pub(super) faults: FieldErrors,
    /// The paths of placeholders, which no rule may report.
    pub(super) placeholders: Vec<String>,
    /// The paths of blank values that count as absent.
    pub(super) absent: Vec<String>,
    /// The addresses of the values that a type has read.
    pub(super) read: ReadValues,
}

impl DecodeReport {
    /// Returns whether the value at `param`, or a value around it, is a placeholder.
    pub(super) fn made_up(&self, param: &str) -> bool {
        self.placeholders.iter().any(|made_up| {
            param.strip_prefix(made_up.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

/// The path of a parameter. One link per level, because it is written out only for faults.
#[derive(Clone, Copy)]
pub(super) struct Path<'p> {
    pub(super) parent: Option<&'p Path<'p>>,
    pub(super) name: &'p str,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent.filter(|parent| parent.parent.is_some()) {
            write!(formatter, "{parent}.")?;
        }
        formatter.write_str(self.name)
    }
}
