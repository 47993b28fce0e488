//! Reconciliation: the acquirer's statements against the ledger, which is read and never changed (`docs/decisions.md`, 383).
//!
//! A file is read twice: the first time everything that is wrong with it is found, so that nothing of it is imported; then its
//! lines are stored (`import`). The movements of the books look for their lines (`compare`, `books`): an exact one is matched,
//! and what has none is missing. The lines that are left look for something missing, which then differs or was late; otherwise they
//! are foreign or doubled. Each stage goes on in batches, a unit of work each, whose marker is in the statement's row.

mod batch;
mod books;
mod compare;
mod exceptions;
mod import;
mod matching;
pub mod state;
mod summary;
pub mod view;

pub use self::exceptions::{ExceptionChange, ExceptionFilter, change, find, list, note};
pub use self::import::{ReconcileError, reconcile};
pub use self::state::ExceptionAction;
