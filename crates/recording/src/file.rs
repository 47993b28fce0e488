//! The file of a recording: written request by request, and in its place once it is whole.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::har::{self, Entry};
use super::{Exchange, Format, head};

/// A file that is being written, beside its later place.
pub struct RecordingFile {
    path: PathBuf,
    format: Format,
    file: BufWriter<NamedTempFile>,
    count: usize,
}

impl RecordingFile {
    /// Begins a file.
    pub fn create(path: &Path, format: Format) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = BufWriter::new(NamedTempFile::new_in(folder)?);
        match format {
            Format::Har => file.write_all(har::frame().0.as_bytes())?,
            Format::JsonLines => writeln!(file, "{}", head())?,
        }
        Ok(Self { path: path.to_owned(), format, file, count: 0 })
    }

    /// Writes a request.
    pub fn write(&mut self, exchange: &Exchange) -> io::Result<()> {
        match self.format {
            Format::Har => {
                let comma = if self.count == 0 { "" } else { ",\n" };
                write!(self.file, "{comma}{}", serde_json::to_string(&Entry::new(exchange))?)?;
            }
            Format::JsonLines => writeln!(self.file, "{}", serde_json::to_string(exchange)?)?,
        }
        self.count += 1;
        Ok(())
    }

    /// Puts the file in its place. One that exists is replaced.
    pub fn finish(mut self) -> io::Result<()> {
        if self.format == Format::Har {
            self.file.write_all(har::frame().1.as_bytes())?;
        }
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}
