//! Disputes, for the model.

#[path = "../it/money/dispute_rules.rs"]
pub mod dispute_rules;
