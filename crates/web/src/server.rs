//! Serves connections: limits their number and duration, and ends them. `axum::serve` bounds none of this.

use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use base::platform;
use http::{HeaderValue, Request, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::connections::Connections;
use crate::heads::Heads;
use crate::limits::{
    ANSWER_STALL_TIMEOUT, CONNECTION_IDLE_TIMEOUT, HEAD_BYTES_MAX, LISTEN_BACKLOG, REQUEST_TIMEOUT,
};
use crate::socket::Socket;
use crate::stall_timeout::StallTimeoutStream;
use crate::unread_body::{self, UnreadBody};

/// The phase of a server's start or shutdown. The owner of the sender decides when it changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerPhase {
    /// It serves, but its fixtures are not created yet: /readyz says no.
    Starting,
    /// It serves.
    #[default]
    Serving,
    /// It serves, but wants no new work: /readyz says so, and each response closes its connection.
    Draining,
    /// It accepts no new connection, and closes each one after the response in flight.
    Closing,
}

/// The pause when the process has no more file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens on an address, with a queue as long as the system allows: a burst of clients is no reason to lose some of
/// them.
pub fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted server can bind its port although old connections are still closing.
    socket.set_reuseaddr(platform::REUSED_PORTS_ARE_FREE)?;
    socket.bind(address)?;
    socket.listen(LISTEN_BACKLOG)
}

/// Serves connections, each with a slot, until the phase is [`ServerPhase::Closing`] and everything in flight is
/// answered; an upload that takes longer than any other request is cut off.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    connections: &Arc<Connections>,
    phase: watch::Receiver<ServerPhase>,
) {
    let tasks = TaskTracker::new();
    let mut closing = phase.clone();
    let mut closing = pin!(closing.wait_for(|phase| *phase == ServerPhase::Closing));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut closing => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Until then, clients wait in the listener's queue, at no cost for the server.
                let slot = tokio::select! {
                    slot = connections.slot() => slot,
                    _ = &mut closing => break,
                };
                let (stream, watch) = Socket::watched(stream);
                let stream = Heads::new(StallTimeoutStream::with_timeout(ANSWER_STALL_TIMEOUT, stream), slot);
                tasks.spawn(connection(stream, watch.reset(), peer, router.clone(), phase.clone()));
            }
            // That connection is gone already, or too many files are open; the server goes on in both cases.
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    tasks.close();
    if timeout(REQUEST_TIMEOUT + PAUSE, tasks.wait()).await.is_err() {
        tracing::warn!(connections = tasks.len(), "connections are closed");
    }
}

/// Serves one connection. `gone` ends when its client is.
pub async fn connection<S: AsyncRead + AsyncWrite + Unpin>(
    stream: Heads<S>,
    gone: impl Future<Output = ()>,
    peer: SocketAddr,
    router: Router,
    mut phase: watch::Receiver<ServerPhase>,
) {
    let leaving = phase.clone();
    let (refused, slot) = (stream.refused(), stream.slot());
    let ends = slot.ends();
    let service = service_fn(|request: Request<Incoming>| {
        let (mut request, rest) = unread_body::track(request);
        request.extensions_mut().insert(ConnectInfo(peer));
        if let Some(refused) = refused.take() {
            request.extensions_mut().insert(refused);
        }
        let answer = router.clone().oneshot(request.map(Body::new));
        let (leaving, slot) = (&leaving, &slot);
        async move {
            let Ok(mut response) = slot.serve(answer).await;
            let unread = rest.drain();
            // Nothing is in flight any more, so a new connection may have its slot.
            if unread != UnreadBody::Nothing {
                slot.becomes_idle();
            }
            // The client's next request uses another connection, perhaps to another copy.
            if unread == UnreadBody::Long || *leaving.borrow() > ServerPhase::Serving {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // Runs from the end of the previous response, too.
        .header_read_timeout(CONNECTION_IDLE_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        // A client that has closed its sending side still wants the response (`nc -N`). A client that has hung up looks
        // the same, so its request is answered as well, and its connection counts until then, unless the client resets it.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let client_gone = async {
        gone.await;
        slot.loses_client();
        pending::<()>().await;
    };
    // How a connection ends is up to the client.
    tokio::select! {
        biased;
        // It was idle: a new connection gets its slot, and no request begins any more.
        () = ends.notified() => return,
        _ = connection.as_mut() => return,
        () = client_gone => return,
        _ = phase.wait_for(|phase| *phase == ServerPhase::Closing) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// File descriptors besides those of client connections: the database, webhooks, uploads, logs.
const OTHER_FILES: u64 = 1024;

/// Raises the limit of open files for this many connections, as far as the machine permits. Returns how many connections may then be
/// open: one that cannot be accepted closes no idle one, so with too few files at least half of them are for connections.
pub fn raise_file_limit(connections: usize) -> usize {
    let wanted = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHER_FILES);
    let open = platform::raise_open_files(wanted);
    if open >= wanted {
        return connections;
    }
    let possible = usize::try_from((open / 2).max(open.saturating_sub(OTHER_FILES))).unwrap_or(usize::MAX);
    let possible = possible.min(connections).max(1);
    tracing::warn!(
        open,
        wanted,
        connections = possible,
        "too few files may be open (ulimit -n): fewer connections are taken"
    );
    possible
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::task::JoinHandle;

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: test\r\n\r\n";

    /// Serves a connection through which only a few kilobytes fit, to a client that may read nothing for so long.
    async fn connected(limit: Duration) -> (DuplexStream, JoinHandle<()>) {
        let (ours, theirs) = duplex(4096);
        let router = Router::new().route("/", get(|| async { "x".repeat(1024 * 1024) }));
        let (phase, peer) = (watch::Sender::default(), SocketAddr::from(([127, 0, 0, 1], 1)));
        let slot = Connections::new(1).slot().await;
        let stream = Heads::new(StallTimeoutStream::with_timeout(limit, ours), slot);
        let serving = async move { connection(stream, pending(), peer, router, phase.subscribe()).await };
        (theirs, tokio::spawn(serving))
    }

    #[tokio::test]
    async fn a_caller_who_never_reads_his_answer_does_not_keep_his_connection() {
        let (mut caller, serving) = connected(Duration::from_millis(100)).await;
        assert!(caller.write_all(REQUEST).await.is_ok());
        assert!(timeout(Duration::from_mins(1), serving).await.is_ok());
    }

    #[tokio::test]
    async fn who_says_that_nothing_more_will_come_gets_his_answer() {
        let (mut caller, serving) = connected(Duration::from_mins(1)).await;
        assert!(caller.write_all(REQUEST).await.is_ok());
        assert!(caller.shutdown().await.is_ok());
        let mut answer = String::new();
        assert!(caller.read_to_string(&mut answer).await.is_ok_and(|bytes| bytes > 1024 * 1024));
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{}", &answer[..100]);
        assert!(timeout(Duration::from_mins(1), serving).await.is_ok());
    }
}
