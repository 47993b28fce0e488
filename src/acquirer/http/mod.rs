//! An acquirer at another place, behind a small protocol of signed JSON (docs/acquirer.md): both ends of it. The client is
//! one more [`super::Acquirer`]; the server's half lets any of them be asked from elsewhere.
//!
//! Who is asked and who asks know each other by a secret that both have: a request carries a signature over all that it
//! says, and its answer one over itself and that signature, so that no answer fits another request. Each says which
//! environment it is of: two that have the same secret by mistake must not take test money for real.

mod address;
mod call;
mod client;
pub mod document;
mod serve;
mod signature;
mod signed_client;
pub mod wire;

pub use address::{Address, WrongAddress};
pub use client::HttpAcquirer;
pub use serve::router;
pub use signature::{Secrets, WrongSecrets};
pub use signed_client::AcquirerClientError;

use call::Call;

/// The version of the protocol that this is.
pub const VERSION: u32 = 1;
/// Carries the version, in both directions.
pub const PROTOCOL: &str = "acquirer-protocol";
/// Carries the environment, in both directions.
pub const ENVIRONMENT: &str = "acquirer-environment";
/// When a request was signed: seconds since 1970.
pub const TIMESTAMP: &str = "acquirer-timestamp";
/// Carries the signature, in both directions.
pub const SIGNATURE: &str = "acquirer-signature";
/// What a call is known by.
pub const KEY: &str = "idempotency-key";
