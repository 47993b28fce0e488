//! What commands say: in colour where a terminal is, plainly elsewhere, and no more to a reader who has heard enough.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, ErrorKind, StdoutLock, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};

/// As it should be.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Somebody should know.
pub const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
/// It must not be like this.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What other words stand below or behind.
pub const HEAD: Style = Style::new().bold();

/// The reader of a pipe is gone, as `| head -1` is when it has its line. That is no failure.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads what is said")]
struct Unread;

/// Whether a command ends for no other reason than that nobody reads on.
pub fn is_unread(error: &(dyn Error + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.and_then(|inner| inner.downcast_ref::<Unread>()).is_some()
}

/// Standard output.
pub struct Output<W>(W);

/// For programs and files: as it is, byte for byte.
pub fn plain() -> Output<StdoutLock<'static>> {
    Output(io::stdout().lock())
}

/// For people: styles are left out where no terminal is, or where NO_COLOR asks for none.
pub fn styled() -> Output<AutoStream<StdoutLock<'static>>> {
    Output(anstream::stdout().lock())
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(told)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(told)
    }
}

fn told(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::BrokenPipe { io::Error::other(Unread) } else { error }
}

/// A line on stderr, beside what a command says. Nobody has to hear it.
pub fn notice(line: impl Display) {
    let _ = writeln!(anstream::stderr(), "{line}");
}
