//! The acquirer behind the protocol of docs/acquirer.md, on a socket of this process or in a process of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use acquirer::Acquirer;
use acquirer::http::{Address, HttpAcquirer, Secrets, router};
use base::clock::{Clock, SystemClock};
use base::secret::Secret;
use card_payments::config::Environment;
use tokio::net::TcpListener;
use tokio::sync::watch;
use web::connections::Connections;
use web::server::{self, ServerPhase};

use super::process::{Process, free_address, program};

/// The shared secret.
pub const SECRET: &str = "what-the-server-and-its-acquirer-know";

/// Returns whether all tests call their acquirer over the protocol: `CARD_PAYMENTS_ACQUIRER_ELSEWHERE`.
pub fn is_everywhere() -> bool {
    std::env::var_os("CARD_PAYMENTS_ACQUIRER_ELSEWHERE").is_some()
}

/// Serves an acquirer on a socket of this process, for as long as the test's runtime lives.
pub async fn served(acquirer: Arc<dyn Acquirer>, environment: Environment) -> SocketAddr {
    let routes = router(acquirer, secrets(SECRET), environment, machine_clock());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (_serving, phase) = watch::channel(ServerPhase::Serving);
        server::serve(listener, routes, &Connections::new(1024), phase).await;
    });
    address
}

/// Returns a client of it.
pub fn client(address: SocketAddr, environment: Environment) -> Arc<HttpAcquirer> {
    knowing(SECRET, address, environment)
}

/// Returns a client of it with other secrets.
pub fn knowing(text: &str, address: SocketAddr, environment: Environment) -> Arc<HttpAcquirer> {
    let address = Address::parse(&format!("http://{address}"), environment).unwrap();
    Arc::new(HttpAcquirer::new(address, secrets(text), environment, machine_clock()))
}

/// Returns `card-payments acquirer` at an address, which it prints.
pub fn acquirer(address: &str) -> Command {
    // It keeps nothing.
    let mut command = program(Path::new("/nonexistent"));
    command.env("CARD_PAYMENTS_LISTEN", address).env("CARD_PAYMENTS_ACQUIRER_SECRET", SECRET).arg("acquirer");
    command
}

/// Starts a process of its own, on a port that nobody takes while it is down.
pub fn process() -> Process {
    Process::start(&mut acquirer(&free_address().to_string()))
}

/// Makes a server call the acquirer at an address.
pub fn use_acquirer(command: &mut Command, address: SocketAddr) -> &mut Command {
    command
        .env("CARD_PAYMENTS_ACQUIRER", format!("http://{address}"))
        .env("CARD_PAYMENTS_ACQUIRER_SECRET", SECRET)
}

fn secrets(text: &str) -> Secrets {
    Secrets::parse(&Secret::from(text)).unwrap()
}

/// Requests are signed at the machine's time, whatever a test's own clock says.
fn machine_clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}
