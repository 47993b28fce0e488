//! Clients that hold connections for as long as they may, each on one of its own.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

use crate::harness::process::pause;

/// How often each looks after its connection, and sends a byte more.
const TURN: Duration = Duration::from_secs(1);
/// How many connections are opened at once, and the pause between: a server refuses what comes faster.
const BURST: usize = 64;
const REST: Duration = Duration::from_millis(50);

/// What each of them sends: the beginning of a request, or all of it, and then a byte a turn.
pub struct Attack {
    pub beginning: String,
    pub byte: Option<u8>,
}

/// Attacks by so many connections during `work`. A connection that is answered or closed begins again.
pub fn beside<T>(address: SocketAddr, connections: usize, attack: &Attack, work: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    let mut held: Vec<_> = (0..connections).map(|_| None).collect();
    turn(address, attack, &mut held);
    scope(|scope| {
        let attacking = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                pause(TURN);
                turn(address, attack, &mut held);
            }
        });
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        attacking.join().unwrap();
        done
    })
}

fn turn(address: SocketAddr, attack: &Attack, held: &mut [Option<TcpStream>]) {
    for burst in held.chunks_mut(BURST) {
        let mut begun = false;
        for connection in burst {
            if !connection.as_mut().is_some_and(|stream| goes_on(stream, attack)) {
                *connection = begin(address, attack);
                begun = true;
            }
        }
        if begun {
            pause(REST);
        }
    }
}

fn begin(address: SocketAddr, attack: &Attack) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(attack.beginning.as_bytes()).ok()?;
    stream.set_nonblocking(true).ok()?;
    Some(stream)
}

/// Sends a byte more. Returns false if the server has answered or closed.
fn goes_on(stream: &mut TcpStream, attack: &Attack) -> bool {
    let is_open = stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    is_open && attack.byte.is_none_or(|byte| stream.write_all(&[byte]).is_ok())
}
