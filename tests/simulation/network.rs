//! Cables between clients, servers, receivers and the acquirer: what they carry is late, and they lose connections, as the seed decides.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::harness::random::Random;

/// Returns the address of a port of the machine.
pub fn at(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// All cables.
#[derive(Clone)]
pub struct Network(Arc<Shared>);

struct Shared {
    random: Mutex<Random>,
    /// Whether connections are lost.
    loses: AtomicBool,
    /// Whether answers are lost with them.
    loses_answers: AtomicBool,
    /// The latest that anything comes, in microseconds.
    latest: u64,
    /// Of so many connections, one is lost.
    lost: u64,
}

/// A connection that was lost on the way.
struct LostConnection;

impl Network {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let (latest, lost) =
            ([1_000, 20_000, 300_000][below(&mut random, 3)], [4, 12, 60][below(&mut random, 3)]);
        let shared = Shared {
            random: Mutex::new(random),
            loses: AtomicBool::new(true),
            loses_answers: AtomicBool::new(true),
            latest,
            lost,
        };
        Self(Arc::new(shared))
    }

    /// From now on nothing is lost.
    pub fn heal(&self) {
        self.0.loses.store(false, Ordering::Relaxed);
    }

    /// From now on a request that arrives is answered.
    pub fn keep_answers(&self) {
        self.0.loses_answers.store(false, Ordering::Relaxed);
    }

    fn draw(&self, bound: u64) -> u64 {
        self.0.random.lock().unwrap().below(bound)
    }

    /// Lays a cable from one port to another.
    pub async fn lay(&self, from: u16, to: u16) {
        let listener = TcpListener::bind(at(from)).await.unwrap();
        let network = self.clone();
        tokio::spawn(async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                tokio::spawn(network.clone().connect(near, to));
            }
        });
    }

    async fn connect(self, near: TcpStream, to: u16) {
        self.travel().await;
        let is_lost = self.0.loses.load(Ordering::Relaxed) && self.draw(self.0.lost) == 0;
        // Before the first byte, in the middle of a request, or of an answer.
        let most = |out: bool| is_lost.then(|| self.draw(if out { 1_500 } else { 3_000 }));
        let (out, back) = (most(true), most(false).filter(|_| self.0.loses_answers.load(Ordering::Relaxed)));
        if out == Some(0) {
            return;
        }
        let Ok(far) = TcpStream::connect(at(to)).await else { return };
        let ((near_read, near_write), (far_read, far_write)) = (near.into_split(), far.into_split());
        // A lost connection is lost on both sides.
        let _ =
            tokio::try_join!(self.carry(near_read, far_write, out), self.carry(far_read, near_write, back));
    }

    async fn travel(&self) {
        sleep(Duration::from_micros(self.draw(self.0.latest))).await;
    }

    /// Carries bytes one way, in their order, until an end or the most that arrive.
    async fn carry(
        &self,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        mut most: Option<u64>,
    ) -> Result<(), LostConnection> {
        let mut bytes = vec![0; 16 * 1024];
        loop {
            let read = from.read(&mut bytes).await.map_err(|_| LostConnection)?;
            if read == 0 {
                // The other side may be gone.
                let _ = to.shutdown().await;
                return Ok(());
            }
            self.travel().await;
            let arrives = most.map_or(read, |most| read.min(usize::try_from(most).unwrap()));
            to.write_all(&bytes[..arrives]).await.map_err(|_| LostConnection)?;
            if let Some(most) = &mut most {
                *most -= u64::try_from(arrives).unwrap();
                if arrives < read {
                    return Err(LostConnection);
                }
            }
        }
    }
}

fn below(random: &mut Random, bound: u64) -> usize {
    usize::try_from(random.below(bound)).unwrap()
}
