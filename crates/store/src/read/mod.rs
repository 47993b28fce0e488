//! How rows become records.

pub(crate) mod cached_statement;
pub(crate) mod columns;
