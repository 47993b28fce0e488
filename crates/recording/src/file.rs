//! The file of a recording: written request by request, and in its place once it is whole.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use base::durable_fs::{file_behind, folder_of, open_kept};
use tempfile::NamedTempFile;

use super::har::{self, Entry};
use super::{Exchange, Format, head};

/// Writes a recording in either form.
pub struct RecordingWriter<W> {
    format: Format,
    out: W,
    count: usize,
}

impl<W: Write> RecordingWriter<W> {
    /// Begins a recording.
    pub fn new(mut out: W, format: Format) -> io::Result<Self> {
        match format {
            Format::Har => out.write_all(har::frame().0.as_bytes())?,
            Format::JsonLines => writeln!(out, "{}", head())?,
        }
        Ok(Self { format, out, count: 0 })
    }

    /// Writes a request.
    pub fn write(&mut self, exchange: &Exchange) -> io::Result<()> {
        match self.format {
            Format::Har => {
                let comma = if self.count == 0 { "" } else { ",\n" };
                write!(self.out, "{comma}{}", serde_json::to_string(&Entry::new(exchange))?)?;
            }
            Format::JsonLines => writeln!(self.out, "{}", serde_json::to_string(exchange)?)?,
        }
        self.count += 1;
        Ok(())
    }

    /// Writes the end.
    pub fn finish(mut self) -> io::Result<W> {
        if self.format == Format::Har {
            self.out.write_all(har::frame().1.as_bytes())?;
        }
        Ok(self.out)
    }
}

/// A file that is being written, beside its later place.
pub struct RecordingFile {
    path: PathBuf,
    /// Whether the path leads to something other than a file, such as `/dev/stdout`: that is written to, not replaced.
    is_kept: bool,
    recording: RecordingWriter<BufWriter<NamedTempFile>>,
}

impl RecordingFile {
    /// Begins a file.
    pub fn create(path: &Path, format: Format) -> io::Result<Self> {
        let found = file_behind(path);
        let (is_kept, path) = (found.is_none(), found.unwrap_or_else(|| path.to_owned()));
        let file = if is_kept { NamedTempFile::new()? } else { NamedTempFile::new_in(folder_of(&path))? };
        Ok(Self { path, is_kept, recording: RecordingWriter::new(BufWriter::new(file), format)? })
    }

    /// Writes a request.
    pub fn write(&mut self, exchange: &Exchange) -> io::Result<()> {
        self.recording.write(exchange)
    }

    /// Puts the file in its place. One that exists is replaced.
    pub fn finish(self) -> io::Result<()> {
        let file = self.recording.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        if self.is_kept {
            return io::copy(&mut file.reopen()?, &mut open_kept(&self.path)?).map(drop);
        }
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}
