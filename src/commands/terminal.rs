//! The output of commands: coloured on a terminal, plain elsewhere. A closed pipe ends a command without an error.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, ErrorKind, StdoutLock, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};

/// For what is fine.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// For warnings.
pub const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
/// For errors.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// For headings and labels.
pub const HEAD: Style = Style::new().bold();

/// Marks an I/O error: the reader of the pipe is gone, as in `| head -1`. A command does not fail for that.
#[derive(Debug, thiserror::Error)]
#[error("the reader of the output is gone")]
struct ReaderGone;

/// Returns whether a command ended only because the reader of its output is gone.
pub fn is_reader_gone(error: &(dyn Error + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.and_then(|inner| inner.downcast_ref::<ReaderGone>()).is_some()
}

/// A standard output that marks the error of a closed pipe.
pub struct Output<W>(W);

/// Returns standard output for programs and files: every byte is written as it is.
pub fn stdout() -> Output<StdoutLock<'static>> {
    Output(io::stdout().lock())
}

/// Returns standard output for people: styles are removed unless it is a terminal, and if NO_COLOR is set.
pub fn styled_stdout() -> Output<AutoStream<StdoutLock<'static>>> {
    Output(anstream::stdout().lock())
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(mark_reader_gone)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(mark_reader_gone)
    }
}

fn mark_reader_gone(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::BrokenPipe { io::Error::other(ReaderGone) } else { error }
}

/// Prints a line to stderr and ignores a failure.
pub fn print_notice(line: impl Display) {
    let _ = writeln!(anstream::stderr(), "{line}");
}
