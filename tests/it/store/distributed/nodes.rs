//! Calls to the node that holds their account. A relay stands for a node's address.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sea_orm::ConnectionTrait;

use super::Distributed;
use crate::harness::process::Process;

const NOT_REACHED: &str = "a node of the database is not reached directly";

/// An address at which a server answers as well, until the relay is cut.
struct Relay {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: String,
    is_cut: AtomicBool,
    /// How many clients it has had.
    clients: Mutex<Vec<TcpStream>>,
    /// The ports of its connections to the server.
    ports: Mutex<Vec<u16>>,
}

impl Relay {
    fn to(database: &Distributed) -> Self {
        let server =
            database.database.url().rsplit('/').nth(1).unwrap().rsplit('@').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            server,
            is_cut: AtomicBool::new(false),
            clients: Mutex::default(),
            ports: Mutex::default(),
        });
        let relayed = Arc::clone(&shared);
        std::thread::spawn(move || listener.incoming().for_each(|client| relayed.relay(client.unwrap())));
        Self { port, shared }
    }

    fn cut_off(self) -> Self {
        self.shared.is_cut.store(true, Ordering::SeqCst);
        for client in &*self.shared.clients.lock().unwrap() {
            // Fails if the client has ended it already.
            let _ = client.shutdown(Shutdown::Both);
        }
        self
    }

    fn clients(&self) -> usize {
        self.shared.clients.lock().unwrap().len()
    }
}

impl Shared {
    fn relay(&self, client: TcpStream) {
        let mut clients = self.clients.lock().unwrap();
        clients.push(client.try_clone().unwrap());
        if self.is_cut.load(Ordering::SeqCst) {
            client.shutdown(Shutdown::Both).unwrap();
            return;
        }
        let server = TcpStream::connect(&self.server).unwrap();
        self.ports.lock().unwrap().push(server.local_addr().unwrap().port());
        for (mut from, mut to) in
            [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
        {
            std::thread::spawn(move || {
                // It ends when either side does.
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
        }
    }
}

impl Distributed {
    async fn add_node(&self, relay: &Relay, is_other: bool) {
        let row = format!("INSERT INTO citus.workers VALUES ('127.0.0.1', {}, {is_other})", relay.port);
        self.connection.execute_unprepared(&row).await.unwrap();
    }

    /// Returns the numbers of calls through a relay, and of others.
    async fn calls_through(&self, relay: &Relay) -> [i64; 2] {
        let ports: Vec<_> = relay.shared.ports.lock().unwrap().iter().map(ToString::to_string).collect();
        let through = format!("client = ANY ('{{{}}}'::integer[])", ports.join(","));
        let count = |condition: &str| format!("SELECT count(*) FROM citus.locked WHERE {condition}");
        [self.number(&count(&through)).await, self.number(&count(&format!("NOT {through}"))).await]
    }

    /// Pays until calls go through the relay.
    async fn pay_until_through(&self, relay: &Relay, server: &Process, key: &str) {
        for _ in 0..1_000 {
            server.pay(key).ok(201);
            if self.calls_through(relay).await[0] > 0 {
                return;
            }
        }
        panic!("no call goes through the relay");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_to_the_node_that_holds_their_account() {
    for groups in ["", "always"] {
        let Some(database) = Distributed::new().await else { return };
        let relay = Relay::to(&database);
        database.add_node(&relay, false).await;
        let (server, key) = database.server_with(groups);
        database.pay_until_through(&relay, &server, &key).await;
        let [through, others] = database.calls_through(&relay).await;
        for _ in 0..5 {
            server.pay(&key).ok(201);
        }
        assert_eq!(database.calls_through(&relay).await, [through + 5, others], "{groups}");
        assert!(!server.stopped().contains(NOT_REACHED));
        database.check_books();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_not_reached_directly_is_served_through_the_coordinator() {
    for is_other in [false, true] {
        let Some(database) = Distributed::new().await else { return };
        let relay = Relay::to(&database);
        // Nothing answers there, or a server that the coordinator does not mean.
        let relay = if is_other { relay } else { relay.cut_off() };
        database.add_node(&relay, is_other).await;
        let (server, key) = database.server();
        while relay.clients() == 0 {
            server.pay(&key).ok(201);
        }
        for _ in 0..10 {
            server.pay(&key).ok(201);
        }
        let [through, others] = database.calls_through(&relay).await;
        assert_eq!((through, others), (0, database.calls().await));
        assert!(others >= 11);
        let log = server.stopped();
        assert_eq!(log.matches(NOT_REACHED).count(), 1, "{log}");
        database.check_books();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_go_on_through_the_coordinator_when_a_node_is_lost() {
    let Some(database) = Distributed::new().await else { return };
    let relay = Relay::to(&database);
    database.add_node(&relay, false).await;
    let (server, key) = database.server();
    database.pay_until_through(&relay, &server, &key).await;
    let relay = relay.cut_off();
    // Calls on connections that were open are in doubt.
    let refused = (0..20).take_while(|_| server.pay(&key).status == 503).count();
    assert!(refused < 20);
    let [through, others] = database.calls_through(&relay).await;
    for _ in 0..5 {
        server.pay(&key).ok(201);
    }
    assert_eq!(database.calls_through(&relay).await, [through, others + 5]);
    server.stopped();
    database.check_books();
}
