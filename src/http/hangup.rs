//! Notices that a client hangs up while its request waits. The HTTP library reads nothing meanwhile, because a client that
//! has closed its sending side may still want the response.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// Whether the client of a connection has closed it, or its sending side.
#[derive(Debug, Default)]
pub struct Hangup {
    is_awaited: AtomicBool,
    happened: Notify,
}

impl Hangup {
    /// Waits until the client hangs up.
    pub async fn happens(&self) {
        self.is_awaited.store(true, Ordering::Relaxed);
        self.happened.notified().await;
    }

    /// Ends the watch.
    pub fn ignore(&self) {
        self.is_awaited.store(false, Ordering::Relaxed);
    }
}

/// A client's connection.
pub struct WatchedStream {
    stream: TcpStream,
    hangup: Arc<Hangup>,
}

impl WatchedStream {
    /// Wraps a connection.
    pub fn new(stream: TcpStream, hangup: Arc<Hangup>) -> Self {
        Self { stream, hangup }
    }

    /// Peeks for the end of what the client sends. Bytes of its next request hide it.
    fn watch(&self, context: &mut Context<'_>) {
        let mut byte = [0];
        match self.stream.poll_peek(context, &mut ReadBuf::new(&mut byte)) {
            Poll::Ready(Ok(0) | Err(_)) => self.hangup.happened.notify_one(),
            Poll::Ready(Ok(_)) | Poll::Pending => {}
        }
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for WatchedStream {
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
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// The HTTP library flushes at the end of every turn, also while a request waits.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.hangup.is_awaited.load(Ordering::Relaxed) {
            self.watch(context);
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
