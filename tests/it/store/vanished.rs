//! A database whose machine vanishes: nothing comes from it any more, not even the end of a connection; and one that is read-only
//! for a while.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::block_in_place;
use url::Url;

use crate::harness::eventually;
use crate::harness::postgres::{Template, is_distributed};
use crate::harness::process::{Process, program};
use crate::harness::raw_database::RawDatabase;

static EMPTY: Template = Template::new("empty_for_vanishing");

/// A proxy to a database that may vanish; new connections lead to the one in its place.
struct VanishingProxy {
    url: Url,
    gone: Arc<Mutex<watch::Sender<bool>>>,
}

impl VanishingProxy {
    async fn to(database: &str) -> Self {
        let mut url: Url = database.parse().unwrap();
        let machine = (url.host_str().unwrap().to_owned(), url.port().unwrap_or(5432));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let current = Arc::new(Mutex::new(watch::Sender::new(false)));
        let here = Arc::clone(&current);
        tokio::spawn(async move {
            loop {
                let (mut from, _) = listener.accept().await.unwrap();
                let mut to = TcpStream::connect(machine.clone()).await.unwrap();
                let mut gone = here.lock().unwrap().subscribe();
                tokio::spawn(async move {
                    let ends = async { drop(gone.wait_for(|gone| *gone).await) };
                    tokio::select! {
                        _ = copy_bidirectional(&mut from, &mut to) => return,
                        () = ends => {}
                    }
                    // Both stay open, and nobody reads what is sent.
                    pending::<()>().await;
                });
            }
        });
        Self { url, gone: current }
    }

    fn vanish(&self) {
        let former = std::mem::replace(&mut *self.gone.lock().unwrap(), watch::Sender::new(false));
        former.send_replace(true);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_vanishes_is_noticed_within_a_request_and_the_one_in_its_place_is_used() {
    let Some(database) = EMPTY.database(async |_| {}).await else { return };
    if is_distributed() {
        return;
    }
    let proxy = VanishingProxy::to(database.url()).await;
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(
        program(folder.path())
            .env("CARD_PAYMENTS_DATABASE_URL", proxy.url.as_str())
            .env("CARD_PAYMENTS_LOG", "off"),
    );
    block_in_place(|| {
        let (key, _) = server.keys();
        server.pay(&key).ok(201);
        proxy.vanish();
        let began = Instant::now();
        // Statements by themselves, groups of them, and a transaction.
        let all = |requests: usize| -> Vec<u16> {
            thread::scope(|scope| {
                let payments: Vec<_> =
                    (0..requests).map(|_| scope.spawn(|| server.pay(&key).status)).collect();
                let inbox = scope.spawn(|| server.ask("POST", "/1/sandbox/inboxes", Some(&key), "").status);
                payments.into_iter().chain([inbox]).map(|answer| answer.join().unwrap()).collect()
            })
        };
        let lost = all(16);
        assert!(began.elapsed() < Duration::from_secs(55), "{:?}", began.elapsed());
        assert!(lost.contains(&503) && lost.iter().all(|status| [201, 503].contains(status)), "{lost:?}");
        assert_eq!(all(16), [201; 17]);
        assert_eq!(server.ask("GET", "/readyz", None, "").status, 200);
        server.stopped();
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_began_while_the_database_was_read_only_are_not_kept_when_it_is_no_longer() {
    let Some(database) = EMPTY.database(async |_| {}).await else { return };
    if is_distributed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(
        program(folder.path())
            .env("CARD_PAYMENTS_DATABASE_URL", database.url())
            .env("CARD_PAYMENTS_LOG", "off"),
    );
    let (key, _) = block_in_place(|| server.keys());
    let at_once = || -> Vec<u16> {
        thread::scope(|scope| {
            let payments: Vec<_> = (0..16).map(|_| scope.spawn(|| server.pay(&key).status)).collect();
            payments.into_iter().map(|answer| answer.join().unwrap()).collect()
        })
    };
    assert_eq!(block_in_place(at_once), [201; 16]);
    let execute = async |sql: &str| RawDatabase::connect(database.url()).await.execute(sql).await;
    let alter = |what: &str| {
        let alter = format!("EXECUTE format('ALTER DATABASE %I {what}', current_database())");
        format!("BEGIN READ WRITE; DO $$ BEGIN {alter}; END $$; COMMIT")
    };
    execute(&alter("SET default_transaction_read_only = on")).await;
    let all_others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                      WHERE datname = current_database() AND pid <> pg_backend_pid()";
    execute(all_others).await;
    let refused = block_in_place(|| (at_once(), at_once()));
    assert_eq!(refused.1, [503; 16], "{refused:?}");
    execute(&alter("RESET default_transaction_read_only")).await;
    eventually(async || block_in_place(|| (0..3).all(|_| at_once() == [201; 16]))).await;
    block_in_place(|| server.stopped());
}
