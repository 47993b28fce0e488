//! The lines of the protocol on standard input and output. The library passes over a line that is not JSON; JSON-RPC wants it
//! answered (`docs/decisions.md`, 461).

use std::io;

use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer};
use serde::de::IgnoredAny;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The longest line that is read as one, as long as the library takes it.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// What the library has not read yet.
const BUFFER: usize = 64 * 1024;

/// Passes lines of JSON on to the library, and answers all others itself.
pub struct LineTransport<W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, DuplexStream, W>,
    /// Yields for each line that is not JSON.
    faults: mpsc::Receiver<()>,
    /// The answer that is being written: a receiver may be dropped meanwhile, and begins again.
    answering: Option<JoinHandle<io::Result<()>>>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> LineTransport<W> {
    /// Begins to read the input.
    pub fn new(input: impl AsyncRead + Send + Unpin + 'static, output: W) -> Self {
        let (passed_on, read) = tokio::io::duplex(BUFFER);
        let (fault, faults) = mpsc::channel(1);
        tokio::spawn(async move {
            // It ends with the input, or with the session.
            let _ = sift(input, passed_on, fault).await;
        });
        Self { inner: AsyncRwTransport::new(read, output), faults, answering: None }
    }
}

/// Passes lines of JSON on until the input ends.
async fn sift(
    input: impl AsyncRead + Send + Unpin,
    mut passed_on: DuplexStream,
    fault: mpsc::Sender<()>,
) -> io::Result<()> {
    let (mut input, mut line) = (BufReader::new(input), Vec::new());
    while (&mut input).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await? > 0 {
        let text = line.trim_ascii();
        if text.is_empty() || serde_json::from_slice::<IgnoredAny>(text).is_ok() {
            passed_on.write_all(&line).await?;
        } else if fault.send(()).await.is_err() {
            break;
        }
        line.clear();
    }
    Ok(())
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for LineTransport<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answering) = &mut self.answering {
                let written = answering.await;
                self.answering = None;
                written.ok()?.ok()?;
            }
            tokio::select! {
                // A line that ends the input is answered, too.
                biased;
                Some(()) = self.faults.recv() => {
                    // The line is not repeated: it may hold anything.
                    let error = ErrorData::parse_error("the line is not JSON", None);
                    let answer = TxJsonRpcMessage::<RoleServer>::error(error, None);
                    self.answering = Some(tokio::spawn(self.inner.send(answer)));
                }
                message = self.inner.receive() => return message,
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
