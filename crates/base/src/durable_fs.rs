//! Folders that survive a power cut and that only their owner can enter, and files that are replaced as wholes.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::platform;

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
    let above = folder_of(folder);
    create_folder(above)?;
    match platform::create_private_folder(folder) {
        // Of two processes that start at once, one creates it.
        Err(error) if error.kind() != ErrorKind::AlreadyExists || !folder.is_dir() => return Err(error),
        Ok(()) | Err(_) => {}
    }
    platform::flush_folder(above)
}

/// Replaces a file, or creates it: complete and flushed to the disk, or not at all. A link stays, and its file is replaced; what is no
/// file, such as `/dev/stdout`, is written to.
pub fn replace_file(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let Some(file) = file_behind(file) else {
        return OpenOptions::new().write(true).open(file)?.write_all(bytes);
    };
    let mut written = new_sibling(&file)?;
    written.write_all(bytes)?;
    written.as_file().sync_all()?;
    written.persist(&file)?;
    platform::flush_folder(folder_of(&file))
}

/// Refuses a file that [`replace_file`] could not write.
pub fn refuse_unwritable(file: &Path) -> io::Result<()> {
    if file.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    match file_behind(file) {
        Some(file) => new_sibling(&file).map(drop),
        None => OpenOptions::new().write(true).open(file).map(drop),
    }
}

/// Returns the file that a path leads to, or would lead to; `None` if it leads to something else.
pub fn file_behind(path: &Path) -> Option<PathBuf> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => None,
        // A file without a name, behind a descriptor's, cannot be replaced.
        Ok(_) => fs::canonicalize(path).ok(),
        Err(_) => Some(path.to_owned()),
    }
}

/// Creates a file that is deleted unless it gets the other one's name. The user's mask decides who may read it.
fn new_sibling(file: &Path) -> io::Result<NamedTempFile> {
    let mut named = tempfile::Builder::new();
    platform::set_mode(&mut named, 0o666);
    named.prefix(".card-payments-").tempfile_in(folder_of(file))
}

/// Returns the folder of a file.
pub fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
