//! What decoding finds besides the value, and where.

use std::fmt;

use super::FieldErrors;
use crate::runtime::request_context::ReadValues;

/// What decoding found besides the value.
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
