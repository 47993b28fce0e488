//! A client's socket, which is watched for a reset: the HTTP library reads nothing while a request waits, so it would not learn of one.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// A TCP connection that can be watched while another task reads it.
pub struct Socket {
    read: Arc<OwnedReadHalf>,
    write: OwnedWriteHalf,
}

/// Sees a reset by the client, while another task reads and writes.
pub struct SocketWatch(Arc<OwnedReadHalf>);

impl Socket {
    /// Divides a connection.
    pub fn watched(stream: TcpStream) -> (Self, SocketWatch) {
        let (read, write) = stream.into_split();
        let read = Arc::new(read);
        (Self { read: Arc::clone(&read), write }, SocketWatch(read))
    }
}

impl SocketWatch {
    /// Waits until the client has reset the connection. A client that has closed it, or only its own side, sends none.
    pub async fn reset(self) {
        // An error says the same.
        let _ = self.0.ready(Interest::ERROR).await;
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream: &TcpStream = (*self.read).as_ref();
        loop {
            ready!(stream.poll_read_ready(context))?;
            match stream.try_read_buf(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(drop)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.write).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.write).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.write.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.write).poll_shutdown(context)
    }
}
