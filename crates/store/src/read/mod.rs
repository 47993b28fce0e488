//! The reading of rows as records.

pub(crate) mod cached_statement;
pub(crate) mod columns;
