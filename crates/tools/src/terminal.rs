//! The output of commands: coloured on a terminal, plain elsewhere. Texts of strangers cannot make a terminal do anything
//! (`docs/decisions.md`, 408). A closed pipe ends a command without an error.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Display};
use std::io::{self, ErrorKind, StdoutLock, Write};
use std::time::Duration;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use base::plain_text::escape;
use base::platform::{PIPE_BYTES, is_stderr_writable};
use serde::Serialize;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

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

/// Marks another I/O error of the output, so that nobody takes it for a refusal and repeats what is done.
#[derive(Debug, thiserror::Error)]
#[error("the output could not be written, and what the command has done stands: {0}")]
struct OutputLost(io::Error);

/// Returns whether a command ended only because the reader of its output is gone.
pub fn is_reader_gone(error: &(dyn Error + 'static)) -> bool {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.and_then(|inner| inner.downcast_ref::<ReaderGone>()).is_some()
}

/// A standard output that marks its errors.
pub struct Output<W>(W);

/// Returns standard output for programs and files: every byte is written as it is.
pub fn stdout() -> Output<StdoutLock<'static>> {
    Output(io::stdout().lock())
}

/// A standard output for people.
pub struct StyledOutput(Output<AutoStream<StdoutLock<'static>>>);

/// Returns standard output for people: styles are removed unless it is a terminal, and if NO_COLOR is set.
pub fn styled_stdout() -> StyledOutput {
    StyledOutput(Output(anstream::stdout().lock()))
}

impl StyledOutput {
    /// Prints a text, for `writeln!`. Of what a terminal obeys, only ends of lines and the styles of this module stay.
    pub fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        self.0.write_all(for_people(&text.to_string()).as_bytes())
    }
}

/// Prints a value as one line of JSON.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    writeln!(stdout(), "{}", escape_lines(&serde_json::to_string(value)?))
}

/// Prints one record: as text, or as JSON.
pub fn print_result(record: &impl Serialize, text: &dyn Display, json: bool) -> Result<(), Box<dyn Error>> {
    Ok(print_one(record, text, json)?)
}

fn print_one(record: &impl Serialize, text: &dyn Display, json: bool) -> io::Result<()> {
    if json { print_json(record) } else { writeln!(styled_stdout(), "{text}") }
}

/// Prints records of a command that completes its work, and says what has become of it, although nobody reads what it prints
/// (`docs/decisions.md`, 358).
pub struct Printer {
    json: bool,
    printed: io::Result<()>,
}

impl Printer {
    /// Prints each record as text, or as JSON.
    pub const fn new(json: bool) -> Self {
        Self { json, printed: Ok(()) }
    }

    /// Prints one record, if all before it were printed.
    pub fn print(&mut self, record: &impl Serialize, text: &dyn Display) {
        if self.printed.is_ok() {
            self.printed = print_one(record, text, self.json);
        }
    }

    /// Returns why not all records were printed.
    pub fn end(self) -> Result<(), Box<dyn Error>> {
        Ok(self.printed?)
    }
}

/// Prints records: as text, or as JSON.
pub fn print_list<R: Serialize + Display>(records: &[R], json: bool) -> Result<(), Box<dyn Error>> {
    records.iter().try_for_each(|record| print_result(record, record, json))?;
    if records.is_empty() {
        print_none(json);
    }
    Ok(())
}

/// Says that there are no records to print. Standard output is data, so people read it on stderr.
pub fn print_none(json: bool) {
    if !json {
        print_notice("none");
    }
}

/// Returns lines without what a terminal obeys. JSON stays the same JSON.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escape(text, |letter| letter == '\n')
}

/// The sequences of the styles above.
const STYLES: [&str; 5] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"];

fn for_people(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (n, part) in text.split('\u{1b}').enumerate() {
        let style = STYLES.iter().find(|style| n > 0 && part.starts_with(&style[1..]));
        let part = match style {
            Some(style) => {
                shown.push_str(style);
                &part[style.len() - 1..]
            }
            None if n > 0 => {
                shown.push_str(&escape("\u{1b}", |_| false));
                part
            }
            None => part,
        };
        shown.push_str(&escape(part, |letter| letter == '\n'));
    }
    shown
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(mark_error)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(mark_error)
    }
}

fn mark_error(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::BrokenPipe {
        io::Error::other(ReaderGone)
    } else if error.kind() == ErrorKind::Interrupted {
        // The caller writes again.
        error
    } else {
        io::Error::other(OutputLost(error))
    }
}

/// Prints a line to stderr and ignores a failure.
pub fn print_notice(line: impl Display) {
    let _ = writeln!(anstream::stderr(), "{}", for_people(&line.to_string()));
}

/// Stderr for the log of a server, which goes on if nobody reads its pipe: it drops what is not taken within a second, and from then on
/// all, until somebody reads again. The first line after that says how many entries are missing.
pub struct LossyStderr {
    is_json: bool,
    dropped: u64,
    is_amid_line: bool,
    /// Whether nobody read when an entry was written last: then none is waited for.
    is_unread: bool,
}

impl LossyStderr {
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Writes a log of text, or of JSON.
    pub const fn new(is_json: bool) -> Self {
        Self { is_json, dropped: 0, is_amid_line: false, is_unread: false }
    }

    fn notice(&self) -> String {
        let end = if self.is_amid_line { "\n" } else { "" };
        let said = format!("{} entries of the log are missing: nobody read them", self.dropped);
        if self.is_json {
            format!("{end}{}\n", json!({ "level": "WARN", "fields": { "message": said } }))
        } else {
            format!("{end}{said}\n")
        }
    }

    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = io::stderr().write(&bytes[..bytes.len().min(PIPE_BYTES)])?;
        self.is_amid_line = bytes[..count].last().is_some_and(|last| *last != b'\n');
        Ok(count)
    }
}

impl Write for LossyStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let patience = if self.is_unread { Duration::ZERO } else { Self::PATIENCE };
        if !is_stderr_writable(patience) {
            (self.dropped, self.is_unread) = (self.dropped + 1, true);
            return Ok(bytes.len());
        }
        if self.dropped == 0 {
            self.is_unread = false;
            return self.write_some(bytes);
        }
        let notice = self.notice();
        self.dropped = 0;
        self.write_some(notice.as_bytes())?;
        self.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log, in which an entry is a line, whatever strangers have sent. The sequences that come here are the log's own colours: it
/// escapes those of strangers.
pub struct LineLog<M>(pub M);

pub struct LogEntry<W>(W);

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for LineLog<M> {
    type Writer = LogEntry<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        LogEntry(self.0.make_writer())
    }
}

impl<W: Write> Write for LogEntry<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let (entry, end) = text.strip_suffix('\n').map_or((&*text, ""), |entry| (entry, "\n"));
        // In one piece, so that an entry is written or dropped.
        let line = escape(entry, |letter| letter == '\u{1b}').into_owned() + end;
        self.0.write_all(line.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_styles_and_ends_of_lines_stay() {
        let text = format!("{BAD}error:{BAD:#} {HEAD}a{HEAD:#}{GOOD}b{GOOD:#}{DOUBTFUL}c{DOUBTFUL:#}\nd");
        assert_eq!(for_people(&text), text);
        let strange = "\u{1b}[1A\u{1b}[2K\u{1b}[8m\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{1b}";
        assert_eq!(
            for_people(strange),
            "\\u001b[1A\\u001b[2K\\u001b[8m\\u001b]0;x\\u0007\\u009b2J\\u202e\\u001b"
        );
    }

    #[test]
    fn an_entry_of_the_log_is_a_line() {
        let mut log = LogEntry(Vec::new());
        log.write_all("\u{1b}[32mINFO\u{1b}[0m a\r\nb\u{9b}\u{202e}\n".as_bytes()).unwrap();
        let shown = "\u{1b}[32mINFO\u{1b}[0m a\\u000d\\u000ab\\u009b\\u202e\n";
        assert_eq!(String::from_utf8(log.0).unwrap(), shown);
    }
}
