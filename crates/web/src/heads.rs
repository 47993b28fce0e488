//! A stream that gives the HTTP library one request at a time, after [`crate::frame`] has checked its head.
//!
//! In place of a refused head the library gets a valid one, marked as refused, and the service answers it like any
//! other request: with the documented body, a request id and a line in the log.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use base::mutex::lock;
use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_util::io::poll_read_buf;

use crate::connections::ConnectionSlot;
use crate::frame::{self, InputPart, RefusedHead};
use crate::limits::{FIRST_BYTE_TIMEOUT, UNREAD_BYTES_MAX, UNREAD_TIMEOUT};

/// The stream; see the module.
pub struct Heads<S> {
    stream: S,
    slot: Arc<ConnectionSlot>,
    buffer: BytesMut,
    /// The number of bytes of the buffer that the library may read.
    passed: usize,
    /// The number of bytes of the buffer that were searched for the end of a head.
    seen: usize,
    next: InputPart,
    refused: RefusedHeadSlot,
    /// Runs until the first byte arrives, and again while the rest of a refused request is read.
    timer: Option<Pin<Box<Sleep>>>,
    unread: usize,
}

/// The refused head of a connection, which is its last one.
#[derive(Debug, Clone, Default)]
pub struct RefusedHeadSlot(Arc<Mutex<Option<RefusedHead>>>);

impl RefusedHeadSlot {
    /// Takes the refused head, if the request stands for one.
    pub fn take(&self) -> Option<RefusedHead> {
        lock(&self.0).take()
    }
}

const READ_BYTES: usize = 8 * 1024;
/// The limit for a line of a chunked body: sizes are short, and trailers hardly used.
const LINE_BYTES_MAX: usize = 16 * 1024;

impl<S: AsyncRead + AsyncWrite + Unpin> Heads<S> {
    /// Creates the stream, which expects a head.
    pub fn new(stream: S, slot: Arc<ConnectionSlot>) -> Self {
        Self {
            stream,
            slot,
            buffer: BytesMut::new(),
            passed: 0,
            seen: 0,
            next: InputPart::Head,
            refused: RefusedHeadSlot::default(),
            timer: Some(Box::pin(sleep(FIRST_BYTE_TIMEOUT))),
            unread: 0,
        }
    }

    /// Returns the slot in which a refused head is left, for its answer.
    pub fn refused(&self) -> RefusedHeadSlot {
        self.refused.clone()
    }

    /// Returns the slot of the connection.
    pub fn slot(&self) -> Arc<ConnectionSlot> {
        Arc::clone(&self.slot)
    }

    /// Notes whether the client reads what is written.
    fn noted(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.slot.set_read(written.is_ready());
        written
    }

    /// Releases the buffered bytes of the current request to the library. Returns false if more must be read first.
    fn pass(&mut self) -> io::Result<bool> {
        match self.next {
            InputPart::Head => return Ok(self.pass_head()),
            InputPart::Body(left) | InputPart::Chunk(left) => {
                self.passed = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                self.count(self.passed);
            }
            InputPart::ChunkSize | InputPart::Trailer => {
                let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') else {
                    let too_long = self.buffer.len() > LINE_BYTES_MAX;
                    return if too_long { Err(ErrorKind::InvalidData.into()) } else { Ok(false) };
                };
                let line = &self.buffer[..=end];
                let next = match line {
                    _ if self.next == InputPart::ChunkSize => frame::after_chunk_size(line),
                    b"\r\n" => Some(InputPart::Head),
                    _ => line.ends_with(b"\r\n").then_some(InputPart::Trailer),
                };
                self.next = next.ok_or(ErrorKind::InvalidData)?;
                self.passed = end + 1;
            }
            InputPart::Refused | InputPart::End => {}
        }
        Ok(self.passed > 0)
    }

    fn pass_head(&mut self) -> bool {
        // Some clients send an extra line end after a body.
        while self.buffer.starts_with(b"\r\n") {
            self.buffer.advance(2);
            self.seen = 0;
        }
        let part = match frame::head_length(&self.buffer, &mut self.seen) {
            Ok(None) => return false,
            Ok(Some(length)) => frame::after_head(&self.buffer[..length]).map(|part| (length, part)),
            Err(refused) => Err(refused),
        };
        if !self.slot.becomes_busy() {
            self.buffer.clear();
            self.next = InputPart::End;
            return false;
        }
        self.seen = 0;
        (self.passed, self.next) = part.unwrap_or_else(|refused| (self.refuse(refused), InputPart::Refused));
        true
    }

    /// Replaces the buffer with a valid head. Returns its length.
    fn refuse(&mut self, refused: RefusedHead) -> usize {
        let method = if self.buffer.starts_with(b"HEAD ") { "HEAD" } else { "GET" };
        self.buffer.clear();
        self.buffer.extend_from_slice(method.as_bytes());
        self.buffer.extend_from_slice(b" / HTTP/1.1\r\nHost: refused\r\nConnection: close\r\nX-Request-Id: ");
        self.buffer.extend_from_slice(refused.request_id.as_deref().unwrap_or_default());
        self.buffer.extend_from_slice(b"\r\n\r\n");
        *lock(&self.refused.0) = Some(refused);
        self.buffer.len()
    }

    /// Counts the bytes of a body that were passed on.
    fn count(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        self.next = match self.next {
            InputPart::Body(left) if left > bytes => InputPart::Body(left - bytes),
            InputPart::Body(_) => InputPart::Head,
            InputPart::Chunk(left) if left > bytes => InputPart::Chunk(left - bytes),
            InputPart::Chunk(_) => InputPart::ChunkSize,
            other @ (InputPart::Head
            | InputPart::ChunkSize
            | InputPart::Trailer
            | InputPart::Refused
            | InputPart::End) => other,
        };
    }

    /// Reads more bytes into the buffer. Returns how many.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.buffer.reserve(READ_BYTES);
        let read = poll_read_buf(Pin::new(&mut self.stream), context, &mut self.buffer);
        if read.is_ready() {
            self.timer = None;
        } else if self.next == InputPart::Head {
            self.slot.becomes_idle();
            if self.buffer.is_empty() {
                // Many connections may be idle: free their buffers.
                self.buffer = BytesMut::new();
            }
            if let Some(timer) = &mut self.timer {
                ready!(timer.as_mut().poll(context));
                return Poll::Ready(Ok(0));
            }
        }
        read
    }

    /// Reads a body as it arrives.
    fn poll_body(
        &mut self,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
        left: u64,
    ) -> Poll<io::Result<()>> {
        let wanted = out.remaining().min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut body = ReadBuf::new(out.initialize_unfilled_to(wanted));
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut body))?;
        let bytes = body.filled().len();
        out.advance(bytes);
        self.count(bytes);
        Poll::Ready(Ok(()))
    }

    /// Reads and discards what follows a refused head, within limits: closing over unread bytes resets the connection,
    /// and the reset may overtake the response.
    fn poll_unread(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut bytes = [0; READ_BYTES];
        while self.unread < UNREAD_BYTES_MAX {
            let mut piece = ReadBuf::new(&mut bytes);
            if Pin::new(&mut self.stream).poll_read(context, &mut piece)?.is_pending() {
                self.slot.becomes_idle();
                let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(UNREAD_TIMEOUT)));
                return timer.as_mut().poll(context).map(Ok);
            }
            if piece.filled().is_empty() {
                break;
            }
            self.unread += piece.filled().len();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Heads<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.passed > 0 {
                let bytes = this.passed.min(out.remaining());
                out.put_slice(&this.buffer[..bytes]);
                this.buffer.advance(bytes);
                this.passed -= bytes;
                if this.buffer.is_empty() {
                    // The request may wait for long.
                    this.buffer = BytesMut::new();
                }
                return Poll::Ready(Ok(()));
            }
            if this.pass()? {
                continue;
            }
            match this.next {
                InputPart::Refused | InputPart::End => return Poll::Ready(Ok(())),
                InputPart::Body(left) | InputPart::Chunk(left) => return this.poll_body(context, out, left),
                InputPart::Head | InputPart::ChunkSize | InputPart::Trailer => {
                    if ready!(this.poll_more(context))? == 0 {
                        // The library handles a truncated request.
                        this.passed = this.buffer.len();
                        this.next = InputPart::End;
                    }
                }
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Heads<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.noted(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        if self.next == InputPart::Refused { self.poll_unread(context) } else { Poll::Ready(Ok(())) }
    }
}
