//! Closes a connection whose client stops reading: such a client would hold a slot among the connections, and its
//! response in memory, for ever.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream whose writes fail if nothing at all can be written for too long.
pub struct StallTimeoutStream<S> {
    stream: S,
    limit: Duration,
    // Runs while nothing can be written.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> StallTimeoutStream<S> {
    /// Wraps a stream with this time-out.
    pub fn with_timeout(limit: Duration, stream: S) -> Self {
        Self { stream, limit, stalled: None }
    }

    /// Returns the result of a write, or an error once the stream has stalled for too long.
    fn unless_stalled(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallTimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_stalled(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.unless_stalled(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn who_takes_nothing_is_not_waited_for() {
        let (ours, _theirs) = duplex(10);
        let error = StallTimeoutStream::with_timeout(Duration::from_millis(100), ours)
            .write_all(&[0; 11])
            .await
            .err()
            .map(|error| error.kind());
        assert_eq!(error, Some(ErrorKind::TimedOut));
    }

    #[tokio::test]
    async fn who_takes_a_little_at_a_time_is_waited_for() {
        let (ours, mut theirs) = duplex(10);
        let mut taken = StallTimeoutStream::with_timeout(Duration::from_mins(1), ours);
        let mut ends = Vec::new();
        for _ in 0..4 {
            // As much as there is room for, and then it stalls.
            assert!(taken.write_all(&[0; 11]).now_or_never().is_none());
            ends.extend(taken.stalled.as_ref().map(|stalled| stalled.deadline()));
            sleep(Duration::from_millis(5)).await;
            assert_eq!(theirs.read_exact(&mut [0; 10]).await.ok(), Some(10));
        }
        // Each progress begins the time-out again, so that all stalls together may be longer.
        assert!(ends.len() == 4 && ends.is_sorted_by(|one, next| one < next), "{ends:?}");
    }
}
