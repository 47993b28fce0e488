//! A terminal, as programs meet one: they write to one end, and what they have written is read at the other.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::process::pause;

/// Longer than anything takes that is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// A terminal.
pub struct Terminal {
    name: std::ffi::CString,
    shown: Arc<Mutex<Vec<u8>>>,
    /// Whoever holds one end keeps what is shown.
    _kept: File,
}

impl Terminal {
    /// One that nobody has written to.
    pub fn open() -> Self {
        let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&far).unwrap();
        unlockpt(&far).unwrap();
        let name = ptsname(&far, Vec::new()).unwrap();
        let kept = end(&name);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut far, seen) = (File::from(far), Arc::clone(&shown));
        // It ends when nobody can write any more.
        std::thread::spawn(move || {
            let mut piece = [0; 1024];
            while let Ok(read) = far.read(&mut piece) {
                seen.lock().unwrap().extend_from_slice(&piece[..read]);
            }
        });
        Self { name, shown, _kept: kept }
    }

    /// An end for a program, which also has to be told what terminal it is.
    pub fn end(&self) -> Stdio {
        end(&self.name).into()
    }

    /// What was written so far.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Wait until this has been written.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        let began = Instant::now();
        while !self.shown().contains(text) {
            assert!(began.elapsed() < PATIENCE, "{text:?} is not in {:?}", self.shown());
            pause(Duration::from_millis(20));
        }
    }
}

fn end(name: &std::ffi::CStr) -> File {
    rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap().into()
}

/// The program is told that its terminal knows colours.
pub fn on_a_terminal(command: &mut Command) -> &mut Command {
    command.env("TERM", "xterm-256color")
}
