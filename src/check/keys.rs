//! Checks the vault's key: it exists, fits this database, and nobody else can read it. Checks the files of other
//! secrets, too.

use std::path::{Path, PathBuf};

use base::platform::{OTHERS, mode_of};
use base::variables::set_variable;
use store::{Inspection, InstallationInfo};
use vault::OperatorKeys;
use vault::limits::{SEALS_MANY, SEALS_MAX};

use super::configuration::Configuration;
use super::findings::{Area, Findings};
use crate::app::{self, StartError};
use crate::config::{ConfigError, Secrets, VaultKeySource};
use crate::services::data_keys;

pub async fn check(configuration: &Configuration, inspection: Option<&Inspection>, findings: &mut Findings) {
    findings.begin_area(Area::Keys);
    for file in files(configuration) {
        permissions(&file, findings);
    }
    if let Some(seals) = inspection.and_then(|inspection| inspection.seals) {
        worn(seals, findings);
    }
    let found = inspection.map(|inspection| &inspection.found);
    if let Some(keys) = operator_keys(configuration, found, findings).await {
        match found {
            Some(found) if !found.keys.is_empty() => opens(found, &keys, findings),
            Some(_) => findings.ok("the vault key is valid; the database has no keys yet"),
            None => findings.ok("the vault key is valid; the database could not be read to test it"),
        }
    }
}

/// Reports a data key that nears its end.
fn worn(seals: u64, findings: &mut Findings) {
    let text = format!("the data key has encrypted {seals} times; the limit is {SEALS_MAX}");
    let remedy = "card-payments vault rotate, while servers run: the next data key starts at 0";
    match seals {
        0..SEALS_MANY => {}
        SEALS_MANY..SEALS_MAX => findings.warning(text, remedy),
        SEALS_MAX.. => findings.wrong(text, remedy),
    }
}

/// Returns the secret files that exist.
fn files(configuration: &Configuration) -> Vec<PathBuf> {
    let named = Secrets::VARIABLES.iter().filter_map(|name| set_variable(format!("{name}_FILE")));
    let own = app::vault_key_path(&configuration.database.data_dir);
    // A file from systemd shows as readable by the group, because of an access list that admits only the unit's user.
    let handed = std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
    let is_handed = |file: &Path| handed.as_ref().is_some_and(|handed| file.starts_with(handed));
    let shares = match &configuration.secrets.vault_key {
        Some(VaultKeySource::Shares(files)) => files.as_slice(),
        Some(VaultKeySource::Text(_) | VaultKeySource::Command(_)) | None => &[],
    };
    let files = named.map(PathBuf::from).chain([own]).chain(shares.iter().cloned());
    files.filter(|file| file.is_file() && !is_handed(file)).collect()
}

fn permissions(file: &Path, findings: &mut Findings) {
    let Some(mode) = mode_of(file) else { return };
    if mode & OTHERS != 0 {
        let name = file.display();
        findings.warning(
            format!("{name} is a secret that others than its owner may use (mode {mode:o})"),
            format!("chmod 600 {name}"),
        );
    }
}

/// Returns the operator's keys, if they exist yet.
async fn operator_keys(
    configuration: &Configuration,
    found: Option<&InstallationInfo>,
    findings: &mut Findings,
) -> Option<OperatorKeys> {
    const REMEDY: &str = "write it as id:base64 of 32 bytes; openssl rand -base64 32 makes them";
    let Configuration { database, secrets, .. } = configuration;
    if secrets.vault_key.is_none() {
        if configuration.is_live() {
            findings.wrong(StartError::Required(VaultKeySource::TEXT).to_string(), REMEDY);
            return None;
        }
        let path = app::vault_key_path(&database.data_dir);
        if !path.exists() {
            if found.is_some_and(|found| !found.keys.is_empty()) {
                let remedy = "without it nobody can read a stored card";
                findings.wrong(StartError::VaultKeyLost(path).to_string(), remedy);
            } else {
                findings.ok("there is no vault key yet: the first start creates one in the data directory");
            }
            return None;
        }
    }
    match app::existing_vault_keys(database, secrets).await {
        Ok(keys) => Some(keys),
        Err(error) => {
            let remedy = if matches!(error, StartError::VaultKey(..)) {
                REMEDY
            } else if matches!(error, StartError::Config(ConfigError::File(..))) {
                "make the server's user its owner"
            } else {
                "no server starts without the key: see The vault key in docs/operating/cards-and-keys.md"
            };
            findings.wrong(error.to_string(), remedy);
            None
        }
    }
}

fn opens(found: &InstallationInfo, keys: &OperatorKeys, findings: &mut Findings) {
    if let Err(error) = data_keys::refuse_closed(&found.keys, keys) {
        findings.wrong(error.to_string(), "use the key of this database, or of its backup");
        return;
    }
    let former: Vec<_> =
        found.keys.iter().map(|key| &key.wrapped.by).filter(|by| *by != keys.wrapping_id()).collect();
    match former.first() {
        None => findings.ok(format!("the vault key {:?} opens this database", keys.wrapping_id())),
        Some(by) => findings.warning(
            format!("this database still needs the former vault key {by:?}"),
            "card-payments vault rotate, once every server has both keys",
        ),
    }
}
