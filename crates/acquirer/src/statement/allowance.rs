//! A bound on what is read of a file at once, so that memory holds no more of it, whatever is in the file.

use std::io::{self, ErrorKind, Read};

/// The most bytes of a row, a tag or a text: far more than five texts of the longest kind.
pub(super) const PIECE_BYTES_MAX: usize = 16 * 1024;

/// Reads an input piece by piece: a row, or an element's tag or text. A longer piece is an error.
pub(super) struct Allowance<R> {
    input: R,
    left: usize,
}

impl<R> Allowance<R> {
    pub fn new(input: R) -> Self {
        Self { input, left: PIECE_BYTES_MAX }
    }

    /// Begins the next piece.
    pub fn renew(&mut self) {
        self.left = PIECE_BYTES_MAX;
    }
}

/// Returns the text of the error for a longer piece.
pub(super) fn too_long() -> String {
    format!("is longer than {PIECE_BYTES_MAX} bytes")
}

impl<R: Read> Read for Allowance<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("a row or an element {}", too_long()),
            ));
        }
        let most = into.len().min(self.left);
        let n = self.input.read(&mut into[..most])?;
        self.left -= n;
        Ok(n)
    }
}
