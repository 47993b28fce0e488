//! Checks who else can use the data directory and its content. An operator may share it on purpose, so the check
//! reports it and changes nothing.

use std::fs;
use std::path::PathBuf;

use base::platform::{OTHERS, mode_of};
use store::Location;

use super::configuration::Configuration;
use super::disk::folders;
use super::findings::{Area, Findings};

/// Checks the permissions. The checks of keys cover the vault's key.
pub fn check(configuration: &Configuration, findings: &mut Findings) {
    findings.begin_area(Area::Disk);
    let data = &configuration.database.data_dir;
    let files = data.join("files");
    let ours: Vec<_> = [files.clone()].into_iter().chain(of_the_database(configuration)).collect();
    if !ours.iter().any(|path| mode_of(path).is_some()) {
        // A directory without our files belongs to somebody else; and a system may have no modes, which `system` says.
        return;
    }
    let mut wide = 0;
    for path in folders(configuration).into_iter().chain(ours) {
        let Some(mode) = mode_of(&path) else { continue };
        if mode & OTHERS != 0 {
            wide += 1;
            let name = path.display();
            let right = if path.is_dir() { "700" } else { "600" };
            findings.warning(
                format!("others than its owner may use {name} (mode {mode:o})"),
                format!("chmod {right} {name}, unless it is shared on purpose"),
            );
        }
    }
    // One line for all: there may be many.
    let uploads = fs::read_dir(&files).into_iter().flatten().flatten();
    let shared = uploads.filter(|file| mode_of(&file.path()).is_some_and(|mode| mode & OTHERS != 0)).count();
    if shared > 0 {
        findings.warning(
            format!("others than their owner may use {shared} files in {}", files.display()),
            format!("chmod 600 {}/*, unless they are shared on purpose", files.display()),
        );
    } else if wide == 0 {
        findings.ok("only their owner may use the data directory and the files in it");
    }
}

/// Returns SQLite's file, its log, the log's index and the lock.
fn of_the_database(configuration: &Configuration) -> Vec<PathBuf> {
    let Ok(Location::Sqlite { path }) = configuration.database.location() else {
        return Vec::new();
    };
    let beside = ["", "-wal", "-shm", ".lock"].map(|end| {
        let mut name = path.clone().into_os_string();
        name.push(end);
        PathBuf::from(name)
    });
    beside.to_vec()
}
