//! Stands between a client and its server, and disturbs them.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use base::clock::{Clock, SystemClock};
use base::mutex::lock;
use bytes::Bytes;
use futures::stream;
use http::header::{self, HeaderName};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use recording::RecordingFile;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::RwLock;
use tokio::time::timeout;

use super::faults::{Fault, FaultPlan};
use super::traffic::{Sent, secret_key};
use crate::document::Operations;
use crate::known_api::{KnownApi, KnownError};

/// The delay of a slow answer.
const SLOW: Duration = Duration::from_millis(1500);
/// The pause that a busy server asks for, in seconds.
const RETRY_AFTER: u64 = 1;
const OF_CONNECTION: [HeaderName; 4] =
    [header::CONNECTION, header::CONTENT_LENGTH, header::HOST, header::TRANSFER_ENCODING];

/// A proxy in front of a server.
pub struct Proxy {
    server: String,
    client: reqwest::Client,
    operations: Operations,
    errors: ProxyErrors,
    plan: FaultPlan,
    began: Instant,
    /// Locked for reading while an answer is in flight.
    answering: RwLock<()>,
    traffic: Mutex<Traffic>,
}

/// The API's errors with which it answers in place of the server.
pub struct ProxyErrors {
    bad_gateway: KnownError,
    unavailable: KnownError,
}

impl ProxyErrors {
    /// Returns those of this API.
    pub fn new(api: &KnownApi) -> Result<Self, String> {
        let error = |code: &str| (api.error)(code).ok_or_else(|| format!("the API has no error {code}"));
        Ok(Self { bad_gateway: error("gateway_error")?, unavailable: error("service_unavailable")? })
    }
}

/// The traffic so far.
pub struct Traffic {
    /// The requests, in the order of their answers.
    pub sent: Vec<Sent>,
    /// The secret keys that the server has accepted.
    pub keys: Vec<String>,
    pub log: Option<RecordingFile>,
    /// The first error of the log.
    pub failed: Option<io::Error>,
}

/// The answer of the server.
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

type ReplyBody = BoxBody<Bytes, io::Error>;

impl Proxy {
    /// Returns a proxy in front of this server, and the address at which it listens.
    pub async fn listen(
        server: &str,
        (operations, errors): (Operations, ProxyErrors),
        plan: FaultPlan,
        log: Option<RecordingFile>,
    ) -> io::Result<(Arc<Self>, SocketAddr)> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let traffic = Traffic { sent: Vec::new(), keys: Vec::new(), log, failed: None };
        let proxy = Arc::new(Self {
            server: server.to_owned(),
            client: outbound::client(),
            operations,
            errors,
            plan,
            began: Instant::now(),
            answering: RwLock::default(),
            traffic: Mutex::new(traffic),
        });
        tokio::spawn(accept(Arc::clone(&proxy), listener));
        Ok((proxy, address))
    }

    /// Waits for the answers under way.
    pub async fn settle(&self) {
        drop(timeout(2 * SLOW, self.answering.write()).await);
    }

    /// Returns what has passed.
    pub fn with_traffic<T>(&self, read: impl FnOnce(&mut Traffic) -> T) -> T {
        read(&mut lock(&self.traffic))
    }

    /// Answers a request; an error ends the connection.
    async fn answer(&self, request: Request<Incoming>, client: Weak<()>) -> io::Result<Response<ReplyBody>> {
        let _answering = self.answering.read().await;
        let (at, time) = (self.began.elapsed(), SystemClock.now().to_string());
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let sent = Sent { at, time, ..Sent::new(&self.operations, &head, &body) };
        let fault = self.plan.fault(&sent);
        let reply = match fault {
            Some(Fault::BadGateway) => refusal(self.errors.bad_gateway),
            Some(Fault::Unavailable) => refusal(self.errors.unavailable),
            Some(Fault::Lost | Fault::Slow | Fault::Cut) | None => self.forward(&head, body).await?,
        };
        if fault == Some(Fault::Slow) {
            tokio::time::sleep(SLOW).await;
        }
        // Half of nothing is nothing.
        let is_lost = fault == Some(Fault::Lost) || fault == Some(Fault::Cut) && reply.body.is_empty();
        let is_got = !is_lost && fault != Some(Fault::Cut) && client.strong_count() > 0;
        self.record(Sent { fault, ..sent }, &head, &reply, is_got);
        if is_lost {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(reply.response(fault == Some(Fault::Cut)))
    }

    async fn forward(&self, head: &Parts, body: Bytes) -> io::Result<Reply> {
        let path = head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let url = format!("{}{path}", self.server);
        let request =
            self.client.request(head.method.clone(), url).headers(end_to_end(&head.headers)).body(body);
        let answer = request.send().await.map_err(io::Error::other)?;
        let (status, headers) = (answer.status(), end_to_end(answer.headers()));
        let body = answer.bytes().await.map_err(io::Error::other)?;
        Ok(Reply { status, headers, body })
    }

    fn record(&self, sent: Sent, head: &Parts, reply: &Reply, is_got: bool) {
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let code = body.get(0).unwrap_or(&body)["error"].as_str().unwrap_or_default().to_owned();
        let retry_after =
            reply.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let answered_at = self.began.elapsed();
        self.with_traffic(|traffic| {
            let number = traffic.sent.len() + 1;
            let status = is_got.then(|| reply.status.as_u16());
            let retry_after = retry_after.filter(|_| is_got);
            let sent = Sent { number, answered_at, status, code, retry_after, ..sent };
            if let Some(key) = secret_key(&head.headers).filter(|_| reply.status.is_success())
                && !traffic.keys.contains(&key)
            {
                traffic.keys.push(key);
            }
            if let Some(Err(error)) = traffic.log.as_mut().map(|log| log.write(&sent.exchange())) {
                (traffic.log, traffic.failed) = (None, Some(error));
            }
            traffic.sent.push(sent);
        });
    }
}

async fn accept(proxy: Arc<Proxy>, listener: TcpListener) -> Infallible {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(serve(Arc::clone(&proxy), stream));
            }
            // Too many connections: some will end.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn serve(proxy: Arc<Proxy>, stream: TcpStream) {
    let service = service_fn(move |request| {
        let proxy = Arc::clone(&proxy);
        // A client that waits no longer has sent its request all the same.
        async move {
            let here = Arc::new(());
            let client = Arc::downgrade(&here);
            let answering = tokio::spawn(async move { proxy.answer(request, client).await });
            let answer = answering.await.map_err(io::Error::other)?;
            drop(here);
            answer
        }
    });
    // The end of a connection is often what was wanted.
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}

fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    headers
        .iter()
        .filter(|(name, _)| !OF_CONNECTION.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns the API's answer with this error.
fn refusal(error: KnownError) -> Reply {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let body = json!({ "error": error.code, "error_description": error.description });
    let mut headers =
        HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    if error.is_transient {
        headers.insert(header::RETRY_AFTER, RETRY_AFTER.into());
    }
    Reply { status, headers, body: body.to_string().into() }
}

impl Reply {
    fn response(self, is_cut: bool) -> Response<ReplyBody> {
        let Self { status, headers, body } = self;
        let length = body.len();
        let body: ReplyBody = if is_cut {
            let half = Ok(Frame::data(body.slice(..length / 2)));
            let end = Err(io::Error::from(io::ErrorKind::ConnectionAborted));
            BoxBody::new(StreamBody::new(stream::iter([half, end])))
        } else {
            BoxBody::new(Full::new(body).map_err(|never: Infallible| match never {}))
        };
        let mut response = Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        if is_cut {
            response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
        }
        response
    }
}
