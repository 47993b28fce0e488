//! Folders that survive a power cut and that only their owner can enter, and files that are replaced as wholes.

use std::fs::{self, File, OpenOptions};
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
        return open_kept(file)?.write_all(bytes);
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
    // What is no file is not tried: a named pipe would wait for its reader.
    file_behind(file).map_or(Ok(()), |file| new_sibling(&file).map(drop))
}

/// Returns the file that a path leads to, or would lead to; `None` if it leads to something else, or to what is open already.
pub fn file_behind(path: &Path) -> Option<PathBuf> {
    if platform::is_descriptor(path) {
        return None;
    }
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => None,
        Ok(_) => fs::canonicalize(path).ok(),
        Err(_) => Some(fs::read_link(path).map_or_else(|_| path.to_owned(), |to| folder_of(path).join(to))),
    }
}

/// Opens what a path without a file leads to. What others have written there stays.
pub fn open_kept(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
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
