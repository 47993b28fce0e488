//! A card payments API server: stateful, offline, crash-safe, correct about money, with an OpenAPI document that
//! generators accept. Start with `docs/architecture.md`.

#![expect(
    missing_docs,
    reason = "names speak inside of the program; what is published, the document holds to a description"
)]

pub mod api;
pub mod app;
pub mod check;
pub mod config;
pub mod dashboard;
pub mod error;
pub mod guide;
pub mod limits;
pub mod params;
pub mod recorder;
pub mod response;
pub mod services;
pub mod workers;

/// The store, whose units of work fail with [`error::Error`].
pub type Store = store::Store<error::Error>;

/// The settings of properties: cases that once failed are stored, and tried first.
#[cfg(test)]
fn properties() -> proptest::prelude::ProptestConfig {
    let folder = proptest::test_runner::FileFailurePersistence::SourceParallel("tests/proptest-regressions");
    proptest::prelude::ProptestConfig::with_failure_persistence(folder)
}
