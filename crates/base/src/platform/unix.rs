//! Unix.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, statvfs};
use rustix::process::{
    Pid, Resource, Rlimit, getpgrp, getrlimit, getuid, kill_process, kill_process_group, setrlimit, umask,
};
use rustix::system::uname;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use rustix::time::{ClockId, clock_gettime};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use super::Signal;
use crate::variables::set_variable;

/// See [`Signal::STOP`].
pub(super) const STOP: &[Signal] = &[Signal::Terminate, Signal::Interrupt];

/// Whether locks of files (flock) and those of SQLite do not meet.
pub const FILE_LOCKS_ARE_SEPARATE: bool = cfg!(target_os = "linux");

/// Whether a port that is bound with its address reused is nobody else's.
pub const REUSED_PORTS_ARE_FREE: bool = true;

/// The limitations of a server on this system, and their remedies.
pub const LIMITATIONS: &[(&str, &str)] = if FILE_LOCKS_ARE_SEPARATE { &[] } else { &[super::ONE_NAME] };

/// Device and inode, which identify a file whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId(u64, u64);

impl FileId {
    /// Returns that of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|found| Self::from_metadata(&found))
    }

    /// Returns that of the file at a path.
    pub fn at(path: &Path) -> io::Result<Self> {
        path.metadata().map(|found| Self::from_metadata(&found))
    }

    fn from_metadata(found: &Metadata) -> Self {
        Self(found.dev(), found.ino())
    }
}

/// Creates a folder with mode 0700, whatever the umask.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

/// Returns options that write a file, and create a missing one that only its owner can read.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

/// Sets the mode of a temporary file or folder; the umask applies.
pub fn set_mode(builder: &mut tempfile::Builder<'_, '_>, mode: u32) {
    builder.permissions(Permissions::from_mode(mode));
}

/// Returns whether a path leads to what this process has open already, though that may be a file with a name.
pub fn is_descriptor(path: &Path) -> bool {
    ["/dev/stdout", "/dev/stderr"].map(Path::new).contains(&path)
        || ["/dev/fd", "/proc"].iter().any(|folder| path.starts_with(folder))
}

/// Returns the permission bits of a file or folder that exists.
pub fn mode_of(path: &Path) -> Option<u32> {
    path.metadata().ok().map(|found| found.permissions().mode() & 0o777)
}

/// Flushes the names of a folder's files.
pub fn flush_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Returns the free space of a folder's disk.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Lets files that the process creates from now on be its user's only.
pub fn hide_new_files() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// Raises how many files may be open to `wanted`, as far as the machine permits. Returns how many may be open, `wanted` at most.
pub fn raise_open_files(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // None means no limit.
    let Some(current) = current.filter(|current| *current < wanted) else { return wanted };
    let raised = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raise = |to| setrlimit(Resource::Nofile, Rlimit { current: Some(to), maximum }).is_ok();
    // macOS names no maximum and has one, which is never less than the second number.
    [raised, raised.min(10_240)].into_iter().find(|to| *to > current && raise(*to)).unwrap_or(current)
}

/// Says to the service manager that started this process how it is, as sd_notify(3) does; without one, to nobody.
pub fn notify_service_manager(state: &str) -> io::Result<()> {
    let Some(socket) = set_variable("NOTIFY_SOCKET") else { return Ok(()) };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &socket_address(&socket)?).map(|_| ())
}

/// Returns the address of a socket: a path, or on Linux a name behind an @.
fn socket_address(socket: &OsStr) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.as_bytes().strip_prefix(b"@") {
        return SocketAddr::from_abstract_name(name);
    }
    SocketAddr::from_pathname(socket)
}

/// Calls `report` at each of these signals, from now on.
pub(super) fn on_signal(number: Signal, report: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut signals = signal(SignalKind::from_raw(number.number()))?;
    tokio::spawn(async move {
        while signals.recv().await.is_some() {
            report();
        }
    });
    Ok(())
}

/// Makes a write beyond the limit of a file's size (`ulimit -f`) fail like one to a full disk; by itself the system ends the process.
/// Commands that this process runs are ended as ever.
pub fn survive_file_size_limit() -> io::Result<()> {
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

/// Sends a signal to a process; one that has just ended gets nothing.
pub fn send_signal(process: u32, signal: Signal) {
    let signal = match signal {
        Signal::HangUp => rustix::process::Signal::HUP,
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Quit => rustix::process::Signal::QUIT,
        Signal::Terminate => rustix::process::Signal::TERM,
    };
    if let Some(process) = Pid::from_raw(process.cast_signed()) {
        let _ = kill_process(process, signal);
    }
}

/// Returns the program that a word names.
pub fn program(word: &OsStr) -> OsString {
    word.to_owned()
}

/// Starts a command in a process group of its own.
pub fn in_own_group(command: &mut Command) {
    command.process_group(0);
}

/// Kills a process group, which its first process gives its number.
pub fn kill_group(process: u32) {
    if let Some(group) = Pid::from_raw(process.cast_signed()) {
        let _ = kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Returns the exit code of a program: 128 and the signal's number if a signal ended it.
pub fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(128 + status.signal().unwrap_or_default())
}

/// Returns whether this process and its commands are what a terminal runs: it sends them its signals itself.
pub fn is_in_foreground() -> bool {
    File::open("/dev/tty").is_ok_and(|terminal| tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp()))
}

/// A terminal that does not show what is typed, until it is dropped.
pub struct HiddenInput(Termios);

impl HiddenInput {
    /// Hides the input, if it is a terminal's.
    pub fn of_terminal() -> Option<Self> {
        let input = io::stdin();
        if !input.is_terminal() {
            return None;
        }
        let shown = tcgetattr(input.as_fd()).ok()?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(input.as_fd(), OptionalActions::Flush, &hidden).ok()?;
        Some(Self(shown))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Flush, &self.0);
    }
}

/// Returns whether stderr takes [`super::PIPE_BYTES`] within this time, or refuses them at once: a pipe that nobody reads does neither.
/// A signal meanwhile counts as that.
pub fn is_stderr_writable(within: Duration) -> bool {
    let within = Timespec { tv_sec: within.as_secs().cast_signed(), tv_nsec: within.subsec_nanos().into() };
    let stderr = io::stderr();
    poll(&mut [PollFd::new(&stderr, PollFlags::OUT)], Some(&within)).is_ok_and(|writable| writable > 0)
}

/// Returns the time since the machine started. Unlike `Instant`, it goes on while a Linux machine sleeps.
pub fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let since = clock_gettime(CLOCK);
    Duration::new(since.tv_sec.unsigned_abs(), u32::try_from(since.tv_nsec).unwrap_or_default())
}

/// Returns the number of the user who runs this process, and before it that of the login if `sudo` or another program has changed it.
pub fn user() -> String {
    let login = std::fs::read_to_string("/proc/self/loginuid").unwrap_or_default();
    number(&login, getuid().as_raw())
}

/// Returns the machine's name.
pub fn host_name() -> Option<String> {
    let system = uname();
    system.nodename().to_str().ok().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Returns the login's user number, which `sudo` does not change, and the effective one if it differs; only the latter if there
/// was no login, as in a container.
fn number(login: &str, own: u32) -> String {
    const NOBODY: u32 = u32::MAX;
    match login.trim().parse::<u32>() {
        Ok(login) if login != NOBODY && login != own => format!("{login} as {own}"),
        Ok(_) | Err(_) => own.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::durable_fs::{refuse_unwritable, replace_file};

    #[test]
    fn a_link_stays_and_its_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "before").unwrap();
        symlink(&file, &link).unwrap();
        replace_file(&link, b"after").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"after");
    }

    #[test]
    fn a_link_to_a_file_that_is_to_come_stays() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("file", &link).unwrap();
        replace_file(&link, b"first").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), b"first");
    }

    #[test]
    fn a_file_that_a_program_writes_to_already_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        std::fs::write(&file, "before, ").unwrap();
        let mut opened = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
        let path = format!("/dev/fd/{}", opened.as_raw_fd());
        replace_file(Path::new(&path), b"report").unwrap();
        opened.write_all(b", after").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"before, report, after");
    }

    #[test]
    fn what_is_no_file_is_written_to() {
        let (mut reader, writer) = io::pipe().unwrap();
        let path = format!("/dev/fd/{}", writer.as_raw_fd());
        refuse_unwritable(Path::new(&path)).unwrap();
        replace_file(Path::new(&path), b"report").unwrap();
        drop(writer);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, b"report");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_socket_of_a_service_manager_is_a_path_or_a_name() {
        let address = |socket: &str| socket_address(OsStr::new(socket)).unwrap();
        assert_eq!(address("/run/systemd/notify").as_pathname(), Some(Path::new("/run/systemd/notify")));
        assert_eq!(address("@/org/freedesktop").as_abstract_name(), Some(&b"/org/freedesktop"[..]));
    }

    #[test]
    fn an_operator_is_who_has_logged_in_whomever_he_acts_as() {
        for (login, own, expected) in [
            ("1000", 1000, "1000"),
            ("1000\n", 0, "1000 as 0"),
            // All ones: there was no login.
            ("4294967295", 10001, "10001"),
            ("", 7, "7"),
        ] {
            assert_eq!(number(login, own), expected);
        }
    }
}
