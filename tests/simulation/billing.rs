//! Billing, for the model.

#[path = "../it/billing/course.rs"]
pub mod course;
