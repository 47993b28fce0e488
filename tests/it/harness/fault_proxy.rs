//! A proxy between a server and its acquirer that injects faults into requests and answers.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the proxy does with a request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyFault {
    /// It arrives, both ways.
    CallFault,
    /// The request is lost with its connection.
    LosesRequests,
    /// The answer is lost with its connection.
    LosesAnswers,
    /// The connection breaks in the middle of the answer's head.
    CutsHeads,
    /// The connection breaks in the middle of the answer's body.
    CutsBodies,
    /// No answer comes; the connection breaks once the proxy [lets go](FaultProxy::lets_go).
    Hangs,
    /// The answer comes once the proxy [lets go](FaultProxy::lets_go).
    IsSlow,
    /// Another kind of server answers.
    TalksNonsense,
    /// A 503 without a body, as from a gateway.
    IsOutOfOrder,
    /// The answer is changed.
    Forges,
    /// The first answer that was ever carried.
    Repeats,
    /// The answer never ends.
    NeverEnds,
    /// Another version of the protocol.
    SpeaksAnotherVersion,
    /// The answer says that it is of the other environment.
    IsOfTheOtherEnvironment,
}

/// All that can go wrong after a request was sent.
pub const FAULTS: [ProxyFault; 12] = [
    ProxyFault::LosesRequests,
    ProxyFault::LosesAnswers,
    ProxyFault::CutsHeads,
    ProxyFault::CutsBodies,
    ProxyFault::Hangs,
    ProxyFault::TalksNonsense,
    ProxyFault::IsOutOfOrder,
    ProxyFault::Forges,
    ProxyFault::Repeats,
    ProxyFault::NeverEnds,
    ProxyFault::SpeaksAnotherVersion,
    ProxyFault::IsOfTheOtherEnvironment,
];

/// A proxy, for as long as the test's runtime lives.
pub struct FaultProxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    acquirer: SocketAddr,
    does: Mutex<ProxyFault>,
    first: Mutex<Option<Vec<u8>>>,
    holding: watch::Sender<usize>,
    gone: watch::Sender<u64>,
}

impl FaultProxy {
    pub async fn to(acquirer: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            acquirer,
            does: Mutex::new(ProxyFault::CallFault),
            first: Mutex::default(),
            holding: watch::Sender::default(),
            gone: watch::Sender::default(),
        });
        let carrying = Arc::clone(&shared);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(carry(stream, Arc::clone(&carrying)));
            }
        });
        Self { address, shared }
    }

    /// Sets the behaviour, on open connections, too.
    pub fn does(&self, what: ProxyFault) {
        *self.shared.does.lock().unwrap() = what;
    }

    /// Waits until the proxy holds this many answers.
    pub async fn holds(&self, answers: usize) {
        let mut holding = self.shared.holding.subscribe();
        holding.wait_for(|holding| *holding >= answers).await.unwrap();
    }

    /// Returns the answer to a request, during which the proxy lets go of every answer that it holds.
    pub async fn while_it_lets_go<T>(&self, request: impl Future<Output = T>) -> T {
        let letting_go = async {
            loop {
                self.holds(1).await;
                self.lets_go();
            }
        };
        tokio::select! {
            answer = request => answer,
            () = letting_go => unreachable!("it lets go for ever"),
        }
    }

    /// Breaks connections that hang, and lets slow answers go.
    pub fn lets_go(&self) {
        self.shared.holding.send_replace(0);
        self.shared.gone.send_modify(|times| *times += 1);
    }
}

/// Carries one request after another, each over a connection of its own to the acquirer.
async fn carry(mut stream: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    loop {
        let request = message(&mut stream).await?;
        let does = *shared.does.lock().unwrap();
        if does == ProxyFault::LosesRequests {
            return Ok(());
        }
        let mut acquirer = TcpStream::connect(shared.acquirer).await?;
        acquirer.write_all(&request).await?;
        let answer = message(&mut acquirer).await?;
        let first = shared.first.lock().unwrap().get_or_insert_with(|| answer.clone()).clone();
        let body = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
        match does {
            ProxyFault::CallFault | ProxyFault::LosesRequests => stream.write_all(&answer).await?,
            ProxyFault::LosesAnswers => return Ok(()),
            ProxyFault::CutsHeads => return stream.write_all(&answer[..body / 2]).await,
            ProxyFault::CutsBodies => return stream.write_all(&answer[..answer.len() - 1]).await,
            ProxyFault::Hangs | ProxyFault::IsSlow => {
                let mut gone = shared.gone.subscribe();
                shared.holding.send_modify(|holding| *holding += 1);
                let _ = gone.changed().await;
                if does == ProxyFault::Hangs {
                    return Ok(());
                }
                stream.write_all(&answer).await?;
            }
            ProxyFault::TalksNonsense => {
                let page = "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n<h1>Hello</h1>";
                return stream.write_all(page.as_bytes()).await;
            }
            ProxyFault::IsOutOfOrder => {
                let page = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
                stream.write_all(page.as_bytes()).await?;
            }
            ProxyFault::Forges => {
                let mut forged = answer;
                // A letter of a word in quotes, whatever is said.
                let at = forged.iter().rposition(|&byte| byte == b'"').unwrap();
                forged[at - 1] ^= 1;
                stream.write_all(&forged).await?;
            }
            ProxyFault::Repeats => stream.write_all(&first).await?,
            ProxyFault::NeverEnds => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
                loop {
                    stream.write_all(format!("1000\r\n{}\r\n", "x".repeat(0x1000)).as_bytes()).await?;
                }
            }
            ProxyFault::SpeaksAnotherVersion => {
                stream.write_all(&saying(&answer, "acquirer-protocol", "1", "2")).await?;
            }
            ProxyFault::IsOfTheOtherEnvironment => {
                stream.write_all(&saying(&answer, "acquirer-environment", "test", "live")).await?;
            }
        }
    }
}

/// Returns the answer with another value in a header.
fn saying(answer: &[u8], name: &str, value: &str, other: &str) -> Vec<u8> {
    let text = String::from_utf8(answer.to_vec()).unwrap();
    let (line, changed) = (format!("\r\n{name}: {value}\r\n"), format!("\r\n{name}: {other}\r\n"));
    assert!(text.contains(&line), "{text}");
    text.replace(&line, &changed).into_bytes()
}

/// Reads one message, head and body, whose head gives its length.
pub async fn message(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(bytes.clone()).map_err(io::Error::other)?.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await?;
    bytes.extend(body);
    Ok(bytes)
}
