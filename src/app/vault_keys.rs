//! The operator's keys, wherever they are kept.

use std::path::{Path, PathBuf};

use base::durable_fs;
use base::secret;
use store::InstallationInfo;
use vault::OperatorKeys;

use super::StartError;
use crate::config::{self, ConfigError, DatabaseOptions, Secrets, VaultKeySource};

pub(super) async fn read_vault_keys(source: &VaultKeySource) -> Result<OperatorKeys, StartError> {
    let wrong = |error| StartError::VaultKey(source.variable().into(), error);
    source.read().await?.expose().parse().map_err(wrong)
}

/// Returns the vault keys that there are: the configured ones, or those of a development machine.
pub async fn existing_vault_keys(
    database: &DatabaseOptions,
    secrets: &Secrets,
) -> Result<OperatorKeys, StartError> {
    match &secrets.vault_key {
        Some(source) => read_vault_keys(source).await,
        None => parse_key_file(&vault_key_path(&database.data_dir)),
    }
}

/// Returns the path of a development machine's vault key.
pub fn vault_key_path(data_dir: &Path) -> PathBuf {
    data_dir.join("vault.key")
}

/// Reads the vault key of a development machine: a file of the data directory that only its owner can read. It is
/// created for a database without keys; for a database with keys, a new one would open nothing.
pub(super) fn open_key_file(data_dir: &Path, found: &InstallationInfo) -> Result<OperatorKeys, StartError> {
    let path = vault_key_path(data_dir);
    let failed = |error| ConfigError::File(path.display().to_string(), error);
    if path.exists() {
        return parse_key_file(&path);
    }
    if !found.keys.is_empty() {
        return Err(StartError::VaultKeyLost(path));
    }
    durable_fs::create_folder(data_dir).map_err(failed)?;
    let keys = OperatorKeys::generate("local");
    match secret::write_secret_file(&path, &keys.to_text()) {
        // Of two processes that start at once, one creates it.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return parse_key_file(&path);
        }
        kept => kept.map_err(failed)?,
    }
    Ok(keys)
}

fn parse_key_file(path: &Path) -> Result<OperatorKeys, StartError> {
    let wrong = |error| StartError::VaultKey(path.display().to_string(), error);
    config::read(path)?.expose().parse().map_err(wrong)
}
