//! The reason why a server does not start.

use std::path::PathBuf;

use acquirer::http::{AcquirerClientError, WrongAddress, WrongSecrets};
use outbound::blobs::BucketError;
use store::ConnectError;
use vault::OperatorKeysError;

use crate::config::ConfigError;
use crate::error::Error;
use crate::services::installation::InstallationError;

/// The reason why the server does not start, in one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The database cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The database belongs to another environment or seed.
    #[error(transparent)]
    Installation(#[from] InstallationError),
    /// The vault key is malformed.
    #[error("{0}: {1}")]
    VaultKey(String, OperatorKeysError),
    /// The vault key file of a development machine's database is gone.
    #[error(
        "the database was sealed with a vault key that is not there: bring back {0}, or set CARD_PAYMENTS_VAULT_KEY"
    )]
    VaultKeyLost(PathBuf),
    /// A setting that live requires.
    #[error("{0} is required in the live environment")]
    Required(&'static str),
    /// A setting that another one requires.
    #[error("{0} is required with {1}")]
    MissingPartner(&'static str, &'static str),
    /// A setting about wallets is wrong.
    #[error("{0}: {1}")]
    Wallet(&'static str, String),
    /// A setting that live does not allow.
    #[error("{0} is not for the live environment")]
    TestOnly(&'static str),
    /// A setting that test does not allow.
    #[error("{0} is for the live environment")]
    LiveOnly(&'static str),
    /// The blobs cannot be reached.
    #[error("CARD_PAYMENTS_BLOBS: {0}")]
    Blobs(#[from] BucketError),
    /// The anchor of the audit trail is no bucket.
    #[error("CARD_PAYMENTS_AUDIT_ANCHOR: {0}")]
    Anchor(BucketError),
    /// There is no such acquirer.
    #[error("there is no acquirer named {0}: use simulator, or the https address of a remote acquirer")]
    Acquirer(String),
    /// The acquirer's address is malformed, or not allowed.
    #[error("CARD_PAYMENTS_ACQUIRER {0}")]
    AcquirerAddress(#[from] WrongAddress),
    /// The secrets for the acquirer are missing or malformed.
    #[error("CARD_PAYMENTS_ACQUIRER_SECRET {0}")]
    AcquirerSecrets(#[from] WrongSecrets),
    /// The server at the acquirer's address answers, but not as this server's acquirer.
    #[error("the acquirer at {0} {1}")]
    AcquirerFailed(String, AcquirerClientError),
    /// The first account cannot be created.
    #[error("the first account: {0}")]
    First(Error),
}
