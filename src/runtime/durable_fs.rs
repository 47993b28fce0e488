//! Folders that survive a power cut and that only their owner can enter.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The error for a path that names something other than a folder.
#[derive(Debug, thiserror::Error)]
#[error("{0} is no folder")]
pub struct NoFolder(pub PathBuf);

/// Refuses a path that, or an ancestor of which, exists and is no folder.
pub fn refuse_other(folder: &Path) -> Result<(), NoFolder> {
    let there = folder.ancestors().filter(|above| !above.as_os_str().is_empty()).find(|above| above.exists());
    match there {
        Some(other) if !other.is_dir() => Err(NoFolder(other.into())),
        Some(_) | None => Ok(()),
    }
}

/// Creates a folder and its missing ancestors with mode 0700, whatever the umask. Flushes the name of a new folder: a file
/// is lost with the name of its folder, even if the file itself was flushed.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_folder(above)?;
    match DirBuilder::new().mode(0o700).create(folder) {
        // Of two processes that start at once, one creates it.
        Err(error) if error.kind() != ErrorKind::AlreadyExists || !folder.is_dir() => return Err(error),
        Ok(()) | Err(_) => {}
    }
    File::open(above)?.sync_all()
}
