//! The differences between operating systems: the same functions for Unix and for Windows, each in a file of its own. Nothing else
//! in the program asks on which system it runs.

pub mod processor_time;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

use std::io;

use tokio::sync::mpsc;

pub use system::{
    FILE_LOCKS_ARE_SEPARATE, FileId, HiddenInput, LIMITATIONS, REUSED_PORTS_ARE_FREE, create_private_folder,
    exit_code, flush_folder, free_bytes, hide_new_files, host_name, in_own_group, is_descriptor,
    is_in_foreground, is_stderr_writable, kill_group, mode_of, notify_service_manager, private_file, program,
    raise_open_files, send_signal, set_mode, since_boot, survive_file_size_limit, user,
};

/// What a pipe takes at once on every system, if it takes anything.
pub const PIPE_BYTES: usize = 512;

/// The permission bits of everybody but the owner.
pub const OTHERS: u32 = 0o077;

/// The message to a service manager that the server takes requests, as sd_notify(3) spells it.
pub const READY: &str = "READY=1";
/// The message to a service manager that the server ends.
pub const STOPPING: &str = "STOPPING=1";

/// The limitation of systems on which [`FILE_LOCKS_ARE_SEPARATE`] is false, and its remedy.
const ONE_NAME: (&str, &str) = (
    "a second server is not refused if it opens the database's file by another name (a hard link)",
    "give the file one name",
);

/// A signal to end, with its number on all systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The terminal is gone.
    HangUp = 1,
    /// Ctrl-C.
    Interrupt = 2,
    /// Ctrl-\.
    Quit = 3,
    /// The usual one.
    Terminate = 15,
}

impl Signal {
    /// The signals that end a server.
    pub const STOP: &[Self] = system::STOP;

    /// Returns its number.
    pub const fn number(self) -> i32 {
        self as i32
    }
}

/// Yields each of these signals. They are handled from now on, before anything slow: the first process of a container gets only
/// signals that it handles.
pub fn on_signals(signals: &[Signal]) -> io::Result<mpsc::Receiver<Signal>> {
    let (sender, received) = mpsc::channel(2);
    for &signal in signals {
        let sender = sender.clone();
        system::on_signal(signal, move || {
            // A third signal adds nothing.
            let _ = sender.try_send(signal);
        })?;
    }
    Ok(received)
}
