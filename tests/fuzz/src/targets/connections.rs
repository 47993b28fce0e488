//! Connections of HTTP: the bytes of any number of requests, as they come in.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use base::mutex::lock;
use bytes::Bytes;
use futures::join;
use http::{Method, StatusCode, Uri};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::yield_now;
use web::connections::Connections;
use web::frame::RefusedHead;
use web::heads::Heads;
use web::server::connection;
use web::stall_timeout::StallTimeoutStream;

use super::{Target, inputs};

pub const TARGET: Target = Target {
    name: "connections",
    hold,
    samples,
    words: &[
        "GET / HTTP/1.1\r\n",
        "POST / HTTP/1.0\r\n",
        "Host: x\r\n",
        "Content-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "Connection: keep-alive\r\n",
        "Expect: 100-continue\r\n",
        "Upgrade: h2c\r\n",
        "\r\n\r\n",
        "3\r\nabc\r\n0\r\n\r\n",
        ";x=\"y\"\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "CONNECT x:1 HTTP/1.1\r\n",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    inputs([
        "POST /1/charges?a=b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na=1GET /1/charges HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;x=\"y\"\r\na=1\r\n0\r\nX: y\r\n\r\n\r\nHEAD / HTTP/1.1\r\nHost: x\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
        "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\nHost: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\r\nContent-Length: +1\r\n\r\n",
    ])
}

/// A request as a handler got it.
#[derive(Debug, PartialEq)]
enum Served {
    /// Whole.
    Request(Method, Uri, Bytes),
    /// Its body was not.
    Cut(Method, Uri),
    /// Its head was not one.
    Refused(StatusCode),
}

fn hold(input: &[u8]) {
    let whole = serve(&[input]);
    for pieces in [1, 7] {
        let pieces: Vec<_> = input.chunks(pieces).collect();
        assert_eq!(serve(&pieces), whole, "it does not matter in which pieces the bytes come");
    }
    let (served, _) = whole;
    let ends = |served: &Served| !matches!(served, Served::Request(..));
    assert!(!served.iter().rev().skip(1).any(ends), "nothing follows what was not whole: {served:?}");
    let printed: Vec<u8> = served.iter().flat_map(print).collect();
    let (again, _) = serve(&[&printed]);
    assert!(
        served.iter().filter(|served| !ends(served)).eq(&again),
        "requests that are written again are the same ones: {served:?} {again:?}"
    );
}

fn print(served: &Served) -> Vec<u8> {
    let Served::Request(method, uri, body) = served else { return Vec::new() };
    let head = format!("{method} {uri} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
}

/// Serves a connection whose bytes come in these pieces. Returns the requests, and the statuses of the answers.
fn serve(pieces: &[&[u8]]) -> (Vec<Served>, Vec<String>) {
    let served = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&served);
    let router = Router::new().fallback(move |request: Request| {
        let noted = Arc::clone(&noted);
        async move {
            let served = read(request).await;
            lock(&noted).push(served);
            StatusCode::NOT_FOUND
        }
    });
    let answers = RUNTIME.with(|runtime| runtime.block_on(answers(pieces, router)));
    let served = std::mem::take(&mut *lock(&served));
    let heads = answers.lines().filter(|line| line.starts_with("HTTP/1.")).map(str::to_owned);
    (served, heads.collect())
}

async fn read(request: Request) -> Served {
    let (head, body) = request.into_parts();
    if let Some(refused) = head.extensions.get::<RefusedHead>() {
        return Served::Refused(refused.status);
    }
    match to_bytes(body, usize::MAX).await {
        Ok(body) => Served::Request(head.method, head.uri, body),
        Err(_) => Served::Cut(head.method, head.uri),
    }
}

async fn answers(pieces: &[&[u8]], router: Router) -> String {
    let (client, server) = duplex(64 * 1024);
    let (phase, peer) = (watch::Sender::default(), SocketAddr::from(([127, 0, 0, 1], 1)));
    let slot = Connections::new(1).slot().await;
    let stream = Heads::new(StallTimeoutStream::with_timeout(Duration::from_secs(1), server), slot);
    let (mut from_server, mut to_server) = split(client);
    let send = async {
        for piece in pieces {
            // The server may have closed the connection.
            if to_server.write_all(piece).await.is_err() {
                break;
            }
            yield_now().await;
        }
        let _ = to_server.shutdown().await;
    };
    let mut answers = Vec::new();
    let receive = async {
        let _ = from_server.read_to_end(&mut answers).await;
    };
    join!(connection(stream, pending(), peer, router, phase.subscribe()), send, receive);
    String::from_utf8(answers).expect("heads of answers are ASCII")
}
