//! Where it listens: free, or a server of ours has it already.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::configuration::Configuration;
use super::findings::{Area, Findings};

/// Longer than whoever has the port takes to say that it is well.
const ANSWER: Duration = Duration::from_secs(5);
/// What `/healthz` answers.
const WELL: &str = "\r\n\r\nok\n";

/// Look at them.
pub fn look(configuration: &Configuration, findings: &mut Findings) {
    findings.turn_to(Area::Ports);
    let (listen, admin) = (configuration.serve.listen, configuration.serve.admin_listen);
    look_at("CARD_PAYMENTS_LISTEN", listen, findings);
    match admin {
        Some(admin) if admin == listen && admin.port() != 0 => findings.wrong(
            "CARD_PAYMENTS_ADMIN_LISTEN is the address of CARD_PAYMENTS_LISTEN",
            "give it a port of its own, that callers do not reach",
        ),
        Some(admin) => look_at("CARD_PAYMENTS_ADMIN_LISTEN", admin, findings),
        None => {}
    }
}

fn look_at(name: &str, address: SocketAddr, findings: &mut Findings) {
    if address.port() == 0 {
        return findings.ok(format!("{name}: any free port of {}", address.ip()));
    }
    match TcpListener::bind(address) {
        Ok(_) => findings.ok(format!("{name}: {address} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            if is_ours(address).unwrap_or_default() {
                findings.ok(format!("{name}: a server answers at {address} already"));
            } else {
                let mend = format!(
                    "name another port, or stop whoever has it: ss -ltnp 'sport = {}'",
                    address.port()
                );
                findings.wrong(format!("{name}: somebody else listens on {address}"), mend);
            }
        }
        Err(error) => {
            let mend = "name an address of this machine, and a port that its user may take (from 1024 on)";
            findings.wrong(format!("{name}: cannot listen on {address}: {error}"), mend);
        }
    }
}

/// Whether whoever listens there is well in our words.
fn is_ours(address: SocketAddr) -> io::Result<bool> {
    let ip = address.ip();
    let here: IpAddr = match (ip.is_unspecified(), ip.is_ipv4()) {
        (false, _) => ip,
        (true, true) => Ipv4Addr::LOCALHOST.into(),
        (true, false) => Ipv6Addr::LOCALHOST.into(),
    };
    let mut stream = TcpStream::connect_timeout(&(here, address.port()).into(), ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    // Of a stranger's no more than ours would be.
    stream.take(4096).read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(WELL))
}
