//! A stream that gives the HTTP library one request at a time, whose head has been looked at ([`super::frame`]).
//!
//! In place of a head that is refused the library gets one that says so, and the service answers it as any other request:
//! with the documented body, a request id and a line in the log.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_util::io::poll_read_buf;

use super::connections::Seat;
use super::frame::{self, Part, RefusedHead};
use crate::error::{Error, ErrorCode};
use crate::limits::{FIRST_BYTE, UNREAD_BYTES_MAX, UNREAD_TIME};

/// See the module.
pub struct Heads<S> {
    stream: S,
    seat: Seat,
    buffer: BytesMut,
    /// So many bytes of the buffer are the library's.
    passed: usize,
    /// So many bytes of the buffer have been looked at for the end of a head.
    seen: usize,
    next: Part,
    refused: Refused,
    /// Runs until the first byte has come, and once more while the rest of a refused request is read.
    timer: Option<Pin<Box<Sleep>>>,
    unread: usize,
}

/// The head that was refused on a connection: it is its last.
#[derive(Debug, Clone, Default)]
pub struct Refused(Arc<Mutex<Option<RefusedHead>>>);

impl Refused {
    /// Takes it, if the request is one that stands for it.
    pub fn take(&self) -> Option<RefusedHead> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Around the routes: answers requests that stand for a refused head.
pub async fn refuse(request: Request, next: Next) -> Response {
    let Some(refused) = request.extensions().get::<RefusedHead>() else { return next.run(request).await };
    let mut response = Error::explained(ErrorCode::BadRequest, refused.why).into_response();
    *response.status_mut() = refused.status;
    response
}

const READ_BYTES: usize = 8 * 1024;
/// A line of a chunked body: sizes are short, and trailers as good as unknown.
const LINE_BYTES_MAX: usize = 16 * 1024;

impl<S: AsyncRead + AsyncWrite + Unpin> Heads<S> {
    /// Reads requests from a stream, beginning with a head.
    pub fn new(stream: S, seat: Seat) -> Self {
        Self {
            stream,
            seat,
            buffer: BytesMut::new(),
            passed: 0,
            seen: 0,
            next: Part::Head,
            refused: Refused::default(),
            timer: Some(Box::pin(sleep(FIRST_BYTE))),
            unread: 0,
        }
    }

    /// Where a refused head is told.
    pub fn refused(&self) -> Refused {
        self.refused.clone()
    }

    /// The seat of the connection.
    pub fn seat(&self) -> &Seat {
        &self.seat
    }

    /// Passes on what of the buffer belongs to the present request. False where more has to be read for that.
    fn pass(&mut self) -> io::Result<bool> {
        match self.next {
            Part::Head => return Ok(self.pass_head()),
            Part::Body(left) | Part::Chunk(left) => {
                self.passed = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                self.count(self.passed);
            }
            Part::ChunkSize | Part::Trailer => {
                let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') else {
                    let too_long = self.buffer.len() > LINE_BYTES_MAX;
                    return if too_long { Err(ErrorKind::InvalidData.into()) } else { Ok(false) };
                };
                let line = &self.buffer[..=end];
                let next = match line {
                    _ if self.next == Part::ChunkSize => frame::after_chunk_size(line),
                    b"\r\n" => Some(Part::Head),
                    _ => line.ends_with(b"\r\n").then_some(Part::Trailer),
                };
                self.next = next.ok_or(ErrorKind::InvalidData)?;
                self.passed = end + 1;
            }
            Part::Refused | Part::End => {}
        }
        Ok(self.passed > 0)
    }

    fn pass_head(&mut self) -> bool {
        // Some clients end a body with a line too many.
        while self.buffer.starts_with(b"\r\n") {
            self.buffer.advance(2);
            self.seen = 0;
        }
        let part = match frame::head_length(&self.buffer, &mut self.seen) {
            Ok(None) => return false,
            Ok(Some(length)) => frame::after_head(&self.buffer[..length]).map(|part| (length, part)),
            Err(refused) => Err(refused),
        };
        self.seat.becomes_busy();
        self.seen = 0;
        (self.passed, self.next) = part.unwrap_or_else(|refused| (self.refuse(refused), Part::Refused));
        true
    }

    /// Puts a sound head in place of what has come. Says how long it is.
    fn refuse(&mut self, refused: RefusedHead) -> usize {
        let method = if self.buffer.starts_with(b"HEAD ") { "HEAD" } else { "GET" };
        self.buffer.clear();
        self.buffer.extend_from_slice(method.as_bytes());
        self.buffer.extend_from_slice(b" / HTTP/1.1\r\nHost: refused\r\nConnection: close\r\nX-Request-Id: ");
        self.buffer.extend_from_slice(refused.request_id.as_deref().unwrap_or_default());
        self.buffer.extend_from_slice(b"\r\n\r\n");
        *self.refused.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
        self.buffer.len()
    }

    /// So many bytes of a body have been passed on.
    fn count(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        self.next = match self.next {
            Part::Body(left) if left > bytes => Part::Body(left - bytes),
            Part::Body(_) => Part::Head,
            Part::Chunk(left) if left > bytes => Part::Chunk(left - bytes),
            Part::Chunk(_) => Part::ChunkSize,
            other @ (Part::Head | Part::ChunkSize | Part::Trailer | Part::Refused | Part::End) => other,
        };
    }

    /// Reads more into the buffer. Says how much.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.buffer.reserve(READ_BYTES);
        let read = poll_read_buf(Pin::new(&mut self.stream), context, &mut self.buffer);
        if read.is_ready() {
            self.timer = None;
        } else if self.next == Part::Head {
            self.seat.becomes_idle();
            if self.buffer.is_empty() {
                // There may be many that wait.
                self.buffer = BytesMut::new();
            }
            if let Some(timer) = &mut self.timer {
                ready!(timer.as_mut().poll(context));
                return Poll::Ready(Ok(0));
            }
        }
        read
    }

    /// Reads a body as it comes.
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

    /// Reads and throws away what still comes behind a refused head, as far as that is reasonable: over unread bytes the
    /// connection would be reset, and the reset may overtake the answer.
    fn poll_unread(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut bytes = [0; READ_BYTES];
        while self.unread < UNREAD_BYTES_MAX {
            let mut piece = ReadBuf::new(&mut bytes);
            if Pin::new(&mut self.stream).poll_read(context, &mut piece)?.is_pending() {
                self.seat.becomes_idle();
                let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(UNREAD_TIME)));
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
                return Poll::Ready(Ok(()));
            }
            if this.pass()? {
                continue;
            }
            match this.next {
                Part::Refused | Part::End => return Poll::Ready(Ok(())),
                Part::Body(left) | Part::Chunk(left) => return this.poll_body(context, out, left),
                Part::Head | Part::ChunkSize | Part::Trailer => {
                    if ready!(this.poll_more(context))? == 0 {
                        // A request that is cut off is the library's to notice.
                        this.passed = this.buffer.len();
                        this.next = Part::End;
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
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        if self.next == Part::Refused { self.poll_unread(context) } else { Poll::Ready(Ok(())) }
    }
}
