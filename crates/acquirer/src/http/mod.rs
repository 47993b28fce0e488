//! Both ends of the protocol to a remote acquirer: small signed JSON messages (`docs/acquirer.md`). The client is one
//! more [`super::Acquirer`]; the server makes any acquirer available to other servers.
//!
//! Both sides know each other by a shared secret. A request carries a signature over its whole content; the answer
//! carries one over itself and the request's signature, so that it fits no other request. Each side names its
//! environment: two sides that share a secret by mistake must not take test money for real.

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

/// The version of the protocol.
pub const VERSION: u32 = 1;
/// Carries the version, in both directions.
pub const PROTOCOL: &str = "acquirer-protocol";
/// Carries the environment, in both directions.
pub const ENVIRONMENT: &str = "acquirer-environment";
/// The header with the time of the signature: seconds since 1970.
pub const TIMESTAMP: &str = "acquirer-timestamp";
/// Carries the signature, in both directions.
pub const SIGNATURE: &str = "acquirer-signature";
/// The key that identifies a call.
pub const KEY: &str = "idempotency-key";
