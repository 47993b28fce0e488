//! A terminal for a program: the program has one end, and the test reads its output and types at the other.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::process::pause;

/// Longer than anything takes that is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// A terminal.
pub struct Terminal {
    name: std::ffi::CString,
    output: Arc<Mutex<Vec<u8>>>,
    keyboard: File,
    /// While one end is open, output is kept.
    kept: File,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Opens an empty terminal.
    pub fn open() -> Self {
        let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&far).unwrap();
        unlockpt(&far).unwrap();
        let name = ptsname(&far, Vec::new()).unwrap();
        let kept = end(&name);
        let output = Arc::new(Mutex::new(Vec::new()));
        let (mut far, seen) = (File::from(far), Arc::clone(&output));
        let keyboard = far.try_clone().unwrap();
        // It ends when all writers have closed their ends.
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 1024];
            while let Ok(read) = far.read(&mut piece) {
                seen.lock().unwrap().extend_from_slice(&piece[..read]);
            }
        });
        Self { name, output, keyboard, kept, reader }
    }

    /// Returns an end for a program; `on_a_terminal` names the terminal to it.
    pub fn end(&self) -> Stdio {
        end(&self.name).into()
    }

    /// Types a text, as a person at the terminal does.
    pub fn types(&self, text: &str) {
        (&self.keyboard).write_all(text.as_bytes()).unwrap();
    }

    /// Returns the output so far.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().unwrap()).into_owned()
    }

    /// Returns the whole output, once no program has an end any more.
    pub fn closed(self) -> String {
        drop(self.kept);
        self.reader.join().unwrap();
        String::from_utf8_lossy(&self.output.lock().unwrap()).into_owned()
    }

    /// Waits for this text in the output.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        let began = Instant::now();
        while !self.output().contains(text) {
            assert!(began.elapsed() < PATIENCE, "{text:?} is not in {:?}", self.output());
            pause(Duration::from_millis(20));
        }
    }
}

fn end(name: &std::ffi::CStr) -> File {
    rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap().into()
}

/// Tells a program that its terminal has colours.
pub fn on_a_terminal(command: &mut Command) -> &mut Command {
    command.env("TERM", "xterm-256color")
}
