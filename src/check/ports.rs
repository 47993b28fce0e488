//! Checks the ports: each is free, or in use by a server of this installation, by another one's, or by another program.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use base::http_address::reachable;
use store::{DatabaseKind, Inspection};

use super::configuration::Configuration;
use super::findings::{Area, Findings};
use crate::api::INSTALLATION;
use crate::services::installation;

/// Longer than a healthy server takes to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// More than the server's answer.
const ANSWER_BYTES: usize = 4096;
const REQUEST: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
/// The end of the answer.
const WELL: &str = "\r\n\r\nok\n";

pub fn check(configuration: &Configuration, inspection: Option<&Inspection>, findings: &mut Findings) {
    findings.begin_area(Area::Ports);
    let (listen, admin) = (configuration.serve.listen, configuration.serve.admin_listen);
    check_port("CARD_PAYMENTS_LISTEN", listen, inspection, findings);
    match admin {
        Some(admin) if admin == listen && admin.port() != 0 => findings.wrong(
            "CARD_PAYMENTS_ADMIN_LISTEN is the address of CARD_PAYMENTS_LISTEN",
            "use a separate port that clients cannot reach",
        ),
        Some(admin) => check_port("CARD_PAYMENTS_ADMIN_LISTEN", admin, inspection, findings),
        None => {}
    }
}

fn check_port(name: &str, address: SocketAddr, inspection: Option<&Inspection>, findings: &mut Findings) {
    if address.port() == 0 {
        return findings.ok(format!("{name}: any free port of {}", address.ip()));
    }
    let Err(error) = TcpListener::bind(address) else {
        return findings.ok(format!("{name}: {address} is free"));
    };
    if error.kind() != ErrorKind::AddrInUse {
        let remedy = "name an address of this machine, and a port that its user may take (from 1024 on)";
        return findings.wrong(format!("{name}: cannot listen on {address}: {error}"), remedy);
    }
    let remedy =
        format!("use another port, or stop the program on it: ss -ltnp 'sport = {}'", address.port());
    match find_owner(address, ANSWER) {
        PortOwner::Server(named) => match inspection.map(|met| installation::found_fingerprint(&met.found.keys)) {
            Some(own) if own.as_ref() == Some(&named) => {
                findings.ok(format!("{name}: a server of this installation answers at {address}"));
            }
            Some(_) => findings
                .wrong(format!("{name}: another installation of card-payments listens on {address}"), remedy),
            None => findings.warning(
                format!("{name}: a card-payments listens on {address}; the database could not be read to recognise it"),
                remedy,
            ),
        },
        PortOwner::OtherProgram => findings.wrong(format!("{name}: another program listens on {address}"), remedy),
        PortOwner::Unknown if inspection.is_some_and(is_served) => findings.warning(
            format!("{name}: the program on {address} does not answer /healthz, and a server runs on the database's file"),
            "if it is that server, it is overloaded or hangs: see its log and metrics",
        ),
        PortOwner::Unknown => findings.wrong(
            format!("{name}: the program on {address} does not answer /healthz: an overloaded server, or another program"),
            remedy,
        ),
    }
}

/// Returns whether a server runs on the database; false for PostgreSQL, where it is unknown.
fn is_served(inspection: &Inspection) -> bool {
    match &inspection.kind {
        DatabaseKind::Sqlite(file) => file.served,
        DatabaseKind::Postgres(_) => false,
    }
}

/// The owner of a listening port.
#[derive(Debug, PartialEq, Eq)]
enum PortOwner {
    /// A healthy server of this program, and the name of its installation.
    Server(String),
    /// A program with another answer.
    OtherProgram,
    /// A program without an answer.
    Unknown,
}

/// Asks the owner of a port, for at most `patience` in all.
fn find_owner(address: SocketAddr, patience: Duration) -> PortOwner {
    let mut answer = Vec::new();
    // The bytes that were read count, however it ended.
    let _ = fetch(address, Instant::now() + patience, &mut answer);
    if answer.is_empty() {
        return PortOwner::Unknown;
    }
    String::from_utf8_lossy(&answer)
        .strip_suffix(WELL)
        .filter(|head| head.starts_with("HTTP/1.1 200 "))
        .and_then(named_installation)
        .map_or(PortOwner::OtherProgram, PortOwner::Server)
}

/// Returns the installation that the headers name.
fn named_installation(head: &str) -> Option<String> {
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    headers
        .find(|(name, _)| name.eq_ignore_ascii_case(INSTALLATION))
        .map(|(_, named)| named.trim().to_owned())
}

fn fetch(address: SocketAddr, deadline: Instant, answer: &mut Vec<u8>) -> io::Result<()> {
    let left = || match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::Error::from(ErrorKind::TimedOut)),
        left => Ok(left),
    };
    let mut stream = TcpStream::connect_timeout(&reachable(address), left()?)?;
    stream.set_write_timeout(Some(left()?))?;
    stream.write_all(REQUEST)?;
    // Reads no more of another program's answer than ours would have.
    let mut piece = [0; 1024];
    while answer.len() < ANSWER_BYTES {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut piece)? {
            0 => break,
            read => answer.extend_from_slice(&piece[..read]),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Asks a server whose treatment of a client is `how`. It answers or hangs up, on a busy machine late.
    fn treated(how: fn(&mut TcpStream) -> io::Result<()>) -> PortOwner {
        treated_within(Duration::from_mins(1), how)
    }

    fn treated_within(patience: Duration, how: fn(&mut TcpStream) -> io::Result<()>) -> PortOwner {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let treating = thread::spawn(move || {
            let (mut caller, _) = listener.accept()?;
            caller.read_exact(&mut [0; REQUEST.len()])?;
            how(&mut caller)
        });
        let owner = find_owner(address, patience);
        // It ends when the client has gone, possibly with an error.
        let _ = treating.join().unwrap();
        owner
    }

    #[test]
    fn whoever_listens_is_known_by_what_he_says() {
        let servers =
            treated(|caller| caller.write_all(b"HTTP/1.1 200 OK\r\nX-Installation: ab\r\n\r\nok\n"));
        assert_eq!(servers, PortOwner::Server("ab".into()));
        assert_eq!(
            treated(|caller| caller.write_all(b"HTTP/1.1 200 OK\r\n\r\nok\n")),
            PortOwner::OtherProgram
        );
        assert_eq!(
            treated(|caller| caller.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello\n")),
            PortOwner::OtherProgram
        );
        assert_eq!(treated(|caller| caller.write_all(b"220 mail.example.com\r\n")), PortOwner::OtherProgram);
        assert_eq!(treated(|_| Ok(())), PortOwner::Unknown);
    }

    #[test]
    fn nobody_is_waited_for_however_slowly_he_talks() {
        let dripping = |caller: &mut TcpStream| {
            caller.set_read_timeout(Some(Duration::from_millis(50)))?;
            loop {
                caller.write_all(b"x")?;
                match caller.read_exact(&mut [0]) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    gone => return gone,
                }
            }
        };
        let silent = |caller: &mut TcpStream| io::copy(caller, &mut io::sink()).map(drop);
        let began = Instant::now();
        // The first byte must come within the patience.
        assert_eq!(treated_within(ANSWER, dripping), PortOwner::OtherProgram);
        assert_eq!(treated_within(Duration::from_millis(500), silent), PortOwner::Unknown);
        assert!(began.elapsed() < Duration::from_secs(30), "a byte now and then holds nobody for minutes");
    }
}
