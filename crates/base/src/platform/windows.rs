//! Windows. Access is a matter of lists there, which folders hand down: files have no mode.

use std::env::{split_paths, var, var_os};
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tokio::process::Command;
use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};
use winapi_util::file::information;

use super::Signal;

/// See [`Signal::STOP`]. After the end of its console a program has a few seconds.
pub(super) const STOP: &[Signal] = &[Signal::Terminate, Signal::Interrupt, Signal::HangUp];

/// Whether locks of files and those of SQLite do not meet: both lock bytes of the file.
pub const FILE_LOCKS_ARE_SEPARATE: bool = false;

/// Whether a port that is bound with its address reused is nobody else's: another server may have it.
pub const REUSED_PORTS_ARE_FREE: bool = false;

/// The limitations of a server on this system, and their remedies.
pub const LIMITATIONS: &[(&str, &str)] = &[
    super::ONE_NAME,
    (
        "files have no modes: who else can read the data directory is not checked",
        "let nobody but the server's user on the directory's list of access: icacls shows it",
    ),
    (
        "shares of a key are shown while they are typed",
        "name the shares' files in CARD_PAYMENTS_VAULT_KEY_SHARES",
    ),
    (
        "no signal of another program lets a server finish what is in flight; Ctrl-C at its console does",
        "end it by Ctrl-C; a server that is killed recovers its payments at the next start",
    ),
];

/// Volume and index, which identify a file whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId(u64, u64);

impl FileId {
    /// Returns that of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        information(file).map(|found| Self(found.volume_serial_number(), found.file_index()))
    }

    /// Returns that of the file at a path.
    pub fn at(path: &Path) -> io::Result<Self> {
        // To be asked what it is, a file need not be readable.
        Self::of(&OpenOptions::new().access_mode(0).open(path)?)
    }
}

/// Creates a folder.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir(folder)
}

/// Returns options that write a file, and create a missing one.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    options
}

/// Does nothing.
pub fn set_mode(_builder: &mut tempfile::Builder<'_, '_>, _mode: u32) {}

/// Returns false: no path is a descriptor's.
pub fn is_descriptor(_path: &Path) -> bool {
    false
}

/// Returns nothing.
pub fn mode_of(_path: &Path) -> Option<u32> {
    None
}

/// Does nothing: the system flushes names with their files.
pub fn flush_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns that the free space is not known.
pub fn free_bytes(_folder: &Path) -> io::Result<u64> {
    Err(ErrorKind::Unsupported.into())
}

/// Does nothing: no service manager here listens.
pub fn notify_service_manager(_state: &str) -> io::Result<()> {
    Ok(())
}

/// Does nothing.
pub fn hide_new_files() {}

/// There is no such limit here.
pub fn survive_file_size_limit() -> io::Result<()> {
    Ok(())
}

/// Returns how many files may be open: as many as are wanted.
pub fn raise_open_files(wanted: u64) -> u64 {
    wanted
}

/// Calls `report` at each of these signals, from now on. A console has other ones, with the same meaning.
pub(super) fn on_signal(signal: Signal, report: impl Fn() + Send + 'static) -> io::Result<()> {
    macro_rules! at_each {
        ($event:ident) => {{
            let mut events = $event()?;
            tokio::spawn(async move {
                while events.recv().await.is_some() {
                    report();
                }
            });
        }};
    }
    match signal {
        Signal::HangUp => at_each!(ctrl_close),
        Signal::Interrupt => at_each!(ctrl_c),
        Signal::Quit => at_each!(ctrl_break),
        Signal::Terminate => at_each!(ctrl_shutdown),
    }
    Ok(())
}

/// Does nothing: a console sends its signals to all of its programs.
pub fn send_signal(_process: u32, _signal: Signal) {}

/// Returns the program that a word names: for a plain name, the first of a folder in PATH with one of the endings in PATHEXT, as a
/// shell finds `npm.cmd`. The system itself adds nothing but `.exe`.
pub fn program(word: &OsStr) -> OsString {
    let (folders, endings) = (var_os("PATH").unwrap_or_default(), var("PATHEXT").unwrap_or_default());
    let with_endings = |path: PathBuf| {
        let mut named =
            endings.split(';').map(|ending| path.with_added_extension(ending.trim_start_matches('.')));
        named.find(|path| path.is_file())
    };
    let is_plain = Path::new(word).file_stem() == Some(word);
    let mut paths = split_paths(&folders).map(|folder| folder.join(word)).filter(|_| is_plain);
    paths.find_map(with_endings).map_or_else(|| word.to_owned(), PathBuf::into_os_string)
}

/// Does nothing: [`kill_group`] finds the programs that a command has started.
pub fn in_own_group(_command: &mut Command) {}

/// Kills a process with all that it has started.
pub fn kill_group(process: u32) {
    let _ = std::process::Command::new("taskkill").args(["/T", "/F", "/PID", &process.to_string()]).output();
}

/// Returns the exit code of a program.
pub fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}

/// Returns true: a console sends its signals to all of its programs.
pub fn is_in_foreground() -> bool {
    true
}

/// A console that does not show what is typed. There is none: shares of keys are handed over in files.
pub struct HiddenInput;

impl HiddenInput {
    /// Returns nothing.
    pub fn of_terminal() -> Option<Self> {
        None
    }
}

/// Returns that stderr takes what is written: the system does not say.
pub const fn is_stderr_writable(_within: Duration) -> bool {
    true
}

/// Returns the time since the first call, sleep included.
pub fn since_boot() -> Duration {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    FIRST.elapsed()
}

/// Returns the domain of the user who runs this process: users have no number.
pub fn user() -> String {
    var("USERDOMAIN").unwrap_or_default()
}

/// Returns the machine's name.
pub fn host_name() -> Option<String> {
    var("COMPUTERNAME").ok()
}
