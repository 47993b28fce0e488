//! The vault key of a development machine.

use std::path::{Path, PathBuf};

use super::StartError;
use crate::config::{self, ConfigError};
use crate::runtime::durable_fs;
use crate::sensitive::secret;
use crate::store::InstallationInfo;
use crate::vault::OperatorKeys;

/// Returns the path of a development machine's vault key.
pub(crate) fn vault_key_path(data_dir: &Path) -> PathBuf {
    data_dir.join("vault.key")
}

/// Reads the vault key of a development machine: a file of the data directory that only its owner can read. It is
/// created for a database without keys; for a database with keys, a new one would open nothing.
pub(super) fn vault_key_file(data_dir: &Path, found: &InstallationInfo) -> Result<OperatorKeys, StartError> {
    let path = vault_key_path(data_dir);
    let failed = |error| ConfigError::File(path.display().to_string(), error);
    if path.exists() {
        return Ok(config::read(&path)?.expose().parse()?);
    }
    if !found.keys.is_empty() {
        return Err(StartError::VaultKeyLost(path));
    }
    durable_fs::create_folder(data_dir).map_err(failed)?;
    let keys = OperatorKeys::generate("local");
    match secret::write_secret_file(&path, &keys.to_text()) {
        // Of two processes that start at once, one creates it.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Ok(config::read(&path)?.expose().parse()?);
        }
        kept => kept.map_err(failed)?,
    }
    Ok(keys)
}
