//! What decoding finds besides the value, and where.

use std::fmt;

use super::FieldErrors;
use crate::runtime::request_context::ReadValues;

/// What decoding found besides the value.
#[derive(Default)]
pub(super) struct DecodeReport {
    pub(super) faults: FieldErrors,
    /// Where the value holds something that nobody sent, and of which no rule may complain.
    pub(super) placeholders: Vec<String>,
    /// Blank values that turned out to stand for nothing.
    pub(super) absent: Vec<String>,
    /// Where those values lie that a type has read.
    pub(super) read: ReadValues,
}

impl DecodeReport {
    /// Whether the value at `param`, or something that holds it, was made up.
    pub(super) fn made_up(&self, param: &str) -> bool {
        self.placeholders.iter().any(|made_up| {
            param.strip_prefix(made_up.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

/// The way to a parameter. A link per level, because it is spelled out only for faults.
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
